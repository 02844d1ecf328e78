# SPDX-License-Identifier: Apache-2.0
"""Cases of each part of `make bench`, compared with the bare work or a rival if there is one.

Parts of `EVERY` belong to the record. Parts of `ALONE` take long or large disks, or have nothing to
be compared with, and are run by name.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isclose
from pathlib import Path
from typing import Any

from benchmarks.data import MORE, QUASI_IDENTIFIERS, SENSITIVE
from benchmarks.harness import ROOT, Case, Failed, Found, Work, run, task

EVERY = (
    "process",
    "measure",
    "generalize",
    "apply",
    "anatomize",
    "rank",
    "search",
    "spark",
    "growth",
    "rivals",
)
ALONE = ("wide", "alone", "disk", "methods", "dossier", "resolve", "attack", "compose")
LIMIT = "1GB"
CENSUS = (
    "age",
    "class of worker",
    "detailed industry recode",
    "detailed occupation recode",
    "education",
    "marital stat",
    "race",
    "hispanic origin",
    "sex",
    "citizenship",
    "enroll in edu inst last wk",
    "member of a labor union",
    "reason for unemployment",
    "full or part time employment stat",
    "capital gains",
    "tax filer stat",
    "region of previous residence",
    "family members under 18",
)
"""Quasi-identifiers of Census-Income.

The first 10, 14 and 18 have 442,368, 2 x 10^7 and 8 x 10^9 combinations of default levels.
"""
EIGHT = [
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "income",
]
ADULT = ("--qi", ",".join(QUASI_IDENTIFIERS), "--sensitive", SENSITIVE)
DIVULGE = (sys.executable, "-m", "divulge")


@dataclass(frozen=True)
class Asked:
    """Sizes of the tables."""

    rows: tuple[int, ...]
    """Numbers of rows of the tables, the largest last."""
    search_seconds: float = 30.0


def cases(part: str, asked: Asked) -> Iterator[Case]:
    """Yield the cases of a part."""
    yield from _PARTS[part](asked)


def made(folder: Path, kind: str, rows: int) -> str:
    """Return the path of a table of data.py, made when it is first needed."""
    path = folder / f"{kind}-{rows}.parquet"
    if not path.exists():
        run(task("make", path=str(path), kind=kind, rows=rows), folder)
    return str(path)


def _large(rows: int) -> str:
    """Format a number of rows as 10^6, or as 20,000."""
    zeros = len(str(rows)) - 1
    return f"10^{zeros}" if rows == 10**zeros else f"{rows:,}"


def _process(_asked: Asked) -> Iterator[Case]:
    def works(folder: Path) -> dict[str, Work]:
        table = folder / "adult.csv"
        run(
            Work(
                (*DIVULGE, "datasets", "adult", "--out", str(table)), reports=False, clean=(table,)
            ),
            folder,
        )
        names = ADULT[1].replace(",", '","')
        bare = f"""import duckdb; duckdb.sql('SELECT "{names}", occupation, COUNT(*) FROM "{table}" GROUP BY ALL').fetchall()"""  # noqa: E501
        ours = (*DIVULGE, "measure", str(table), *ADULT)
        return {
            "DuckDB's GROUP BY in Python": Work((sys.executable, "-c", bare), reports=False),
            "divulge measure": Work(ours, reports=False),
        }

    yield Case("process", "Adult (CSV), the whole process", works, aim="0.5 s")


def _measure(asked: Asked) -> Iterator[Case]:
    for kind, size in ((kind, size) for kind in ("resampled", "mixed") for size in asked.rows):

        def works(folder: Path, kind: str = kind, size: int = size) -> dict[str, Work]:
            given = {"path": made(folder, kind, size), "warm": made(folder, kind, 10_000)}
            return {"GROUP BY": task("group_by", **given), "all metrics": task("measure", **given)}

        aim = {10**6: "1.4", 10**7: "1.0"}.get(size, "") if kind == "resampled" else ""
        few = "few classes" if kind == "resampled" else "many classes"
        yield Case("measure", f"{_large(size)} rows, {few}", works, aim=aim)


def _to_release(part: str, size: int, options: Mapping[str, tuple[str, ...]], aim: str) -> Case:
    """Return a case of a command, from the file to the verified release, and a shuffled copy.

    The command runs with several sets of options.
    """

    def works(folder: Path) -> dict[str, Work]:
        table, out = made(folder, "resampled", size), folder / "release"
        copy = task("shuffled_copy", path=table, out=str(folder / "copy.parquet"))
        # Commands are whole processes, so it is one too.
        found = {"shuffled COPY": replace(copy, reports=False)}
        for name, more in options.items():
            command = (*DIVULGE, part, table, *ADULT, *more, "--out", str(out))
            found[name] = Work(command, reports=False, clean=(out,))
        return found

    return Case(part, f"{_large(size)} rows, file to verified release", works, aim=aim)


def _generalize(asked: Asked) -> Iterator[Case]:
    policy = ("--k-anonymity", "5", "--suppression", "0.05")
    options = {"as it is": policy, f"--memory-limit {LIMIT}": (*policy, "--memory-limit", LIMIT)}
    for size in asked.rows:
        yield _to_release("generalize", size, options, "1.6, 1 GB" if size == 10**7 else "")


def _apply(asked: Asked) -> Iterator[Case]:
    size = asked.rows[-1]

    def works(folder: Path) -> dict[str, Work]:
        table, earlier, out = made(folder, "resampled", size), folder / "earlier", folder / "later"
        command = (
            *DIVULGE,
            "generalize",
            table,
            *ADULT,
            "--k-anonymity",
            "5",
            "--suppression",
            "0.05",
            "--out",
            str(earlier),
        )
        run(Work(command, reports=False, clean=(earlier,)), folder)
        ours = (
            *DIVULGE,
            "apply",
            str(earlier),
            table,
            "--suppress-unseen",
            "--suppression",
            "1",
            "--out",
            str(out),
        )
        copy = task("shuffled_copy", path=table, out=str(folder / "copy.parquet"))
        limited = Work((*ours, "--memory-limit", LIMIT), reports=False, clean=(out,))
        return {
            "shuffled COPY": replace(copy, reports=False),
            "as it is": Work(ours, reports=False, clean=(out,)),
            f"--memory-limit {LIMIT}": limited,
        }

    yield Case("apply", f"{_large(size)} later rows to verified release", works, aim="1 GB", runs=3)


def _anatomize(asked: Asked) -> Iterator[Case]:
    bound = ("--beta", "1/4")
    bare = {
        "--queries 0": (*bound, "--queries", "0"),
        f"--queries 0 --memory-limit {LIMIT}": (*bound, "--queries", "0", "--memory-limit", LIMIT),
    }
    for size in asked.rows:
        most = size == 10**7
        aim = (
            "4, 1 GB" if most else "6 with the error of queries, 4 without" if size == 10**6 else ""
        )
        yield _to_release("anatomize", size, bare if most else {"as it is": bound, **bare}, aim)


def _rank(asked: Asked) -> Iterator[Case]:
    size = min(10**6, asked.rows[-1])

    def works(folder: Path) -> dict[str, Work]:
        path = made(folder, "ranked", size)
        ours = task("rank", path=path, warm=made(folder, "ranked", 999))
        return {"1,350 GROUP BYs": task("group_by_each", path=path), "rank": ours}

    yield Case("rank", f"20 attributes up to 3, {_large(size)} rows", works, aim="0.1", runs=3)


def _search(asked: Asked) -> Iterator[Case]:
    aims = {10: "10 s", 14: "gap .03", 18: "gap .10"}
    for count, aim in aims.items():

        def works(folder: Path, count: int = count) -> dict[str, Work]:
            path = folder / "census.parquet"
            if not path.exists():
                fetch = (*DIVULGE, "datasets", "census-income", "--out", str(path))
                run(Work(fetch, reports=False), folder)
            given: dict[str, Any] = {"path": str(path), "columns": CENSUS[:count]}
            return {
                "GROUP BY": task("group_by", **given),
                "optimal levels": task("search", **given, time_limit=asked.search_seconds),
            }

        name = (
            f"Census-Income, {count} quasi-identifiers, k = 5, {asked.search_seconds:.0f} s at most"
        )
        yield Case("search", name, works, aim=aim, runs=2 if count == 10 else 1)


def _spark(asked: Asked) -> Iterator[Case]:
    size = asked.rows[-1]
    for ours, bare, aim in (("measure", "group by", "1.2"), ("generalize", "shuffled copy", "1.6")):

        def works(folder: Path, ours: str = ours, bare: str = bare) -> dict[str, Work]:
            given = {
                "path": made(folder, "resampled", size),
                "warm": made(folder, "resampled", 10_000),
            }
            return {
                name: task("on_spark", do=do, out=str(folder / f"spark-{place}"), **given)
                for place, (name, do) in enumerate(((f"Spark's {bare}", bare), (ours, ours)))
            }

        yield Case("spark", f"{ours} on Spark, {_large(size)} rows", works, aim=aim, runs=2)


GROWN = {
    "resampled": "few classes, 8 columns, texts",
    "mixed": "many classes",
    "numbers": "numbers",
    "columns": "130 columns",
}
GROWING = ("measure", "generalize", "apply", "anatomize", "query", "dossier")
FEWER = 100
"""Ratio of the rows of other tables to the records of a dossier, which are Python objects."""


def _growth(asked: Asked) -> Iterator[Case]:
    for kind, told in GROWN.items():
        largest = asked.rows[-1] // 10 if kind == "columns" else asked.rows[-1]
        for size in (largest // 100, largest // 10, largest):
            for what in GROWING:
                rows = size // FEWER if what == "dossier" else size
                yield Case(
                    "growth", told, _grown(kind, rows, what), against=False, runs=2, size=rows
                )


def _grown(kind: str, size: int, what: str) -> Callable[[Path], dict[str, Work]]:
    def works(folder: Path) -> dict[str, Work]:
        path, warm = made(folder, kind, size), made(folder, kind, 999)
        outs = {
            made_by: str(folder / f"{made_by}-{kind}")
            for made_by in ("generalize", "apply", "anatomize")
        }
        given: dict[str, dict[str, Any]] = {
            "generalize": {"out": outs["generalize"]},
            "apply": {"release": outs["generalize"], "out": outs["apply"]},
            "anatomize": {"out": outs["anatomize"]},
        }
        if kind == "columns":
            given["measure"] = {"columns": [*QUASI_IDENTIFIERS, *MORE, SENSITIVE]}
        if what == "query":
            return {what: task("query", release=outs["anatomize"])}
        return {what: task(what, path=path, warm=warm, **given.get(what, {}))}

    return works


# --- Compared with tools that a user could take instead -------------------------------------------
def _rivals(asked: Asked) -> Iterator[Case]:
    for size in asked.rows[:2] if asked.rows[-1] < 10**6 else (10**5, 10**6):

        def pycanon(folder: Path, size: int = size) -> dict[str, Work]:
            path = made(folder, "complete", size)
            return {
                "pycanon": task("pycanon", path=path),
                "divulge": task("measure_frame", path=path),
            }

        name = f"nine numbers of 3 quasi-identifiers, {_large(size)} rows in pandas"
        yield Case("rivals", name, pycanon, runs=3 if size < 10**6 else 1, agree=_same_numbers)
    yield Case(
        "rivals",
        "levels for k = 5, Adult, 5 % left out",
        _against_anjana,
        runs=3,
        agree=_same_rows_left_out,
    )
    yield Case("rivals", "Mondrian for k = 5, Adult", _against_anonypy, runs=1)
    for kind in ("inference", "linkability"):

        def anonymeter(folder: Path, kind: str = kind) -> dict[str, Work]:
            given = {"folder": str(folder / "synthetic"), "kind": kind, "targets": 2000}
            theirs = _rival("anonymeter", ("anonymeter==1.1.0",), given)
            if not (folder / "synthetic").exists():
                run(
                    task("synthetic", folder=given["folder"], rows=min(80_000, asked.rows[-1])),
                    folder,
                )
            return {"anonymeter": theirs, "divulge": task("attack_nearest", **given)}

        yield Case(
            "rivals",
            f"{kind} by the nearest row, 2,000 targets",
            anonymeter,
            runs=2,
            agree=_overlapping,
        )
    yield Case("rivals", "ARX", _against_arx)


def _against_anjana(folder: Path) -> dict[str, Work]:
    table, levels = _adult_files(folder)
    given = {"table": table, "keys": EIGHT, "levels": levels, "k": 5, "percent": 5.0}
    theirs = _rival("anjana", ("anjana", "anonypy"), given)
    return {
        "anjana": theirs,
        "divulge": task("generalize_adult", table=table, method="full-domain"),
    }


def _against_anonypy(folder: Path) -> dict[str, Work]:
    table, _ = _adult_files(folder)
    given = {"table": table, "keys": EIGHT, "sensitive": "occupation", "k": 5}
    theirs = _rival("anonypy", ("anjana", "anonypy"), given)
    return {"anonypy": theirs, "divulge": task("generalize_adult", table=table, method="mondrian")}


def _against_arx(_folder: Path) -> dict[str, Work]:
    """Raise `Failed`: ARX is a Java library without a command.

    tests/generalization/test_arx.py compares its results on Adult with ours.
    """
    java = (
        "there is no Java here"
        if shutil.which("java") is None
        else "Java is here, but neither ARX's jar nor a program that drives it"
    )
    raise Failed(f"not run: {java}")


def _adult_files(folder: Path) -> tuple[str, str]:
    table, levels = str(folder / "complete-adult.csv"), str(folder / "levels.json")
    if not Path(levels).exists():
        run(task("adult_files", table=table, levels=levels), folder)
    return table, levels


def _rival(name: str, packages: tuple[str, ...], given: Mapping[str, Any]) -> Work:
    """Return a rival in an environment of its own under build/, which is made once."""
    environment = ROOT / "build" / f"rivals-{packages[0].partition('=')[0]}"
    python = environment / "bin" / "python"
    if not (environment / "ready").exists():
        for step in (
            (sys.executable, "-m", "venv", str(environment)),
            (str(python), "-m", "pip", "install", "-qq", *packages),
        ):
            done = subprocess.run(step, capture_output=True, text=True, check=False)  # noqa: S603 - this interpreter
            if done.returncode:
                raise Failed(
                    f"{name} cannot be installed: {(done.stderr.strip().splitlines() or [''])[-1]}"
                )
        (environment / "ready").touch()
    return Work((str(python), str(ROOT / "benchmarks" / "rivals.py"), name, json.dumps(given)))


def _same_numbers(found: Sequence[Found]) -> str:
    theirs, ours = found
    wrong = [name for name in ours if not isclose(theirs[name], ours[name], rel_tol=1e-9)]
    return f"other numbers: {', '.join(wrong)}" if wrong else ""


def _same_rows_left_out(found: Sequence[Found]) -> str:
    """Check that both suppressed the same number of rows, as equal levels do."""
    theirs, ours = found
    same = theirs["levels"] == ours["levels"]
    return (
        "the same levels, but other rows left out"
        if same and theirs["suppressed"] != ours["suppressed"]
        else ""
    )


def _overlapping(found: Sequence[Found]) -> str:
    theirs, ours = found
    sides = [side for side in ("rate", "control") if ours[side] is not None]
    apart = [
        side
        for side in sides
        if max(theirs[side][0], ours[side][0]) > min(theirs[side][1], ours[side][1])
    ]
    return f"intervals do not overlap: {', '.join(apart)}" if apart else ""


# --- By name only ---------------------------------------------------------------------------------
def _alone(
    part: str,
    name: str,
    works: Callable[[Path], Mapping[str, Work]],
    *,
    runs: int = 1,
    against: bool = False,
) -> Case:
    return Case(part, name, works, against=against, runs=runs)


def _wide(asked: Asked) -> Iterator[Case]:
    for kind, size in (
        (kind, asked.rows[-1] // share)
        for kind in ("independent", "grouped")
        for share in (8, 4, 2, 1)
    ):

        def works(folder: Path, kind: str = kind, size: int = size) -> dict[str, Work]:
            return {"growing": task("growing", path=made(folder, f"wide-{kind}", size))}

        yield _alone("wide", f"130 columns, {kind}, {size:,} rows", works)


def _spark_alone(asked: Asked) -> Iterator[Case]:
    size = asked.rows[-1]

    def works(folder: Path) -> dict[str, Work]:
        return {
            "measure": task(
                "on_spark", do="measure distinct", path=made(folder, "distinct", size), heap="1g"
            )
        }

    yield _alone("alone", f"Spark with a heap of 1 GiB, {_large(size)} rows, each a class", works)


def _disk(asked: Asked) -> Iterator[Case]:
    size = 10 * asked.rows[-1]

    def works(folder: Path) -> dict[str, Work]:
        needed = 150 * size
        if shutil.disk_usage(folder).free < needed:
            raise Failed(f"not run: {needed >> 30} GiB of disk are needed")
        path = made(folder, "distinct", size)
        return {"measure": task("measure_within", path=path, limit="3GB", folder=str(folder))}

    yield _alone("disk", f"within 3 GB, {_large(size)} rows, each a class", works)


def _methods(_asked: Asked) -> Iterator[Case]:
    def works(folder: Path) -> dict[str, Work]:
        table, _ = _adult_files(folder)
        names = ("slicing", "slppa", "slppa, locality", "anatomy", "asn")
        return {name: task("method", table=table, name=name) for name in names}

    yield _alone("methods", "Adult, division and grouping, beta = 1/7", works, runs=5, against=True)


def _dossier(_asked: Asked) -> Iterator[Case]:
    for size in (12, 50, 100, 250):

        def works(_folder: Path, size: int = size) -> dict[str, Work]:
            names = ("exact", "algorithm 1", "taylor")
            return {name: task("record_leakage", name=name, attributes=size) for name in names}

        yield _alone("dossier", f"a record of {size} attributes", works, runs=3, against=True)
    many = "10,000 records of about 100 attributes"
    yield _alone("dossier", many, lambda _: {"record_leakages": task("many_records")}, runs=3)


def _resolve(asked: Asked) -> Iterator[Case]:
    size = min(10**5, asked.rows[-1])
    for kind in ("shops", "strangers", "crowd"):
        yield _alone(
            "resolve",
            f"{kind}, {_large(size)} records",
            partial(_resolved, kind=kind, records=size),
            runs=3,
        )


def _resolved(_folder: Path, *, kind: str, records: int) -> dict[str, Work]:
    return {"resolve": task("resolve", kind=kind, records=records)}


def _attack(asked: Asked) -> Iterator[Case]:
    size = min(10**6, asked.rows[-1])

    def works(folder: Path) -> dict[str, Work]:
        return {"seven attacks": task("attack", path=made(folder, "people", size), records=10_000)}

    yield _alone("attack", f"10,000 targets, {_large(size)} rows", works)


def _compose(asked: Asked) -> Iterator[Case]:
    size = min(10**6, asked.rows[-1])

    def works(folder: Path) -> dict[str, Work]:
        given = {"path": made(folder, "people", size), "out": str(folder / "composed")}
        run(task("three_releases", **given), folder)
        return {"compose": task("compose", **given)}

    yield _alone("compose", f"three releases of {_large(size)} people", works)


_PARTS: dict[str, Callable[[Asked], Iterator[Case]]] = {
    "process": _process,
    "measure": _measure,
    "generalize": _generalize,
    "apply": _apply,
    "anatomize": _anatomize,
    "rank": _rank,
    "search": _search,
    "spark": _spark,
    "growth": _growth,
    "rivals": _rivals,
    "wide": _wide,
    "alone": _spark_alone,
    "disk": _disk,
    "methods": _methods,
    "dossier": _dossier,
    "resolve": _resolve,
    "attack": _attack,
    "compose": _compose,
}
