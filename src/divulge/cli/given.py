# SPDX-License-Identifier: Apache-2.0
"""What a command works on: its table or release, its policy, what is out already; the options that most commands share."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from typer import Argument, Option

import divulge as dv
from divulge.cli import options, program
from divulge.cli.options import Text
from divulge.cli.progress import statement_bar
from divulge.errors import BadInput
from divulge.policy import Policy, Promise, Protection

if TYPE_CHECKING:
    from divulge.api import measure
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


@dataclass(frozen=True)
class SeveralTables(TableOptions):
    """Where the tables are, and how they are read."""

    source: Annotated[  # type: ignore[assignment]
        list[str],
        Argument(
            metavar="TABLE...",
            help="Tables as `divulge measure` reads them, and folders of releases; the first is the reference.",
        ),
    ]

    def each(self) -> list[TableOptions]:
        """One by one; how tables are read says nothing about releases among them, which say so themselves."""
        from divulge import publish

        releases = [(Path(source) / publish.NAME).is_file() for source in self.source]
        told = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "source"}
        reading = told if all(releases) else {name: told[name] for name in told if name in ABOUT_ENGINE}
        return [
            TableOptions(source=source, **(reading if release else told))
            for source, release in zip(self.source, releases, strict=True)
        ]


# --- policies ---------------------------------------------------------------------------------------------------------
# The policy of a command: the file that is named, else the `divulge.toml` of the project, with what is given by hand before it.
# A gate must not depend on a file that somebody else left about. So the search for `divulge.toml` goes upwards from the current folder and
# ends at the project: the first folder with `.git`. The home folder and the top of the file system are looked at only by who stands there.
POLICY_FILE = "divulge.toml"


def find_policy(start: Path | None = None) -> Path | None:
    """The `divulge.toml` that is in force here, if there is one."""
    folders = _looked_at((start or Path.cwd()).resolve())
    return next((folder / POLICY_FILE for folder in folders if (folder / POLICY_FILE).is_file()), None)


def _looked_at(start: Path) -> Iterator[Path]:
    """The folders from here up to the project's own."""
    for folder in (start, *start.parents):
        if folder != start and folder in (Path.home().resolve(), folder.parent):
            return
        yield folder
        if (folder / ".git").exists():  # a file in a worktree
            return


@dataclass(frozen=True)
class PolicyOptions:
    """Which policy file is in force."""

    panel: ClassVar[str] = "Promises"
    policy: Annotated[
        options.Text, Option(metavar="FILE", help="Policy file (TOML); else divulge.toml, found here or above.")
    ] = None
    no_policy: Annotated[bool, Option("--no-policy", help="Do not look for divulge.toml.")] = False

    def __post_init__(self) -> None:
        if self.no_policy and self.policy is not None:
            raise BadInput(f"--no-policy has no effect beside --policy {self.policy}", hint="leave one of them out")

    def in_force(
        self, promises: Sequence[Promise], *, protect: options.Texts = None, alone_share: float | None = None
    ) -> InForce:
        """The file and what was given by hand."""
        found = None if self.no_policy or self.policy is not None else find_policy()
        file = self.policy if found is None else os.path.relpath(found)
        kept, by_hand = (policy_of(name, promises, protect=protect, alone_share=alone_share) for name in (file, None))
        return InForce(kept, by_hand, file=file, found=found is not None)


@dataclass(frozen=True)
class InForce:
    """A policy, and where it comes from."""

    policy: Policy
    by_hand: Policy
    """What was given without a file."""
    file: str | None = None
    found: bool = False
    """Nobody named the file."""

    def of(self, source: str) -> InForce:
        """Of a release, which says itself what it promises, without a file that nobody named."""
        from divulge import publish

        is_release = (Path(source) / publish.NAME).is_file()
        return InForce(self.by_hand, self.by_hand) if self.found and is_release else self

    def announce(self, *, json_: bool) -> None:
        """The first line of the output, where nobody named the file."""
        if self.found and not json_:
            options.show(f"Policy: {self.file}, found by itself; --no-policy leaves it out.")

    @property
    def settings(self) -> dict[str, Any]:
        """What a document says of it beside everything else that the numbers depend on."""
        return {} if self.file is None else {"policy": {"file": self.file, "found": self.found}}


def policy_of(
    file: str | None,
    promises: Sequence[Promise] | None,
    *,
    protect: Sequence[str] | None = None,
    alone_share: float | None = None,
) -> Policy:
    """The policy file, if there is one; a promise made by hand goes before the file's about the same."""
    base = Policy() if file is None else Policy.load(file)
    mine = {promise.about for promise in promises or ()}
    kept = (promise for promise in base.promises if promise.about not in mine)
    return replace(
        base,
        promises=(*kept, *(promises or ())),
        protections=(*base.protections, *map(Protection.parse, protect or ())),
        alone_share=base.alone_share if alone_share is None else alone_share,
    )


# --- releases ---------------------------------------------------------------------------------------------------------
ReleasedOfOption = Annotated[
    options.Texts,
    Option(
        metavar="RELEASE=TABLE",
        help="The table one of these was made of, if it changed; with --person.",
        rich_help_panel="Adversary",
    ),
]


def held_already(released: options.Texts, released_of: options.Texts) -> dict[str, Any]:
    """What is out already, as an adversary takes it."""
    pairs = [text.rpartition("=")[::2] for text in released_of or ()]
    if wrong := [table for release, table in pairs if not (release and table)]:
        told = f"--released-of {wrong[0]} says no release and its table"
        raise BadInput(told, hint="For example --released-of release-2024=patients-2024.csv")
    return {"released": released or None, "released_of": dict(pairs) or None}


ReleasedOption = Annotated[
    options.Texts,
    Option(
        metavar="RELEASE",
        help="A release of these people that is out already. Repeatable.",
        rich_help_panel="Adversary",
    ),
]
PrivateOption = Annotated[
    bool,
    Option(
        "--private",
        help="TABLE is a release: take the original's distribution from its private part, mapping/, for the prior.",
        rich_help_panel="Adversary",
    ),
]


def table_or_release(table: TableOptions, *, private: bool) -> measure.TableOrRelease:
    """The table, or that of the release whose folder is named, which says itself how it is read."""
    from divulge.api import measure

    if not measure.TableOrRelease.is_release(table.source):
        return measure.TableOrRelease.of(table.source if private else table.read(), private=private)
    for flag in table.flags[:1]:
        raise BadInput(f"{flag} has no effect: {table.source} is a release, which says how its table is read")
    return measure.TableOrRelease.of(table.source, private=private, engine=table.chosen_engine())


def refuse_beside_levels(context: typer.Context, source: str, *, used: Collection[str]) -> None:
    """Refuse options that change nothing where a folder is an anatomized release: those of the command but the engine's and `used`."""
    idle = [one.name for one in context.command.params if one.name not in ("source", *ABOUT_ENGINE, *used)]
    bounds = f"divulge anatomize {source} --check takes bounds"
    why = f"on an anatomized release, which is held against the levels of its groups ({bounds})"
    program.refuse_idle(context, {why: idle})


@dataclass(frozen=True)
class SuppressionOptions:
    """What stands in suppressed cells, and how it is meant."""

    panel: ClassVar[str] = "Adversary"
    suppressed: Annotated[
        options.Texts,
        Option(metavar="TEXT", help="What stands in suppressed cells, such as '*'; with --as. Repeatable."),
    ] = None
    as_: Annotated[
        options.Text,
        Option(
            "--as",
            metavar="HOW",
            help="What --suppressed matches: anything (wildcard) or only itself (value).",
            autocompletion=program.one_of(lambda: ["wildcard", "value"]),
        ),
    ] = None

    def added_to(self, adversary: dv.Adversary) -> dv.Adversary:
        """The adversary with what is said here."""
        if self.suppressed and self.as_ is None:
            raise BadInput(
                f"it is not said how {self.suppressed[0]!r} is meant", hint="add --as wildcard or --as value"
            )
        if self.as_ is not None and not self.suppressed:
            raise BadInput(f"--as {self.as_} has no effect without --suppressed", hint="name what stands in such cells")
        given: Any = dict.fromkeys(self.suppressed or (), self.as_) or None
        return replace(adversary, suppressed=given)


# --- publishing -------------------------------------------------------------------------------------------------------
ForceOption = Annotated[bool, Option("--force", help="Replace the release that is there.")]
HierarchiesOption = Annotated[
    Path | None,
    Option(
        metavar="DIR", help="Folder of <column>.csv; or --hierarchy 'age={intervals=[5]}'.", rich_help_panel="Search"
    ),
]
TargetOption = Annotated[
    options.Text, options.column("Tell what is left, and how well a model foretells this.", panel=None)
]


def levels_and_adversary(
    opened: Any, policy: Policy, given: dict[str, Any], *, hierarchies: Path | None, adversary: options.BeliefOptions
) -> tuple[dict[str, Any], dv.Adversary]:
    """Hierarchies of quasi-identifiers, and the adversary with the taxonomies of sensitive columns."""
    from divulge.hierarchy import load_hierarchies
    from divulge.table import resolve_roles

    names = given["quasi_identifiers"] or policy.roles.get("quasi_identifiers", ())
    columns = resolve_roles(opened, quasi_identifiers=names, declared=True).quasi_identifiers
    one_by_one = adversary.hierarchies(opened.names)
    found: dict[str, Any] = {} if hierarchies is None else dict(load_hierarchies(hierarchies, columns=columns))
    found |= {name: spec for name, spec in one_by_one.items() if name in columns}
    return found, adversary.resolve(opened.names, levels_of=columns)


# --- ledgers ----------------------------------------------------------------------------------------------------------
RecipientOption = Annotated[Text, Option(metavar="NAME", help="Who gets the release; everybody, if nobody is named.")]
DatasetOption = Annotated[
    Text, Option(metavar="NAME", help="Whom it is about: releases of one dataset are judged together.")
]
ExpiresOption = Annotated[Text, Option(metavar="DAY", help="The last day on which its recipient should have it.")]


@dataclass(frozen=True)
class LedgerOptions:
    """The ledger that a release is judged by and entered in."""

    panel: ClassVar[str] = "Output"
    ledger: Annotated[
        Path | None, Option(metavar="DIR", help="Judge it with all that is out by this ledger, and enter it there.")
    ] = None
    recipient: RecipientOption = None
    coalition: Annotated[
        Text, Option(metavar="NAMES", help="Who puts together what they hold, as a,b; all, if nobody is named.")
    ] = None
    dataset: DatasetOption = None
    expires: ExpiresOption = None

    def value(self, context: typer.Context, *, publishes: bool) -> dv.Ledger | None:
        """As a value of the library; None without --ledger, and then the other options are refused."""
        if self.ledger is None:
            program.refuse_idle(context, {"without --ledger": program.options_of(LedgerOptions)[1:]})
            return None
        program.refuse_idle(context, {} if publishes else {"where nothing is published": ("expires",)})
        given: dict[str, Any] = {
            "recipient": self.recipient,
            "coalition": None if self.coalition is None else [name.strip() for name in self.coalition.split(",")],
            "dataset": self.dataset,
            "expires": self.expires,
        }
        found = open_ledger(self.ledger, **given)
        # Refused before any long work; and what a dead process left is settled before its folder is tidied up.
        found.judge(new=publishes)
        return found


def open_ledger(folder: Path, **given: Any) -> dv.Ledger:
    """A ledger as it was asked for; who waits for its turn is told so."""
    said = {name: value for name, value in given.items() if value is not None}
    return dv.Ledger(folder, waiting=tell_of_waiting, **said)


def tell_of_waiting(folder: Path) -> None:
    """Say why nothing happens."""
    typer.echo(f"another process publishes by the ledger {folder}: waiting for it ...", err=True)


def turn_of(ledger: dv.Ledger | None) -> contextlib.AbstractContextManager[object]:
    """From judging until it is entered, nobody else publishes by the ledger."""
    return contextlib.nullcontext() if ledger is None else ledger.turn()
