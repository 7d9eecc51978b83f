"""Requests with the standard library, whose many ways to fail end in one exception."""

from __future__ import annotations

import contextlib
import email.message
import email.utils
import http.client
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from typing import IO

from wilds_targeted import __version__
from wilds_targeted.errors import DownloadError, one_line

PIECE = 1 << 18
"""How many bytes are read at a time: the interval in which an interruption loses something, and a bar moves."""

# Zenodo asks programs to say who they are, and turns the names of common libraries away when it is busy.
USER_AGENT = f"wilds-targeted/{__version__}"

PASSING_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})


class HttpFault(Exception):
    """A request that failed; the message is the reason.

    Args:
        reason: Why.
        may_pass: Whether the same request may work later.
        status: The server's status, where it answered.
        headers: What came with it.
    """

    def __init__(
        self, reason: str, *, may_pass: bool, status: int | None = None, headers: email.message.Message | None = None
    ) -> None:
        super().__init__(reason)
        self.may_pass = may_pass
        self.status = status
        self.headers = email.message.Message() if headers is None else headers

    @property
    def asked_wait_s(self) -> float:
        """How long the server asks to wait (Retry-After: seconds or a date); 0 where it does not."""
        asked = self.headers.get("Retry-After", "").strip()
        if asked.isdecimal():
            return float(asked)  # infinity, where there are too many digits
        with contextlib.suppress(ValueError, TypeError, OverflowError):
            return max(0.0, email.utils.parsedate_to_datetime(asked).timestamp() - time.time())
        return 0.0


def told_length(text: str) -> int | None:
    """A number of bytes that a server tells; None where it is none, or more than any disk holds.

    >>> [told_length(text) for text in ("12", "-1", "many", "9" * 5000)]
    [12, None, None, None]
    """
    return int(text) if text.isdecimal() and len(text) <= 18 else None


def is_web_address(url: str) -> bool:
    """Whether that is an http(s) address; urllib would open files of this machine, too."""
    try:
        parts = urllib.parse.urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


class _RedirectToTheWeb(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http(s) only; urllib follows those to ftp, too."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        if not is_web_address(newurl):
            raise urllib.error.HTTPError(newurl, code, f"redirect to {newurl}, which is no web address", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@contextlib.contextmanager
def _faults() -> Iterator[None]:
    """Turn whatever the network raises into `HttpFault`; nothing but the network may be used inside."""
    try:
        yield
    except urllib.error.HTTPError as error:
        with error:
            reason = f"the server answered {error.code} {error.reason}".rstrip()
            passing = error.code in PASSING_STATUSES
            raise HttpFault(reason, may_pass=passing, status=error.code, headers=error.headers) from None
    except http.client.InvalidURL as error:
        raise HttpFault(one_line(error), may_pass=False) from None
    except (http.client.HTTPException, OSError) as error:
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        # A certificate does not become valid by asking again.
        may_pass = not isinstance(cause, ssl.SSLCertVerificationError)
        reason = one_line(cause) if isinstance(cause, BaseException) else str(cause)
        raise HttpFault(reason, may_pass=may_pass) from None
    except ValueError as error:  # names and addresses that can't be sent
        raise HttpFault(one_line(error), may_pass=False) from None


def open_url(url: str, headers: Mapping[str, str], timeout_s: float) -> http.client.HTTPResponse:
    """Ask for that address, following redirects.

    Raises:
        DownloadError: That is no http(s) address.
        HttpFault: Nothing, or an error, was the answer.
    """
    if not is_web_address(url):
        raise DownloadError(f"{url!r} is no address that can be fetched: it must begin with http:// or https://.")
    with _faults():
        # Made anew each time: a program may change its proxy settings.
        opener = urllib.request.build_opener(_RedirectToTheWeb)
        request = urllib.request.Request(url, headers={"User-Agent": USER_AGENT, **headers})
        response: http.client.HTTPResponse = opener.open(request, timeout=timeout_s)
    return response


def read_pieces(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """The body as it arrives.

    Raises:
        HttpFault: The connection broke off or nothing came for too long.
    """
    while True:
        with _faults():
            # Not `read`, which waits until it has all it was asked for.
            piece = response.read1(PIECE)
        if not piece:
            return
        yield piece
