"""`wilds-targeted miniature …`: generate a small data set in WILDS's format."""

from __future__ import annotations

from pathlib import Path

import click


@click.group("miniature")
def command() -> None:
    """Generate a small data set that WILDS reads like the real one.

    \b
    wilds-targeted miniature iwildcam --root_dir data
    """


@command.command("iwildcam")
@click.option(
    "--root-dir",
    "--root_dir",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write into; give it to WILDS as --root_dir.",
)
@click.option("--seed", default=0, show_default=True, help="Which world.")
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
@click.option("--overwrite", is_flag=True, help="Replace a miniature that is there (never anything else).")
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
    import shlex
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
    click.echo(f"Wrote {images.total()} images to {folder}:")
    click.echo("  " + ", ".join(f"{split} {images[split]}" for split in ("train", "id_val", "id_test", "val", "test")))
    click.echo("Look at it:")
    click.echo(
        f"  wilds-targeted preview --dataset iwildcam --root_dir {shlex.quote(str(root_dir))} "
        "--transform copypaste_samey --out preview.png"
    )
