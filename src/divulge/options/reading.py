# SPDX-License-Identifier: Apache-2.0
"""Options of reading a table: the source, its format and the engine."""

from __future__ import annotations

from divulge.marks import Mark
from divulge.options.row import READING_VERBS, Option

SOURCE_OPTIONS = (
    Option(
        "source",
        "File, folder or glob (CSV, Parquet, Arrow, JSON lines, Excel, SPSS, Stata), database, "
        "lakehouse, URL, - for stdin.",
        verbs=(
            "profile",
            "init",
            "measure",
            "rank",
            "generalize",
            "anatomize",
            "attack",
            "apply",
            "report",
            "hierarchy build",
            "hierarchy cut",
            "hierarchy check",
        ),
        takes="table",
        positional=True,
        panel="Table",
        required=True,
    ),
    Option(
        "source",
        "Tables as `divulge measure` reads them, and folders of releases; each is judged.",
        verbs=("check",),
        positional=True,
        metavar="TABLE...",
        panel="Table",
        required=True,
        repeated=True,
        mark=Mark.FILE,
    ),
    Option(
        "source",
        "Folders of releases, or tables of others, in the order in which they came out; "
        "retracted ones too.",
        verbs=("compose",),
        positional=True,
        metavar="RELEASE...",
        panel="Table",
        repeated=True,
        mark=Mark.FILE,
    ),
    Option(
        "source",
        "Tables as `divulge measure` reads them, and folders of releases; the first is the "
        "reference.",
        verbs=("compare",),
        positional=True,
        metavar="TABLE...",
        panel="Table",
        required=True,
        repeated=True,
        mark=Mark.FILE,
    ),
)
READ_OPTIONS = (
    Option(
        "table",
        "The table to read in a database.",
        verbs=READING_VERBS,
        metavar="NAME",
        panel="Table",
        mark=Mark.FILE,
    ),
    Option(
        "sql",
        "Instead, what one SELECT of a database gives.",
        verbs=READING_VERBS,
        metavar="SELECT",
        panel="Table",
    ),
    Option(
        "as_of",
        "Of Delta Lake or Iceberg: a version, a snapshot, or a moment.",
        verbs=READING_VERBS,
        metavar="VERSION",
        panel="Table",
        mark=Mark.WORD,
    ),
    Option(
        "sheet",
        "The sheet to read in a spreadsheet.",
        verbs=READING_VERBS,
        metavar="NAME",
        panel="Table",
        mark=Mark.FILE,
    ),
    Option(
        "codes",
        "Of SPSS or Stata: codes instead of their labels.",
        verbs=READING_VERBS,
        takes="flag",
        panel="Table",
    ),
    Option(
        "union_columns",
        "Of files with different columns: nulls where a file lacks one.",
        verbs=READING_VERBS,
        takes="flag",
        panel="Table",
    ),
    Option(
        "header",
        "Whether a CSV file or a sheet begins with column names.",
        verbs=READING_VERBS,
        takes="flag",
        off_flag="--no-header",
        panel="Table",
    ),
    Option(
        "delimiter",
        "What separates the cells of a CSV file; found by itself if not given.",
        verbs=READING_VERBS,
        metavar="SIGN",
        panel="Table",
        mark=Mark.WORD,
    ),
    Option(
        "decimal",
        "The decimal sign of a CSV file, ',' or '.'; found where it is clear.",
        verbs=READING_VERBS,
        metavar="SIGN",
        panel="Table",
        mark=Mark.WORD,
    ),
    Option(
        "encoding",
        "The encoding of a CSV file.",
        verbs=READING_VERBS,
        metavar="NAME",
        panel="Table",
        default="utf-8",
        mark=Mark.WORD,
    ),
)
"""Arguments of `read`."""
ENGINE_OPTIONS = (
    Option(
        "engine",
        "What counts: duckdb (default) or spark, which finds TABLE in catalogs.",
        verbs=READING_VERBS,
        metavar="NAME",
        panel="Table",
        values=("duckdb", "spark"),
    ),
    Option(
        "memory_limit",
        "With duckdb: memory for all of it, 300MB at least; the rest spills.",
        verbs=READING_VERBS,
        metavar="SIZE",
        panel="Table",
    ),
    Option(
        "temp_directory",
        "With duckdb: where to spill, in a private folder that goes afterwards.",
        verbs=READING_VERBS,
        takes="folder",
        panel="Table",
    ),
    Option(
        "master",
        "With spark: the cluster to run on, such as spark://host:7077.",
        verbs=READING_VERBS,
        metavar="URL",
        panel="Table",
    ),
    Option(
        "remote",
        "With spark: the Spark Connect server, such as sc://host:15002.",
        verbs=READING_VERBS,
        metavar="URL",
        panel="Table",
    ),
)
READING_OPTIONS = (
    *SOURCE_OPTIONS,
    *READ_OPTIONS,
    *ENGINE_OPTIONS,
    Option(
        "truth",
        "The original: guesses are scored by it, and none is made with it.",
        verbs=("attack",),
        takes="table",
        panel="Table",
        required=True,
    ),
    Option(
        "control",
        "People who are not in the release.",
        verbs=("attack",),
        takes="table",
        panel="Table",
    ),
    Option(
        "truth",
        "The table that they were made of; given once for each release where it changed "
        "between them.",
        verbs=("compose",),
        takes="table",
        panel="Table",
        repeated=True,
    ),
    Option(
        "hierarchies",
        "What labels stand for, where a release has no mapping.",
        verbs=("compose",),
        takes="folder",
        panel="Table",
    ),
)
