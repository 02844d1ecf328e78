# SPDX-License-Identifier: Apache-2.0
"""From what the user typed to the files that hold the rows and what kind of files they are, or to the address where the table lies.

The content decides before the name does: a Parquet, Arrow or SQLite file is known by its first bytes.

The folder of a Delta Lake or Iceberg table also holds files whose rows were deleted or overwritten: read as plain Parquet they count
people who are no longer in the table, and every promise seems better kept than it is. So nothing in such a folder is read around its log.
"""

from __future__ import annotations

import glob
import os
import re
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from divulge.errors import BadInput, nearest

FileKind = Literal["csv", "json", "parquet", "arrow", "arrow stream", "sqlite", "duckdb", "excel", "spss", "stata"]
_KINDS: dict[str, FileKind] = {
    ".csv": "csv", ".tsv": "csv", ".tab": "csv", ".txt": "csv", ".data": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json",
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".arrows": "arrow stream",
    ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite",
    ".duckdb": "duckdb", ".ddb": "duckdb", ".xlsx": "excel", ".xlsm": "excel", ".xlsb": "excel", ".xls": "excel", ".ods": "excel",
    ".sav": "spss", ".zsav": "spss", ".dta": "stata",
}  # fmt: skip
_MAGIC: tuple[tuple[int, bytes, FileKind], ...] = (
    (0, b"PAR1", "parquet"),
    (0, b"ARROW1", "arrow"),
    (0, b"\xff\xff\xff\xff", "arrow stream"),
    (0, b"SQLite format 3\0", "sqlite"),
    (8, b"DUCK", "duckdb"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "excel"),
    (0, b"$FL2", "spss"),
    (0, b"$FL3", "spss"),
    (0, b"<stata_dta>", "stata"),
    *((0, bytes((version, order)), "stata") for version in (113, 114, 115) for order in (1, 2)),
)
_SHEETS = ("xl/workbook.xml", "xl/workbook.bin", "content.xml")
"""What one of lies in the archive that a spreadsheet is."""
_REFUSED: tuple[tuple[int, bytes, str], ...] = (
    (0, b"PK\x03\x04", "a zip archive, and no spreadsheet: unpack it first"),
    (0, b"FEA1", "a Feather file of version 1: write it anew as Arrow or Parquet"),
    (0, b"PARE", "an encrypted Parquet file: decrypt it first"),
    (0, b"%PDF", "a PDF document"),
)
TableFormat = Literal["Delta Lake", "Iceberg", "Hudi", "Spark stream"]
LOGS: dict[str, TableFormat] = {
    "_delta_log/*.json": "Delta Lake",
    "metadata/*.metadata.json": "Iceberg",
    ".hoodie/*": "Hudi",
    "_spark_metadata/*": "Spark stream",
}
"""The files that make a folder a table whose log says which of its files, and which of their rows, count."""
READABLE_LOGS = ("Delta Lake", "Iceberg")
ICEBERG_METADATA = re.compile(r"v?(\d+)(-.*)?\.metadata\.json")


@dataclass(frozen=True)
class Files:
    """Files of one kind that together hold one table."""

    paths: tuple[Path, ...]
    kind: FileKind
    root: Path
    """The folder the files were looked for in."""

    def shown(self, source: str) -> tuple[str, ...]:
        """Each file as messages call it: what the user typed if it is the only one, else its place below the root."""
        if len(self.paths) == 1:
            return (source,)
        return tuple(str(path.relative_to(self.root)) for path in self.paths)


@dataclass(frozen=True)
class LogTable:
    """A folder whose log says which of its files make up a table."""

    root: Path | str
    format: TableFormat

    def refusal(self) -> BadInput:
        """Why a part of it is not read."""
        named = f"Name the table itself: {self.root}"
        return BadInput(
            f"{self.root} is a table of {self.format}, whose files also hold rows that its log says are gone",
            hint=named
            if self.format in READABLE_LOGS
            else "Copy what it holds now to files of its own, and read those",
        )


def find_log_table(path: Path) -> LogTable | None:
    """The table with a log that a file or folder is, or lies in: the innermost one."""
    for folder in (path, *path.parents):
        for marker, form in LOGS.items():
            if next(folder.glob(marker), None) is not None:
                return LogTable(folder, form)
    return None


def find_lakehouse(source: str) -> LogTable | None:
    """The table with a log that the user named: by its folder or, for Iceberg, by one of its metadata files."""
    path = Path(source).expanduser().absolute()
    if path.is_dir():
        found = find_log_table(path)
        return found if found is not None and found.root == path else None
    if path.parent.name == "metadata" and ICEBERG_METADATA.fullmatch(path.name) and path.is_file():
        return LogTable(path.parent.parent, "Iceberg")
    return None


def _refuse_parts(paths: Iterable[Path]) -> None:
    for folder in sorted({path.parent for path in paths}):
        if (found := find_log_table(folder)) is not None:
            raise found.refusal()


def find_files(source: str, shown: str | None = None) -> Files:
    """The files behind a path, a folder or a glob; a file whose name contains glob characters wins over the glob.

    `shown` is what messages call it, where it is a copy.
    """
    if not source:
        raise BadInput("the table's path is empty", hint="Name a file, a folder, a glob or a postgresql:// URL")
    path, called = Path(source).expanduser().absolute(), shown or source
    if path.is_file():
        _refuse_parts([path])
        return Files((path,), file_kind(path, shown=called), path.parent)
    if path.is_dir():
        if (found := find_log_table(path)) is not None:
            raise found.refusal()
        return _of_one_kind(_data_files(path), called, root=path, empty=f"the folder {called} holds no data files")
    if path.exists():
        raise BadInput(f"{source} is neither a file nor a folder", hint="Copy the data to a file first")
    if glob.has_magic(source):
        matches = glob.glob(str(path), recursive=True)  # noqa: PTH207 - Path.glob would match hidden files too
        hits = [hit for hit in map(Path, sorted(matches)) if hit.is_file()]
        fixed = next(parent for parent in path.parents if not glob.has_magic(str(parent)))
        return _of_one_kind(hits, source, root=fixed, empty=f"no file matches {source}")
    if not path.parent.is_dir():
        raise BadInput(f"there is no file {source}: its folder does not exist")
    names = sorted(entry.name for entry in path.parent.iterdir() if not entry.name.startswith("."))
    raise BadInput(f"there is no file {source}", hint=nearest(path.name, names) if names else "The folder is empty")


def file_kind(path: Path, *, shown: str) -> FileKind:
    """What kind of data file this is."""
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError as error:
        raise BadInput(f"{shown} cannot be opened: {error.strerror}") from error
    if not start:
        raise BadInput(f"{shown} is empty", hint="A table needs at least a header line")
    for offset, magic, kind in _MAGIC:
        if start[offset:].startswith(magic):
            return kind
    if start.startswith(b"PK\x03\x04") and _is_sheet(path):
        return "excel"
    for offset, magic, what in _REFUSED:
        if start[offset:].startswith(magic):
            raise BadInput(f"{shown} cannot be read: it is {what}")
    named = kind_by_name(path) or "csv"
    if named not in {kind for _, _, kind in _MAGIC}:  # text has no first bytes of its own
        return named
    raise BadInput(f"{shown} is named like {named} data and is not", hint="Is it cut off, or misnamed?")


def _is_sheet(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name in _SHEETS for name in archive.namelist())
    except (zipfile.BadZipFile, OSError):
        return False


def packing(paths: Sequence[Path]) -> str:
    """The compression option for DuckDB; where files differ, each file's name tells."""
    kinds = {compression(path) or "uncompressed" for path in paths}
    return kinds.pop() if len(kinds) == 1 else "auto"


def compression(path: Path) -> str | None:
    """How the file is compressed, if it is: "gzip" or "zstd"."""
    with path.open("rb") as file:
        start = file.read(4)
    if start[:2] == b"\x1f\x8b":
        return "gzip"
    return "zstd" if start == b"\x28\xb5\x2f\xfd" else None


def kind_by_name(path: Path) -> FileKind | None:
    """What the ending of a name says; None: nothing."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in (".gz", ".zst"):
        suffixes.pop()
    return _KINDS.get(suffixes[-1]) if suffixes else None


def _data_files(folder: Path) -> list[Path]:
    """Every data file under a folder, without the marker files that Spark and Hadoop leave (_SUCCESS, .crc)."""
    found = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        found += [Path(parent, name) for name in sorted(names) if name[0] not in "._" and kind_by_name(Path(name))]
    return found


def _of_one_kind(paths: list[Path], source: str, *, root: Path, empty: str) -> Files:
    paths = [path for path in paths if path.stat().st_size > 0]
    _refuse_parts(paths)
    if not paths:
        raise BadInput(empty, hint=f"Data files end in {', '.join(_KINDS)}; .gz may follow")
    kinds = {path: file_kind(path, shown=str(path.relative_to(root))) for path in paths}
    if len(set(kinds.values())) > 1:
        shown = " and ".join(f"{kind} ({path.name})" for kind, path in {k: p for p, k in kinds.items()}.items())
        raise BadInput(
            f"{source} holds files of different kinds: {shown}", hint="Name one kind with a glob: '*.parquet'"
        )
    return Files(tuple(paths), kinds[paths[0]], root)


# --- addresses (postgresql://, s3://, https://, ...) ------------------------------------------------------------------
# Passwords, tokens and signatures appear in no message, no Table, and so in no result, report or manifest. What cannot be taken apart
# for sure is refused without being repeated.
POSTGRES = ("postgresql", "postgres")
_SECRET_OPTIONS = ("password", "sslpassword", "passfile", "oauth_client_secret")
"""Of a PostgreSQL URL; of any other, everything after the question mark is taken for a secret."""
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)://")
_HOSTS = re.compile(r"[^:@/]*(:\d*)?|\[[0-9a-fA-F:.]*\](:\d*)?")


@dataclass(frozen=True)
class Address:
    """The parts of a URL that may be shown, and those that must not."""

    scheme: str
    shown: str
    url: str = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)
    """Every spelling of what must not be shown, the longest first."""

    @classmethod
    def of(cls, source: str) -> Address | None:
        """The address that a source is; None where it is none."""
        if not (found := _SCHEME.match(source)):
            return None
        scheme = found[1].lower()
        try:
            parts = urlsplit(source)
        except ValueError:
            raise _unreadable(scheme) from None
        login, at, hosts = parts.netloc.rpartition("@")
        user, _, password = login.partition(":")
        rest = parts.path + parts.fragment
        # A password with / or ? in it ends the host too early, and what is left of it would be shown as a part of the path.
        doubtful = "@" in rest if scheme in POSTGRES else not at and ":" in hosts and "@" in rest + parts.query
        if doubtful or not all(map(_HOSTS.fullmatch, hosts.split(","))):
            raise _unreadable(scheme)
        named = f"{unquote(user)}@" if user and scheme in POSTGRES else ""
        asked = [value for key, value in parse_qsl(parts.query) if scheme not in POSTGRES or key in _SECRET_OPTIONS]
        secrets = [password, *asked, *([] if named else [user])]
        spellings = {spelling for secret in secrets for spelling in (secret, unquote(secret)) if spelling}
        shown = f"{'postgresql' if scheme in POSTGRES else scheme}://{named}{hosts}{parts.path}"
        return cls(scheme, shown, source, tuple(sorted(spellings, key=len, reverse=True)))

    def redact(self, text: str) -> str:
        """The text with the address as it may be shown, and every secret struck out."""
        text = text.replace(self.url, self.shown)
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def _unreadable(scheme: str) -> BadInput:
    return BadInput(
        f"the {scheme}:// address cannot be taken apart, so it is not repeated here",
        hint="Write %-codes for / @ : ? # in the password",
    )
