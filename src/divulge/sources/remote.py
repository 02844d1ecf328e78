# SPDX-License-Identifier: Apache-2.0
"""Copy remote tables and standard input into the engine's private directory, then read them.

Remote addresses are https://, s3://, gs:// and az://. Object stores are read by obstore (extra
`cloud`), with credentials from the usual environment variables. Credentials, and secret parts of an
address, appear in no message: failures are described in our own words.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from divulge.arguments import outside
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput, MissingDependency
from divulge.sources.paths import LOGS, Address, TableFormat

WEB = ("http", "https")
STORES = ("s3", "s3a", "gs", "az", "abfs", "abfss")
_VARIABLES = {
    "s": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION",
    "g": "GOOGLE_APPLICATION_CREDENTIALS",
}
_SECRET_VARIABLES = re.compile(r"(AWS|AZURE|GOOGLE)_.*(KEY|SECRET|TOKEN|SAS|PASSWORD|CREDENTIAL)")
_TIMEOUT = 60
_CHUNK = 1 << 20
_GLOB = re.compile(r"[*?\[]")
_stdin_reads: list[bool] = []
"""Not empty once standard input was read, which is possible only once."""


def receive(engine: DuckDBEngine) -> Path:
    """Copy standard input to a file.

    JSON is recognized by its first character, other formats by their first bytes as in any file.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise BadInput(
            "nothing is piped into standard input, which - stands for",
            hint="cat table.csv | divulge ... -",
        )
    if _stdin_reads:
        raise BadInput(
            "standard input can be read only once, and was", hint="Write it to a file first"
        )
    _stdin_reads.append(True)
    stream: Any = getattr(sys.stdin, "buffer", None)
    if stream is not None:
        start = stream.read(_CHUNK)
    else:
        start = sys.stdin.read().encode()
    if start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        ending = ".jsonl"
    else:
        ending = ""
    copy = engine.directory / f"{engine.fresh_name('received')}{ending}"
    with copy.open("wb") as out:
        out.write(start)
        if stream is not None:
            shutil.copyfileobj(stream, out, _CHUNK)
    return copy


def download(address: Address, engine: DuckDBEngine) -> Path:
    """Download a file from the web."""
    import urllib.error
    import urllib.request
    from http.client import HTTPException  # with ssl behind it, which a local file does not need

    parts = urlsplit(address.url)
    login, _, host = parts.netloc.rpartition("@")
    request = urllib.request.Request(urlunsplit((*parts[:1], host, *parts[2:4], "")))  # noqa: S310 - http and https come here
    if login:
        token = base64.b64encode(unquote(login).encode()).decode()
        # not sent to the target of a redirect
        request.add_unredirected_header("Authorization", f"Basic {token}")
    copy = _new_folder(engine) / (Path(unquote(parts.path)).name or "table")
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer, copy.open("wb") as out:  # noqa: S310
            shutil.copyfileobj(answer, out, _CHUNK)
            length = answer.headers.get("Content-Length")
        is_complete = length is None or int(length) == copy.stat().st_size
        if is_complete:
            failure = None
        else:
            failure = "the connection ended before the file did"
    except urllib.error.HTTPError as error:
        failure = f"the server answers {error.code} {error.reason}"
    except urllib.error.URLError as error:
        failure = str(error.reason)
    except (HTTPException, OSError, ValueError) as error:
        if isinstance(error, HTTPException | ValueError):
            failure = type(error).__name__
        else:
            failure = str(error)
    if failure is None:
        return copy
    # Raised outside of the handlers, whose errors hold the address as it was given.
    raise BadInput(f"{address.display_name} cannot be fetched: {outside(address.redact(failure))}")


@dataclass(frozen=True)
class Bucket:
    """Location in an object store: its store, and the key, prefix or glob below it."""

    address: Address
    store: Any
    key: str

    @classmethod
    def of(cls, address: Address) -> Bucket:
        """Open the store; no request is sent yet."""
        try:
            from obstore.store import from_url
        except ImportError:
            raise MissingDependency(
                f"reading {address.scheme}:// addresses needs obstore", extra="cloud"
            ) from None
        parts = urlsplit(address.url)
        root = urlunsplit((*parts[:2], "", "", ""))
        with _report_failures(address):
            store = from_url(root, retry_config={"max_retries": 3})
        return cls(address, store, unquote(parts.path).strip("/"))

    def log_format(self) -> TableFormat | None:
        """Return the format of a table with a log; a part of one raises an error, as on disk."""
        fixed = PurePosixPath(
            _GLOB.split(self.key)[0].rpartition("/")[0] if _GLOB.search(self.key) else self.key
        )
        for folder in (fixed, *fixed.parents):
            for marker, form in LOGS.items():
                inside, _, ending = marker.partition("/")
                names = self._keys(f"{'' if folder == PurePosixPath() else f'{folder}/'}{inside}/")
                if any(name.endswith(ending.lstrip("*")) for name in names):
                    if str(folder) == self.key:
                        return form
                    message = (
                        f"{self.address.display_name} lies in a table of {form}, whose files also "
                        "hold rows that its log says are gone"
                    )
                    raise BadInput(message, hint=f"Name the table itself: …/{folder}")
        return None

    def fetch(self, engine: DuckDBEngine) -> Path:
        """Copy the file, or the folder of files that match the prefix or the glob."""
        import obstore

        fixed = self.key
        pattern = None
        if _GLOB.search(self.key):
            fixed = _GLOB.split(self.key)[0].rpartition("/")[0]
            pattern = _glob_pattern(self.key)
        elif self._exists():
            folder = _new_folder(engine)
            return self._copy(obstore, self.key, folder / PurePosixPath(self.key).name)
        folder = _new_folder(engine)
        for name in self._keys(f"{fixed}/" if fixed else ""):
            if fixed:
                below = PurePosixPath(name).relative_to(fixed)
            else:
                below = PurePosixPath(name)
            is_hidden = pattern is None and any(part[0] in "._" for part in below.parts)
            if (
                not is_hidden
                and not name.endswith("/")
                and (pattern is None or pattern.fullmatch(name))
            ):
                self._copy(obstore, name, folder.joinpath(*below.parts))
        if not any(folder.iterdir()):
            raise BadInput(
                f"there is nothing at {self.address.display_name}",
                hint="Check the bucket and the path",
            )
        return folder

    def _exists(self) -> bool:
        import obstore

        with _report_failures(self.address):
            try:
                obstore.head(self.store, self.key)
            except FileNotFoundError:
                return False
        return True

    def _keys(self, prefix: str) -> Iterator[str]:
        import obstore

        with _report_failures(self.address):
            for batch in obstore.list(self.store, prefix=prefix):
                yield from (str(entry["path"]) for entry in batch)

    def _copy(self, obstore: Any, key: str, target: Path) -> Path:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _report_failures(self.address), target.open("wb") as out:
            for chunk in obstore.get(self.store, key).stream(min_chunk_size=_CHUNK):
                out.write(chunk)
        return target


@contextmanager
def _report_failures(address: Address) -> Iterator[None]:
    """Report failures of an object store in one line without secrets."""
    try:
        yield
    except BadInput:
        raise
    except Exception as error:  # noqa: BLE001 - obstore raises errors of its own, Python's, and Rust's panics
        failure = _failure(error, address)
    else:
        return
    # Raised outside of the handler: the store's message may hold a signed address.
    raise failure


def _failure(error: Exception, address: Address) -> BadInput:
    address_text = address.display_name
    name = type(error).__name__
    if isinstance(error, FileNotFoundError):
        return BadInput(f"there is nothing at {address_text}", hint="Check the bucket and the path")
    variables = _VARIABLES.get(
        address.scheme[0], "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY"
    )
    if name in ("PermissionDeniedError", "UnauthenticatedError") or isinstance(
        error, PermissionError
    ):
        return BadInput(f"{address_text} cannot be read: access is denied", hint=f"Set {variables}")
    line = re.sub(r"\w+://\S+", address_text, (str(error).splitlines() or [name])[0]).partition(
        ": <"
    )[0]
    for variable, value in os.environ.items():
        if _SECRET_VARIABLES.match(variable) and value:
            line = line.replace(value, "***")
    return BadInput(
        f"{address_text} cannot be read: {outside(address.redact(line))}",
        hint=f"Are these set: {variables}?",
    )


def _new_folder(engine: DuckDBEngine) -> Path:
    folder = engine.directory / engine.fresh_name("fetched")
    folder.mkdir()
    return folder


def _glob_pattern(glob: str) -> re.Pattern[str]:
    """Convert a glob over keys to a pattern: * and ? stay within a folder, ** does not."""
    pieces = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]+\])", glob)
    meant = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile(
        "".join(
            meant.get(piece, piece if piece.startswith("[") else re.escape(piece))
            for piece in pieces
        )
    )
