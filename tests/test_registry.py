"""Finding plugins, and what happens when they are wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from wilds_targeted import hookspecs, registry
from wilds_targeted.errors import PluginError, UnknownNameError

Make = Callable[..., Path]

TRANSFORM = """
from wilds_targeted import Augmentation, Kind, TransformSpec, hookimpl

@hookimpl
def register_transforms():
    return [TransformSpec("{name}", lambda dataset: Augmentation(), Kind.GENERIC, "noise", "all else")]
"""


@pytest.fixture
def on_path(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    return lambda folder: monkeypatch.syspath_prepend(str(folder))


def load(**environment: str) -> tuple[registry.Registry, list[str]]:
    warnings: list[str] = []
    return registry.load(environment, warnings.append), warnings


def test_built_in_plugins_enter_through_the_hooks() -> None:
    loaded, warnings = load(WILDS_TARGETED_PLUGINS="")
    assert warnings == []
    assert {"copypaste_samey", "copypaste_all", "copypaste_samecountry"} <= set(loaded.transforms)
    assert loaded.transforms.plugin_of["copypaste_all"].name == "wilds_targeted.plugins.iwildcam"
    assert "--transform_p" in loaded.options


def test_a_stranger_joins_by_an_entry_point(distribution: Make, on_path: Callable[[Path], None]) -> None:
    on_path(distribution("stranger", TRANSFORM.format(name="strange"), version="2.5"))
    loaded, _ = load()
    assert loaded.transforms["strange"].randomizes == "noise"
    assert str(loaded.transforms.plugin_of["strange"]) == "stranger 2.5"


def test_a_misspelt_hook_is_refused(distribution: Make, on_path: Callable[[Path], None]) -> None:
    source = TRANSFORM.format(name="strange").replace("def register_transforms", "def register_transform")
    on_path(distribution("misspelt", source))
    with pytest.raises(PluginError) as caught:
        load()
    assert "plugin 'misspelt' of misspelt 1.0 has a hook 'register_transform'" in str(caught.value)
    assert "did you mean 'register_transforms'?" in str(caught.value)


def test_a_hook_with_other_arguments_is_refused(distribution: Make, on_path: Callable[[Path], None]) -> None:
    source = "from wilds_targeted import hookimpl\n@hookimpl\ndef check_config(configuration):\n    pass\n"
    on_path(distribution("arguments", source))
    with pytest.raises(PluginError, match=r"plugin 'arguments' of arguments 1\.0 is refused: .*configuration"):
        load()


def test_two_transforms_of_one_name_name_both_distributions(
    distribution: Make, on_path: Callable[[Path], None]
) -> None:
    on_path(distribution("first", TRANSFORM.format(name="same")))
    on_path(distribution("second", TRANSFORM.format(name="same")))
    with pytest.raises(PluginError) as caught:
        load()
    assert "transform 'same' is registered twice" in str(caught.value)
    assert "first 1.0" in str(caught.value)
    assert "second 1.0" in str(caught.value)


def test_a_built_in_name_is_taken(distribution: Make, on_path: Callable[[Path], None]) -> None:
    on_path(distribution("usurper", TRANSFORM.format(name="copypaste_all")))
    with pytest.raises(PluginError, match=r"of wilds-targeted .* of usurper 1\.0"):
        load()


def test_two_plugins_of_one_name_name_both_distributions(distribution: Make, on_path: Callable[[Path], None]) -> None:
    on_path(distribution("first", TRANSFORM.format(name="one"), entry_point="twin"))
    on_path(distribution("second", TRANSFORM.format(name="two"), entry_point="twin"))
    with pytest.raises(PluginError) as caught:
        load()
    assert "two plugins are named 'twin'" in str(caught.value)
    assert "first 1.0" in str(caught.value)
    assert "second 1.0" in str(caught.value)


def test_a_newer_copy_in_front_of_an_older_one_counts(
    distribution: Make, on_path: Callable[[Path], None], tmp_path: Path
) -> None:
    old = distribution("same-name", TRANSFORM.format(name="old"), version="1.0")
    on_path(old.rename(tmp_path / "old"))
    on_path(distribution("same-name", TRANSFORM.format(name="new"), version="1.1"))
    loaded, _ = load()
    assert "new" in loaded.transforms
    assert "old" not in loaded.transforms
    assert str(loaded.transforms.plugin_of["new"]) == "same-name 1.1"


@pytest.mark.parametrize("source", ["import sys; sys.exit('bye')\n", "raise KeyError('x')\n", "1 +\n"])
def test_whatever_an_import_does_costs_one_line(
    source: str, distribution: Make, on_path: Callable[[Path], None]
) -> None:
    on_path(distribution("strange", source))
    loaded, warnings = load()
    assert len(warnings) == 1
    assert "plugin 'strange' of strange 1.0 could not be loaded: " in warnings[0]
    assert "copypaste_samey" in loaded.transforms


def test_a_spec_that_is_wrong_names_its_plugin(distribution: Make, on_path: Callable[[Path], None]) -> None:
    on_path(distribution("careless", TRANSFORM.format(name="x").replace("Kind.GENERIC", "'generic'")))
    with pytest.raises(PluginError, match=r"register_transforms of plugin 'careless' of careless 1\.0: transform 'x'"):
        load()


def test_a_plugin_that_fails_to_import_costs_one_line(distribution: Make, on_path: Callable[[Path], None]) -> None:
    on_path(distribution("broken", "import a_module_that_is_not_there\n"))
    loaded, warnings = load()
    assert len(warnings) == 1
    assert "\n" not in warnings[0]
    assert "plugin 'broken' of broken 1.0" in warnings[0]
    assert "No module named 'a_module_that_is_not_there'" in warnings[0]
    assert "copypaste_samey" in loaded.transforms
    with pytest.raises(UnknownNameError, match=r"may be missing because plugin 'broken' of broken 1\.0"):
        loaded.transforms.find("what_it_would_have_brought")


def test_a_hook_that_raises_costs_one_line(distribution: Make, on_path: Callable[[Path], None]) -> None:
    source = TRANSFORM.format(name="strange").replace("return [", "raise RuntimeError('no\\nluck')\n    return [")
    on_path(distribution("raising", source))
    loaded, warnings = load()
    assert warnings == [
        "wilds-targeted: warning: plugin 'raising' of raising 1.0 could not be loaded: "
        "register_transforms raised RuntimeError: no luck"
    ]
    assert "strange" not in loaded.transforms


def test_a_hook_that_returns_something_else_is_refused(distribution: Make, on_path: Callable[[Path], None]) -> None:
    source = "from wilds_targeted import hookimpl\n@hookimpl\ndef register_models():\n    return [('name', print)]\n"
    on_path(distribution("tuples", source))
    with pytest.raises(PluginError, match=r"register_models of plugin 'tuples'.*list of ModelSpec, got \[\('name'"):
        load()


def test_the_first_switch_chooses_plugins(distribution: Make, on_path: Callable[[Path], None]) -> None:
    on_path(distribution("first", TRANSFORM.format(name="one")))
    on_path(distribution("second", TRANSFORM.format(name="two")))
    loaded, _ = load(WILDS_TARGETED_PLUGINS="second")
    assert "two" in loaded.transforms
    assert "one" not in loaded.transforms
    assert "copypaste_all" in loaded.transforms
    with pytest.raises(PluginError, match=r"names 'secnd' \(did you mean 'second'\?\)"):
        load(WILDS_TARGETED_PLUGINS="secnd")


def test_the_second_switch_traces_hook_calls(capsys: pytest.CaptureFixture[str]) -> None:
    load(WILDS_TARGETED_TRACE="1", WILDS_TARGETED_PLUGINS="")
    assert "wilds-targeted: " in capsys.readouterr().err
    load(WILDS_TARGETED_TRACE="0", WILDS_TARGETED_PLUGINS="")
    assert capsys.readouterr().err == ""


def test_unknown_names_suggest_the_closest() -> None:
    loaded, _ = load(WILDS_TARGETED_PLUGINS="")
    with pytest.raises(UnknownNameError, match=r"no transform 'copypaste_samy' \(did you mean 'copypaste_samey'\?\)"):
        loaded.transforms.find("copypaste_samy")


def test_every_hook_is_documented() -> None:
    page = (Path(__file__).parent.parent / "docs" / "hooks.md").read_text()
    for name in dir(hookspecs):
        if name.startswith(("register_", "check_")):
            assert f"`{name}(" in page, f"docs/hooks.md does not tell of {name}"


def test_the_listing_as_a_table_and_as_json() -> None:
    from wilds_targeted.cli.plugins import command

    table = CliRunner().invoke(command, []).output
    assert "copypaste_samey" in table
    assert "randomizes the camera's own scenery" in table
    data = json.loads(CliRunner().invoke(command, ["--json"]).output)
    row = next(each for each in data["registered"] if each["name"] == "copypaste_samey")
    assert row["kind"] == "targeted"
    assert row["parameters"][0] == {
        "name": "min_confidence",
        "type": "float",
        "default": 0.5,
        "help": row["parameters"][0]["help"],
        "minimum": 0.1,
        "maximum": 1,
        "choices": [],
        "search": "",
        "allowed": "a number from 0.1 to 1",
    }


def test_showing_one_thing_tells_all_of_it() -> None:
    from wilds_targeted.cli.plugins import command

    page = CliRunner().invoke(command, ["show", "copypaste_samey"]).output
    for words in (
        "Algorithm 1",
        "soft_edges (a number from 0 to 32; default 0.0)",
        "preserves: the animal",
        "iwildcam",
    ):
        assert words in page
    failed = CliRunner().invoke(command, ["show", "copypaste_sam"])
    assert isinstance(failed.exception, UnknownNameError)
