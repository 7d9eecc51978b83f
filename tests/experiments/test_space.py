"""Search spaces: what they draw, what they refuse, and what a draw does to flags."""

from __future__ import annotations

import math
import random
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wilds_targeted.errors import ConfigError
from wilds_targeted.experiments.space import SearchSpace, with_draw

EVERYTHING = """
lr = { log10_uniform = [-5, -2] }
transform_p = { uniform = [0.5, 0.9] }
"transform_kwargs.alpha" = { choice = [0.2, 0.4] }
transform = { choice = ["lisa_mixup", "lisa_cutmix"] }
randaugment_n = { integers = [1, 3] }
cdan_featurizer_lr = { tied_to = "cdan_classifier_lr", times = 0.1 }
cdan_classifier_lr = { log10_uniform = [-5.5, -4] }
cdan_discriminator_lr = { tied_to = "cdan_classifier_lr" }
"""


def space(text: str = EVERYTHING) -> SearchSpace:
    return SearchSpace.of(tomllib.loads(text), "mine.toml, search")


@given(st.integers(0, 2**32), st.integers(1, 30))
def test_draws_stay_within_their_bounds_and_ties_hold(seed: int, number: int) -> None:
    draws = space().draws(number, seed)
    assert len(draws) == number
    for draw in draws:
        assert 1e-5 <= draw["lr"] <= 1e-2
        assert 0.5 <= draw["transform_p"] <= 0.9
        assert draw["transform_kwargs.alpha"] in (0.2, 0.4)
        assert draw["transform"] in ("lisa_mixup", "lisa_cutmix")
        assert draw["randaugment_n"] in (1, 2, 3)
        assert draw["cdan_featurizer_lr"] == draw["cdan_classifier_lr"] * 0.1
        assert draw["cdan_discriminator_lr"] == draw["cdan_classifier_lr"]


@given(st.integers(0, 2**32), st.integers(0, 20), st.integers(0, 20))
def test_more_draws_begin_with_the_same_ones(seed: int, few: int, more: int) -> None:
    few, more = sorted((few, more))
    assert space().draws(more, seed)[:few] == space().draws(few, seed)


def test_a_draw_by_hand() -> None:
    """One number of the stream for each parameter, in the order of the table."""
    stream = random.Random(7)
    first, second, third, fourth = (stream.random() for _ in range(4))
    two = space("b = { uniform = [10, 20] }\na = { log10_uniform = [-3, -1] }")
    assert two.draws(2, seed=7) == [
        {"b": pytest.approx(10 + 10 * first), "a": pytest.approx(10 ** (-3 + 2 * second))},
        {"b": pytest.approx(10 + 10 * third), "a": pytest.approx(10 ** (-3 + 2 * fourth))},
    ]


def test_a_draw_of_old_stays_what_it_was() -> None:
    """What a recipe draws must not change with a version of ours or of Python: a study would no longer go on."""
    assert space("lr = { log10_uniform = [-5, -2] }\nk = { choice = [1, 2] }").draws(2, seed=0) == [
        {"lr": pytest.approx(10 ** (-5 + 3 * 0.8444218515250481)), "k": 2},
        {"lr": pytest.approx(10 ** (-5 + 3 * 0.420571580830845)), "k": 1},
    ]


def test_log_uniform_is_uniform_in_the_exponent() -> None:
    exponents = sorted(math.log10(draw["lr"]) for draw in space("lr = { log10_uniform = [-5, -2] }").draws(4000, 1))
    # Kolmogorov-Smirnov at the level of one in a million: 2.6 / sqrt(4000)
    assert max(abs((each + 5) / 3 - rank / 4000) for rank, each in enumerate(exponents)) < 2.6 / math.sqrt(4000)


def test_another_seed_draws_others() -> None:
    assert space().draws(3, 0) != space().draws(3, 1)


def test_a_space_without_parameters_draws_nothing_each_time() -> None:
    assert space("").draws(2, 0) == [{}, {}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lr = 0.1", r"mine.toml, search: lr is 0.1: a table is expected, for example lr = .*; what is fixed"),
        ("lr = { log_uniform = [1, 2] }", "no distribution 'log_uniform' .did you mean 'log10_uniform'"),
        ("lr = { uniform = [2, 1] }", r"lr: uniform is \[2, 1\], two numbers are expected, the smaller first"),
        ("lr = { uniform = [1, nan] }", "two numbers are expected"),
        ("lr = { log10_uniform = [1e-5, 1e3] }", "the exponents of ten"),
        ("lr = { uniform = 3 }", "lr: uniform is 3, a list is expected"),
        ("k = { integers = [1, 2.5] }", "two whole numbers"),
        ("k = { choice = [] }", "one value or more"),
        ("k = { choice = [1, [2]] }", "numbers, words, true or false"),
        ("k = { choice = [1, 1] }", "each value once"),
        ("k = { choice = [1], times = 2 }", "'times' does not go with choice"),
        ("seed = { choice = [1, 2] }", "the sweep sets --seed itself"),
        ('"--lr" = { uniform = [1, 2] }', "a flag without its dashes"),
        ('a = { tied_to = "b" }', "tied_to names 'b', which is not drawn here; drawn are: none"),
        ('a = { tied_to = "lr1" }\nlr = { uniform = [1, 2] }', "did you mean 'lr'"),
        ('a = { tied_to = "b", times = "x" }\nb = { uniform = [1, 2] }', "times is 'x', a number is expected"),
        ('a = { tied_to = "b", times = 2 }\nb = { choice = ["x"] }', "can't be taken 2 times"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        space(text)
    assert "\n" not in str(caught.value)


def test_a_draw_replaces_what_the_flags_say() -> None:
    base = ["--lr", "1e-3", "--transform", "x", "--loader_kwargs", "num_workers=0", "pin_memory=False", "--lr=2"]
    assert with_draw(base, {"lr": 0.5, "transform_p": 0.75, "loader_kwargs.num_workers": 4}) == (
        *("--lr", "0.5", "--transform", "x", "--loader_kwargs", "pin_memory=False", "num_workers=4"),
        *("--transform_p", "0.75"),
    )


def test_negative_numbers_are_no_flags() -> None:
    assert with_draw(["--a", "-3", "-0.5"], {}) == ("--a", "-3", "-0.5")
    with pytest.raises(ConfigError, match="flags begin with 'lr'"):
        with_draw(["lr", "1"], {})
