# SPDX-License-Identifier: Apache-2.0
"""ARX projects (`.deid`), read without Java: roles of the columns, hierarchies and data.

A project is a ZIP file. `input/definition.xml` has the role of each column,
`input/hierarchies/<column>.csv` its hierarchy and `data/input.csv` the data. Both use the project's
own delimiter (`project.xml`). ARX writes a missing value as NULL; here it is null. The serialized
Java objects in the archive are not read.

Projects are untrusted input: no more is unpacked than the limits below, and XML may declare no
entities.
"""

from __future__ import annotations

import csv
import io
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING

from divulge.arguments import arg, outside
from divulge.engines import DuckDBEngine
from divulge.errors import BadInput
from divulge.hierarchies import Hierarchy, parse_hierarchy
from divulge.sources.delimited import codec_of, read_delimited
from divulge.sources.paths import find_files
from divulge.sources.table import Declared, ReadOptions, Table

if TYPE_CHECKING:
    from xml.etree import ElementTree as ET

_DATA = "data/input.csv"
_DEFINITION = "input/definition.xml"
_HIERARCHIES = "input/hierarchies/"
_PROJECT = "project.xml"
_NULL = "NULL"
_MAX_DATA_BYTES = 2 << 30
"""Most bytes of data, which go to disk.

A larger table is better exported from ARX as a file.
"""
_MAX_METADATA_BYTES = 256 << 20
"""Most bytes of roles and hierarchies together, which are read in memory."""
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Compression methods that ARX uses."""
_ENCRYPTED = 1
"""Bit in an entry's flags that marks encryption."""
_ROLES = {
    "IDENTIFYING": "identifier",
    "QUASI_IDENTIFYING": "quasi_identifiers",
    "SENSITIVE": "sensitive",
    "INSENSITIVE": "plain",
}


@dataclass(frozen=True)
class ArxProject:
    """Roles, hierarchies and format of a project."""

    path: Path
    roles: Mapping[str, tuple[str, ...]]
    """Columns by role: quasi_identifiers, sensitive, identifier and plain, as in a policy."""
    hierarchies: Mapping[str, Hierarchy] = field(repr=False)
    delimiter: str
    encoding: str

    def extract(self, target: Path) -> None:
        """Write the project's data as a CSV file; a missing value becomes an empty cell."""
        with _open_archive(self.path) as archive, _open_entry(archive, _DATA) as stream:
            text = io.TextIOWrapper(stream, encoding=self.encoding, newline="")
            try:
                with target.open("w", encoding="utf-8", newline="") as out:
                    writer = csv.writer(out, delimiter=self.delimiter, lineterminator="\n")
                    rows = csv.reader(text, delimiter=self.delimiter)
                    writer.writerows(_without_nulls(row) for row in rows)
            except UnicodeError:
                raise _wrong_encoding(archive, _DATA, self.encoding) from None
            except csv.Error as error:
                raise BadInput(
                    f"{self.path}: {_DATA}, line {rows.line_num}: {outside(error)}"
                ) from None
            except OSError as error:
                raise BadInput(f"{str(target)!r} cannot be written: {error.strerror}") from None

    def open(self, *, engine: DuckDBEngine | None = None) -> Table:
        """Open the project's data as a table that has its roles and hierarchies."""
        engine = engine or DuckDBEngine()
        copy = engine.directory / f"{engine.fresh_name('project')}.csv"
        self.extract(copy)
        text = ReadOptions(header=True, delimiter=self.delimiter)
        table = read_delimited(find_files(str(copy)), text, source=str(copy), engine=engine)
        return replace(
            table, source=f"{self.path}:{_DATA}", declared=Declared(self.roles, self.hierarchies)
        )


def read_project(path: str | Path, *, encoding: str = "utf-8") -> ArxProject:
    """Read roles and hierarchies.

    Old projects are in the encoding of the machine that wrote them.
    """
    codec_of(encoding)
    with _open_archive(Path(path)) as archive:
        _check_sizes(archive)
        has_project_file = _PROJECT in archive.namelist()
        delimiter = (
            _parse_xml(archive, _PROJECT, encoding).findtext("separator")
            if has_project_file
            else None
        ) or ";"
        if len(delimiter) != 1 or delimiter in '"\r\n\0':
            raise BadInput(
                f"{path}: {_PROJECT} has the delimiter {delimiter!r}, which cannot separate cells"
            )
        roles = _roles(archive, encoding)
        return ArxProject(
            Path(path), roles, _hierarchies(archive, delimiter, encoding), delimiter, encoding
        )


def _roles(archive: zipfile.ZipFile, encoding: str) -> dict[str, tuple[str, ...]]:
    roles: dict[str, tuple[str, ...]] = {}
    for assignment in _parse_xml(archive, _DEFINITION, encoding):
        name = assignment.findtext("name")
        kind = assignment.findtext("type", "")
        plain = kind.strip().upper().removesuffix("_ATTRIBUTE")
        if name is None or plain not in _ROLES:
            location = f"{archive.filename}: {_DEFINITION}"
            raise BadInput(
                f"{location} gives column {name!r} the role {kind!r}, which is none of ARX's"
            )
        if role := _ROLES[plain]:
            roles[role] = (*roles.get(role, ()), name)
    return roles


def _hierarchies(archive: zipfile.ZipFile, delimiter: str, encoding: str) -> dict[str, Hierarchy]:
    """Read the hierarchies by column; ARX keeps an empty file for a column without one."""
    hierarchies: dict[str, Hierarchy] = {}
    for name in sorted(archive.namelist()):
        column = name.removeprefix(_HIERARCHIES).removesuffix(".csv")
        if not name.startswith(_HIERARCHIES) or not column:
            continue
        out = io.StringIO()
        origin = f"{archive.filename}, {name}"
        rows = csv.reader(
            io.StringIO(_read_text(archive, name, encoding), newline=""), delimiter=delimiter
        )
        try:
            csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(
                map(_without_nulls, filter(None, rows))
            )
        except csv.Error as error:
            raise BadInput(f"{origin}, line {rows.line_num}: {outside(error)}") from None
        if text := out.getvalue():
            hierarchies[column] = parse_hierarchy(text, column, origin=origin, delimiter=delimiter)
    return hierarchies


def _without_nulls(row: list[str]) -> list[str]:
    return ["" if cell == _NULL else cell for cell in row]


def _parse_xml(archive: zipfile.ZipFile, name: str, encoding: str) -> ET.Element:
    from xml.etree import ElementTree as ET

    text = _read_text(archive, name, encoding)
    location = f"{archive.filename}: {name}"
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise BadInput(
            f"{location} declares entities, which ARX never writes", hint="Do not trust this file"
        )
    try:
        return ET.fromstring(text)  # noqa: S314 - entities, the risk of XML, raise an error above
    except ET.ParseError as error:
        raise BadInput(f"{location} is not XML: {outside(error)}") from None


def _read_text(archive: zipfile.ZipFile, name: str, encoding: str) -> str:
    try:
        with _open_entry(archive, name) as stream:
            return stream.read().decode(encoding)
    except UnicodeError:
        raise _wrong_encoding(archive, name, encoding) from None


def _check_sizes(archive: zipfile.ZipFile) -> None:
    """Raise an error if the declared sizes exceed the limits; Python unpacks no more."""
    metadata_bytes = sum(
        entry.file_size
        for entry in archive.infolist()
        if entry.filename.startswith((_PROJECT, "input/"))
    )
    for noun, size, limit in (
        (
            _DATA,
            sum(entry.file_size for entry in archive.infolist() if entry.filename == _DATA),
            _MAX_DATA_BYTES,
        ),
        ("its roles and hierarchies", metadata_bytes, _MAX_METADATA_BYTES),
    ):
        if size > limit:
            raise BadInput(
                f"{archive.filename}: {noun} would unpack to {size:,} bytes, and {limit:,} is "
                "the limit",
                hint="Export the data, or the hierarchies, from ARX as files of their own",
            )


def _open_entry(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    """Open one file of the project, unpacked as it is read."""
    if name not in archive.namelist():
        raise BadInput(
            f"the ARX project {archive.filename!r} has no {name}",
            hint="Save it with ARX again, with its data",
        )
    entry = archive.getinfo(name)
    if entry.flag_bits & _ENCRYPTED:
        raise BadInput(
            f"{archive.filename}: {name} is encrypted, which ARX never does",
            hint="Save it with ARX again",
        )
    if entry.compress_type not in _COMPRESSIONS:
        raise BadInput(
            f"{archive.filename}: {name} is packed in another way than ARX does",
            hint="Save it with ARX again",
        )
    return archive.open(entry)


def _wrong_encoding(archive: zipfile.ZipFile, name: str, encoding: str) -> BadInput:
    location = f"{archive.filename}: {name}"
    return BadInput(
        f"{location} is not {encoding} text",
        hint=f"Pass its encoding, for example {arg('encoding', 'cp1252')}",
    )


@contextmanager
def _open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except FileNotFoundError:
        raise BadInput(f"there is no ARX project {str(path)!r}") from None
    except OSError as error:
        raise BadInput(
            f"the ARX project {str(path)!r} cannot be read: {error.strerror or error}"
        ) from None
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
        ValueError,
        struct.error,
    ) as error:
        message = (
            f"{str(path)!r} is not an ARX project: it is no ZIP file, or a damaged one "
            f"({str(error) or 'it ends too early'})"
        )
        raise BadInput(message, hint="Save it with ARX again") from None
