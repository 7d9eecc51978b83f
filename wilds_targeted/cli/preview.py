"""``wilds-targeted preview``."""

from __future__ import annotations

import click


@click.command()
@click.option("-d", "--dataset", required=True, help="Data set, such as iwildcam.")
@click.option("--root-dir", "--root_dir", required=True, metavar="DIR", help="Folder that holds the data set's folder.")
@click.option("--transform", required=True, metavar="NAME", help="Registered transform; `plugins` lists them.")
@click.option("--out", default="preview.png", show_default=True, metavar="FILE", help="Picture to write.")
@click.option("--rows", type=click.IntRange(1, 100), default=6, show_default=True, help="How many examples.")
@click.option("--draws", type=click.IntRange(1, 20), default=5, show_default=True, help="How many draws of each.")
@click.option("--seed", type=int, default=0, show_default=True, help="Chooses examples and draws.")
@click.option(
    "--transform-kwargs",
    "--transform_kwargs",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the transform; may be given several times.",
)
def command(
    dataset: str,
    root_dir: str,
    transform: str,
    out: str,
    rows: int,
    draws: int,
    seed: int,
    assignments: tuple[str, ...],
) -> None:
    """Draw originals and augmented images side by side, for any registered transform."""
    from pathlib import Path

    from PIL import Image

    from wilds_targeted.api import get_dataset
    from wilds_targeted.choice import parse_assignments
    from wilds_targeted.errors import ParameterError
    from wilds_targeted.files import written_whole
    from wilds_targeted.preview import draw_preview
    from wilds_targeted.registry import get_registry

    get_registry().transforms.find(transform)  # an unknown name is told before the data set is loaded
    if Image.registered_extensions().get(Path(out).suffix.lower()) not in Image.SAVE:
        raise ParameterError(f"--out {out}: the ending of a picture is expected, such as .png or .jpg")
    full = get_dataset(dataset, root_dir=root_dir)
    sheet = draw_preview(
        transform, full, rows=rows, draws=draws, seed=seed, parameters=dict(parse_assignments(assignments))
    )
    with written_whole(out) as arriving:
        sheet.save(arriving)
    click.echo(f"{out}: {rows} examples, {draws} draws each")
