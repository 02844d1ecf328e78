# SPDX-License-Identifier: Apache-2.0
"""The files that the documentation's commands name and that no page shows: small, invented,
written anew for every page.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from divulge.datasets import patients
from tests.anatomization.literature import COLUMNS, RECORDS, TABLE_3, TABLES, grouped
from tests.sources.test_arx_project import project

POLICY = """quasi_identifiers = ["zip", "age", "sex"]
sensitive = "diagnosis"
identifier = "name"
leave_out = ["marital_status", "education", "occupation", "insurance", "income", "job", "salary", "disease"]

[promises]
k_anonymity = 5
entropy_leakage = 3
suppression = 0.05
"""  # noqa: E501
DISEASES = ("Heart Disease", "Flu", "Cancer")


def people(*, rows: int = 400, seed: int = 7) -> pa.Table:
    """Patients of the demo, with a name in place of their number, and a job, a salary and a
    disease besides.
    """
    table = patients(rows=rows, seed=seed).drop_columns(["patient_id"])
    return (
        table.append_column("name", pa.array([f"person {i}" for i in range(rows)]))
        .append_column("job", table["occupation"])
        .append_column("salary", table["income"])
        .append_column("disease", pa.array([DISEASES[i % 3] for i in range(rows)]))
    )


def write_world(folder: Path) -> None:
    """Write everything into a folder."""
    everybody = people()
    _write(
        everybody,
        folder / "patients.csv",
        folder / "patients.parquet",
        folder / "build" / "patients.parquet",
    )
    _write(
        people(rows=100, seed=8).filter(_known(everybody, people(rows=100, seed=8))),
        folder / "new-patients.csv",
    )
    safe = {"zip": ["476**"] * 10 + ["479**"] * 10, "age": ["2*"] * 10 + ["3*"] * 10}
    diseases = (["Flu"] * 5 + ["Cancer"] * 5) * 2
    columns = safe | {"sex": ["f"] * 20, "disease": diseases, "diagnosis": diseases}
    _write(pa.table(columns), folder / "data" / "release.csv")
    numbers = {"id": list(range(6)), "age": [20, 21, 30, 31, 40, 41], "income": [1, 1, 2, 2, 3, 3]}
    _write(pa.table(numbers), folder / "original.csv")
    _write(pa.table(numbers | {"age": [21, 20, 30, 31, 41, 40]}), folder / "published.csv")
    adult = everybody.select(["age", "zip", "sex", "occupation"]).append_column(
        "race", everybody["insurance"]
    )
    _write(adult, folder / "adult.csv")
    _hierarchies(folder, everybody)
    _eight_people(folder)
    (folder / "divulge.toml").write_text(POLICY, encoding="utf-8")
    project(folder)


def _known(everybody: pa.Table, later: pa.Table) -> pa.Array:
    """Which of the later people have only values that occurred before."""
    columns = ("zip", "age", "sex", "diagnosis")
    known = {name: set(everybody[name].to_pylist()) for name in columns}
    return pa.array(
        [all(row[name] in known[name] for name in columns) for row in later.to_pylist()]
    )


def _eight_people(folder: Path) -> None:
    """Table 1 of Yao et al. 2021, its Table 3 as a folder of tables, and somebody else's
    release.
    """
    names = [name.lower().replace("zipcode", "zip") for name in COLUMNS]
    cells: dict[str, list[str]] = {
        name: [record[i] for record in RECORDS] for i, name in enumerate(names)
    }
    _write(pa.table(cells), folder / "people.csv")
    groups = (grouped(TABLE_3) + 1).tolist()
    for number, columns in enumerate(
        [*(tuple(name.lower() for name in names) for names in TABLES), ("salary",)]
    ):
        parts = {
            name.replace("zipcode", "zip"): cells[name.replace("zipcode", "zip")]
            for name in columns
        }
        _write(pa.table({"GID": groups, **parts}), folder / "table-3" / f"{number}.csv")
    _write(pa.table({"GID": groups, "age": cells["age"]}), folder / "theirs" / "ages.csv")
    _write(
        pa.table({"GID": groups, "disease": cells["salary"]}), folder / "theirs" / "diseases.csv"
    )


def _hierarchies(folder: Path, everybody: pa.Table) -> None:
    (folder / "hierarchies").mkdir()
    ages = sorted(set(everybody["age"].to_pylist()))
    levels = "".join(f"{age};from {age // 10 * 10};*\n" for age in ages)
    for name in ("hierarchies/age.csv", "adult_hierarchy_age.csv"):
        (folder / name).write_text(levels, encoding="utf-8")
    codes = "".join(
        f"{code};{code[:3]}**;*\n" for code in sorted(set(everybody["zip"].to_pylist()))
    )
    (folder / "codes.csv").write_text(codes, encoding="utf-8")


def _write(table: pa.Table, *paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        if path.suffix == ".csv":
            pyarrow.csv.write_csv(table, path)
        else:
            pyarrow.parquet.write_table(table, path)
