"""The sheet of everything registered, the command that writes it, and the copy in the docs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from wilds_targeted import get_dataset
from wilds_targeted.cli.contact_sheet import command
from wilds_targeted.contact_sheet import AFTERS, NAMES_KEY, draw_contact_sheet
from wilds_targeted.errors import ParameterError
from wilds_targeted.registry import OWN_DISTRIBUTION, get_registry

ROOT = Path(__file__).parent.parent


def test_a_row_for_each_transform_that_serves(camelyon_miniature: Path) -> None:
    dataset = get_dataset("camelyon17", root_dir=camelyon_miniature)
    sheet = draw_contact_sheet({"camelyon17": dataset})
    transforms = get_registry().transforms
    assert set(sheet.names) == {name for name, spec in transforms.items() if spec.serves("camelyon17")}
    assert set(sheet.left_out) == set(transforms) - set(sheet.names)
    assert sheet.names[0] == "stain_color_jitter", "targeted ones first"
    pixels = np.asarray(sheet.image).astype(int)
    for row in range(len(sheet.names)):
        line = pixels[48 + 104 * row : 140 + 104 * row]
        before = line[:, 420:512]
        assert before.std() > 5, "an original that is not blank"
        afters = [line[:, 426 + 98 * number : 518 + 98 * number] for number in range(1, 1 + AFTERS)]
        assert max(np.abs(after - before).mean() for after in afters) > 0.5, f"{sheet.names[row]} changes nothing"
    again = draw_contact_sheet({"camelyon17": dataset})
    assert again.image.tobytes() == sheet.image.tobytes(), "the same seed repeats"


@pytest.mark.slow
def test_the_command_shows_everything(tmp_path: Path) -> None:
    out = tmp_path / "sheet.png"
    finished = CliRunner().invoke(command, ["--out", str(out)])
    assert finished.exit_code == 0, finished.output
    with Image.open(out) as image:
        assert set(image.text[NAMES_KEY].split()) == set(get_registry().transforms)
    assert f"{len(get_registry().transforms)} transforms" in finished.output


def test_another_ending_is_refused(tmp_path: Path) -> None:
    finished = CliRunner().invoke(command, ["--out", str(tmp_path / "sheet.jpg")])
    assert isinstance(finished.exception, ParameterError)
    assert not list(tmp_path.iterdir())


def test_the_docs_show_everything_that_is_built_in() -> None:
    shelf = get_registry().transforms
    built_in = {name for name in shelf if shelf.plugin_of[name].distribution == OWN_DISTRIBUTION}
    with Image.open(ROOT / "docs" / "augmentations.png") as image:
        shown = set(image.text[NAMES_KEY].split())
    assert shown == built_in, "make it anew with `wilds-targeted contact-sheet --out docs/augmentations.png`"
