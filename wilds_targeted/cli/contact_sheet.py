"""``wilds-targeted contact-sheet``."""

from __future__ import annotations

import click


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

    from wilds_targeted.contact_sheet import draw_contact_sheet, write_for_sheet
    from wilds_targeted.errors import ParameterError

    if Path(out).suffix.lower() != ".png":
        raise ParameterError(f"--out {out}: the ending .png is expected")
    Path(out).parent.mkdir(parents=True, exist_ok=True)  # what can't be written is told before the long part
    with tempfile.TemporaryDirectory() as folder:
        sheet = draw_contact_sheet(write_for_sheet(folder, seed), seed)
    sheet.save(out)
    click.echo(f"{out}: {len(sheet.names)} transforms")
    if sheet.left_out:
        click.echo(f"Not on it, for want of a miniature of their data sets: {', '.join(sheet.left_out)}.", err=True)
