"""A server on this machine that serves files from memory, and misbehaves when told to."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PIECE = 4096


class Handler(BaseHTTPRequestHandler):
    server: FileServer

    def do_GET(self) -> None:
        self.server.requests.append((self.path, dict(self.headers)))
        plan = self.server.plans[self.path]
        behave = plan.pop(0) if plan else serve
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            behave(self)

    @property
    def content(self) -> bytes | None:
        return self.server.files.get(self.path)

    def log_message(self, *_: object) -> None:
        pass

    def answer(self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        for start in range(0, len(body), PIECE):
            self.wfile.write(body[start : start + PIECE])
            self.server.sent += len(body[start : start + PIECE])
            self.server.pause.wait(self.server.pause_s)


Behaviour = Callable[[Handler], None]


class FileServer(ThreadingHTTPServer):
    """Files by path, and for each path what to do at the next requests; after that it serves as it should."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.plans: defaultdict[str, list[Behaviour]] = defaultdict(list)
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.sent = 0
        self.pause_s = 0.0
        self.pause = threading.Event()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def headers_of(self, path: str) -> list[dict[str, str]]:
        return [headers for asked, headers in self.requests if asked == path]


@contextlib.contextmanager
def serving() -> Iterator[FileServer]:
    with FileServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.pause.set()  # ends pauses and hangs
            server.shutdown()
            thread.join()


def etag_of(content: bytes) -> str:
    return f'"{hashlib.md5(content).hexdigest()}"'


def serve(handler: Handler) -> None:
    """As a server should: ranges, If-Range, 416."""
    content = handler.content
    if content is None:
        return handler.answer(404)
    etag = etag_of(content)
    asked = handler.headers.get("Range", "")
    if not asked or handler.headers.get("If-Range", etag) != etag:
        return handler.answer(200, content, {"ETag": etag})
    start = int(asked.removeprefix("bytes=").removesuffix("-"))
    if start >= len(content):
        return handler.answer(416, b"", {"Content-Range": f"bytes */{len(content)}"})
    place = f"bytes {start}-{len(content) - 1}/{len(content)}"
    return handler.answer(206, content[start:], {"ETag": etag, "Content-Range": place})


def serve_without_ranges(handler: Handler) -> None:
    handler.answer(200, handler.content or b"")


def serve_without_length(handler: Handler) -> None:
    """As HTTP/1.0 did: the end of the connection is the end of the file."""
    handler.answer(200, handler.content or b"", {"Content-Length": ""})


def break_off_after(count: int) -> Behaviour:
    """Announce all that was asked for, send so many bytes of it, and close the connection."""

    def behave(handler: Handler) -> None:
        content = handler.content or b""
        start = int(handler.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        headers = {"Content-Length": str(len(content) - start), "ETag": etag_of(content)}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        handler.answer(206 if start else 200, content[start : start + count], headers)

    return behave


def answer(status: int, body: bytes = b"", **headers: str) -> Behaviour:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: handler.answer(status, body, named)


def hang(handler: Handler) -> None:
    """Take the request and say nothing, until the server ends."""
    handler.server.pause.wait(20)


def fall_silent_after(count: int) -> Behaviour:
    def behave(handler: Handler) -> None:
        break_off_after(count)(handler)
        hang(handler)

    return behave


def break_off_without_ranges(count: int) -> Behaviour:
    return lambda handler: handler.answer(
        200, (handler.content or b"")[:count], {"Content-Length": str(len(handler.content or b""))}
    )
