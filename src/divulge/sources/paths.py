# SPDX-License-Identifier: Apache-2.0
"""Resolve a user's source to files and their format, or to the address of a table.

The content takes precedence over the name: a Parquet, Arrow or SQLite file is recognized by its
first bytes.

The folder of a Delta Lake or Iceberg table also holds files whose rows were deleted or overwritten.
Read as plain Parquet, they count people who are no longer in the table, and every requirement seems
to be met better than it is. So nothing in such a folder is read without its log.
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

FileKind = Literal[
    "csv", "json", "parquet", "arrow", "arrow stream", "sqlite", "duckdb", "excel", "spss", "stata"
]
_KINDS: dict[str, FileKind] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".txt": "csv",
    ".data": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arrows": "arrow stream",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".db": "sqlite",
    ".duckdb": "duckdb",
    ".ddb": "duckdb",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".xlsb": "excel",
    ".xls": "excel",
    ".ods": "excel",
    ".sav": "spss",
    ".zsav": "spss",
    ".dta": "stata",
}
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
_OTHER_PACKING = (".bz2", ".xz", ".zip", ".7z", ".lz4", ".lzo", ".br", ".z", ".snappy", ".deflate")
_HADOOP_PART = re.compile(r"part-(?:[mr]-)?[0-9]{5}")
_SPREADSHEET_ENTRIES = ("xl/workbook.xml", "xl/workbook.bin", "content.xml")
"""Archive entries of which a spreadsheet has one."""
_UNSUPPORTED_FILES: tuple[tuple[int, bytes, str], ...] = (
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
"""Files that mark a folder as a table with a log.

The log decides which of its files, and which of their rows, count.
"""
READABLE_LOGS = ("Delta Lake", "Iceberg")
ICEBERG_METADATA = re.compile(r"v?(\d+)(-.*)?\.metadata\.json")


@dataclass(frozen=True)
class Files:
    """Files of one kind that together hold one table."""

    paths: tuple[Path, ...]
    kind: FileKind
    root: Path
    """Folder in which the files were searched."""

    def display_names(self, source: str) -> tuple[str, ...]:
        """Return the name of each file in messages.

        A single file has the name that the user typed; others have their path below the root.
        """
        if len(self.paths) == 1:
            return (source,)
        return tuple(str(path.relative_to(self.root)) for path in self.paths)


@dataclass(frozen=True)
class LogTable:
    """Folder whose log decides which of its files make up a table."""

    root: Path | str
    format: TableFormat

    def refusal(self) -> BadInput:
        """Return the error for reading a part of it."""
        table_hint = f"Name the table itself: {self.root}"
        return BadInput(
            f"{self.root} is a table of {self.format}, whose files also hold rows that its log "
            "says are gone",
            hint=table_hint
            if self.format in READABLE_LOGS
            else "Copy what it holds now to files of its own, and read those",
        )


def find_log_table(path: Path) -> LogTable | None:
    """Return the innermost table with a log that is, or contains, a file or folder."""
    for folder in (path, *path.parents):
        for marker, form in LOGS.items():
            if next(folder.glob(marker), None) is not None:
                return LogTable(folder, form)
    return None


def find_lakehouse(source: str) -> LogTable | None:
    """Return the table with a log that the user named.

    It is named by its folder or, for Iceberg, by one of its metadata files.
    """
    path = Path(source).expanduser().absolute()
    if path.is_dir():
        log_table = find_log_table(path)
        if log_table is not None and log_table.root == path:
            return log_table
        return None
    if path.parent.name == "metadata" and ICEBERG_METADATA.fullmatch(path.name) and path.is_file():
        return LogTable(path.parent.parent, "Iceberg")
    return None


def _check_outside_log_tables(paths: Iterable[Path]) -> None:
    for folder in sorted({path.parent for path in paths}):
        if (log_table := find_log_table(folder)) is not None:
            raise log_table.refusal()


def find_files(source: str, display_name: str | None = None) -> Files:
    """Return the files of a path, a folder or a glob.

    A file whose name contains glob characters takes precedence over the glob. `display_name` is the
    name in messages, if the file is a copy.
    """
    if not source:
        raise BadInput(
            "the table's path is empty", hint="Name a file, a folder, a glob or a postgresql:// URL"
        )
    path = Path(source).expanduser().absolute()
    called = display_name or source
    if path.is_file():
        _check_outside_log_tables([path])
        return Files((path,), file_kind(path, display_name=called), path.parent)
    if path.is_dir():
        if (log_table := find_log_table(path)) is not None:
            raise log_table.refusal()
        return _files_of_one_kind(
            _data_files(path), called, root=path, empty=f"the folder {called} holds no data files"
        )
    if path.exists():
        raise BadInput(
            f"{source} is neither a file nor a folder", hint="Copy the data to a file first"
        )
    if glob.has_magic(source):
        matches = glob.glob(str(path), recursive=True)  # noqa: PTH207 - Path.glob would match hidden files too
        hits = [hit for hit in map(Path, sorted(matches)) if hit.is_file()]
        fixed = next(parent for parent in path.parents if not glob.has_magic(str(parent)))
        return _files_of_one_kind(hits, source, root=fixed, empty=f"no file matches {source}")
    if not path.parent.is_dir():
        raise BadInput(f"there is no file {source}: its folder does not exist")
    names = sorted(entry.name for entry in path.parent.iterdir() if not entry.name.startswith("."))
    raise BadInput(
        f"there is no file {source}",
        hint=nearest(path.name, names) if names else "The folder is empty",
    )


def file_kind(path: Path, *, display_name: str) -> FileKind:
    """Detect the format of a data file."""
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError as error:
        raise BadInput(f"{display_name} cannot be opened: {error.strerror}") from error
    if not start:
        raise BadInput(f"{display_name} is empty", hint="A table needs at least a header line")
    for offset, magic, kind in _MAGIC:
        if start[offset:].startswith(magic):
            return kind
    if start.startswith(b"PK\x03\x04") and _is_sheet(path):
        return "excel"
    for offset, magic, what in _UNSUPPORTED_FILES:
        if start[offset:].startswith(magic):
            raise BadInput(f"{display_name} cannot be read: it is {what}")
    kind_of_name = kind_by_name(path) or "csv"
    if kind_of_name not in {kind for _, _, kind in _MAGIC}:  # text formats have no magic bytes
        return kind_of_name
    raise BadInput(
        f"{display_name} is named like {kind_of_name} data and is not",
        hint="Is it cut off, or misnamed?",
    )


def _is_sheet(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name in _SPREADSHEET_ENTRIES for name in archive.namelist())
    except (zipfile.BadZipFile, OSError):
        return False


def packing(paths: Sequence[Path]) -> str:
    """Return DuckDB's compression option; if files differ, it goes by each file's name."""
    kinds = {compression(path) or "uncompressed" for path in paths}
    if len(kinds) == 1:
        return kinds.pop()
    return "auto"


def compression(path: Path) -> str | None:
    """Return the compression of a file: "gzip", "zstd" or None."""
    with path.open("rb") as file:
        start = file.read(4)
    if start[:2] == b"\x1f\x8b":
        return "gzip"
    if start == b"\x28\xb5\x2f\xfd":
        return "zstd"
    return None


def kind_by_name(path: Path) -> FileKind | None:
    """Return the format that the extension of a name indicates; None if there is none."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in (".gz", ".zst"):
        suffixes.pop()
    if suffixes:
        return _KINDS.get(suffixes[-1])
    return None


def _data_files(folder: Path) -> list[Path]:
    """Return every data file under a folder, without the marker files of Spark and Hadoop.

    These are files such as _SUCCESS and .crc. Data that cannot be read raise an error.
    """
    paths = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        visible = [Path(parent, name) for name in sorted(names) if name[0] not in "._"]
        for path in visible:
            if _is_unread_data(path):
                raise BadInput(
                    f"{path.relative_to(folder)} in the folder {folder.name} looks like data that "
                    "would not be read",
                    hint="Unpack it, name it like the others, or remove it from the folder",
                )
        paths += [path for path in visible if kind_by_name(path)]
    return paths


def _is_unread_data(path: Path) -> bool:
    """Return whether a name is that of packed data, or of a part that Hadoop writes."""
    if path.suffix.lower() in _OTHER_PACKING:
        return kind_by_name(path.with_suffix("")) is not None
    return not path.suffix and _HADOOP_PART.match(path.name) is not None


def _files_of_one_kind(paths: list[Path], source: str, *, root: Path, empty: str) -> Files:
    paths = [path for path in paths if path.stat().st_size > 0]
    _check_outside_log_tables(paths)
    if not paths:
        raise BadInput(empty, hint=f"Data files end in {', '.join(_KINDS)}; .gz may follow")
    kinds = {path: file_kind(path, display_name=str(path.relative_to(root))) for path in paths}
    if len(set(kinds.values())) > 1:
        kinds_text = " and ".join(
            f"{kind} ({path.name})" for kind, path in {k: p for p, k in kinds.items()}.items()
        )
        raise BadInput(
            f"{source} holds files of different kinds: {kinds_text}",
            hint="Name one kind with a glob: '*.parquet'",
        )
    return Files(tuple(paths), kinds[paths[0]], root)


# --- addresses (postgresql://, s3://, https://, ...) ----------------------------------------------
# Passwords, tokens and signatures appear in no message, no Table, and so in no result, report or
# manifest. An address that cannot be parsed reliably raises an error that does not repeat it.
POSTGRES = ("postgresql", "postgres")
_SECRET_OPTIONS = ("password", "sslpassword", "passfile", "oauth_client_secret")
"""Secret options of a PostgreSQL URL; in other URLs, the whole query is treated as secret."""
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)://")
_HOSTS = re.compile(r"[^:@/]*(:\d*)?|\[[0-9a-fA-F:.]*\](:\d*)?")


@dataclass(frozen=True)
class Address:
    """Parts of a URL that may be shown, and those that must not."""

    scheme: str
    display_name: str
    url: str = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)
    """Every spelling of the secrets, the longest first."""

    @classmethod
    def of(cls, source: str) -> Address | None:
        """Parse a source as an address; None if it is not one."""
        if not (match := _SCHEME.match(source)):
            return None
        scheme = match[1].lower()
        try:
            parts = urlsplit(source)
        except ValueError:
            raise _unparsable_address(scheme) from None
        login, at, hosts = parts.netloc.rpartition("@")
        user, _, password = login.partition(":")
        rest = parts.path + parts.fragment
        # A password with / or ? in it ends the host too early, and the rest of it would be shown as
        # a part of the path.
        if scheme in POSTGRES:
            doubtful = "@" in rest
        else:
            doubtful = not at and ":" in hosts and "@" in rest + parts.query
        if doubtful or not all(map(_HOSTS.fullmatch, hosts.split(","))):
            raise _unparsable_address(scheme)
        if user and scheme in POSTGRES:
            user_part = f"{unquote(user)}@"
        else:
            user_part = ""
        query_secrets = [
            value
            for key, value in parse_qsl(parts.query)
            if scheme not in POSTGRES or key in _SECRET_OPTIONS
        ]
        secrets = [password, *query_secrets, *([] if user_part else [user])]
        spellings = {
            spelling for secret in secrets for spelling in (secret, unquote(secret)) if spelling
        }
        display_address = (
            f"{'postgresql' if scheme in POSTGRES else scheme}://{user_part}{hosts}{parts.path}"
        )
        return cls(scheme, display_address, source, tuple(sorted(spellings, key=len, reverse=True)))

    def redact(self, text: str) -> str:
        """Replace the address in a text by its public form, and every secret by asterisks."""
        text = text.replace(self.url, self.display_name)
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def _unparsable_address(scheme: str) -> BadInput:
    return BadInput(
        f"the {scheme}:// address cannot be taken apart, so it is not repeated here",
        hint="Write %-codes for / @ : ? # in the password",
    )
