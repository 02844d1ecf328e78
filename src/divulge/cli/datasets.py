# SPDX-License-Identifier: Apache-2.0
"""`divulge datasets`: list and download public data sets."""

from __future__ import annotations

from typing import Any

from divulge.cli.options import Text, emit_json, new_app, show
from divulge.errors import BadInput

app = new_app()


def _names() -> list[str]:
    from divulge import datasets as library

    return [item.name for item in library.available()]


@app.command()
def datasets(name: Text, out: Text, json_: bool) -> None:
    """List public data sets, or fetch one into the cache and, with --out, write it as a table.

    \b
    Examples:
      divulge datasets
      divulge datasets adult --out adult.parquet
    """
    from dataclasses import asdict

    from divulge import datasets as library
    from divulge.output import formatting

    if name is None:
        dataset_list = library.available()
        if json_:
            emit_json({"datasets": [asdict(item) for item in dataset_list]})
            return
        table = formatting.grid("name", "rows", "columns", "cached", "source", right=[1, 2])
        for item in dataset_list:
            table.add_row(
                item.name,
                f"{item.rows:,}",
                str(item.columns),
                "yes" if item.cached else "no",
                item.source,
            )
        show(table)
        return
    path = library.fetch(name)
    loaded = library.load(name)
    if out is not None:
        _write(loaded, out)
    if json_:
        emit_json(
            {
                "name": name,
                "rows": loaded.num_rows,
                "columns": loaded.column_names,
                "cached": str(path),
                "written": out,
            }
        )
    else:
        show(
            f"{name}: {loaded.num_rows:,} rows, {loaded.num_columns} columns"
            + (f", written to {out}" if out else f", cached in {path}")
        )


def _write(table: Any, out: str) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    if out.endswith(".parquet"):
        pyarrow.parquet.write_table(table, out)
    elif out.endswith(".csv"):
        pyarrow.csv.write_csv(table, out)
    else:
        raise BadInput(f"{out!r} is neither .csv nor .parquet")
