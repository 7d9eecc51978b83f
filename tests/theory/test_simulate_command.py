"""`wilds-targeted simulate`: figures, page, table and advice; mistakes end in one line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from wilds_targeted.theory.advice import MOST_DOMAINS, _smallest, advise, describe
from wilds_targeted.theory.setting import LinearSetting

SMALL = (
    "--p-obj 1 --p-noise 5 --p-robust 2 --p-spurious 20 --domains 3,30 --samples 500,60 --seeds 2 --validation 50 "
    "--test 50 --ood-domains 20 --ood_test 50"
).split()


@pytest.fixture
def simulate(run: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *words: run("wilds-targeted", "simulate", *words, how="command")


def test_everything_is_written(simulate: Callable[..., Any], tmp_path: Path) -> None:
    finished = simulate(*SMALL, "--out", "out")
    assert finished.status == 0, finished.output
    folder = tmp_path / "out"
    names = {
        "plan.json",
        "results.csv",
        "index.html",
        *(f"{x}_rmse.{end}" for x in ("ood", "id") for end in ("png", "svg")),
    }
    assert {path.name for path in folder.iterdir()} == names
    assert "N = 500, out-of-domain (OOD) RMSE" in finished.output
    page = (folder / "index.html").read_text()
    assert page.count("<svg") == 2
    assert not re.search(r"(src|href)=\"(?!data:|#)", page), "the page needs nothing else"
    assert "wilds-targeted simulate --p-obj 1" in page
    assert "Curves of out-of-domain (OOD) RMSE" in page
    for path in folder.glob("*.png"):
        with Image.open(path) as image:
            assert image.width > 1000
    before = (folder / "results.csv").read_bytes()
    again = simulate(*SMALL, "--out", "out")
    assert again.status == 0, again.output
    assert (folder / "results.csv").read_bytes() == before


def test_a_quick_look_is_not_in_the_way_of_the_real_thing(simulate: Callable[..., Any], tmp_path: Path) -> None:
    for words in (["--quick", "--seeds", "1", "--domains", "3"], [*SMALL, "--seeds", "1"]):
        finished = simulate(*words)
        assert finished.status == 0, finished.output
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {"simulation", "simulation-quick"}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--sigma2", "0"], "sigma2=0.0: expected is a variance"),
        (["--domains", "5,x"], "'5,x': different whole numbers with commas between are expected, from 1 up"),
        (["--domains", "5,5"], "'5,5': different whole numbers"),
        (["--p-robust", "0"], "p_robust=0: expected is a whole number from 1 up"),
        (["--advise", "--samples", "500"], "--samples does not go with --advise"),
        (["--advise", "--quick"], "--quick does not go with --advise"),
        (["--advise", "--domains", "0"], "'0': different whole numbers"),
    ],
)
def test_mistakes(words: list[str], line: str, simulate: Callable[..., Any], tmp_path: Path) -> None:
    finished = simulate(*words)
    assert finished.status != 0
    assert line in finished.output
    assert "Traceback" not in finished.output
    assert not (tmp_path / "simulation").exists()


def test_advice_in_words_and_numbers() -> None:
    advice = advise(LinearSetting(), 100)
    none, targeted, invariant = advice.expected
    assert none.excess == pytest.approx(0.73, abs=0.005)
    assert targeted.excess < 0.001
    assert invariant.excess == pytest.approx(0.909, abs=0.0005)
    assert none.in_domain < targeted.in_domain < invariant.in_domain
    text = describe(advice)
    assert "from 0.912 to 0.319 (65% less)" in text
    assert re.search(r"targeted +5.\de-04", text), "below 0.001, and seen to be so"
    assert "Theorem 3 guarantees the gain between 240 and 311 domains; outside of that" in text
    assert "and you are among them" in describe(advise(LinearSetting(), 280))


def test_the_number_of_domains_that_would_do_as_well() -> None:
    setting = LinearSetting(p_robust=2, p_spurious=20)
    advice = advise(setting, 10)
    assert advice.needed is not None
    without = advise(setting, advice.needed).expected[0]
    assert without.excess == pytest.approx(advice.expected[1].excess, rel=0.25)


def test_the_search_for_a_number_of_domains() -> None:
    for answer in (10, 11, 12, 1000, 60_000, 99_999, 100_000):
        found = _smallest(lambda count, answer=answer: count >= answer, 10)  # type: ignore[misc]
        assert found is not None
        assert answer <= found <= 1.06 * answer, answer
    assert _smallest(lambda count: count > MOST_DOMAINS, 10) is None
    assert _smallest(lambda count: True, 300_000) == 300_000


def test_as_many_features_as_pictures_have() -> None:
    advice = advise(LinearSetting(p_spurious=2000), 200)
    assert advice.needed is None or advice.needed > 30_000
    assert advice.expected[0].excess == pytest.approx((1 - 200 / 2005) / 1.1, rel=0.001)


def test_where_there_is_nothing_to_gain() -> None:
    text = describe(advise(LinearSetting(p_spurious=20, norm_robust=0, sigma_epsilon=0), 10))
    assert "from 0.000 to 0.000 (0% less)" in text
    assert "0.000, as good as none" in text


def test_domain_invariance_can_be_better_than_nothing() -> None:
    """With domains hardly apart (gamma^2 below 1), little is lost, and little is memorized: the words must follow."""
    advice = advise(LinearSetting(p_spurious=200, tau2=0.05, norm_robust=1.0), 5)
    none, _, invariant = advice.expected
    word = "worse than" if invariant.excess > none.excess else "better than"
    assert f"{word} none" in describe(advice)
    assert "Theorem 3 guarantees nothing" in describe(advice)
