# SPDX-License-Identifier: Apache-2.0
"""The shape of the code, kept by a test: order and front doors of the rooms, budgets, names, a light `import divulge`, no machine's traces.

A room is a folder of src/divulge, or a file directly in it. Each imports only from rooms before it, and only what a room exports.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import divulge
from divulge.metrics import METRICS

pytestmark = pytest.mark.xdist_group("structure")  # every file is parsed once

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "divulge"

# Each room imports only from rooms before it, and from itself. results.py finds the views of a result by name when somebody looks: the
# one import that goes the other way, and the only one that is not written as an import.
ORDER = (
    "errors",
    "version",
    "values",
    "arrays",
    "results",
    "private_folder",
    "hierarchy",
    "engines",
    "table",
    "count",
    "belief",
    "metrics",
    "policy",
    "ranking",
    "search",
    "anatomy",
    "publish",
    "answers",
    "dossier",
    "composition",
    "attacks",
    "ledger",
    "api",
    "datasets",
    "papers",
    "charts",
    "views",
    "__init__",
    "plugins",
    "studio",
    "cli",
    "__main__",
)
# Rooms without a front door: one file for each question or command, imported by those who ask.
OPEN_ROOMS = {
    "api": ("__init__", "papers", "charts", "views", "studio", "cli"),
    "views": ("plugins", "studio", "cli"),
    "cli": ("__main__",),
}


class Budget(NamedTuple):
    """What a room may have: files, lines, and names that other rooms may use."""

    files: int
    lines: int
    exports: int


# These may fall. A number that rises needs a reason in the commit that raises it.
BUDGETS: dict[str, Budget] = {
    "errors": Budget(1, 105, 0),
    "version": Budget(1, 4, 0),
    "values": Budget(1, 406, 0),
    "arrays": Budget(1, 236, 0),
    "results": Budget(1, 260, 0),
    "private_folder": Budget(1, 94, 0),
    "hierarchy": Budget(4, 1099, 19),
    "engines": Budget(11, 2556, 14),
    "table": Budget(15, 3186, 16),
    "count": Budget(7, 1601, 25),
    "belief": Budget(4, 1252, 12),
    "metrics": Budget(15, 3192, 46),
    "policy": Budget(6, 1938, 11),
    "ranking": Budget(6, 1205, 8),
    "search": Budget(14, 3721, 20),
    "anatomy": Budget(13, 4709, 51),
    "publish": Budget(12, 2649, 42),
    "answers": Budget(8, 1892, 20),
    "dossier": Budget(13, 4506, 66),
    "composition": Budget(5, 1357, 10),
    "attacks": Budget(14, 3734, 16),
    "ledger": Budget(3, 826, 4),
    "api": Budget(19, 5905, 0),
    "datasets": Budget(5, 954, 9),
    "papers": Budget(14, 4832, 17),
    "charts": Budget(9, 2190, 23),
    "views": Budget(20, 6761, 0),
    "__init__": Budget(1, 54, 0),
    "plugins": Budget(3, 99, 0),
    "studio": Budget(17, 4175, 2),
    "cli": Budget(32, 5864, 0),
    "__main__": Budget(1, 6, 0),
}
MOST_NAMES_ACROSS = 125

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
    "anatomy/methods.py": "l_diversity is a parameter of the methods",
    "views/columns.py": "the document of perturbed() has Bezzi's terms for keys; it is measured without METRICS",
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
ENGINE_CHECK = re.compile(r"isinstance\([^)]*(Engine|engine)\b|engine\.name\s*==")


class Import(NamedTuple):
    """One name that one of our modules takes from another."""

    importer: Path
    line: int
    module: str
    name: str

    @property
    def place(self) -> str:
        """Where it stands, and what it says."""
        return f"{self.importer.relative_to(ROOT)}:{self.line}: from {self.module} import {self.name}"


@cache
def tree(path: Path) -> ast.Module:
    """A file, parsed once."""
    return ast.parse(path.read_text(encoding="utf-8"))


def source_files() -> list[Path]:
    """Every Python file of ours."""
    return sorted(path for folder in ("src", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py"))


def package_files() -> list[Path]:
    """Every Python file of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    """The room a file stands in."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def module_of(path: Path) -> str:
    """divulge.search.plan for src/divulge/search/plan.py."""
    return ".".join(("divulge", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


def room_named(module: str) -> str:
    """The room of a module by its dotted name; the package itself is `__init__`."""
    return [*module.split("."), "__init__"][1]


@cache
def imports(path: Path) -> tuple[Import, ...]:
    """Every import of ours in a file, also inside functions."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[Import]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (
                Import(path, node.lineno, alias.name, "")
                for alias in node.names
                if alias.name.split(".")[0] == "divulge"
            )
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            if (node.module or "").split(".")[0] == "divulge":
                yield from (Import(path, node.lineno, node.module or "", alias.name) for alias in node.names)


def target_room(item: Import) -> str:
    """The room that an import leads to."""
    return item.name if item.module == "divulge" and item.name in ORDER else room_named(item.module)


def exported(room: str) -> set[str]:
    """What a room's front door offers."""
    for node in tree(PACKAGE / room / "__init__.py").body:
        if isinstance(node, ast.Assign) and [target.id for target in node.targets if isinstance(target, ast.Name)] == [
            "__all__"
        ]:
            return {str(constant.value) for constant in ast.walk(node.value) if isinstance(constant, ast.Constant)}
    return set()


def is_folder(room: str) -> bool:
    """A room of several files."""
    return (PACKAGE / room).is_dir()


def test_each_room_has_a_place_in_the_order() -> None:
    assert {room_of(path) for path in package_files()} == set(ORDER)


def test_each_room_imports_only_from_rooms_before_it() -> None:
    wrong = [
        item.place
        for path in package_files()
        for item in imports(path)
        if target_room(item) in ORDER and ORDER.index(target_room(item)) > ORDER.index(room_of(path))
    ]
    assert not wrong, "\n".join(["imports against the order:", *wrong])


def test_other_rooms_come_in_through_the_front_door() -> None:
    wrong = []
    for path in package_files():
        for item in imports(path):
            room = target_room(item)
            if room == room_of(path) or not is_folder(room):
                continue
            if room in OPEN_ROOMS:
                allowed = room_of(path) in OPEN_ROOMS[room]
            else:
                allowed = item.module == f"divulge.{room}" and item.name in exported(room)
                allowed = allowed or (item.module == "divulge" and item.name == room)
            if not allowed:
                wrong.append(item.place)
    assert not wrong, "\n".join(["past the front door (export it in the room's __init__.py, or do without):", *wrong])


def test_tests_use_the_front_door_where_a_name_is_exported() -> None:
    wrong = []
    for path in source_files():
        if PACKAGE in path.parents:
            continue
        for item in imports(path):
            room = target_room(item)
            deep = item.module.count(".") > 1 and is_folder(room) and room not in OPEN_ROOMS
            if deep and item.name in exported(room):
                wrong.append(item.place)
    assert not wrong, "\n".join(["these names are exported by their rooms:", *wrong])


def test_no_name_is_exported_that_no_other_room_uses() -> None:
    used = defaultdict(set)
    for path in source_files():
        for item in imports(path):
            used[item.module].add(item.name)
            if item.module == "divulge":  # the room as a whole
                names = {
                    node.attr
                    for node in ast.walk(tree(path))
                    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
                }
                used[f"divulge.{item.name}"] |= names
    public = {*dir(divulge), *dir(divulge.charts), *dir(divulge.datasets), *dir(divulge.dossier), *dir(divulge.papers)}
    unused = [
        f"{room}: {name}"
        for room in ORDER
        if is_folder(room)
        for name in sorted(exported(room) - used[f"divulge.{room}"] - public)
    ]
    assert not unused, "\n".join(["exported for nobody:", *unused])


def test_no_modules_import_each_other_in_a_circle() -> None:
    paths = {module_of(path): path for path in package_files()}
    after = {
        name: {
            target
            for item in imports(path)
            for target in ({f"{item.module}.{item.name}", item.module} & set(paths))
            if target != name and not (target == item.module and f"{item.module}.{item.name}" in paths)
        }
        for name, path in paths.items()
    }

    def reach(start: str) -> set[str]:
        seen: set[str] = set()
        todo = [start]
        while todo:
            new = after[todo.pop()] - seen
            seen |= new
            todo += new
        return seen

    assert [name for name in paths if name in reach(name)] == []


def test_no_command_imports_another() -> None:
    """What several commands take stands in a file that is none; so a command loads nothing of the others."""
    files = [path for path in package_files() if room_of(path) == "cli"]
    commands = {
        path.stem for path in files if "new_app()" in path.read_text(encoding="utf-8") and path.stem != "options"
    }
    assert {"measure", "generalize"} <= commands
    wrong = [
        item.place
        for path in files
        if path.stem in commands
        for item in imports(path)
        if commands & ({item.name} if item.module == "divulge.cli" else {item.module.removeprefix("divulge.cli.")})
    ]
    assert not wrong, "\n".join(["commands that import a command:", *wrong])


def test_rooms_keep_their_budgets() -> None:
    over = []
    for room, budget in BUDGETS.items():
        paths = [path for path in package_files() if room_of(path) == room]
        lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)
        found = Budget(len(paths), lines, len(exported(room)) if is_folder(room) else 0)
        over += [
            f"{room}: {number:,} {what}, and {most:,} are allowed"
            for what, number, most in zip(Budget._fields, found, budget, strict=True)
            if number > most
        ]
    assert set(BUDGETS) == set(ORDER), "each room has a budget"
    assert not over, "\n".join(["larger than before; look for what can go first:", *over])


def test_few_names_cross_rooms() -> None:
    """Counted as the names that some module imports from another room."""
    across = {
        (item.module, item.name)
        for path in package_files()
        for item in imports(path)
        if target_room(item) != room_of(path) and item.module != "divulge"
    }
    assert len(across) <= MOST_NAMES_ACROSS, f"{len(across)} names cross rooms"


def test_no_class_name_occurs_twice() -> None:
    names = Counter(
        node.name
        for path in package_files()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, times in names.items() if times > 1] == []


def test_no_room_hides_a_public_function() -> None:
    functions = [
        name
        for name in dir(divulge)
        if callable(getattr(divulge, name)) and not isinstance(getattr(divulge, name), type)
    ]
    assert [room for room in ORDER if room in functions] == []


def test_only_engines_and_readers_ask_which_engine_it_is() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in package_files()
        if room_of(path) not in ("engines", "table")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if ENGINE_CHECK.search(line)
    ]
    assert not found, "\n".join(["ask the engine what it can, not who it is:", *found])


def test_folders_of_tests_are_rooms() -> None:
    folders = {
        path.relative_to(ROOT / "tests").parts[0]
        for path in (ROOT / "tests").rglob("*.py")
        if path.parent != ROOT / "tests"
    }
    assert folders <= {*ORDER, "docs", "golden", "laws"}


def test_files_are_of_one_concept() -> None:
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
        if not text.startswith("# SPDX-License-Identifier: Apache-2.0\n") or not ast.get_docstring(tree(path)):
            bare.append(path.relative_to(ROOT).as_posix())
    assert not bare, f"without the SPDX line or a docstring: {bare}"


def metric_names_in(source: ast.Module) -> list[tuple[int, str]]:
    """(line, name) of each string that is the name of a metric; a text that stands by itself is a docstring."""
    nodes, names = list(ast.walk(source)), {metric.name for metric in METRICS} - set(OTHER_WORDS)
    told = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = [node for node in nodes if isinstance(node, ast.Constant) and id(node) not in told]
    return sorted((node.lineno, node.value) for node in texts if isinstance(node.value, str) and node.value in names)


def test_names_of_metrics_are_recognised() -> None:
    found = metric_names_in(ast.parse('"itpr"\nx = {"itpr": 1, "k": 2}\ny = "k_anonymity"'))
    assert found == [(2, "itpr"), (3, "k_anonymity")]


def test_only_metrics_knows_metrics_by_name() -> None:
    """What others must know of a metric is a field of Metric, so that a new one touches its file, METRICS and its test.

    The papers print numbers of metrics that they name; no new metric changes what a paper printed.
    """
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in package_files()
        if room_of(path) not in ("metrics", "papers") and path.relative_to(PACKAGE).as_posix() not in OWN_TERMS
        for line, name in metric_names_in(tree(path))
    ]
    assert not found, "\n".join(["names of metrics; make it a field of Metric:", *found])


def test_importing_divulge_imports_nothing_heavy() -> None:
    program = f"import sys, divulge; print(*sorted(set({HEAVY!r}) & set(sys.modules)))"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-c", program]
    loaded = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []


def test_measuring_a_file_loads_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    """Most tables are no release: what writes, searches, opens and enters them is loaded when one is named.

    Neither is what converts options that are no texts, or draws, fetches, parses conditions: each would cost more than a small table.
    """
    (tmp_path / "t.csv").write_text("zip,age,disease\n1,30,flu\n1,30,cold\n2,40,flu\n", encoding="utf-8")
    line = ["measure", str(tmp_path / "t.csv"), "--qi", "zip,age", "--sensitive", "disease"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-X", "importtime", "-m", "divulge", *line]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr
    loaded = {line.rpartition("|")[2].strip() for line in told.splitlines()}
    assert {"duckdb", "divulge.metrics", "divulge.views.words"} <= loaded
    rooms = {f"divulge.{room}" for room in ORDER[ORDER.index("ranking") : ORDER.index("api")]}
    # pyarrow looks for pandas itself, and is told that there is none
    others = set("altair http.client pandas.core polars pydantic pyspark sqlglot".split())
    assert loaded & (rooms | others) == set()


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
