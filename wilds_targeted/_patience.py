"""Trying again when the network fails."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from wilds_targeted._http import HttpFault
from wilds_targeted.disk import readable_size, say
from wilds_targeted.errors import DownloadError

T = TypeVar("T")


@dataclass(frozen=True)
class Patience:
    """How long to keep trying.

    Args:
        attempts: How many in a row may fail; one that brings something new counts as the first.
        first_wait_s: Seconds before the second attempt; each further wait is twice as long.
        longest_wait_s: The longest wait, even where the server asks for a longer one (Retry-After).
        timeout_s: Seconds without a byte after which an attempt has failed.
    """

    attempts: int = 6
    first_wait_s: float = 1.0
    longest_wait_s: float = 120.0
    timeout_s: float = 60.0


DEFAULT_PATIENCE = Patience()


def persist(
    attempt: Callable[[], T], url: str, patience: Patience, progress: bool, length: Callable[[], int] = lambda: 0
) -> T:
    """Do it until it works; what it returns.

    Args:
        attempt: One attempt, which raises `HttpFault` when it fails.
        url: What is fetched, for messages.
        patience: How long to keep trying.
        progress: Whether to tell of failed attempts.
        length: How many bytes are here; an attempt that raises this further than any before was not in vain. (Further
            than any: a server that always begins anew and always breaks off must not be asked for ever.)

    Raises:
        DownloadError: Patience has ended, or the fault is one that stays.
    """
    furthest, failures = length(), 0
    while True:
        try:
            return attempt()
        except HttpFault as fault:
            here = length()
            failures = 1 if here > furthest else failures + 1
            furthest = max(here, furthest)
            if not fault.may_pass or failures >= patience.attempts:
                kept = f" ({readable_size(here)} of it are here and stay)" if here else ""
                raise DownloadError(f"{url} could not be fetched: {fault}{kept}.") from None
            wait_s = min(max(patience.first_wait_s * 2 ** (failures - 1), fault.asked_wait_s), patience.longest_wait_s)
            say(f"{url}: {fault}; trying again in {wait_s:.0f} s", progress)
            time.sleep(wait_s)
