# SPDX-License-Identifier: Apache-2.0
"""The shape of the code, kept by a test: import direction, file length, a light `import divulge`, no machine's traces.

The order of the folders is the Layout of DESIGN.md, with belief before metrics, which use beliefs,
and with tasks (what a user asks for: measure, rank, check) before report, which shows their results.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from divulge.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "divulge"

# Each part of src/divulge imports only from parts before it, and from itself; divulge/__init__.py from all but cli.
ORDER = (
    "errors",
    "arrays",
    "results",
    "engines",
    "table",
    "count",
    "belief",
    "metrics",
    "policy",
    "generalize",
    "anatomize",
    "attack",
    "dossier",
    "publish",
    "tasks",
    "views",
    "datasets",
    "__init__",
    "cli",
    "__main__",
)

LONGEST_FILE = 600
# Files that may be longer, each with the reason.
LONGER: dict[str, str] = {}

# What `import divulge` must leave for its first use.
HEAVY = tuple("altair duckdb numpy pandas polars pyarrow pyspark rich sqlglot typer vl_convert".split())

# Words that are the name of a metric and of something else too.
OTHER_WORDS = {
    "classes": "how many classes there are is a key of most documents",
    "alpha": "a level of an anatomized release (Yao et al. 2021)",
}
# Files whose own terms are named like metrics.
OWN_TERMS = {
    "anatomy.py": "l_diversity is a parameter of the method",
    "slicing.py": "l_diversity is a parameter of the method",
    "perturbed.py": "the document of perturbed() has Bezzi's terms for keys; it is measured without METRICS",
}

# Written in two halves so that this file passes its own test.
REGISTRY_HOSTS = tuple(
    name + "." + domain
    for name, domain in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("anaconda", "org"),
        ("maven", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("jfrog", "io"),
    )
)
MACHINE_PATH = re.compile(r"(?<![\w./~-])/(?:work|farm|root|home|tmp|Users)/\w")


def source_files() -> list[Path]:
    """Every Python file of ours."""
    return sorted(path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py"))


def part_of(module: str) -> str:
    """'divulge.metrics.information' belongs to 'metrics'; what is directly in divulge, to '__init__'."""
    part = [*module.split("."), "__init__"][1]
    return part if part in ORDER else "__init__"


def imported_parts(path: Path) -> Iterator[tuple[int, str]]:
    """(line, part of divulge) for each import in the file, also inside functions; everyone may know the version."""
    package = ["divulge", *path.relative_to(PACKAGE).parent.parts]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            origin = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*origin, *([node.module] if node.module else [])])
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        ours = [name for name in names if name.split(".")[0] == "divulge" and name != "divulge.__version__"]
        yield from ((node.lineno, part_of(name)) for name in ours)


def wrong_imports(path: Path) -> list[str]:
    """Imports of this file that go against ORDER."""
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return [
        f"{path.relative_to(ROOT)}:{line}: {own} must not import {part}"
        for line, part in imported_parts(path)
        if ORDER.index(part) > ORDER.index(own)
    ]


def test_each_part_has_a_place_in_the_order() -> None:
    parts = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in PACKAGE.rglob("*.py")}
    assert parts <= set(ORDER)


def test_each_part_imports_only_from_parts_before_it() -> None:
    wrong = [line for path in sorted(PACKAGE.rglob("*.py")) for line in wrong_imports(path)]
    assert not wrong, "\n".join(["imports against the order of DESIGN.md:", *wrong])


def test_files_are_short() -> None:
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines()) for path in source_files()
    }
    too_long = [f"{name}: {n} lines" for name, n in lengths.items() if n > LONGEST_FILE and name not in LONGER]
    assert not too_long, "\n".join([f"over {LONGEST_FILE} lines; look for a second concept inside:", *too_long])
    stale = [name for name in LONGER if lengths.get(name, 0) <= LONGEST_FILE]
    assert not stale, f"no longer too long, take them off LONGER: {stale}"


def test_each_file_opens_with_its_licence_and_its_purpose() -> None:
    bare = []
    for path in source_files():
        text = path.read_text(encoding="utf-8")
        if not text.startswith("# SPDX-License-Identifier: Apache-2.0\n") or not ast.get_docstring(ast.parse(text)):
            bare.append(path.relative_to(ROOT).as_posix())
    assert not bare, f"without the SPDX line or a docstring: {bare}"


def metric_names_in(source: str) -> list[tuple[int, str]]:
    """(line, name) of each string that is the name of a metric; a text that stands by itself is a docstring."""
    tree, names = ast.parse(source), {metric.name for metric in METRICS} - set(OTHER_WORDS)
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in told]
    return sorted((node.lineno, node.value) for node in texts if isinstance(node.value, str) and node.value in names)


def test_names_of_metrics_are_recognised() -> None:
    assert metric_names_in('"itpr"\nx = {"itpr": 1, "k": 2}\ny = "k_anonymity"') == [(2, "itpr"), (3, "k_anonymity")]


def test_only_metrics_knows_metrics_by_name() -> None:
    """What others must know of a metric is a field of Metric, so that a new one touches its file, METRICS and its test."""
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.parent.name != "metrics" and path.name not in OWN_TERMS
        for line, name in metric_names_in(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(["names of metrics; make it a field of Metric:", *found])


def test_importing_divulge_imports_nothing_heavy() -> None:
    program = f"import sys, divulge; print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", program]
    loaded = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []


def repository_files() -> list[Path]:
    """Files that are tracked, or would be with `git add`."""
    listing = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout: nobody can say which files belong to the repository")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def traces(line: str) -> list[str]:
    """What in this line belongs to one machine or one package registry."""
    return [host for host in REGISTRY_HOSTS if host in line] + [found.group() for found in MACHINE_PATH.finditer(line)]


def test_traces_are_recognised() -> None:
    assert traces("index-url = https://" + REGISTRY_HOSTS[0] + "/simple") == [REGISTRY_HOSTS[0]]
    assert traces("see /" + "home/ann/data.csv") == ["/" + "home/a"]
    assert traces("https://example.com/home/page and src/work/x.py and ~/" + "tmp/x") == []


def test_no_machine_path_and_no_registry_address_is_tracked() -> None:
    found = []
    for path in repository_files():
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}:{n}: {t}" for n, line in enumerate(lines, 1) for t in traces(line)]
    assert not found, "\n".join(["belongs to one machine or one registry:", *found])
