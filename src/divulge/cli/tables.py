# SPDX-License-Identifier: Apache-2.0
"""Where the table of a command is, how it is read, and what counts it: the options that nearly every command has."""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from typer import Argument, Option

from divulge.cli import program
from divulge.cli.options import Text
from divulge.cli.progress import statement_bar
from divulge.errors import BadInput

if TYPE_CHECKING:
    from divulge.table import Table


@dataclass(frozen=True)
class TableOptions:
    """Where the table is and how it is read."""

    panel: ClassVar[str] = "Table"
    source: Annotated[
        str,
        Argument(
            metavar="TABLE",
            help="File, folder or glob (CSV, Parquet, Arrow, JSON lines, Excel, SPSS, Stata), database, lakehouse, URL, - for stdin.",
        ),
    ]
    table: Annotated[Text, Option(metavar="NAME", help="The table to read in a database.")] = None
    sql: Annotated[Text, Option(metavar="SELECT", help="Instead, what one SELECT of a database gives.")] = None
    as_of: Annotated[
        Text, Option(metavar="VERSION", help="Of Delta Lake or Iceberg: a version, a snapshot, or a moment.")
    ] = None
    sheet: Annotated[Text, Option(metavar="NAME", help="The sheet to read in a spreadsheet.")] = None
    codes: Annotated[bool, Option("--codes", help="Of SPSS or Stata: codes instead of their labels.")] = False
    header: Annotated[
        bool | None, Option("--header/--no-header", help="Whether a CSV file or a sheet begins with column names.")
    ] = None
    delimiter: Annotated[
        Text, Option(metavar="SIGN", help="What separates the cells of a CSV file; found by itself if not given.")
    ] = None
    decimal: Annotated[
        Text, Option(metavar="SIGN", help="The decimal sign of a CSV file, ',' or '.'; found where it is clear.")
    ] = None
    encoding: Annotated[str, Option(metavar="NAME", help="The encoding of a CSV file.")] = "utf-8"
    engine: Annotated[
        Text,
        Option(
            metavar="NAME",
            help="What counts: duckdb (default) or spark, which finds TABLE in catalogs.",
            autocompletion=program.one_of(lambda: ["duckdb", "spark"]),
        ),
    ] = None
    memory_limit: Annotated[
        Text, Option(metavar="SIZE", help="With duckdb: memory for all of it, 300MB at least; the rest spills.")
    ] = None
    temp_directory: Annotated[
        Path | None,
        Option(metavar="DIR", help="With duckdb: where to spill, in a private folder that goes afterwards."),
    ] = None
    master: Annotated[
        Text, Option(metavar="URL", help="With spark: the cluster to run on, such as spark://host:7077.")
    ] = None
    remote: Annotated[
        Text, Option(metavar="URL", help="With spark: the Spark Connect server, such as sc://host:15002.")
    ] = None

    def read(self) -> Table:
        """Open the table, and tell on standard error what was found on the way."""
        from divulge.table import read

        opened = read(self.source, **self.reading, engine=self.chosen_engine())
        flags = {"codes": program.Flag("--codes", None), "decimal": program.Flag("--decimal", "SIGN")}
        for note in opened.reading.notes:
            sys.stderr.write(f"divulge: {program.in_flags(note, flags)}\n")
        return opened

    @property
    def reading(self) -> dict[str, Any]:
        """What was said about how it is read, as arguments of the library's `read`."""
        given = {option.name: (getattr(self, option.name), option.default) for option in fields(TableOptions)}
        return {name: value for name, (value, default) in given.items() if name in READING and value != default}

    @property
    def flags(self) -> tuple[str, ...]:
        """The same as somebody types it; which engine counts does not change a number."""
        typed = {name: f"--{'no-' * (value is False)}{name.replace('_', '-')}" for name, value in self.reading.items()}
        words = (
            (flag,) if isinstance(self.reading[name], bool) else (flag, self.reading[name])
            for name, flag in typed.items()
        )
        return tuple(itertools.chain.from_iterable(words))

    def chosen_engine(self) -> Any:
        """The engine that was asked for, with its settings."""
        on_spark = self.master is not None or self.remote is not None
        if on_spark and self.engine not in (None, "spark"):
            raise BadInput(f"--master and --remote are Spark's, and --engine {self.engine} was asked for")
        if on_spark or self.engine == "spark":
            if self.memory_limit is not None or self.temp_directory is not None:
                raise BadInput(
                    "--memory-limit and --temp-directory are DuckDB's", hint="set them in Spark's own configuration"
                )
            from divulge.engines import SparkEngine

            return SparkEngine(master=self.master, remote=self.remote)
        if self.engine in (None, "duckdb"):
            from divulge.engines import DuckDBEngine

            return DuckDBEngine(
                memory_limit=self.memory_limit, temp_directory=self.temp_directory, progress=statement_bar()
            )
        return self.engine


ABOUT_ENGINE = ("engine", "memory_limit", "temp_directory", "master", "remote")
READING = tuple(option.name for option in fields(TableOptions) if option.name not in ("source", *ABOUT_ENGINE))
