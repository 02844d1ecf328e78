# SPDX-License-Identifier: Apache-2.0
"""Structure of the code: order and public interfaces of the layers, names, lengths of lines and
functions, a light `import divulge`, no traces of a machine.

A layer is a folder of src/divulge, or a file directly in it. Each imports only from layers before
it, and only what a layer exports.
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

# Each layer imports only from layers before it, and from itself. results.py finds the views of a
# result by name when somebody looks: the one import that goes the other way, and the only one that
# is not written as an import.
ORDER = (
    "marks",
    "arguments",
    "errors",
    "interrupts",
    "signals",
    "version",
    "text",
    "validation",
    "arrays",
    "options",
    "results",
    "private_folder",
    "hierarchies",
    "engines",
    "sources",
    "counting",
    "adversary",
    "metrics",
    "policy",
    "ranking",
    "generalization",
    "anatomization",
    "releases",
    "queries",
    "dossier",
    "composition",
    "attacks",
    "ledger",
    "api",
    "datasets",
    "charts",
    "output",
    "__init__",
    "integrations",
    "studio",
    "cli",
    "__main__",
)
# Layers without a public interface: one file for each function or command.
OPEN_LAYERS = {
    "api": ("__init__", "charts", "output", "studio", "cli"),
    "output": ("integrations", "studio", "cli"),
    "cli": ("__main__",),
}

LONGEST_FILE = 1000
LONGEST_LINE = 100
MOST_STATEMENTS = 40

# Names that say how a thing came to be, or nothing, instead of what the thing is.
VAGUE = frozenset(
    "found told place each given kept known asked counted whole own held her seen said judged "
    "beside by wanted shown named one got alone apart also most tells telling says res tmp thing "
    "things stuff info obj it".split()
)
# Parts of names (found_rows, _told_of) that say no more.
VAGUE_STEMS = frozenset("found told said judged asked beside tells telling foretell".split())
# Options, parameters and fields with such a name that users type or that are keys of JSON output.
PUBLIC_VAGUE = {
    "anatomization/advice.py": "alone asked",
    "anatomization/chunks.py": "counted",
    "anatomization/tables.py": "counted",
    "api/apply.py": "alone beside",
    "composition/changed_risk.py": "not_found",
    "api/cut.py": "beside most",
    "api/report.py": "beside found",
    "attacks/result.py": "known told",
    "cli/hierarchy.py": "beside most",
    "cli/inputs.py": "found",
    "cli/measure.py": "by given",
    "cli/rank.py": "most",
    "composition/joint_metrics.py": "alone found named",
    "dossier/leakage.py": "each most one",
    "dossier/operators.py": "each",
    "dossier/record.py": "kept",
    "engines/duckdb.py": "by",
    "engines/spark.py": "by",
    "errors.py": "most",
    "generalization/cut_points.py": "beside",
    "generalization/requirement_cost.py": "alone",
    "ledger/ledger.py": "place",
    "metrics/itpr_repair.py": "most",
    "metrics/measurement.py": "most",
    "metrics/out_of_core.py": "kept most",
    "output/columns.py": "most",
    "output/json_documents/attacks.py": "known told",
    "output/json_documents/dossiers.py": "given",
    "output/json_documents/joint.py": "alone found named not_found",
    "output/json_documents/releases.py": "alone asked beside judged_against place",
    "output/json_documents/settings.py": "counted found found_by most",
    "output/json_documents/tables.py": "alone",
    "output/dossier.py": "kept",
    "output/html.py": "most",
    "output/measurement.py": "beside by",
    "policy/guard.py": "whole",
    "ranking/growing.py": "alone",
    "ranking/ranking.py": "alone",
    "releases/generalized.py": "kept",
    "releases/release.py": "counted",
    "reproduction/verdicts.py": "shown told",
}

# What `import divulge` must leave for its first use.
HEAVY = tuple(
    "altair duckdb numpy pandas polars pyarrow pyspark rich sqlglot typer vl_convert".split()
)

# Words that are the name of a metric and of something else too.
OTHER_WORDS = {
    "classes": "how many classes there are is a key of most documents",
    "alpha": "a level of an anatomized release (Yao et al. 2021)",
}
# Files whose own terms are named like metrics.
OWN_TERMS = {
    "anatomization/methods.py": "l_diversity is a parameter of the methods",
    "output/columns.py": "the document of perturbed() has Bezzi's terms for keys; it is measured "
    "without METRICS",
    "output/json_documents/tables.py": "metrics are keys of these documents",
}

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

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
        return (
            f"{self.importer.relative_to(ROOT)}:{self.line}: from {self.module} import {self.name}"
        )


@cache
def tree(path: Path) -> ast.Module:
    """A file, parsed once."""
    return ast.parse(path.read_text(encoding="utf-8"))


def source_files() -> list[Path]:
    """Every Python file of ours."""
    return sorted(
        path
        for folder in ("src", "tests", "benchmarks", "reproduction")
        for path in (ROOT / folder).rglob("*.py")
    )


def package_files() -> list[Path]:
    """Every Python file of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def styled_files() -> list[Path]:
    """Every Python file whose names, lengths and docstrings are checked: no tests."""
    return [*package_files(), *sorted((ROOT / "reproduction").rglob("*.py"))]


def short_name(path: Path) -> str:
    """The path of a file below the package, or below the repository if it is not in the package."""
    if PACKAGE in path.parents:
        return path.relative_to(PACKAGE).as_posix()
    return path.relative_to(ROOT).as_posix()


def layer_of(path: Path) -> str:
    """The layer a file stands in."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def module_of(path: Path) -> str:
    """divulge.generalization.plan for src/divulge/generalization/plan.py."""
    return ".".join(("divulge", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
        ".__init__"
    )


def layer_named(module: str) -> str:
    """The layer of a module by its dotted name; the package itself is `__init__`."""
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
                yield from (
                    Import(path, node.lineno, node.module or "", alias.name) for alias in node.names
                )


def target_layer(item: Import) -> str:
    """The layer that an import leads to."""
    return (
        item.name if item.module == "divulge" and item.name in ORDER else layer_named(item.module)
    )


def exported(layer: str) -> set[str]:
    """What a layer's public interface offers."""
    for node in tree(PACKAGE / layer / "__init__.py").body:
        if isinstance(node, ast.Assign) and [
            target.id for target in node.targets if isinstance(target, ast.Name)
        ] == ["__all__"]:
            return {
                str(constant.value)
                for constant in ast.walk(node.value)
                if isinstance(constant, ast.Constant)
            }
    return set()


def is_folder(layer: str) -> bool:
    """A layer of several files."""
    return (PACKAGE / layer).is_dir()


def test_each_layer_has_a_place_in_the_order() -> None:
    assert {layer_of(path) for path in package_files()} == set(ORDER)


def test_each_layer_imports_only_from_layers_before_it() -> None:
    wrong = [
        item.place
        for path in package_files()
        for item in imports(path)
        if target_layer(item) in ORDER
        and ORDER.index(target_layer(item)) > ORDER.index(layer_of(path))
    ]
    assert not wrong, "\n".join(["imports against the order:", *wrong])


def test_other_layers_come_in_through_the_front_door() -> None:
    wrong = []
    for path in package_files():
        for item in imports(path):
            layer = target_layer(item)
            if layer == layer_of(path) or not is_folder(layer):
                continue
            if layer in OPEN_LAYERS:
                allowed = layer_of(path) in OPEN_LAYERS[layer]
            else:
                allowed = item.module == f"divulge.{layer}" and item.name in exported(layer)
                allowed = allowed or (item.module == "divulge" and item.name == layer)
            if not allowed:
                wrong.append(item.place)
    assert not wrong, "\n".join(
        ["past the public interface (export it in the layer's __init__.py, or do without):", *wrong]
    )


def test_tests_use_the_front_door_where_a_name_is_exported() -> None:
    wrong = []
    for path in source_files():
        if PACKAGE in path.parents:
            continue
        for item in imports(path):
            layer = target_layer(item)
            deep = item.module.count(".") > 1 and is_folder(layer) and layer not in OPEN_LAYERS
            if deep and item.name in exported(layer):
                wrong.append(item.place)
    assert not wrong, "\n".join(["these names are exported by their layers:", *wrong])


def test_no_name_is_exported_that_no_other_layer_uses() -> None:
    used = defaultdict(set)
    for path in source_files():
        for item in imports(path):
            used[item.module].add(item.name)
            if item.module == "divulge":  # the layer as a whole
                names = {
                    node.attr
                    for node in ast.walk(tree(path))
                    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
                }
                used[f"divulge.{item.name}"] |= names
    public = {*dir(divulge), *dir(divulge.charts), *dir(divulge.datasets), *dir(divulge.dossier)}
    unused = [
        f"{layer}: {name}"
        for layer in ORDER
        if is_folder(layer)
        for name in sorted(exported(layer) - used[f"divulge.{layer}"] - public)
    ]
    assert not unused, "\n".join(["exported for nobody:", *unused])


def test_no_modules_import_each_other_in_a_circle() -> None:
    paths = {module_of(path): path for path in package_files()}
    after = {
        name: {
            target
            for item in imports(path)
            for target in ({f"{item.module}.{item.name}", item.module} & set(paths))
            if target != name
            and not (target == item.module and f"{item.module}.{item.name}" in paths)
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
    """What several commands take stands in a file that is none.

    So a command loads nothing of the others.
    """
    files = [path for path in package_files() if layer_of(path) == "cli"]
    commands = {
        path.stem
        for path in files
        if "new_app()" in path.read_text(encoding="utf-8") and path.stem != "options"
    }
    assert {"measure", "generalize"} <= commands
    wrong = [
        item.place
        for path in files
        if path.stem in commands
        for item in imports(path)
        if commands
        & (
            {item.name}
            if item.module == "divulge.cli"
            else {item.module.removeprefix("divulge.cli.")}
        )
    ]
    assert not wrong, "\n".join(["commands that import a command:", *wrong])


def test_no_class_name_occurs_twice() -> None:
    names = Counter(
        node.name
        for path in package_files()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, times in names.items() if times > 1] == []


def test_no_layer_hides_a_public_function() -> None:
    functions = [
        name
        for name in dir(divulge)
        if callable(getattr(divulge, name)) and not isinstance(getattr(divulge, name), type)
    ]
    assert [layer for layer in ORDER if layer in functions] == []


def test_only_engines_and_readers_ask_which_engine_it_is() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in package_files()
        if layer_of(path) not in ("engines", "sources")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if ENGINE_CHECK.search(line)
    ]
    assert not found, "\n".join(["ask the engine what it can, not who it is:", *found])


def test_folders_of_tests_are_layers() -> None:
    folders = {
        path.relative_to(ROOT / "tests").parts[0]
        for path in (ROOT / "tests").rglob("*.py")
        if path.parent != ROOT / "tests"
    }
    assert folders <= {*ORDER, "docs", "golden", "laws", "reproduction"}


def test_no_file_is_longer_than_a_thousand_lines() -> None:
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in source_files()
    }
    too_long = [f"{name}: {lines} lines" for name, lines in lengths.items() if lines > LONGEST_FILE]
    assert not too_long, "\n".join([f"over {LONGEST_FILE} lines:", *too_long])


def test_few_lines_are_long() -> None:
    """The linter rejects long lines; its exceptions are tables of numbers and help texts."""
    lines = [
        line for path in styled_files() for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert sum(len(line) > LONGEST_LINE for line in lines) <= len(lines) / 100


def statements_of(function: ast.AST) -> int:
    """The number of statements of a function, without its docstring."""
    statements = sum(isinstance(node, ast.stmt) for node in ast.walk(function)) - 1
    if isinstance(function, FUNCTIONS) and ast.get_docstring(function) is not None:
        return statements - 1
    return statements


def test_functions_are_short() -> None:
    lengths = {
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}": statements_of(node)
        for path in styled_files()
        for node in ast.walk(tree(path))
        if isinstance(node, FUNCTIONS)
    }
    too_long = [f"{name}: {count}" for name, count in lengths.items() if count > MOST_STATEMENTS]
    assert not too_long, "\n".join([f"over {MOST_STATEMENTS} statements:", *too_long])


def bindings(path: Path) -> Iterator[tuple[str, int]]:
    """Every name that a file gives to a variable, a parameter, a function or a class."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield node.name, node.lineno


def is_vague(name: str) -> bool:
    """Whether a name is on the list, or a part of it is a vague stem."""
    return name.strip("_") in VAGUE or bool(VAGUE_STEMS & set(name.lower().split("_")))


def test_vague_names_are_recognised() -> None:
    vague = ["found", "_told", "found_rows", "not_told_of", "each"]
    assert [name for name in vague if not is_vague(name)] == []
    assert [name for name in ("rows", "class_sizes", "foundation", "teach") if is_vague(name)] == []


def test_names_say_what_things_are() -> None:
    vague = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in styled_files()
        for name, line in bindings(path)
        if is_vague(name) and name not in PUBLIC_VAGUE.get(short_name(path), "").split()
    ]
    assert not vague, "\n".join(["names that do not say what a thing is:", *vague])


def test_docstrings_open_with_a_statement() -> None:
    """No question word and no "The same" at the start, command docstrings (`--help`) aside."""
    opening = re.compile(
        r"\s*(what|who|whom|whose|which|when|where|why|how|whether|the same)\b", re.IGNORECASE
    )
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in styled_files()
        if not short_name(path).startswith("cli/")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        and opening.match(node.value.value)
    ]
    assert not wrong, "\n".join(["docstrings that open with a question:", *wrong])


def test_each_file_opens_with_its_licence_and_its_purpose() -> None:
    bare = []
    for path in source_files():
        text = path.read_text(encoding="utf-8")
        if not text.startswith("# SPDX-License-Identifier: Apache-2.0\n") or not ast.get_docstring(
            tree(path)
        ):
            bare.append(path.relative_to(ROOT).as_posix())
    assert not bare, f"without the SPDX line or a docstring: {bare}"


def metric_names_in(source: ast.Module) -> list[tuple[int, str]]:
    """(line, name) of each string that is the name of a metric.

    A text that stands by itself is a docstring.
    """
    nodes, names = list(ast.walk(source)), {metric.name for metric in METRICS} - set(OTHER_WORDS)
    told = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = [node for node in nodes if isinstance(node, ast.Constant) and id(node) not in told]
    return sorted(
        (node.lineno, node.value)
        for node in texts
        if isinstance(node.value, str) and node.value in names
    )


def test_names_of_metrics_are_recognised() -> None:
    found = metric_names_in(ast.parse('"itpr"\nx = {"itpr": 1, "k": 2}\ny = "k_anonymity"'))
    assert found == [(2, "itpr"), (3, "k_anonymity")]


def test_only_metrics_knows_metrics_by_name() -> None:
    """What others must know of a metric is a field of Metric, so that a new one touches its file,
    METRICS and its test.
    """
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in package_files()
        if layer_of(path) != "metrics" and path.relative_to(PACKAGE).as_posix() not in OWN_TERMS
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
    """Most tables are no release: what writes, searches, opens and enters them is loaded when one
    is named.

    Neither is what converts options that are no texts, or draws, fetches, parses conditions: each
    would cost more than a small table.
    """
    (tmp_path / "t.csv").write_text(
        "zip,age,disease\n1,30,flu\n1,30,cold\n2,40,flu\n", encoding="utf-8"
    )
    line = ["measure", str(tmp_path / "t.csv"), "--qi", "zip,age", "--sensitive", "disease"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-X", "importtime", "-m", "divulge", *line]
    told = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stderr
    loaded = {line.rpartition("|")[2].strip() for line in told.splitlines()}
    assert {"duckdb", "divulge.metrics", "divulge.output.formatting"} <= loaded
    layers = {f"divulge.{layer}" for layer in ORDER[ORDER.index("ranking") : ORDER.index("api")]}
    # pyarrow looks for pandas itself, and is told that there is none
    others = set("altair http.client pandas.core polars pydantic pyspark sqlglot".split())
    assert loaded & (layers | others) == set()


def repository_files() -> list[Path]:
    """Files that are tracked, or would be with `git add`."""
    listing = [
        "git",
        "-c",
        "safe.directory=*",
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]
    try:
        names = subprocess.run(
            listing, cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split("\0")
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout: nobody can say which files belong to the repository")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def traces(line: str) -> list[str]:
    """What in this line belongs to one machine or one package registry."""
    return [host for host in REGISTRY_HOSTS if host in line] + [
        found.group() for found in MACHINE_PATH.finditer(line)
    ]


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
        found += [
            f"{path.relative_to(ROOT)}:{n}: {t}"
            for n, line in enumerate(lines, 1)
            for t in traces(line)
        ]
    assert not found, "\n".join(["belongs to one machine or one registry:", *found])
