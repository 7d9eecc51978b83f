"""Make the pictures of the docs anew: ``python tools/make_pictures.py``, after a change that shows in them.

Everything comes from the generated miniatures and from the simulation of docs/theory.md, which takes some minutes; the
same code gives the same pictures.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from wilds_targeted.contact_sheet import draw_contact_sheet, write_for_sheet
from wilds_targeted.files import written_whole
from wilds_targeted.preview import draw_preview
from wilds_targeted.registry import get_registry

DOCS = Path(__file__).parent.parent / "docs"


def main() -> None:
    """The contact sheet, a preview for every transform's page, and the figures of the theory's."""
    with tempfile.TemporaryDirectory() as folder:
        datasets = write_for_sheet(folder)
        draw_contact_sheet(datasets).save(DOCS / "augmentations.png")
        for name, spec in get_registry().transforms.items():
            served = next(dataset for dataset in datasets if spec.serves(dataset))
            picture = draw_preview(name, datasets[served], rows=3, draws=1 if spec.in_evaluation else 4)
            with written_whole(DOCS / "images" / f"{name}.jpg") as arriving:
                picture.save(arriving, quality=85)
        draw_simulation(Path(folder) / "simulation")


def draw_simulation(folder: Path) -> None:
    """The command of docs/theory.md; its figures in few colours, which makes them small."""
    subprocess.run([sys.executable, "-m", "wilds_targeted", "simulate", "--out", str(folder)], check=True)
    for name in ("ood_rmse", "id_rmse"):
        with (
            Image.open(folder / f"{name}.png") as figure,
            written_whole(DOCS / "images" / f"simulation_{name}.png") as arriving,
        ):
            figure.convert("RGB").quantize(48, dither=Image.Dither.NONE).save(arriving, optimize=True)


if __name__ == "__main__":
    main()
