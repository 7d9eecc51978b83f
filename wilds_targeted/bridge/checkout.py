"""Find a WILDS checkout, or make one."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from wilds_targeted.bridge.autoload import is_examples_folder
from wilds_targeted.errors import CheckoutError
from wilds_targeted.files import cache_folder

REPOSITORY = "https://github.com/p-lambda/wilds.git"
PINNED_COMMIT = "472677590de351857197a9bf24958838c39c272b"
"""The commit that the bridge is tested against: WILDS 2.0 with its last changes."""

CHECKOUT_VARIABLE = "WILDS_CHECKOUT"


def find_checkout(explicit: str | Path | None = None, environ: Mapping[str, str] = os.environ) -> Path:
    """The checkout to use: the one given, else $WILDS_CHECKOUT, else ./wilds, else the one that was fetched.

    Args:
        explicit: The value of ``--wilds``.
        environ: Where the variables are read.
    """
    if explicit is not None:
        return _demand(Path(explicit), "--wilds")
    if environ.get(CHECKOUT_VARIABLE):
        return _demand(Path(environ[CHECKOUT_VARIABLE]), f"${CHECKOUT_VARIABLE}")
    fetched = cache_folder(environ) / "wilds"
    for candidate in (Path("wilds"), fetched):
        if is_checkout(candidate):
            return candidate
    error = CheckoutError(
        f"no WILDS checkout: looked at --wilds, ${CHECKOUT_VARIABLE}, ./wilds and {fetched}. "
        f"`wilds-targeted fetch-wilds` makes one, or `git clone {REPOSITORY}`."
    )
    error.is_absence = True
    raise error


def is_checkout(folder: Path) -> bool:
    """Whether that folder is a WILDS checkout with its example scripts."""
    return is_examples_folder(folder / "examples") and (folder / "examples" / "run_expt.py").is_file()


def _demand(folder: Path, source: str) -> Path:
    folder = folder.expanduser()
    if not is_checkout(folder):
        raise CheckoutError(
            f"{source} is {folder}, which is no WILDS checkout: there is no examples/run_expt.py with its modules. "
            f"Give the folder that `git clone {REPOSITORY}` makes."
        )
    return folder


def fetch_checkout(source: str | None = None, environ: Mapping[str, str] = os.environ) -> Path:
    """Clone WILDS at the pinned commit into the cache folder, whole or not at all.

    Args:
        source: A clone or a copy of WILDS on this machine, to use instead of the network.
        environ: Where the cache folder is read.
    """
    target = cache_folder(environ) / "wilds"
    if is_checkout(target) and source is None:
        return target
    if is_checkout(target):
        raise CheckoutError(f"there is a WILDS checkout at {target} already; remove it to take {source}.")
    if target.exists():
        raise CheckoutError(f"{target} is there but is no WILDS checkout; remove it and try again.")
    folder = None if source is None else Path(source).expanduser().resolve()
    if folder is not None and not folder.is_dir():
        raise CheckoutError(f"--from {source}: there is no such folder.")
    target.parent.mkdir(parents=True, exist_ok=True)
    origin = REPOSITORY if folder is None else str(folder)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetching-") as temporary:
        arriving = Path(temporary) / "wilds"
        if folder is not None and is_checkout(folder) and not (folder / ".git").exists():
            shutil.copytree(folder, arriving)  # unpacked from an archive
        else:
            _clone(origin, arriving)
        if not is_checkout(arriving):
            raise CheckoutError(f"{origin} has no examples/run_expt.py with its modules: is it WILDS?")
        arriving.rename(target)
    return target


def _clone(origin: str, target: Path) -> None:
    steps = [
        ["git", "clone", "--quiet", "--no-checkout", origin, str(target)],
        ["git", "-C", str(target), "checkout", "--quiet", PINNED_COMMIT],
    ]
    for step in steps:
        try:
            # Never wait for a password: a closed network or a wrong address must end in one line.
            subprocess.run(
                step,
                check=True,
                capture_output=True,
                text=True,
                env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
            )
        except FileNotFoundError:
            raise CheckoutError("git is not installed, and cloning WILDS needs it.") from None
        except subprocess.CalledProcessError as error:
            reason = " ".join(error.stderr.split()) or f"git ended with status {error.returncode}"
            raise CheckoutError(
                f"WILDS could not be cloned from {origin} ({reason}). Without a network, copy a clone here and use "
                f"`wilds-targeted fetch-wilds --from PATH`."
            ) from None
