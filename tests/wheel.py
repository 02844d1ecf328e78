# SPDX-License-Identifier: Apache-2.0
"""The wheel and the source archive: build, inspect, install into an empty environment, run.

`make wheel` and a test do it.
"""

from __future__ import annotations

import email
import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from configparser import ConfigParser
from email.message import Message
from pathlib import Path

from divulge.version import __version__

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "divulge"


def build(folder: Path) -> tuple[Path, Path]:
    """Build the wheel and the source archive by the backend alone, which needs no network."""
    program = (
        f"from hatchling import build as b; print(b.build_wheel({str(folder)!r})); "
        f"print(b.build_sdist({str(folder)!r}))"
    )
    folder.mkdir(parents=True, exist_ok=True)
    made = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True
    )
    wheel, archive = made.stdout.split()[-2:]
    return folder / wheel, folder / archive


def ours() -> set[str]:
    """Return the files that a wheel must hold: all of the package, without compiled ones."""
    found = (
        path.relative_to(PACKAGE.parent).as_posix() for path in PACKAGE.rglob("*") if path.is_file()
    )
    return {name for name in found if "__pycache__" not in name}


def traces(contents: dict[str, bytes]) -> list[str]:
    """Return the files that reveal where they were made."""
    return [name for name, content in contents.items() if str(ROOT).encode() in content]


def check_wheel(wheel: Path) -> Message:
    """Check the contents of the wheel; return its metadata."""
    with zipfile.ZipFile(wheel) as opened:
        contents = {name: opened.read(name) for name in opened.namelist()}
    brought = {name for name in contents if ".dist-info/" not in name}
    assert brought == ours(), brought ^ ours()
    assert {"divulge/py.typed", "divulge/__init__.pyi"} <= brought
    assert contents["divulge/__init__.pyi"] == (PACKAGE / "__init__.pyi").read_bytes()
    assert traces(contents) == []
    info = {
        name.rpartition("/")[2]: content.decode()
        for name, content in contents.items()
        if ".dist-info/" in name
    }
    assert "LICENSE" in info
    assert "Root-Is-Purelib: true" in info["WHEEL"]
    points = ConfigParser()
    points.read_string(info["entry_points.txt"])
    assert points["console_scripts"]["divulge"] == "divulge.cli.start:main"
    assert points["pytest11"]["divulge"] == "divulge.integrations.pytest"
    return check_metadata(email.message_from_string(info["METADATA"]))


def check_metadata(told: Message) -> Message:
    """Check name, version, license, and requirements that any index can satisfy."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (told["Name"], told["Version"]) == (project["name"], __version__)
    assert (told["License-Expression"], told["Requires-Python"]) == (
        project["license"],
        project["requires-python"],
    )
    assert set(told.get_all("Provides-Extra", [])) == set(project["optional-dependencies"])
    required = told.get_all("Requires-Dist", [])
    assert [line for line in required if "@" in line] == [], (
        "an address is no requirement that others can install"
    )
    assert {line.split(">")[0] for line in required if "extra" not in line} >= {
        "duckdb",
        "numpy",
        "pyarrow",
        "typer",
    }
    assert str(told.get_payload()).lstrip().startswith("# divulge")
    return told


def check_archive(archive: Path) -> None:
    """Check the source archive: files to build the wheel and to test it, no products of make."""
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
        files = {
            name: opened.extractfile(name)
            for name in opened.getnames()
            if opened.getmember(name).isfile()
        }
        assert traces({name: held.read() for name, held in files.items() if held is not None}) == []
    assert {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "PKG-INFO",
        "tests/conftest.py",
        "reproduction/__main__.py",
    } <= names
    assert {f"src/{name}" for name in ours()} <= names
    assert not [
        name for name in names if name.split("/")[0] in (".venv", "build", "dist", "site", ".git")
    ]


def environment(folder: Path, *, beside: bool) -> Path:
    """Return the Python of a new, empty environment.

    `beside` lends it the packages of this one, so that nothing is downloaded.
    """
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", "--clear", str(folder)], check=True
    )
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if beside:
        place = "import sysconfig; print(sysconfig.get_path('purelib'))"
        site = subprocess.run(
            [str(python), "-c", place], check=True, capture_output=True, text=True
        ).stdout.strip()
        (Path(site) / "lent.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return python


def install(python: Path, *what: str) -> None:
    """Install by the pip of this environment, into the other one."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    subprocess.run([*pip, *what], check=True, capture_output=True, text=True)


def run(python: Path, *command: str, folder: Path) -> str:
    """Return the output of a program of the environment, without this checkout in its path."""
    program = python.with_name(command[0])
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "PYTEST"))
    }
    done = subprocess.run(
        [str(program), *command[1:]],
        cwd=folder,
        env=clean,
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def main() -> None:
    """Build into dist/, check both files, install the wheel with its requirements, run the demo."""
    wheel, archive = build(ROOT / "dist")
    check_wheel(wheel)
    check_archive(archive)
    print(f"built and looked into: dist/{wheel.name}, dist/{archive.name}")  # noqa: T201 - for who typed make
    room = ROOT / "build" / "wheel"
    python = environment(room, beside=False)
    install(python, "--constraint", str(ROOT / "requirements.lock"), str(wheel))
    print(  # noqa: T201
        "installed into an empty environment: "
        f"{run(python, 'divulge', '--version', folder=room).strip()}"
    )
    run(python, "divulge", "demo", "--out", str(room / "demo"), folder=room)
    print("divulge demo ran there; install it with: pip install dist/" + wheel.name)  # noqa: T201


if __name__ == "__main__":
    main()
