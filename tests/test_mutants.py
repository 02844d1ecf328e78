# SPDX-License-Identifier: Apache-2.0
"""The sampler of single changes (`make mutants`): its changes, its records, unchanged sources."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from benchmarks import mutants, mutation
from benchmarks.mutants import (
    Moved,
    RecordedTest,
    digest,
    every_mutation,
    reaching_tests,
    sample,
    unnoticeable,
)
from benchmarks.mutation import (
    MUTANT,
    PACKAGE,
    RECORD,
    ROOT,
    Mutation,
    before_and_after,
    mutated,
    mutations,
    probed,
)
from benchmarks.mutation_recorder import name_without_group

SOURCE = """
def f(a, b, names):
    if a < b:
        raise ValueError(a)
    if not names and a - b > 2:
        return max(a, b)
    return a in (a, b), any(names)
"""

CHANGES = {
    ("comparison", "a < b", "a >= b"),
    ("strictness", "a < b", "a <= b"),
    ("guard", "if a < b:", "if False:"),
    ("guard", "if not names and a - b > 2:", "if False:"),
    ("and/or", "not names and a - b > 2", "not names or a - b > 2"),
    ("not", "not names", "names"),
    ("comparison", "a - b > 2", "a - b <= 2"),
    ("strictness", "a - b > 2", "a - b >= 2"),
    ("operands", "a - b", "b - a"),
    ("constant", "2", "3"),
    ("opposite", "max(a, b)", "min(a, b)"),
    ("operands", "(a in (a, b), any(names))", "(any(names), a in (a, b))"),
    ("comparison", "a in (a, b)", "a not in (a, b)"),
    ("operands", "(a, b)", "(b,)"),
    ("opposite", "any(names)", "all(names)"),
}


def test_every_kind_of_change_is_listed_once() -> None:
    found = mutations(SOURCE, "x.py")
    shown = [(one.kind, *before_and_after(SOURCE, one.node, one.variant)) for one in found]
    assert set(shown) == CHANGES
    assert len(shown) == len(CHANGES)
    assert {one.function for one in found} == {"f"}
    assert {one.statement for one in found} == {3, 5, 6, 7}


def test_a_change_changes_what_the_code_does() -> None:
    (strict,) = [
        one for one in mutations(SOURCE, "x.py") if one.line == 3 and one.kind == "strictness"
    ]
    assert calls(ast.parse(SOURCE), 1, 1, ["x"]) == (True, True)
    with pytest.raises(ValueError, match="1"):
        calls(mutated(SOURCE, strict.node, strict.variant), 1, 1, ["x"])


def calls(tree: ast.Module, *arguments: Any) -> Any:
    """Call the function f of a tree."""
    names: dict[str, Any] = {}
    exec(compile(tree, "x.py", "exec"), names)  # noqa: S102 - the source above
    return names["f"](*arguments)


def test_probes_note_the_statements_that_are_executed() -> None:
    tree = ast.parse(SOURCE)
    lines = probed(tree)
    hits = bytearray(len(lines))
    names: dict[str, Any] = {mutation.HITS: hits}
    exec(compile(tree, "x.py", "exec"), names)  # noqa: S102 - the source above
    assert names["f"](5, 1, []) == 5
    assert {line for line, hit in zip(lines, hits, strict=True) if hit} == {3, 5, 6}
    assert sorted(lines) == [3, 4, 5, 6, 7]


def test_annotations_and_type_checking_blocks_are_not_changed() -> None:
    source = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    raise ImportError\ndef "
        "f(a: "
        "X[1, 2]) -> Y[0]: ...\n"
    )
    assert mutations(source, "x.py") == []


def test_a_sample_is_drawn_again_by_its_seed_and_takes_folders_in_turn() -> None:
    every = every_mutation(["composition", "queries", "adversary"])
    drawn = sample(every, 30, seed=7)
    assert drawn == sample(every, 30, seed=7)
    assert drawn != sample(every, 30, seed=8)
    assert [mutants.folder_of(one) for one in drawn[:3]] == ["adversary", "composition", "queries"]
    nodes = {(one.file, one.node) for one in drawn}
    assert len(nodes) == 30


def test_tests_that_execute_the_statement_come_nearest_first() -> None:
    def test(name: str, file: str, seconds: float, lines: int) -> RecordedTest:
        return RecordedTest(
            name, file, seconds, quick=True, marks=(), lines={"queries/labels.py": lines}
        )

    tests = [
        test("slow", "tests/api/test_query.py", 9.0, 1 << 5),
        test("elsewhere", "tests/api/test_other.py", 0.1, 1 << 6),
        test("fast", "tests/cli/test_query.py", 1.0, 1 << 5 | 1 << 6),
        test("near", "tests/queries/test_labels.py", 99.0, 1 << 5),
    ]
    change = Mutation("queries/labels.py", 1, 0, "not", line=5, statement=5, function="f")
    assert [one.name for one in reaching_tests(change, tests)] == ["near", "fast", "slow"]


def test_the_cheapest_tests_are_half_from_the_folder_and_otherwise_from_many_files() -> None:
    def test(file: str, seconds: float) -> RecordedTest:
        return RecordedTest(f"{file} {seconds}", file, seconds, quick=True, marks=(), lines={})

    near = [test("tests/queries/test_labels.py", seconds) for seconds in (3.0, 1.0, 2.0)]
    one_file = [test("tests/api/test_query.py", seconds) for seconds in (0.1, 0.2)]
    other = test("tests/cli/test_query.py", 5.0)
    chosen = mutants.cheapest_tests([*near, *one_file, other], "queries", 4)
    assert chosen == [near[1], near[2], one_file[0], near[0]]
    assert mutants.cheapest_tests([*one_file, other], "queries", 2) == [one_file[0], other]
    assert mutants.cheapest_tests([other], "queries", 3) == [other]


def change_of_count_with_noun() -> Mutation:
    """Return the change after which `count_with_noun` writes "1 people"."""
    (change,) = [
        one
        for one in every_mutation(["text.py"])
        if one.function == "count_with_noun" and one.kind == "comparison"
    ]
    return change


def test_lines_are_followed_when_a_source_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutants, "PACKAGE", tmp_path)
    monkeypatch.setattr(mutants, "BUILD", tmp_path)
    source = tmp_path / "x.py"
    source.write_text("a\nb\nc\n")
    recorded = digest(source)
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / recorded).write_text(source.read_text())
    assert Moved().lines("x.py", recorded, 1 << 1 | 1 << 3) == 1 << 1 | 1 << 3
    source.write_text("new\na\nchanged\nc\n")
    assert Moved().lines("x.py", recorded, 1 << 1 | 1 << 2 | 1 << 3) == 1 << 2 | 1 << 4


def test_a_process_runs_the_change_and_the_source_stays_as_it_is(tmp_path: Path) -> None:
    """`count_with_noun` writes "1 person" if its count == 1."""
    source = PACKAGE / "text.py"
    before = source.read_bytes()
    change = change_of_count_with_noun()
    (tmp_path / "sitecustomize.py").write_text(
        "import benchmarks.mutation\nbenchmarks.mutation.install()\n"
    )
    path = os.pathsep.join(map(str, (tmp_path, ROOT, ROOT / "src")))
    program = (
        "from divulge.text import count_with_noun; print(count_with_noun(1, 'person', 'people'))"
    )
    printed = {
        key: subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONPATH": path, MUTANT: key},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for key in ("", change.key)
    }
    assert printed == {"": "1 person", change.key: "1 people"}
    assert source.read_bytes() == before


def test_what_a_module_executes_is_recorded_after_its_code_is_asked_for_again(
    tmp_path: Path,
) -> None:
    """Tools such as inspect and runpy request the code of a module that is already imported."""
    (tmp_path / "sitecustomize.py").write_text(
        "import benchmarks.mutation\nbenchmarks.mutation.install()\n"
    )
    path = os.pathsep.join(map(str, (tmp_path, ROOT, ROOT / "src")))
    program = (
        "import divulge.text as v; from benchmarks.mutation import take_executed; "
        "take_executed();"
        "v.__loader__.get_code('divulge.text'); v.count_with_noun(1, 'person', 'people'); "
        "print(sorted(take_executed()))"
    )
    environment = {**os.environ, "PYTHONPATH": path, RECORD: str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "['text.py']"


def test_an_example_in_a_docstring_catches_a_change_of_its_own_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pytest itself loads files that are passed by name, unless the hook goes first."""
    monkeypatch.setattr(mutants, "BUILD", tmp_path)
    change = change_of_count_with_noun()
    example = "src/divulge/text.py::divulge.text.count_with_noun"
    test = RecordedTest(example, "src/divulge/text.py", 0.1, quick=True, marks=(), lines={})
    assert mutants.run_tests(change, [test], quick=True, verbose=False) == example


def test_a_test_that_pytest_does_not_find_does_not_count_as_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With pytest-xdist a test is called name@group, which pytest does not accept."""
    monkeypatch.setattr(mutants, "BUILD", tmp_path)
    change = change_of_count_with_noun()
    name = "tests/test_arrays.py::test_sums_by_id"
    for wrong in (f"{name}@group", "tests/test_arrays.py::test_that_is_gone"):
        test = RecordedTest(wrong, "tests/test_arrays.py", 0.1, quick=True, marks=(), lines={})
        with pytest.raises(SystemExit, match="could not run the tests"):
            mutants.run_tests(change, [test], quick=True, verbose=False)


def test_the_group_of_a_test_is_not_part_of_its_recorded_name(
    request: pytest.FixtureRequest,
) -> None:
    item = request.node
    name = item.nodeid
    item.add_marker(pytest.mark.xdist_group("some group"))
    assert name_without_group(item) == name
    grouped = SimpleNamespace(
        nodeid="x.py::test[a@b]@some group", get_closest_marker=item.get_closest_marker
    )
    assert name_without_group(cast("pytest.Item", grouped)) == "x.py::test[a@b]"


def test_every_change_that_cannot_be_noticed_is_still_there() -> None:
    """Entries whose code is gone must be removed.

    Each entry is one change of one line: others of the same function may be noticed.
    """
    listed = unnoticeable()
    files = sorted({file for file, *_ in listed})
    changes: list[tuple[str, ...]] = [
        (
            one.file,
            one.function,
            mutants.line_of(one),
            *before_and_after(source, one.node, one.variant),
        )
        for file in files
        for source in [(PACKAGE / file).read_text("utf-8")]
        for one in every_mutation([file])
        if any(one.file == file and one.function == function for file, function, *_ in listed)
    ]
    assert {entry: changes.count(entry) for entry in listed} == dict.fromkeys(listed, 1)
    assert all(reason.strip() for reason in listed.values())
