"""``wilds-targeted contact-sheet``."""

from __future__ import annotations

import click

NAMES_KEY = "transforms"
"""Under which a PNG file tells the names of the transforms that it shows."""


@click.command()
@click.option("--out", default="augmentations.png", show_default=True, metavar="FILE.png", help="Picture to write.")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Chooses worlds, examples and draws."
)
def command(out: str, seed: int) -> None:
    """Draw every registered transform, before and after, on generated data.

    The miniatures are generated for it in a temporary folder, which takes some seconds.

    \b
      wilds-targeted contact-sheet --out augmentations.png
    """
    import tempfile
    from pathlib import Path

    from PIL.PngImagePlugin import PngInfo

    from wilds_targeted.contact_sheet import draw_contact_sheet, write_for_sheet
    from wilds_targeted.errors import ParameterError
    from wilds_targeted.files import written_whole

    if Path(out).suffix.lower() != ".png":
        raise ParameterError(f"--out {out}: the ending .png is expected")
    with tempfile.TemporaryDirectory() as folder:
        sheet = draw_contact_sheet(write_for_sheet(folder, seed), seed)
    facts = PngInfo()
    facts.add_text(NAMES_KEY, " ".join(sheet.names))
    with written_whole(out) as arriving:
        sheet.image.save(arriving, pnginfo=facts, optimize=True)
    click.echo(f"{out}: {len(sheet.names)} transforms")
    if sheet.left_out:
        click.echo(f"Not on it, for want of a miniature of their data sets: {', '.join(sheet.left_out)}.", err=True)
