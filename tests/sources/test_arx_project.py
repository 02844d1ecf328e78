# SPDX-License-Identifier: Apache-2.0
"""ARX projects: a small one, laid out like ARX's, and invalid ones."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import divulge as dv
from divulge.errors import BadInput
from divulge.sources import read_project
from tests.helpers import verdict_of

# [sic]: ARX writes <assigment>.
DEFINITION = """<definition>
\t<assigment>
\t\t<name>name</name>
\t\t<type>IDENTIFYING_ATTRIBUTE</type>
\t\t<datatype>String</datatype>
\t</assigment>
\t<assigment>
\t\t<name>age &amp; year</name>
\t\t<type>QUASI_IDENTIFYING_ATTRIBUTE</type>
\t\t<datatype>Integer</datatype>
\t\t<ref>hierarchies/age &amp; year.csv</ref>
\t\t<min>All</min>
\t\t<max>All</max>
\t</assigment>
\t<assigment>
\t\t<name>zip</name>
\t\t<type>QUASI_IDENTIFYING_ATTRIBUTE</type>
\t\t<datatype>String</datatype>
\t</assigment>
\t<assigment>
\t\t<name>disease</name>
\t\t<type>SENSITIVE_ATTRIBUTE</type>
\t\t<datatype>String</datatype>
\t</assigment>
\t<assigment>
\t\t<name>note</name>
\t\t<type>INSENSITIVE_ATTRIBUTE</type>
\t\t<datatype>String</datatype>
\t</assigment>
</definition>
"""
FILES = {
    "metadata.xml": "<metadata>\n\t<version>3.9.1</version>\n\t<vocabulary>2.0</vocabulary>\n</metadata>\n",  # noqa: E501
    "project.xml": "<project>\n\t<name>study</name>\n\t<separator>;</separator>\n</project>\n",
    "project.dat": "\x00 a serialized Java object",
    "input/definition.xml": DEFINITION,
    "input/hierarchies/age & year.csv": "34;30-39;*\n41;40-49;*\nNULL;NULL;*\n",
    "input/hierarchies/zip.csv": "",
    "data/input.csv": 'name;age & year;zip;disease;note\nAnn;34;02139;"flu; '
    'mild";NULL\nBob;NULL;02138;Köln disease;x\n',
}


def project(
    path: Path, changed: Mapping[str, str | None] | None = None, *, encoding: str = "utf-8"
) -> Path:
    """Write a project with some files changed or left out (None)."""
    by_name: dict[str, str | None] = {**FILES, **(changed or {})}
    with zipfile.ZipFile(path / "study.deid", "w") as archive:
        for name, text in by_name.items():
            if text is not None:
                archive.writestr(name, text.encode(encoding))
    return path / "study.deid"


def test_roles_hierarchies_and_data_are_read(tmp_path: Path) -> None:
    found = read_project(project(tmp_path))
    assert found.roles == {
        "identifier": ("name",),
        "quasi_identifiers": ("age & year", "zip"),
        "sensitive": ("disease",),
        "plain": ("note",),
    }
    assert dict(found.hierarchies["age & year"].rows) == {
        "34": ("34", "30-39", "*"),
        "41": ("41", "40-49", "*"),
        None: (None, None, "*"),
    }
    assert list(found.hierarchies) == ["age & year"]
    table = found.open()
    rows = table.engine.query(f"SELECT * FROM {table.relation} ORDER BY name").to_pylist()
    assert rows == [
        {"name": "Ann", "age & year": 34, "zip": "02139", "disease": "flu; mild", "note": None},
        {"name": "Bob", "age & year": None, "zip": "02138", "disease": "Köln disease", "note": "x"},
    ]
    assert table.source.endswith("study.deid:data/input.csv")


def test_the_delimiter_is_the_projects(tmp_path: Path) -> None:
    path = project(
        tmp_path,
        {
            "project.xml": "<project><separator>,</separator></project>",
            "input/hierarchies/age & year.csv": None,
            "input/hierarchies/zip.csv": "1;2,*\n",
            "data/input.csv": "zip,disease\n1;2,flu\n",
        },
    )
    found = read_project(path)
    assert dict(found.hierarchies["zip"].rows) == {"1;2": ("1;2", "*")}
    assert found.open().names == ("zip", "disease")


def test_another_encoding_is_asked_for(tmp_path: Path) -> None:
    path = project(tmp_path, encoding="cp1252")
    with pytest.raises(BadInput, match="encoding='cp1252'"):
        read_project(path).extract(tmp_path / "data.csv")
    read_project(path, encoding="cp1252").extract(tmp_path / "data.csv")
    assert "Köln" in (tmp_path / "data.csv").read_text(encoding="utf-8")
    with pytest.raises(BadInput, match="no encoding 'latin-17'"):
        read_project(path, encoding="latin-17")


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"input/definition.xml": None}, "has no input/definition.xml"),
        ({"input/definition.xml": "<definition>"}, "is not XML"),
        (
            {"input/definition.xml": '<!DOCTYPE x [<!ENTITY a "b">]><definition/>'},
            "declares entities",
        ),
        ({"input/definition.xml": DEFINITION.replace("SENSITIVE_", "SECRET_")}, "none of ARX's"),
        ({"project.xml": "<project><separator>;;</separator></project>"}, "cannot separate cells"),
        ({"input/hierarchies/zip.csv": "1;A;*\n2;*\n"}, "rows of 2, 3 levels"),
    ],
)
def test_an_invalid_project_raises_an_error(
    tmp_path: Path, changed: dict[str, str | None], told: str
) -> None:
    with pytest.raises(BadInput) as refused:
        read_project(project(tmp_path, changed))
    assert told in str(refused.value)


def test_a_project_without_data_still_has_roles(tmp_path: Path) -> None:
    found = read_project(project(tmp_path, {"data/input.csv": None}))
    assert found.roles["sensitive"] == ("disease",)
    with pytest.raises(BadInput, match=r"has no data/input\.csv"):
        found.open()


def test_a_file_that_is_no_zip_raises_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.deid").write_text("no zip", encoding="utf-8")
    with pytest.raises(BadInput, match="no ZIP file"):
        read_project(tmp_path / "x.deid")
    with pytest.raises(BadInput, match="there is no ARX project"):
        read_project(tmp_path / "none.deid")


def patched(path: Path, name: str, offset: int, value: bytes) -> Path:
    """Change bytes of a file's entry in the central directory of the project.

    Python trusts that entry.
    """
    packed = bytearray(path.read_bytes())
    place = packed.rindex(name.encode()) - 46 + offset
    packed[place : place + len(value)] = value
    path.write_bytes(packed)
    return path


FLAGS, PACKING, UNPACKED = 8, 10, 24
"""Offsets in an entry of the central directory."""
ODD = {
    "encrypted": ("data/input.csv", FLAGS, b"\x01\x00", "data/input.csv is encrypted"),
    "encrypted roles": (
        "input/definition.xml",
        FLAGS,
        b"\x01\x00",
        "input/definition.xml is encrypted",
    ),
    "packed by bzip2": ("data/input.csv", PACKING, b"\x0c\x00", "packed in another way"),
    "packed in a way that nobody knows": (
        "project.xml",
        PACKING,
        b"\x63\x00",
        "packed in another way",
    ),
    "a bomb of data": (
        "data/input.csv",
        UNPACKED,
        b"\xf0\xff\xff\xff",
        "would unpack to 4,294,967,280 bytes",
    ),
    "a bomb of hierarchies": (
        "input/hierarchies/zip.csv",
        UNPACKED,
        b"\xff\xff\xff\x7f",
        "and 268,435,456 is the limit",
    ),
    "more than it says": ("data/input.csv", UNPACKED, b"\x05\x00\x00\x00", "a damaged one"),
}


@pytest.mark.parametrize("case", ODD)
def test_odd_archives_raise_an_error_before_they_are_unpacked(tmp_path: Path, case: str) -> None:
    name, offset, value, told = ODD[case]
    path = patched(project(tmp_path), name, offset, value)
    with pytest.raises(BadInput) as refused:
        read_project(path).open()
    assert told in str(refused.value)


def test_any_damage_is_one_line(tmp_path: Path) -> None:
    """Every byte of a packed project changed, one at a time, and every end cut off.

    Each gives a result or an error.
    """
    with zipfile.ZipFile(tmp_path / "study.deid", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("project.xml", "input/definition.xml", "input/hierarchies/age & year.csv"):
            archive.writestr(name, FILES[name])
    whole = (tmp_path / "study.deid").read_bytes()
    damaged = tmp_path / "damaged.deid"
    changed = (
        whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :] for at in range(0, len(whole), 2)
    )
    refused = 0
    for content in (*changed, *(whole[:end] for end in range(0, len(whole), 16))):
        damaged.write_bytes(content)
        try:
            read_project(damaged)
        except BadInput as error:
            refused += "\n" not in str(error)
    assert refused > len(whole) // 4


def test_a_cell_that_is_too_long_and_a_folder_raise_an_error(tmp_path: Path) -> None:
    path = project(tmp_path, {"data/input.csv": "name\n" + "x" * 200_000})
    with pytest.raises(BadInput, match="line 2: field larger than field limit"):
        read_project(path).open()
    with pytest.raises(BadInput, match="line 1: field larger than field limit"):
        read_project(project(tmp_path, {"input/hierarchies/zip.csv": "x" * 200_000}))
    (tmp_path / "folder.deid").mkdir()
    with pytest.raises(BadInput, match="cannot be read"):
        read_project(tmp_path / "folder.deid")


def test_a_project_is_a_table_with_roles_and_hierarchies(tmp_path: Path) -> None:
    where = project(tmp_path)
    release = dv.generalize(where, policy=dv.Policy(k_anonymity=2))
    assert release.original.roles.quasi_identifiers == ("age & year", "zip")
    assert (release.original.roles.sensitive, release.original.roles.identifier) == (
        ("disease",),
        ("name",),
    )
    assert release.hierarchies["age & year"].rows["34"] == ("34", "30-39", "*")
    assert list(release.suggestions) == ["zip"]
    assert [path.name for path in release.write(tmp_path / "out").glob("table*")] == ["table.csv"]
    # Explicit settings take precedence: a role, a hierarchy, and a column in another role than the
    # project's.
    other = dv.generalize(
        where,
        policy=dv.Policy(k_anonymity=2),
        plain=["disease", "note"],
        sensitive="zip",
        hierarchies={"age & year": {"suppress": True}},
    )
    assert (other.original.roles.quasi_identifiers, other.original.roles.sensitive) == (
        ("age & year",),
        ("zip",),
    )
    assert other.hierarchies["age & year"].height == 1
    assert dv.measure(where, quasi_identifiers=()).settings["quasi_identifiers"] == [
        "age & year",
        "zip",
    ]
    (found,) = verdict_of(where, dv.Policy(uniques=1000)).findings
    assert (found.guard, found.columns) == ("identifier_present", ("name",))
    for options in ({"delimiter": ";"}, {"header": True}, {"table": "x"}):
        with pytest.raises(BadInput, match="ARX project"):
            dv.read(where, **options)


def test_identifiers_of_a_project_are_never_published_by_accident(tmp_path: Path) -> None:
    """Only the project declares that `ward` names people: neither its name nor its values do."""
    changed = {
        "input/definition.xml": DEFINITION.replace("<name>name</name>", "<name>ward</name>"),
        "data/input.csv": "ward;age & year;zip;disease;note\nA;34;02139;flu;x\nA;41;02138;cold;x\n",
    }
    where = project(tmp_path, changed)
    for identifier in ((), "note"):
        release = dv.generalize(where, policy=dv.Policy(k_anonymity=2), identifier=identifier)
        assert "ward" not in release.tables()["table"].column_names
        anatomized = dv.anatomize(where, sensitive=(), identifier=identifier, beta="1/2")
        assert anatomized.table_columns == (("age & year",), ("zip",), ("disease",))
        assert anatomized.left_out["ward"] == "an identifier"
    asked = dv.anatomize(where, sensitive=(), quasi_identifiers=["ward", "zip"], beta="1/2")
    assert set(asked.table_columns) == {("ward",), ("zip",), ("disease",)}
