"""Recipes as they are used: their flags in the real parser, files of one's own, the command, the page of the docs."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from wilds_targeted.cli.recipes import command
from wilds_targeted.cli.reproduce import command as reproduce
from wilds_targeted.errors import ConfigError, UnknownNameError
from wilds_targeted.experiments.recipes import get_recipe, load_recipes, read_recipes
from wilds_targeted.experiments.recipes.telling import command_lines, page
from wilds_targeted.experiments.space import with_draw
from wilds_targeted.registry import get_registry

DOCS = Path(__file__).parents[3] / "docs" / "recipes.md"

OWN = """
dataset = "iwildcam"
flags = "--model resnet50 --weight_decay 0"
metric = "F1-macro_all"
in_domain = "id_test"
out_of_domain = "test"
n_draws = 4
tuning_seeds = [0]
final_seeds = [0, 1, 2]

[[recipes]]
name = "soft"
title = "Copy-Paste with soft edges"
flags = "--algorithm ERM --transform copypaste_samey"
search.lr = { log10_uniform = [-5, -4] }
search."transform_kwargs.soft_edges" = { uniform = [0, 3] }
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(OWN)
    return path


@pytest.mark.parametrize("small", [False, True], ids=["real", "miniature"])
def test_the_runner_takes_every_draws_flags(small: bool) -> None:
    from wilds_targeted.runner.defaults import complete
    from wilds_targeted.runner.flags import parse

    for recipe in load_recipes().values():
        tried = recipe.on_miniature() if small else recipe
        draws = [*tried.search.draws(4, seed=1), tried.tuned] if tried.n_draws else [{}]
        for draw in draws:
            config = complete(parse(["--root_dir", "data", *with_draw(tried.flags, draw)]))
            for name, value in draw.items():
                flag, _, key = name.partition(".")
                given = getattr(config, flag)
                assert (given[key] if key else given) == value, f"{recipe.name}: {name}"
            assert config.dataset == recipe.dataset
            assert config.additional_train_transform is None, recipe.name
            if config.train_loader == "group":
                assert config.batch_size % config.n_groups_per_batch == 0, recipe.name
            assert (config.model in ("miniature-cnn", "clip:miniature")) is small
            if small:
                assert config.loader_kwargs["num_workers"] == 0


def test_the_miniatures_are_ones_that_can_be_generated() -> None:
    from wilds_targeted.cli.miniature import command as miniature

    for recipe in load_recipes().values():
        small = recipe.miniature
        generate = miniature.get_command(None, recipe.dataset)  # type: ignore[arg-type, attr-defined]
        generate.make_context(recipe.dataset, ["--root_dir", "data", *small.options])
        assert (small.n_draws > 0) is (recipe.n_draws > 0)
        assert len(small.final_seeds) == 2
        assert recipe.on_miniature().n_runs <= 6
        assert set(small.search.free) == set(recipe.search.free)
        assert small.search.tied == recipe.search.tied


@pytest.mark.slow
@pytest.mark.parametrize("name", ["iwildcam/clip_copypaste_samey", "camelyon17/dann", "birdcalls/specaugment"])
def test_a_recipe_trains_on_its_miniature(
    name: str, run: Callable[..., Any], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    fixtures = {"iwildcam": "miniature", "camelyon17": "camelyon_miniature", "birdcalls": "birdcalls_miniature"}
    recipe = get_recipe(name).on_miniature()
    root = request.getfixturevalue(fixtures[recipe.dataset])
    words = [*with_draw(recipe.flags, recipe.search.draws(1, seed=0)[0]), "--n_epochs", "1"]
    finished = run(
        "wilds-targeted", "run", "--runner", "builtin", "--root_dir", root, "--log_dir", "log", *words, how="command"
    )
    assert finished.status == 0, finished.output
    for split in ("val", recipe.in_domain, recipe.out_of_domain):
        assert recipe.metric in (tmp_path / "log" / f"{split}_eval.csv").read_text().splitlines()[0].split(",")


def test_a_recipe_of_ones_own(own: Path) -> None:
    recipe = get_recipe(str(own))
    assert recipe == get_recipe(f"{own}:soft") == next(iter(read_recipes(own).values()))
    assert get_recipe(recipe.name) == recipe
    assert recipe.flags == (
        *("--dataset", "iwildcam", "--model", "resnet50", "--weight_decay", "0", "--algorithm", "ERM"),
        *("--transform", "copypaste_samey"),
    )
    assert (recipe.n_draws, recipe.final_seeds, recipe.published, recipe.n_runs) == (4, (0, 1, 2), (), 6)
    # The miniature is that of the paper's recipes on the same data set.
    like = load_recipes()["iwildcam/unaugmented"].miniature
    assert recipe.miniature.options == like.options
    # A range that makes no sense for its small network is replaced there, too, unless the file has one of its own.
    assert recipe.search.free["lr"].values == (-5, -4)
    assert recipe.miniature.search.free == {**recipe.search.free, "lr": like.search.free["lr"]}
    own.write_text(OWN + "miniature.search.lr = { uniform = [1, 2] }\n")
    assert get_recipe(str(own)).miniature.search.free["lr"].values == (1, 2)
    own.write_text(OWN + '[[recipes]]\nname = "other"\ntitle = "Other"\nflags = "--algorithm IRM"\n')
    assert get_recipe(f"{own}:other").n_draws == 0
    with pytest.raises(UnknownNameError, match=r"no recipe '.*mine\.toml' \(did you mean '.*mine\.toml:"):
        get_recipe(str(own))


FAULTS = {
    "is not TOML": ("dataset =", "dataset"),
    "'metrik' is not known (did you mean 'metric'?)": ("metric =", "metrik ="),
    "'metric' is missing": ('metric = "F1-macro_all"', ""),
    "n_draws = 'many': a whole number expected": ("n_draws = 4", 'n_draws = "many"'),
    "n_draws=0: at least 1 expected": ("n_draws = 4", ""),
    "final_seeds = [0, 0]: whole numbers from 0, each once, expected": ("[0, 1, 2]", "[0, 0]"),
    "final_seeds = []: whole numbers": ("[0, 1, 2]", "[]"),
    "--seed comes with each run": ("--weight_decay 0", "--seed 3"),
    "flags begin with 'resnet50'": ("--model resnet50", "resnet50"),
    "flags: not a command line (No closing quotation)": ("--weight_decay 0", "--model 'x"),
    "soft: 'serch' is not known (did you mean 'search'?)": ("search.lr", "serch.lr"),
    "soft: lr": ("log10_uniform", "log10_unifrom"),
    "tuned must give a value for what is searched, and for nothing else: see 'transform_kwargs.soft_edges'": (
        "search.lr",
        "tuned = { lr = 1 }\nsearch.lr",
    ),
    "published: test: [mean, standard error] expected, got 3": (
        "search.lr",
        'published = [{ table = "t", test = 3 }]\nsearch.lr',
    ),
    "published: tables expected": ("search.lr", "published = [3]\nsearch.lr"),
    "published: 'table' is missing": ("search.lr", "published = [{ test = [1, 2] }]\nsearch.lr"),
    "two recipes are called 'soft'": (
        "[[recipes]]",
        '[[recipes]]\nname = "soft"\ntitle = "S"\nflags = "--algorithm ERM"\n[[recipes]]',
    ),
    "images: test = -1: a whole number expected": ("search.lr", "images = { test = -1 }\nsearch.lr"),
    "soft: miniature: 'n_draws' is not known": ("search.lr", "miniature.n_draws = 1\nsearch.lr"),
}


@pytest.mark.parametrize("message", FAULTS)
def test_what_is_wrong_with_a_file_is_told_in_one_line(message: str, own: Path) -> None:
    before, after = FAULTS[message]
    assert before in OWN
    own.write_text(OWN.replace(before, after))
    with pytest.raises(ConfigError, match=re.escape(message)) as caught:
        get_recipe(str(own))
    assert str(own) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_hold_no_recipe(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: a file with recipes can't be read"):
        get_recipe(str(tmp_path / "none.toml"))
    (tmp_path / "empty.toml").write_text("recipes = []")
    with pytest.raises(ConfigError, match=r"empty\.toml: it has no recipe"):
        get_recipe(str(tmp_path / "empty.toml"))
    with pytest.raises(UnknownNameError, match=r"no recipe 'iwildcam/copy' .*`wilds-targeted recipes` lists"):
        get_recipe("iwildcam/copy")


def test_the_list() -> None:
    outcome = CliRunner().invoke(command, [])
    assert outcome.exit_code == 0
    lines = outcome.output.splitlines()
    for name, recipe in load_recipes().items():
        (line,) = [line for line in lines if line.split()[:1] == [name]]
        assert recipe.title in line
        assert f" {recipe.n_runs} " in line
    assert re.search(
        r"iwildcam/copypaste_samey +Copy-Paste \(Same Y\) +14 +50\.2 \(0\.7\) +36\.5 \(0\.4\)", outcome.output
    )
    only = CliRunner().invoke(command, ["--dataset", "camelyon17", "--json"])
    rows = json.loads(only.output)
    assert [row["dataset"] for row in rows] == ["camelyon17"] * 11
    assert rows[5]["search"]["dann_classifier_lr"] == {"tied_to": "dann_featurizer_lr", "times": 10}
    assert rows[5]["published"][0] == {
        "table": "tab:camelyon_results",
        "row": "DANN",
        "split": "id_val",
        "metric": "acc_avg",
        "mean": 86.1,
        "error": 2.1,
    }


@pytest.mark.parametrize("name", load_recipes())
def test_the_page_of_one(name: str) -> None:
    recipe = get_recipe(name)
    outcome = CliRunner().invoke(command, [name])
    assert outcome.exit_code == 0
    assert outcome.output.rstrip("\n") == page(recipe)
    assert max(map(len, outcome.output.splitlines())) <= 120
    for cell in recipe.published:
        assert any(cell.table in line and str(cell) in line for line in outcome.output.splitlines())
    for parameter, distribution in recipe.search.free.items():
        assert re.search(rf"  {re.escape(parameter)} +{re.escape(str(distribution))}", outcome.output)
    following = re.findall(r"^  wilds-targeted reproduce (.*)$", outcome.output, re.MULTILINE)
    assert ("--tuned" in following[-1]) is bool(recipe.tuned)
    for words in following:
        assert reproduce.make_context("reproduce", shlex.split(words)).params["names"] == (name,)
    # A shell reads the printed command as what is run.
    printed = shlex.split("\n".join(command_lines(recipe, recipe.tuned)).replace("\\\n", ""))
    assert printed == ["wilds-targeted", "run", "--root_dir", "data", *with_draw(recipe.flags, recipe.tuned)]


def test_the_page_tells_what_a_method_does() -> None:
    text = page(get_recipe("iwildcam/cutout"))
    for name in ("cutout", "cutout_bbox"):
        assert f"{name} (generic): {get_registry().transforms[name].summary}"[:60] in text
    text = page(get_recipe("birdcalls/cdan"))
    assert "CDAN: Conditional domain-adversarial training" in text
    assert "10 draws, each trained with seeds 0 to 4; a draw that comes twice is trained once." in text
    assert "Each run takes the epoch with the best acc_avg on val." in text
    assert "The draw with the best F1-macro_all on val is chosen, averaged over its seeds." in text
    assert "Nothing is tuned." in page(get_recipe("camelyon17/irm"))


def test_the_command_takes_a_file_of_ones_own_and_refuses_what_it_cannot_mean(own: Path) -> None:
    outcome = CliRunner().invoke(command, [str(own)])
    assert "Copy-Paste with soft edges" in outcome.output
    assert "Published" not in outcome.output
    for words, message in {
        ("--dataset", "iwildcan"): "there is no recipe for data set 'iwildcan' (did you mean 'iwildcam'?)",
        ("iwildcam/mixup", "--dataset", "iwildcam"): "give one of the two",
        ("iwildcam/mixpu",): "did you mean 'iwildcam/mixup'?",
    }.items():
        failed = CliRunner().invoke(command, list(words))
        assert message in str(failed.exception)


def test_neither_list_nor_page_wait_for_torch() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from wilds_targeted.cli.recipes import command\n"
        "for words in ([], ['iwildcam/cdan'], ['--json']): assert CliRunner().invoke(command, words).exit_code == 0\n"
        "assert not {'torch', 'wilds', 'pandas', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def docs_rows() -> list[str]:
    """The table of docs/recipes.md, made from the data."""
    rows = []
    for name, recipe in load_recipes().items():
        spaces = {**recipe.search.free, **recipe.search.tied}
        searched = ", ".join(f"`{parameter}` {how}" for parameter, how in spaces.items()) or "nothing"
        cells = [recipe.find_published(split) for split in (recipe.in_domain, recipe.out_of_domain)]
        tables = ", ".join(dict.fromkeys(cell.table.removeprefix("tab:") for cell in recipe.published))
        row = f"| `{name}` | {searched} | {recipe.n_runs} | {' | '.join(map(str, cells))} | {tables} |"
        rows.append(row.replace("0.0030693212138627936", "0.00307"))
    return rows


def test_the_docs_table_is_made_of_the_data() -> None:
    """Another table is printed by ``python tests/experiments/recipes/test_recipes.py``."""
    shown = [line for line in DOCS.read_text(encoding="utf-8").splitlines() if re.match(r"\| `\w+/", line)]
    assert shown == docs_rows()


def test_the_docs_own_file_is_one_that_can_be_read(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "mine.toml").write_text(block)
    assert get_recipe(str(tmp_path / "mine.toml")).n_draws > 0


if __name__ == "__main__":
    print("\n".join(docs_rows()))
