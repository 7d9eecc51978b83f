"""Documents rot where no test reads them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from wilds_targeted.registry import OWN_DISTRIBUTION, Shelf, get_registry

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])


def test_the_walk_through_shows_the_examples_own_lines() -> None:
    page = (ROOT / "docs" / "writing-a-plugin.md").read_text()
    package = ROOT / "examples" / "external-plugin"
    source = (package / "wilds_camera_tint.py").read_text() + (package / "pyproject.toml").read_text()
    blocks = re.findall(r"```\n(.*?)```", page, re.DOTALL)
    shown = [block for block in blocks if re.match(r"class |@hookimpl|\[project", block)]
    assert len(shown) == 3
    for line in "".join(shown).splitlines():
        assert line.strip() == "..." or line in source.splitlines(), line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_repository_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not link.startswith("http"):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def built_in(shelf: Shelf[Any]) -> list[str]:
    return [name for name in shelf if shelf.plugin_of[name].distribution == OWN_DISTRIBUTION]


@pytest.mark.parametrize("name", built_in(get_registry().transforms))
def test_every_registered_transform_has_its_page(name: str) -> None:
    """What it randomizes and preserves, its algorithm, its parameters with the paper's ranges, and a picture."""
    pages = [path.read_text() for path in (ROOT / "docs" / "transforms").glob("*.md")]
    (page,) = [page for page in pages if f"images/{name}.jpg" in page]
    spec = get_registry().transforms[name]
    rows = [line for line in page.splitlines() if f"| {spec.kind}" in line]
    assert any(f"`{name}`" in row or (spec.randomizes in row and spec.preserves in row) for row in rows)
    assert "## Algorithm" in page
    parameters = page.partition("## Parameters")[2]
    for parameter in spec.parameters:
        assert f"`{parameter.name}`" in parameters
        for number in re.findall(r"\d[\d.]*", parameter.search):
            assert number in parameters, f"{parameter.name}: the paper searches {parameter.search}"
    assert f"`{name}`" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("name", built_in(get_registry().algorithms))
def test_every_algorithm_is_in_the_readme(name: str) -> None:
    assert f"`{name}`" in (ROOT / "README.md").read_text()


def test_ci_finds_the_readmes_test_line() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    command = re.search(r"^line=\$\((.*)\)$", script, re.MULTILINE)
    assert command is not None
    found = subprocess.run(["bash", "-c", command[1]], capture_output=True, text=True, cwd=ROOT, check=True)
    assert found.stdout == "pip install -e '.[test]' && python -m pytest\n"
