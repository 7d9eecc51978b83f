"""``python -m birdcalls_dataset download``."""

from __future__ import annotations

from pathlib import Path

import click

from birdcalls_dataset.releases import RELEASES


@click.command("download")
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to make a folder for each release in.",
)
@click.option(
    "--release",
    "names",
    multiple=True,
    type=click.Choice([release.name for release in RELEASES]),
    help="Only this one; may be given more than once.",
)
@click.option("--zenodo", metavar="URL", help="A mirror of Zenodo, to be asked in its place.")
@click.option("--keep-archive", "--keep_archive", is_flag=True, help="Keep the zips when they are unpacked.")
def command(out: Path, names: tuple[str, ...], zenodo: str | None, keep_archive: bool) -> None:
    """Fetch the public recordings from Zenodo, verify their checksums, and unpack them.

    Stopped and called again, it goes on where it was. Files that you fetched yourself and put into the folders are
    verified and unpacked as well.

    \b
    python -m birdcalls_dataset download --out recordings
    python -m birdcalls_dataset download --out recordings --release hawaii
    """
    import shlex

    from birdcalls_dataset.download import ZENODO, download_releases
    from wilds_targeted.errors import DownloadError

    releases = [release for release in RELEASES if not names or release.name in names]
    try:
        folders = download_releases(
            out, releases, zenodo=ZENODO if zenodo is None else zenodo, keep_archives=keep_archive
        )
    except DownloadError as error:
        for note in getattr(error, "__notes__", ()):
            click.echo(note, err=True)
        raise
    click.echo("Ready:")
    for folder in folders:
        click.echo(f"  {folder}")
    click.echo("Build the data set of them:")
    recordings = " ".join(f"--recordings {shlex.quote(str(folder))}" for folder in folders)
    click.echo(f"  python -m birdcalls_dataset build {recordings} --out data")
