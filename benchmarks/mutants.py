# SPDX-License-Identifier: Apache-2.0
"""Sample single changes of deciding code and report those that no test notices (mutation testing).

    make mutants                                            # 40 changes, spread over the folders of src/divulge
    make mutants ARGS="--seed 7 --count 100"
    make mutants ARGS="--folder output --folder queries"    # only these
    make mutants ARGS="--replay composition/intersection_bounds.py:412:0"
    make mutants ARGS="--seed 7 --index 12 --output"        # one change by its index, with the output of pytest
    make mutants ARGS="--folder queries --tests tests/queries"   # only by these tests
    make mutants ARGS="--most 30"                           # only the 30 nearest and fastest tests of each change
    make mutants ARGS="--record-only"                       # only update the map of tests

A map in build/mutants/ lists the statements that each test executes. The first run records it: every
test once, with few examples. Later runs record only files of tests that changed. A change is made
while the module is imported: no file of the checkout is written. First the tests of `make quick` that
execute the statement run, then all others, until one fails. Tests that need Spark, a server or public
data run with `--elsewhere`. Changes that cannot be noticed are listed, with the reason, in
benchmarks/mutants_unnoticeable.toml.
"""  # noqa: E501

from __future__ import annotations

import argparse
import contextlib
import difflib
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.mutation import MUTANT, PACKAGE, RECORD, ROOT, Mutation, before_and_after, mutations

BUILD = ROOT / "build" / "mutants"
MAP = BUILD / "map.json"
UNNOTICEABLE = ROOT / "benchmarks" / "mutants_unnoticeable.toml"
LEFT_OUT = ("datasets/", "charts/", "__init__.py")
"""Paths that decide nothing about a release: reproductions, public data, drawings, exports."""
NOT_THE_CODE = (
    "tests/test_structure.py",
    "tests/test_wheel.py",
    "tests/test_types_reach_the_user.py",
)
"""Tests that read sources or build packages; they execute no statement of their own accord."""
LONGEST = 900.0
"""Seconds after which a run of tests is ended; the change then counts as caught."""


@dataclass(frozen=True)
class RecordedTest:
    """One test, as it was recorded."""

    name: str
    file: str
    seconds: float
    quick: bool
    marks: tuple[str, ...]
    lines: Mapping[str, int]
    """The statements that the test executes, by file of the package: bit n is line n."""


@dataclass(frozen=True)
class Outcome:
    """Result of one change."""

    mutation: Mutation
    index: int
    before: str
    after: str
    status: str
    """`quick` or `all` (caught by), `survived`, `unreached` or `unnoticeable`."""
    test: str
    seconds: float


# --- the map of tests -----------------------------------------------------------------------------


def digest(path: Path) -> str:
    """Return a digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:24]


def files_of_tests(under: Sequence[str]) -> list[str]:
    """List the files with tests, and the sources whose docstrings have examples.

    With `under`, only those below these paths.
    """
    tests = (ROOT / "tests").rglob("test_*.py")
    examples = [
        path for path in PACKAGE.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8")
    ]
    names = sorted(path.relative_to(ROOT).as_posix() for path in (*tests, *examples))
    return [
        name
        for name in names
        if name not in NOT_THE_CODE and (not under or name.startswith(tuple(under)))
    ]


def update_map(under: Sequence[str], *, elsewhere: bool, jobs: int) -> None:
    """Record the tests of files that are new or changed."""
    kept: dict[str, Any] = read_map()
    now = {name: digest(ROOT / name) for name in files_of_tests(under)}
    stale = [
        name
        for name, found in now.items()
        if kept.get(name, {}).get("digest") != found or (elsewhere and not kept[name]["elsewhere"])
    ]
    if stale:
        print(f"recording {len(stale)} files of tests", flush=True)
        kept.update(record_tests(stale, now, elsewhere=elsewhere, jobs=jobs))
        BUILD.mkdir(parents=True, exist_ok=True)
        MAP.write_text(json.dumps(kept), encoding="utf-8")


def read_map() -> dict[str, Any]:
    """Return the records of test files that still exist."""
    kept: dict[str, Any] = json.loads(MAP.read_text(encoding="utf-8")) if MAP.exists() else {}
    return {name: record for name, record in kept.items() if (ROOT / name).exists()}


def record_tests(
    files: Sequence[str], digests: Mapping[str, str], *, elsewhere: bool, jobs: int
) -> dict[str, Any]:
    """Run the tests of these files once and return the statements that each executes."""
    folder = BUILD / "recording"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sources = keep_sources()
    options = ["-n", str(jobs), "--dist=loadgroup"] if jobs > 1 else ["-n0"]
    options += [
        "-p",
        "benchmarks.mutation_recorder",
        "-p",
        "no:randomly",
        "-q",
        "--no-header",
        "--tb=no",
        "-rN",
    ]
    if not elsewhere:
        options += ["-m", "not (spark or server or public_data)"]
    with (folder / "output.txt").open("w", encoding="utf-8") as output:
        pytest_process([*options, *files], {RECORD: str(folder)}, output).wait()
    records = [
        json.loads(line)
        for path in (folder / "tests").glob("*.jsonl")
        for line in path.open(encoding="utf-8")
    ]
    found: dict[str, Any] = {
        name: {"digest": digests[name], "elsewhere": elsewhere, "sources": sources, "tests": {}}
        for name in files
    }
    shared: dict[str, dict[str, int]] = defaultdict(dict)
    for record in records:
        add_lines(shared[record["file"]], record.pop("fixtures"))
    names = {record.pop("node"): record["test"] for record in records}
    by_name = {record.pop("test"): record for record in records}
    for path in (folder / "children").glob("*.json"):
        child = json.loads(path.read_text(encoding="utf-8"))
        if child["test"] in names:
            parent = by_name[names[child["test"]]]
            own = {file: int(bits, 16) for file, bits in parent["lines"].items()}
            add_lines(own, child["lines"])
            parent["lines"] = {file: f"{bits:x}" for file, bits in own.items()}
    for name, record in by_name.items():
        if record["passed"] and record["file"] in found:
            found[record["file"]]["tests"][name] = record
    for name, lines in shared.items():
        if name in found:
            found[name]["fixtures"] = {file: f"{bits:x}" for file, bits in lines.items()}
    failed = sum(not record["passed"] for record in by_name.values())
    print(f"recorded {len(by_name)} tests; {failed} did not pass and are left out", flush=True)
    return found


def add_lines(lines: dict[str, int], more: Mapping[str, str]) -> None:
    """Add executed lines, given in hexadecimal digits, to the lines already known."""
    for file, bits in more.items():
        lines[file] = lines.get(file, 0) | int(bits, 16)


def keep_sources() -> dict[str, str]:
    """Keep a copy of every source by its digest, so that lines can be followed when it changes."""
    folder = BUILD / "sources"
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, str] = {}
    for path in PACKAGE.rglob("*.py"):
        name = digest(path)
        found[path.relative_to(PACKAGE).as_posix()] = name
        if not (folder / name).exists():
            shutil.copyfile(path, folder / name)
    return found


class Moved:
    """Map lines of recorded sources to the current sources."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], dict[int, int]] = {}

    def lines(self, file: str, recorded: str, bits: int) -> int:
        """Return the current numbers of these lines; changed and removed lines are left out."""
        path = PACKAGE / file
        if not path.exists():
            return 0
        if (file, recorded) not in self.known:
            self.known[file, recorded] = self._moved(path, recorded)
        moved = self.known[file, recorded]
        if not moved:
            return bits
        found = 0
        for line in range(bits.bit_length()):
            if bits >> line & 1 and line in moved:
                found |= 1 << moved[line]
        return found

    @staticmethod
    def _moved(path: Path, recorded: str) -> dict[int, int]:
        if digest(path) == recorded:
            return {}
        before = (BUILD / "sources" / recorded).read_text(encoding="utf-8").splitlines()
        after = path.read_text(encoding="utf-8").splitlines()
        moved = {0: 0}
        for old, new, size in difflib.SequenceMatcher(
            None, before, after, autojunk=False
        ).get_matching_blocks():
            moved.update({old + step + 1: new + step + 1 for step in range(size)})
        return moved


def read_tests(recorded: Mapping[str, Any]) -> list[RecordedTest]:
    """Return the tests of the map, with the current line numbers."""
    moved = Moved()
    found: list[RecordedTest] = []
    for name, record in recorded.items():
        sources = record["sources"]
        shared = {
            file: moved.lines(file, sources[file], int(bits, 16))
            for file, bits in record.get("fixtures", {}).items()
        }
        for test, details in record["tests"].items():
            lines = dict(shared)
            for file, bits in details["lines"].items():
                lines[file] = lines.get(file, 0) | moved.lines(file, sources[file], int(bits, 16))
            found.append(
                RecordedTest(
                    test, name, details["seconds"], details["quick"], tuple(details["marks"]), lines
                )
            )
    return found


def reaching_tests(mutation: Mutation, tests: Iterable[RecordedTest]) -> list[RecordedTest]:
    """Return the tests that execute a statement, nearest first.

    These are the tests of the same folder, then files that take little time.
    """
    if mutation.statement:
        bit = 1 << mutation.statement
        reaching = [test for test in tests if test.lines.get(mutation.file, 0) & bit]
    else:
        reaching = [test for test in tests if test.lines.get(mutation.file, 0)]
    seconds: Counter[str] = Counter()
    for test in reaching:
        seconds[test.file] += test.seconds  # type: ignore[assignment]
    folder = f"tests/{mutation.file.partition('/')[0]}/"
    return sorted(
        reaching, key=lambda test: (not test.file.startswith(folder), seconds[test.file], test.file)
    )


def cheapest_tests(reaching: Sequence[RecordedTest], folder: str, most: int) -> list[RecordedTest]:
    """Choose the fastest tests.

    Half of them are from the folder of the change, the others from as many files as possible.
    """
    by_seconds = sorted(reaching, key=lambda test: test.seconds)
    near = [test for test in by_seconds if test.file.startswith(f"tests/{folder}/")]
    chosen = near[: most - most // 2]
    rank_in_file: Counter[str] = Counter()
    ranked: list[tuple[int, float, RecordedTest]] = []
    for test in by_seconds:
        if test not in chosen:
            ranked.append((rank_in_file[test.file], test.seconds, test))
            rank_in_file[test.file] += 1
    ranked.sort(key=lambda entry: entry[:2])
    return [*chosen, *(test for _, _, test in ranked[: most - len(chosen)])]


# --- one change -----------------------------------------------------------------------------------


def pytest_process(
    options: Sequence[str], variables: Mapping[str, str], output: Any
) -> subprocess.Popen[bytes]:
    """Start pytest with the import hook in it and in every process that it starts."""
    startup = BUILD / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    (startup / "sitecustomize.py").write_text(
        "import benchmarks.mutation\n\nbenchmarks.mutation.install()\n"
    )
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in {"PYTHONDONTWRITEBYTECODE", MUTANT, RECORD}
    }
    path = os.pathsep.join(str(folder) for folder in (startup, ROOT, ROOT / "src"))
    environment = {**kept, "PYTHONPATH": path, **variables}
    return subprocess.Popen(  # noqa: S603 - pytest
        [sys.executable, "-m", "pytest", "-p", "benchmarks.mutation_first", *options],
        cwd=ROOT,
        env=environment,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def run_tests(
    mutation: Mutation, tests: Sequence[RecordedTest], *, quick: bool, verbose: bool
) -> str | None:
    """Run tests with one change until one fails, and return its name, or None if all pass."""
    names = BUILD / "names.txt"
    names.write_text("".join(f"{test.name}\n" for test in tests), encoding="utf-8")
    options = [
        "-n0",
        "-x",
        "-q",
        "--no-header",
        "-rfE",
        "-p",
        "no:randomly",
        "-p",
        "no:cacheprovider",
    ]
    options += ["--tb=short" if verbose else "--tb=no"]
    if quick:
        options.append("--hypothesis-profile=quick")
    output = BUILD / "output.txt"
    limit = min(LONGEST, 90 + 10 * sum(test.seconds for test in tests))
    with output.open("w", encoding="utf-8") as stream:
        process = pytest_process([*options, f"@{names}"], {MUTANT: mutation.key}, stream)
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            return "the time limit"
        finally:
            end_session(process)
    text = output.read_text(encoding="utf-8", errors="replace")
    if verbose:
        print(text)
    if code == 0:
        return None
    if code in {4, 5}:
        # A name that pytest does not find does not count as caught.
        sys.exit(f"pytest could not run the tests of {mutation.key}:\n{text[-2000:]}")
    failed = [line for line in text.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if failed:
        return failed[0].split(" ", 1)[1].split(" - ", 1)[0]
    return f"pytest ended with {code}"


def end_session(process: subprocess.Popen[bytes]) -> None:
    """End pytest and all processes that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def judge(
    mutation: Mutation,
    index: int,
    tests: Sequence[RecordedTest],
    reasons: Mapping[tuple[str, ...], str],
    *,
    most: int | None,
    verbose: bool,
) -> Outcome:
    """Run the tests that reach one change, or the cheapest of them."""
    source = (PACKAGE / mutation.file).read_text(encoding="utf-8")
    before, after = before_and_after(source, mutation.node, mutation.variant)
    began = time.monotonic()

    def outcome(status: str, test: str = "") -> Outcome:
        return Outcome(mutation, index, before, after, status, test, time.monotonic() - began)

    if reason := reasons.get((mutation.file, mutation.function, line_of(mutation), before, after)):
        return outcome("unnoticeable", reason)
    reaching = reaching_tests(mutation, tests)
    if not reaching:
        return outcome("unreached")
    if most is not None:
        reaching = cheapest_tests(reaching, folder_of(mutation), most)
    quick = [test for test in reaching if test.quick]
    if quick and (failed := run_tests(mutation, quick, quick=True, verbose=verbose)):
        return outcome("quick", failed)
    if most is not None and len(quick) == len(reaching):
        return outcome("survived")
    if failed := run_tests(mutation, reaching, quick=False, verbose=verbose):
        return outcome("all", failed)
    return outcome("survived")


def unnoticeable() -> dict[tuple[str, ...], str]:
    """Read the changes that cannot be noticed, and the reasons."""
    if not UNNOTICEABLE.exists():
        return {}
    listed = tomllib.loads(UNNOTICEABLE.read_text(encoding="utf-8")).get("mutant", [])
    keys = ("file", "function", "line", "before", "after")
    return {tuple(row[key] for key in keys): row["reason"] for row in listed}


def line_of(mutation: Mutation) -> str:
    """Return the text of the line of a change, without its indentation."""
    lines = (PACKAGE / mutation.file).read_text(encoding="utf-8").splitlines()
    return lines[mutation.line - 1].strip()


# --- the sample -----------------------------------------------------------------------------------


def every_mutation(folders: Sequence[str]) -> list[Mutation]:
    """List the changes of the package, or of some folders or files of it."""
    found: list[Mutation] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        file = path.relative_to(PACKAGE).as_posix()
        chosen = any(file == folder or file.startswith(f"{folder}/") for folder in folders)
        if chosen or (
            not folders and not file.startswith(LEFT_OUT) and not file.endswith("__init__.py")
        ):
            found.extend(mutations(path.read_text(encoding="utf-8"), file))
    return found


def sample(found: Sequence[Mutation], count: int, seed: int) -> list[Mutation]:
    """Draw changes, folder by folder in turn, at most one of each node."""
    generator = random.Random(seed)  # noqa: S311 - a sample, not a secret
    by_folder: dict[str, list[Mutation]] = defaultdict(list)
    for mutation in found:
        by_folder[folder_of(mutation)].append(mutation)
    for folder in sorted(by_folder):
        generator.shuffle(by_folder[folder])
    drawn: list[Mutation] = []
    nodes: set[tuple[str, int]] = set()
    while len(drawn) < count and any(by_folder.values()):
        for folder in sorted(by_folder):
            candidates = by_folder[folder]
            while candidates and (candidates[-1].file, candidates[-1].node) in nodes:
                candidates.pop()
            if candidates and len(drawn) < count:
                drawn.append(candidates.pop())
                nodes.add((drawn[-1].file, drawn[-1].node))
    return drawn


def folder_of(mutation: Mutation) -> str:
    """Return the folder of a change; files directly in the package count as one."""
    folder, slash, _ = mutation.file.partition("/")
    return folder if slash else "(package)"


def show(outcome: Outcome, seed: int) -> str:
    """Describe the result of one change, in one or four lines."""
    mutation = outcome.mutation
    where = f"{mutation.file}:{mutation.line}"
    if outcome.status in {"quick", "all"}:
        return (
            f"{outcome.index:4} caught ({outcome.status}) {where} by {outcome.test} "
            f"({outcome.seconds:.0f} s)"
        )
    if outcome.status == "unnoticeable":
        return f"{outcome.index:4} unnoticeable {where}: {outcome.test}"
    return (
        f"{outcome.index:4} {outcome.status.upper()} {where} in "
        f"{mutation.function or 'the module'} [{mutation.kind}]"
        f" ({outcome.seconds:.0f} s)\n       - {outcome.before}\n       + {outcome.after}\n"
        f"       seed {seed}, index {outcome.index}; --replay {mutation.key}"
    )


def table(outcomes: Sequence[Outcome]) -> str:
    """Count the results of the changes, by folder."""
    columns = ("quick", "all", "survived", "unreached", "unnoticeable")
    lines = [
        f"{'folder':16}{'sampled':>9}"
        + "".join(f"{name:>14}" for name in columns)
        + f"{'caught':>9}"
    ]
    folders = sorted({folder_of(outcome.mutation) for outcome in outcomes})
    for folder in (*folders, "all folders"):
        chosen = [
            outcome
            for outcome in outcomes
            if folder in {"all folders", folder_of(outcome.mutation)}
        ]
        counts = Counter(outcome.status for outcome in chosen)
        noticeable = len(chosen) - counts["unnoticeable"]
        share = f"{(counts['quick'] + counts['all']) / noticeable:.0%}" if noticeable else "-"
        numbers = "".join(f"{counts[name]:>14}" for name in columns)
        lines.append(f"{folder:16}{len(chosen):>9}{numbers}{share:>9}")
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    """Read the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=40, help="how many changes are drawn")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--folder",
        action="append",
        default=[],
        help="a folder or file of src/divulge; can be repeated",
    )
    parser.add_argument(
        "--index",
        type=int,
        action="append",
        help="judge only the change with this index of the sample",
    )
    parser.add_argument(
        "--replay",
        action="append",
        default=[],
        metavar="FILE:NODE:VARIANT",
        help="judge this change",
    )
    parser.add_argument(
        "--tests", action="append", default=[], metavar="PATH", help="only tests below this path"
    )
    parser.add_argument(
        "--most",
        type=int,
        help="run at most this many tests for each change, the cheapest that reach it",
    )
    parser.add_argument("--list", action="store_true", help="only list the sample")
    parser.add_argument("--output", action="store_true", help="show what pytest prints")
    parser.add_argument("--record-only", action="store_true", help="only update the map of tests")
    parser.add_argument("--no-record", action="store_true", help="take the map of tests as it is")
    parser.add_argument(
        "--elsewhere",
        action="store_true",
        help="also tests that need Spark, a server or public data",
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes that record side by side")
    return parser.parse_args()


def chosen_mutations(options: argparse.Namespace) -> list[tuple[int, Mutation]]:
    """Return the changes to judge, with their indices in the sample."""
    if options.replay:
        files = sorted({key.rsplit(":", 2)[0] for key in options.replay})
        by_key = {mutation.key: mutation for mutation in every_mutation(files)}
        return [(index, by_key[key]) for index, key in enumerate(options.replay)]
    drawn = list(enumerate(sample(every_mutation(options.folder), options.count, options.seed)))
    return [
        (index, mutation)
        for index, mutation in drawn
        if options.index is None or index in options.index
    ]


def main() -> int:
    """Sample changes, judge each, and report; the exit code is 1 if one survives."""
    options = arguments()
    chosen = [] if options.record_only else chosen_mutations(options)
    if options.list:
        for index, mutation in chosen:
            source = (PACKAGE / mutation.file).read_text(encoding="utf-8")
            before, after = before_and_after(source, mutation.node, mutation.variant)
            print(
                f"{index:4} {mutation.file}:{mutation.line} [{mutation.kind}] {before}  ->  {after}"
            )
        return 0
    if not options.no_record:
        update_map(options.tests, elsewhere=options.elsewhere, jobs=options.jobs)
    recorded = read_map()
    chosen_files = set(files_of_tests(options.tests))
    tests = read_tests({name: record for name, record in recorded.items() if name in chosen_files})
    reasons = unnoticeable()
    outcomes: list[Outcome] = []
    for index, mutation in chosen:
        outcomes.append(
            judge(mutation, index, tests, reasons, most=options.most, verbose=options.output)
        )
        print(show(outcomes[-1], options.seed), flush=True)
    print(table(outcomes))
    return int(any(outcome.status in {"survived", "unreached"} for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
