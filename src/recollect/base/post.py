"""One JSON request to a server that the settings name, and the key that it wants.

The whole call ends within its time, however slowly the server sends; no redirect is followed, no proxy is used."""

from __future__ import annotations

import http.client
import json
import os
import socket
import stat
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from recollect.base.errors import BadInput
from recollect.base.files import read_limited


class BadAddress(ValueError):
    pass


def post_json(
    url: str,
    body: Mapping[str, object],
    headers: Mapping[str, str],
    *,
    timeout_s: float,
    max_bytes: int,
) -> tuple[int, str, bytes]:
    """Status, reason, content (one byte over `max_bytes` if it is too long); OSError, HTTPException or ValueError."""
    kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
    try:
        parts = urlsplit(url)
        connection = kinds[parts.scheme if parts.hostname else ""](
            parts.hostname or "", parts.port, timeout=timeout_s
        )
    except (ValueError, KeyError):
        raise BadAddress("the URL must start with http:// or https://") from None
    is_over = threading.Event()
    sockets: list[
        socket.socket
    ] = []  # the connection drops its socket once the headers are read; we keep it

    def hang_up() -> None:
        is_over.set()
        for open_socket in sockets or filter(None, [connection.sock]):
            with suppress(OSError):
                open_socket.shutdown(socket.SHUT_RDWR)

    # A socket's timeout is for each step of a call; this one is for all of them together.
    timer = threading.Timer(timeout_s, hang_up)
    timer.daemon = True
    timer.start()
    try:
        connection.connect()
        sockets.append(connection.sock)
        sent = {"Content-Type": "application/json", "Accept": "application/json", **headers}
        connection.request("POST", parts.path, json.dumps(body).encode(), sent)
        response = connection.getresponse()
        reply = response.status, response.reason, response.read(max_bytes + 1)
    except (OSError, http.client.HTTPException, ValueError, AttributeError) as problem:
        if is_over.is_set():
            raise TimeoutError from None
        if isinstance(
            problem, AttributeError
        ):  # http.client's, when its connection is closed between two steps
            raise ConnectionError from None
        raise
    finally:
        timer.cancel()
        connection.close()
    if is_over.is_set():
        raise TimeoutError
    return reply


def read_key(file: Path) -> str:
    """The key in a file that nobody else may read; empty if there is no such file."""
    try:
        if sys.platform != "win32" and stat.S_IMODE(os.lstat(file).st_mode) & 0o077:
            raise BadInput(f"{file} can be read by others.", hint=f"chmod 600 {file}")
        key = read_limited(file, 10_000).decode("ascii").strip()
    except FileNotFoundError:
        return ""
    except (OSError, ValueError):
        raise BadInput(
            f"The key in {file} cannot be read.", hint="One line of plain text is expected."
        ) from None
    if not key.isprintable() or " " in key:
        raise BadInput(f"{file} does not hold a key.", hint="One line of plain text is expected.")
    return key
