"""`wilds-targeted miniature …`: generate a small data set in WILDS's format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

Command = Callable[..., Any]


def _shared_options(function: Command) -> Command:
    """The options that every miniature has."""
    root_dir = click.option(
        "--root-dir",
        "--root_dir",
        required=True,
        type=click.Path(file_okay=False, path_type=Path),
        help="Folder to write into; give it to WILDS as --root_dir.",
    )
    seed = click.option("--seed", default=0, show_default=True, help="Which world.")
    overwrite = click.option(
        "--overwrite", is_flag=True, help="Replace a miniature that is there (never anything else)."
    )
    return root_dir(seed(overwrite(function)))


def _report(
    name: str, root_dir: Path, folder: Path, counts: Mapping[str, int], transform: str, *, unit: str = "images"
) -> None:
    """Say what was written, split by split, and how to look at it."""
    import shlex

    click.echo(f"Wrote {sum(counts.values())} {unit} to {folder}:")
    click.echo("  " + ", ".join(f"{split} {count}" for split, count in counts.items()))
    click.echo("Look at it:")
    click.echo(
        f"  wilds-targeted preview --dataset {name} --root_dir {shlex.quote(str(root_dir))} "
        f"--transform {transform} --out preview.png"
    )


@click.group("miniature")
def command() -> None:
    """Generate a small data set that WILDS reads like the real one.

    \b
    wilds-targeted miniature iwildcam --root_dir data
    wilds-targeted miniature camelyon17 --root_dir data
    wilds-targeted miniature birdcalls --root_dir data
    """


@command.command("iwildcam")
@_shared_options
@click.option("--train-cameras", "--train_cameras", default=12, show_default=True, help="For train, id_val, id_test.")
@click.option("--val-cameras", "--val_cameras", default=24, show_default=True, help="Other cameras, for val.")
@click.option("--test-cameras", "--test_cameras", default=30, show_default=True, help="Other cameras, for test.")
@click.option(
    "--images-per-camera", "--images_per_camera", default=180, show_default=True, help="Of each training camera."
)
@click.option(
    "--images-per-unseen-camera",
    "--images_per_unseen_camera",
    default=12,
    show_default=True,
    help="Of each camera for val and test.",
)
@click.option("--size", type=(int, int), default=(96, 72), show_default=True, help="Width and height in pixels.")
def iwildcam(
    root_dir: Path,
    seed: int,
    train_cameras: int,
    val_cameras: int,
    test_cameras: int,
    images_per_camera: int,
    images_per_unseen_camera: int,
    size: tuple[int, int],
    overwrite: bool,
) -> None:
    """Camera traps in three habitats, with masks, detections and coordinates.

    Some species are look-alikes that only their habitat tells apart, and every camera has scenery, a tint and a most
    frequent species of its own.
    """
    import csv
    from collections import Counter

    from wilds_targeted.miniatures.iwildcam import write_iwildcam

    width, height = size
    folder = write_iwildcam(
        root_dir,
        seed=seed,
        train_cameras=train_cameras,
        val_cameras=val_cameras,
        test_cameras=test_cameras,
        images_per_camera=images_per_camera,
        images_per_unseen_camera=images_per_unseen_camera,
        width=width,
        height=height,
        overwrite=overwrite,
    )
    with (folder / "metadata.csv").open(newline="", encoding="utf-8") as file:
        images = Counter(row["split"] for row in csv.DictReader(file))
    splits = ("train", "id_val", "id_test", "val", "test")
    _report("iwildcam", root_dir, folder, {split: images[split] for split in splits}, "copypaste_samey")


@command.command("camelyon17")
@_shared_options
@click.option(
    "--train-patches", "--train_patches", default=800, show_default=True, help="Of each of three training hospitals."
)
@click.option(
    "--id-val-patches", "--id_val_patches", default=160, show_default=True, help="More of each training hospital."
)
@click.option("--val-patches", "--val_patches", default=800, show_default=True, help="Of the hospital for val.")
@click.option("--test-patches", "--test_patches", default=1000, show_default=True, help="Of the hospital for test.")
def camelyon17(
    root_dir: Path,
    seed: int,
    train_patches: int,
    id_val_patches: int,
    val_patches: int,
    test_patches: int,
    overwrite: bool,
) -> None:
    """Patches of stained lymph nodes from five hospitals, half of them tumour.

    Every hospital has its own stain, which leans on the label where models train, and its own shares of the three
    stages, which decide what nuclei and their arrangement mean.
    """
    from wilds_targeted.miniatures._hospitals import TRAIN_CENTERS
    from wilds_targeted.miniatures.camelyon17 import write_camelyon17

    folder = write_camelyon17(
        root_dir,
        seed=seed,
        train_patches=train_patches,
        id_val_patches=id_val_patches,
        val_patches=val_patches,
        test_patches=test_patches,
        overwrite=overwrite,
    )
    hospitals = len(TRAIN_CENTERS)
    images = {
        "train": hospitals * train_patches,
        "id_val": hospitals * id_val_patches,
        "val": val_patches,
        "test": test_patches,
    }
    _report("camelyon17", root_dir, folder, images, "stain_color_jitter")


@command.command("birdcalls")
@_shared_options
@click.option(
    "--training-microphones",
    "--training_microphones",
    default=3,
    show_default=True,
    help="In each of three regions, for train, id_val, id_test.",
)
@click.option(
    "--unseen-microphones",
    "--unseen_microphones",
    default=4,
    show_default=True,
    help="Others in each region, for ood_train, ood_val, test.",
)
@click.option(
    "--minutes-per-microphone",
    "--minutes_per_microphone",
    default=15,
    show_default=True,
    help="Of each training microphone.",
)
@click.option(
    "--minutes-per-unseen-microphone",
    "--minutes_per_unseen_microphone",
    default=5,
    show_default=True,
    help="Of each of the others.",
)
@click.option(
    "--keep-recordings",
    "--keep_recordings",
    is_flag=True,
    help="Leave the recordings that the clips are cut from in birdcalls_recordings.",
)
def birdcalls(
    root_dir: Path,
    seed: int,
    training_microphones: int,
    unseen_microphones: int,
    minutes_per_microphone: int,
    minutes_per_unseen_microphone: int,
    keep_recordings: bool,
    overwrite: bool,
) -> None:
    """Recordings of birds in three regions, cut into clips by BirdCalls' own build.

    Some species sound alike, and only what else is to be heard in their region tells them apart; every microphone has
    a hiss, a hum and a most frequent species of its own.
    """
    import json

    from birdcalls_dataset.facts import FACTS_FILE
    from birdcalls_dataset.table import SPLITS
    from wilds_targeted.miniatures.birdcalls import RECORDINGS_FOLDER, write_birdcalls

    folder = write_birdcalls(
        root_dir,
        seed=seed,
        training_microphones=training_microphones,
        unseen_microphones=unseen_microphones,
        minutes_per_microphone=minutes_per_microphone,
        minutes_per_unseen_microphone=minutes_per_unseen_microphone,
        keep_recordings=keep_recordings,
        overwrite=overwrite,
    )
    found = json.loads((folder / FACTS_FILE).read_text(encoding="utf-8"))["splits"]
    clips = {split: found.get(split, 0) for split in SPLITS}
    _report("birdcalls", root_dir, folder, clips, "copypaste_sameregion", unit="clips")
    if keep_recordings:
        click.echo(f"The recordings are in {root_dir / RECORDINGS_FOLDER}.")
