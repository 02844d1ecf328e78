# SPDX-License-Identifier: Apache-2.0
"""Tables that lie elsewhere (https://, s3://, gs://, az://) and standard input: copied into the engine's private directory, then read.

Object stores are asked by obstore (extra `cloud`), with credentials from the usual environment variables. Credentials, and what an address
holds beside its place, appear in no message: failures are told in words of our own.
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

from divulge.engines import DuckDBEngine
from divulge.errors import BadInput, MissingDependency
from divulge.table.paths import LOGS, Address, TableFormat

WEB = ("http", "https")
STORES = ("s3", "s3a", "gs", "az", "abfs", "abfss")
_VARIABLES = {"s": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION", "g": "GOOGLE_APPLICATION_CREDENTIALS"}
_SECRET_VARIABLES = re.compile(r"(AWS|AZURE|GOOGLE)_.*(KEY|SECRET|TOKEN|SAS|PASSWORD|CREDENTIAL)")
_SECONDS = 60
_CHUNK = 1 << 20
_GLOB = re.compile(r"[*?\[]")
_received: list[bool] = []
"""Whether standard input was read, which can be done once."""


def receive(engine: DuckDBEngine) -> Path:
    """Standard input, in a file; JSON is known by its first sign, the rest by its first bytes as any file is."""
    if sys.stdin is None or sys.stdin.isatty():
        raise BadInput("nothing is piped into standard input, which - stands for", hint="cat table.csv | divulge ... -")
    if _received:
        raise BadInput("standard input can be read only once, and was", hint="Write it to a file first")
    _received.append(True)
    stream: Any = getattr(sys.stdin, "buffer", None)
    start = stream.read(_CHUNK) if stream is not None else sys.stdin.read().encode()
    ending = ".jsonl" if start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[") else ""
    copy = engine.directory / f"{engine.fresh_name('received')}{ending}"
    with copy.open("wb") as out:
        out.write(start)
        if stream is not None:
            shutil.copyfileobj(stream, out, _CHUNK)
    return copy


def download(address: Address, engine: DuckDBEngine) -> Path:
    """A file of the web, copied."""
    import urllib.error
    import urllib.request
    from http.client import HTTPException  # with ssl behind it, which a local file does not need

    parts = urlsplit(address.url)
    login, _, host = parts.netloc.rpartition("@")
    request = urllib.request.Request(urlunsplit((*parts[:1], host, *parts[2:4], "")))  # noqa: S310 - http and https come here
    if login:
        token = base64.b64encode(unquote(login).encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {token}")  # not for whom a redirect leads to
    copy = _new_folder(engine) / (Path(unquote(parts.path)).name or "table")
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer, copy.open("wb") as out:  # noqa: S310
            shutil.copyfileobj(answer, out, _CHUNK)
            length = answer.headers.get("Content-Length")
        whole = length is None or int(length) == copy.stat().st_size
        failure = None if whole else "the connection ended before the file did"
    except urllib.error.HTTPError as error:
        failure = f"the server answers {error.code} {error.reason}"
    except urllib.error.URLError as error:
        failure = str(error.reason)
    except (HTTPException, OSError, ValueError) as error:
        failure = type(error).__name__ if isinstance(error, HTTPException | ValueError) else str(error)
    if failure is None:
        return copy
    # Raised outside of the handlers, whose errors hold the address as it was given.
    raise BadInput(f"{address.shown} cannot be fetched: {address.redact(failure)}")


@dataclass(frozen=True)
class Bucket:
    """A place in an object store: its store, and the key, prefix or glob below it."""

    address: Address
    store: Any
    key: str

    @classmethod
    def of(cls, address: Address) -> Bucket:
        """Open the store; nothing is asked of it yet."""
        try:
            from obstore.store import from_url
        except ImportError:
            hint = "Install it with: pip install 'divulge[cloud]'"
            raise MissingDependency(f"reading {address.scheme}:// addresses needs obstore", hint=hint) from None
        parts = urlsplit(address.url)
        root = urlunsplit((*parts[:2], "", "", ""))
        with _told(address):
            store = from_url(root, retry_config={"max_retries": 3})
        return cls(address, store, unquote(parts.path).strip("/"))

    def log_format(self) -> TableFormat | None:
        """What table with a log this is; a part of one is refused, as on disk."""
        fixed = PurePosixPath(_GLOB.split(self.key)[0].rpartition("/")[0] if _GLOB.search(self.key) else self.key)
        for folder in (fixed, *fixed.parents):
            for marker, form in LOGS.items():
                inside, _, ending = marker.partition("/")
                names = self._keys(f"{'' if folder == PurePosixPath() else f'{folder}/'}{inside}/")
                if any(name.endswith(ending.lstrip("*")) for name in names):
                    if str(folder) == self.key:
                        return form
                    told = f"{self.address.shown} lies in a table of {form}, whose files also hold rows that its log says are gone"
                    raise BadInput(told, hint=f"Name the table itself: …/{folder}")
        return None

    def fetch(self, engine: DuckDBEngine) -> Path:
        """The file, or the folder of files that the prefix or the glob stands for, copied."""
        import obstore

        fixed, pattern = (self.key, None)
        if _GLOB.search(self.key):
            fixed, pattern = _GLOB.split(self.key)[0].rpartition("/")[0], _as_pattern(self.key)
        elif self._is_there():
            folder = _new_folder(engine)
            return self._copy(obstore, self.key, folder / PurePosixPath(self.key).name)
        folder = _new_folder(engine)
        for name in self._keys(f"{fixed}/" if fixed else ""):
            below = PurePosixPath(name).relative_to(fixed) if fixed else PurePosixPath(name)
            hidden = pattern is None and any(part[0] in "._" for part in below.parts)
            if not hidden and not name.endswith("/") and (pattern is None or pattern.fullmatch(name)):
                self._copy(obstore, name, folder.joinpath(*below.parts))
        if not any(folder.iterdir()):
            raise BadInput(f"there is nothing at {self.address.shown}", hint="Check the bucket and the path")
        return folder

    def _is_there(self) -> bool:
        import obstore

        with _told(self.address):
            try:
                obstore.head(self.store, self.key)
            except FileNotFoundError:
                return False
        return True

    def _keys(self, prefix: str) -> Iterator[str]:
        import obstore

        with _told(self.address):
            for batch in obstore.list(self.store, prefix=prefix):
                yield from (str(entry["path"]) for entry in batch)

    def _copy(self, obstore: Any, key: str, target: Path) -> Path:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _told(self.address), target.open("wb") as out:
            for chunk in obstore.get(self.store, key).stream(min_chunk_size=_CHUNK):
                out.write(chunk)
        return target


@contextmanager
def _told(address: Address) -> Iterator[None]:
    """Failures of an object store in one line that holds no secret."""
    try:
        yield
    except BadInput:
        raise
    except Exception as error:  # noqa: BLE001 - obstore raises errors of its own, Python's, and Rust's panics
        failure = _failure(error, address)
    else:
        return
    # Raised outside of the handler: the store's own words may hold a signed address.
    raise failure


def _failure(error: Exception, address: Address) -> BadInput:
    place, name = address.shown, type(error).__name__
    if isinstance(error, FileNotFoundError):
        return BadInput(f"there is nothing at {place}", hint="Check the bucket and the path")
    variables = _VARIABLES.get(address.scheme[0], "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY")
    if name in ("PermissionDeniedError", "UnauthenticatedError") or isinstance(error, PermissionError):
        return BadInput(f"{place} cannot be read: access is denied", hint=f"Set {variables}")
    line = re.sub(r"\w+://\S+", place, (str(error).splitlines() or [name])[0]).partition(": <")[0]
    for variable, value in os.environ.items():
        if _SECRET_VARIABLES.match(variable) and value:
            line = line.replace(value, "***")
    return BadInput(f"{place} cannot be read: {address.redact(line)}", hint=f"Are these set: {variables}?")


def _new_folder(engine: DuckDBEngine) -> Path:
    folder = engine.directory / engine.fresh_name("fetched")
    folder.mkdir()
    return folder


def _as_pattern(glob: str) -> re.Pattern[str]:
    """A glob over keys: * and ? stay within a folder, ** does not."""
    pieces = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]+\])", glob)
    meant = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meant.get(one, one if one.startswith("[") else re.escape(one)) for one in pieces))
