"""A miniature of Camelyon17: generated patches of stained lymph nodes in the format that WILDS's own class reads.

In the paper's words: the *object* is the nuclei, which are larger, more varied and more irregular in tumour; *noise* is
where everything lies, which way it is turned, and the focus; the *robust* feature is the patient's stage, whose shares
differ by hospital, and which decides what nuclei and their arrangement mean; *spurious* is the stain, which differs by
hospital and in the training hospitals leans on the label.

Tissue is painted as concentrations of two stains and coloured afterwards, so the stain can take nothing from the
tissue, nor add to it. Nothing here knows of any method that will be trained on the data.
"""

from __future__ import annotations

from pathlib import Path

from tqdm.auto import tqdm

from wilds_targeted.errors import ParameterError
from wilds_targeted.miniatures._hospitals import (
    TRAIN_CENTERS,
    VAL_CENTER,
    Patch,
    cut_patches,
    found_hospitals,
    scan_patch,
)
from wilds_targeted.miniatures._writing import Layout, write_csv

DATA_FOLDER = "camelyon17_v1.0"
PATCH_FOLDER = "patches"

# With fewer than 20 patches a hospital has slides without one of each class; and its slides have room for so many, no
# two of which overlap (the generator's grid has 160,000 places).
_LAYOUT = Layout(
    title="Camelyon17",
    parts=(DATA_FOLDER,),
    release_file="RELEASE_v1.0.txt",
    ranges={
        "train_patches": (20, 50_000),
        "id_val_patches": (2, 50_000),
        "val_patches": (20, 100_000),
        "test_patches": (20, 100_000),
        "seed": (0, 2**63 - 1),
    },
)


def write_camelyon17(
    root_dir: str | Path,
    *,
    seed: int = 0,
    train_patches: int = 800,
    id_val_patches: int = 160,
    val_patches: int = 800,
    test_patches: int = 1000,
    overwrite: bool = False,
    progress: bool = True,
) -> Path:
    """Write a miniature Camelyon17, whole or not at all.

    The same arguments give the same bytes. Below `root_dir` appears ``camelyon17_v1.0/``. Half of the patches are
    tumour, in every hospital and every split.

    Args:
        root_dir: The folder to write into; made if it is not there. WILDS's ``--root_dir``.
        seed: Which world.
        train_patches: Patches of each of the three training hospitals, for the split train.
        id_val_patches: Further patches of each training hospital, for the split id_val.
        val_patches: Patches of a fourth hospital, for the split val.
        test_patches: Patches of a fifth hospital, for the split test.
        overwrite: Replace a miniature that is there. Anything else is never replaced.
        progress: Show a progress bar when the output is a terminal.

    Returns:
        The folder ``camelyon17_v1.0``.

    Raises:
        ParameterError: A number of patches is odd, or one of them or the seed is out of its range.
        DataError: Something is there already.
    """
    counts = {
        "train_patches": train_patches,
        "id_val_patches": id_val_patches,
        "val_patches": val_patches,
        "test_patches": test_patches,
    }
    _LAYOUT.check_ranges(counts | {"seed": seed})
    for name, count in counts.items():
        if count % 2:
            raise ParameterError(f"{name} is {count}; half of the patches are tumour, so give an even number.")
    patches: list[Patch] = []
    for hospital in found_hospitals(seed):
        if hospital.center in TRAIN_CENTERS:
            patches += cut_patches(seed, hospital, train_patches, id_val_patches)
        else:
            patches += cut_patches(seed, hospital, val_patches if hospital.center == VAL_CENTER else test_patches)
    root = Path(root_dir)
    with _LAYOUT.written_whole(root, counts | {"seed": seed}, overwrite=overwrite) as new:
        _write_patches(new / DATA_FOLDER / PATCH_FOLDER, seed, patches, progress=progress)
        write_csv(new / DATA_FOLDER / "metadata.csv", [_row(index, patch) for index, patch in enumerate(patches)])
    return root / DATA_FOLDER


def _write_patches(folder: Path, seed: int, patches: list[Patch], *, progress: bool) -> None:
    for patch in tqdm(patches, desc="miniature camelyon17", unit="image", disable=None if progress else True):
        path = folder / patch.path
        path.parent.mkdir(parents=True, exist_ok=True)
        # Noise hardly compresses: more effort takes three times as long and saves a few per cent.
        scan_patch(seed, patch).save(path, compress_level=1)


def _row(index: int, patch: Patch) -> dict[str, str | int]:
    """A line of metadata.csv; the index has no name, as in the release."""
    return {
        "": index,
        "patient": patch.slide.patient,
        "node": patch.slide.node,
        "x_coord": patch.x,
        "y_coord": patch.y,
        "tumor": int(patch.tumor),
        "slide": patch.slide.number,
        "center": patch.hospital.center,
        "split": patch.split,
    }
