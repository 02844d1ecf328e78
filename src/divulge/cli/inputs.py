# SPDX-License-Identifier: Apache-2.0
"""Shared inputs of the commands: the table or release, the policy, prior releases, the ledger."""

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
from divulge.arguments import spelled
from divulge.cli import options, program
from divulge.cli.options import Text
from divulge.cli.progress import statement_bar
from divulge.errors import BadInput
from divulge.policy import Policy, Promise, Protection

if TYPE_CHECKING:
    from divulge.api.opened import OneTable
    from divulge.sources import Table


@dataclass(frozen=True)
class TableOptions:
    """The table, and how it is read."""

    panel: ClassVar[str] = "Table"
    source: Annotated[
        str,
        Argument(
            metavar="TABLE",
            help="File, folder or glob (CSV, Parquet, Arrow, JSON lines, Excel, SPSS, Stata), "
            "database, lakehouse, URL, - for stdin.",
        ),
    ]
    table: Annotated[Text, Option(metavar="NAME", help="The table to read in a database.")] = None
    sql: Annotated[
        Text, Option(metavar="SELECT", help="Instead, what one SELECT of a database gives.")
    ] = None
    as_of: Annotated[
        Text,
        Option(
            metavar="VERSION", help="Of Delta Lake or Iceberg: a version, a snapshot, or a moment."
        ),
    ] = None
    sheet: Annotated[Text, Option(metavar="NAME", help="The sheet to read in a spreadsheet.")] = (
        None
    )
    codes: Annotated[
        bool, Option("--codes", help="Of SPSS or Stata: codes instead of their labels.")
    ] = False
    union_columns: Annotated[
        bool,
        Option(
            "--union-columns", help="Of files with different columns: nulls where a file lacks one."
        ),
    ] = False
    header: Annotated[
        bool | None,
        Option(
            "--header/--no-header", help="Whether a CSV file or a sheet begins with column names."
        ),
    ] = None
    delimiter: Annotated[
        Text,
        Option(
            metavar="SIGN",
            help="What separates the cells of a CSV file; found by itself if not given.",
        ),
    ] = None
    decimal: Annotated[
        Text,
        Option(
            metavar="SIGN",
            help="The decimal sign of a CSV file, ',' or '.'; found where it is clear.",
        ),
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
        Text,
        Option(
            metavar="SIZE",
            help="With duckdb: memory for all of it, 300MB at least; the rest spills.",
        ),
    ] = None
    temp_directory: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="With duckdb: where to spill, in a private folder that goes afterwards.",
        ),
    ] = None
    master: Annotated[
        Text,
        Option(metavar="URL", help="With spark: the cluster to run on, such as spark://host:7077."),
    ] = None
    remote: Annotated[
        Text,
        Option(
            metavar="URL", help="With spark: the Spark Connect server, such as sc://host:15002."
        ),
    ] = None

    def read(self) -> Table:
        """Open the table, and print notes about reading it to standard error."""
        from divulge.sources import read

        opened = read(self.source, **self.reading, engine=self.chosen_engine())
        flags = {
            "codes": program.Flag("--codes", None),
            "decimal": program.Flag("--decimal", "SIGN"),
        }
        for note in opened.reading.notes:
            text = spelled(note, lambda argument: program.spell_flag(argument, flags))
            sys.stderr.write(f"divulge: {text}\n")
        return opened

    @property
    def reading(self) -> dict[str, Any]:
        """Reading options that differ from their defaults, as arguments of the library's `read`."""
        option_values = {
            option.name: (getattr(self, option.name), option.default)
            for option in fields(TableOptions)
        }
        return {
            name: value
            for name, (value, default) in option_values.items()
            if name in READING and value != default
        }

    @property
    def flags(self) -> tuple[str, ...]:
        """Reading options as flags; the engine is not one of them, because it changes no number."""
        typed = {
            name: f"--{'no-' * (value is False)}{name.replace('_', '-')}"
            for name, value in self.reading.items()
        }
        words = (
            (flag,) if isinstance(self.reading[name], bool) else (flag, self.reading[name])
            for name, flag in typed.items()
        )
        return tuple(itertools.chain.from_iterable(words))

    def chosen_engine(self) -> Any:
        """Return the chosen engine, with its settings."""
        on_spark = self.master is not None or self.remote is not None
        if on_spark and self.engine not in (None, "spark"):
            raise BadInput(
                f"--master and --remote are Spark's, and --engine {self.engine} was asked for"
            )
        if on_spark or self.engine == "spark":
            if self.memory_limit is not None or self.temp_directory is not None:
                raise BadInput(
                    "--memory-limit and --temp-directory are DuckDB's",
                    hint="set them in Spark's own configuration",
                )
            from divulge.engines import SparkEngine

            return SparkEngine(master=self.master, remote=self.remote)
        if self.engine in (None, "duckdb"):
            from divulge.engines import DuckDBEngine

            return DuckDBEngine(
                memory_limit=self.memory_limit,
                temp_directory=self.temp_directory,
                progress=statement_bar(),
            )
        return self.engine


ABOUT_ENGINE = ("engine", "memory_limit", "temp_directory", "master", "remote")
READING = tuple(
    option.name for option in fields(TableOptions) if option.name not in ("source", *ABOUT_ENGINE)
)


@dataclass(frozen=True)
class SeveralTables(TableOptions):
    """Several tables, and how they are read."""

    source: Annotated[  # type: ignore[assignment]
        list[str],
        Argument(
            metavar="TABLE...",
            help="Tables as `divulge measure` reads them, and folders of releases; the first is "
            "the reference.",
        ),
    ]

    def table_options(self) -> list[TableOptions]:
        """Return the options of each table or release.

        Reading options apply to tables only, unless all sources are releases: then they raise an
        error.
        """
        from divulge.releases import NAME

        releases = [(Path(source) / NAME).is_file() for source in self.source]
        option_values = {
            item.name: getattr(self, item.name) for item in fields(self) if item.name != "source"
        }
        if all(releases):
            reading = option_values
        else:
            reading = {name: option_values[name] for name in option_values if name in ABOUT_ENGINE}
        return [
            TableOptions(source=source, **(reading if release else option_values))
            for source, release in zip(self.source, releases, strict=True)
        ]


# --- policies -------------------------------------------------------------------------------------
# The policy of a command is the named file, or else the `divulge.toml` of the project; explicit
# options take precedence. A policy check must not depend on a stray file of another user. So the
# search for `divulge.toml` goes upwards from the current folder and ends at the project: the first
# folder with `.git`. The home folder and the root of the file system are searched only if the
# command is started there.
POLICY_FILE = "divulge.toml"


def find_policy(start: Path | None = None) -> Path | None:
    """Return the path of the `divulge.toml` that is in effect here; None if there is none."""
    folders = _looked_at((start or Path.cwd()).resolve())
    return next(
        (folder / POLICY_FILE for folder in folders if (folder / POLICY_FILE).is_file()), None
    )


def _looked_at(start: Path) -> Iterator[Path]:
    """Yield the folders from `start` up to the project's own."""
    for folder in (start, *start.parents):
        if folder != start and folder in (Path.home().resolve(), folder.parent):
            return
        yield folder
        if (folder / ".git").exists():  # a file in a worktree
            return


@dataclass(frozen=True)
class PolicyOptions:
    """The policy file."""

    panel: ClassVar[str] = "Promises"
    policy: Annotated[
        options.Text,
        Option(metavar="FILE", help="Policy file (TOML); else divulge.toml, found here or above."),
    ] = None
    no_policy: Annotated[bool, Option("--no-policy", help="Do not look for divulge.toml.")] = False

    def __post_init__(self) -> None:
        if self.no_policy and self.policy is not None:
            raise BadInput(
                f"--no-policy has no effect beside --policy {self.policy}",
                hint="leave one of them out",
            )

    def in_force(
        self,
        promises: Sequence[Promise],
        *,
        protect: options.Texts = None,
        unique_share: float | None = None,
    ) -> PolicyInEffect:
        """Return the policy of the file and the explicit options, with its origin."""
        if self.no_policy or self.policy is not None:
            detected_path = None
        else:
            detected_path = find_policy()
        if detected_path is None:
            file = self.policy
        else:
            file = os.path.relpath(detected_path)
        effective_policy, by_hand = (
            policy_of(name, promises, protect=protect, unique_share=unique_share)
            for name in (file, None)
        )
        return PolicyInEffect(effective_policy, by_hand, file=file, found=detected_path is not None)


@dataclass(frozen=True)
class PolicyInEffect:
    """A policy, and its origin."""

    policy: Policy
    by_hand: Policy
    """Policy from the explicit options only."""
    file: str | None = None
    found: bool = False
    """True if the file was detected automatically."""

    def of(self, source: str) -> PolicyInEffect:
        """Return the policy for a source.

        For a release, whose manifest states its requirements, a file that was detected
        automatically is ignored.
        """
        from divulge.releases import NAME

        is_release = (Path(source) / NAME).is_file()
        if self.found and is_release:
            return PolicyInEffect(self.by_hand, self.by_hand)
        return self

    def announce(self, *, json_: bool) -> None:
        """Print the name of a file that was detected automatically."""
        if not json_:
            options.show(*self.lines)

    @property
    def lines(self) -> tuple[str, ...]:
        """Line that names a file that was detected automatically."""
        if self.found:
            return (f"Policy: {self.file}, found by itself; --no-policy leaves it out.",)
        return ()

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the JSON output: the policy file, and whether it was named or detected."""
        if self.file is None:
            return {}
        return {"policy": {"file": self.file, "found": self.found}}


def policy_of(
    file: str | None,
    promises: Sequence[Promise] | None,
    *,
    protect: Sequence[str] | None = None,
    unique_share: float | None = None,
) -> Policy:
    """Return the policy of a file and explicit options.

    An explicit requirement replaces one of the file about the same metric and attribute.
    """
    if file is None:
        base = Policy()
    else:
        base = Policy.load(file)
    mine = {promise.about for promise in promises or ()}
    base_promises = (promise for promise in base.promises if promise.about not in mine)
    return replace(
        base,
        promises=(*base_promises, *(promises or ())),
        protections=(*base.protections, *map(Protection.parse, protect or ())),
        unique_share=base.unique_share if unique_share is None else unique_share,
    )


# --- releases -------------------------------------------------------------------------------------
ReleasedOfOption = Annotated[
    options.Texts,
    Option(
        metavar="RELEASE=TABLE",
        help="The table one of these was made of, if it changed; with --person.",
        rich_help_panel="Adversary",
    ),
]


def prior_release_arguments(released: options.Texts, released_of: options.Texts) -> dict[str, Any]:
    """Return the prior releases and their originals, as arguments of `Adversary`."""
    pairs = [text.rpartition("=")[::2] for text in released_of or ()]
    if wrong := [table for release, table in pairs if not (release and table)]:
        message = f"--released-of {wrong[0]} says no release and its table"
        raise BadInput(message, hint="For example --released-of release-2024=patients-2024.csv")
    return {"released": released or None, "released_of": dict(pairs) or None}


ReleasedOption = Annotated[
    options.Texts,
    Option(
        metavar="RELEASE",
        help="A release of these people that is out already. Repeatable.",
        rich_help_panel="Adversary",
    ),
]
WithPrivateOption = Annotated[
    bool,
    Option(
        "--with-private",
        help="TABLE is a release: take the original's distribution from its private part, for "
        "the prior.",
        rich_help_panel="Adversary",
    ),
]
PrivateDirOption = Annotated[
    Path | None,
    Option(
        metavar="DIR",
        help="The private part of the release, if it is not next to it (RELEASE.private).",
        rich_help_panel="Adversary",
    ),
]
PrivateOutOption = Annotated[
    Path | None,
    Option(
        "--private-dir",
        metavar="DIR",
        help="Where its private part goes; else next to it, as DIR.private.",
    ),
]


def table_or_release(
    table: TableOptions, *, with_private: bool = False, private_dir: Path | None = None
) -> OneTable:
    """Open a table, or the table of a release; a release states how it is read."""
    from divulge.api.measure import open_measurable
    from divulge.api.opened import is_release

    private: dict[str, Any] = {"with_private": with_private, "private_dir": private_dir}
    if not is_release(table.source):
        opens_private = with_private or private_dir is not None
        return open_measurable(table.source if opens_private else table.read(), **private)
    for flag in table.flags[:1]:
        raise BadInput(
            f"{flag} has no effect: {table.source} is a release, which says how its table is read"
        )
    return open_measurable(table.source, **private, engine=table.chosen_engine())


def reject_with_levels(context: typer.Context, source: str, *, used: Collection[str]) -> None:
    """Raise an error for options without effect on an anatomized release.

    These are all options of the command but those of the engine and `used`.
    """
    idle = [
        parameter.name
        for parameter in context.command.params
        if parameter.name not in ("source", *ABOUT_ENGINE, *used)
    ]
    bounds = f"divulge anatomize {source} --check takes bounds"
    why = f"on an anatomized release, which is held against the levels of its groups ({bounds})"
    program.refuse_idle(context, {why: idle})


@dataclass(frozen=True)
class SuppressionOptions:
    """Texts in suppressed cells, and their meaning."""

    panel: ClassVar[str] = "Adversary"
    suppressed: Annotated[
        options.Texts,
        Option(
            metavar="TEXT",
            help="What stands in suppressed cells, such as '*'; with --as. Repeatable.",
        ),
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
        """Return the adversary with these texts and their meaning."""
        if self.suppressed and self.as_ is None:
            raise BadInput(
                f"it is not said how {self.suppressed[0]!r} is meant",
                hint="add --as wildcard or --as value",
            )
        if self.as_ is not None and not self.suppressed:
            raise BadInput(
                f"--as {self.as_} has no effect without --suppressed",
                hint="name what stands in such cells",
            )
        cell_meanings: Any = dict.fromkeys(self.suppressed or (), self.as_) or None
        return replace(adversary, suppressed=cell_meanings)


# --- publishing -----------------------------------------------------------------------------------
ForceOption = Annotated[bool, Option("--force", help="Replace the release that is there.")]
HierarchiesOption = Annotated[
    Path | None,
    Option(
        metavar="DIR",
        help="Folder of <column>.csv; or --hierarchy 'age={intervals=[5]}'.",
        rich_help_panel="Search",
    ),
]
TargetOption = Annotated[
    options.Text,
    options.column("Tell what is left, and how well a model foretells this.", panel=None),
]


def levels_and_adversary(
    opened: Any,
    policy: Policy,
    role_arguments: dict[str, Any],
    *,
    hierarchies: Path | None,
    adversary: options.BeliefOptions,
) -> tuple[dict[str, Any], dv.Adversary]:
    """Return the hierarchies of quasi-identifiers, and the adversary.

    Hierarchies of sensitive columns are taxonomies of the adversary.
    """
    from divulge.hierarchies import load_hierarchies
    from divulge.sources import resolve_roles

    names = role_arguments["quasi_identifiers"] or policy.roles.get("quasi_identifiers", ())
    columns = resolve_roles(opened, quasi_identifiers=names, declared=True).quasi_identifiers
    one_by_one = adversary.hierarchies(opened.names)
    if hierarchies is None:
        hierarchy_specs: dict[str, Any] = {}
    else:
        hierarchy_specs = dict(load_hierarchies(hierarchies, columns=columns))
    hierarchy_specs |= {name: spec for name, spec in one_by_one.items() if name in columns}
    return hierarchy_specs, adversary.resolve(opened.names, levels_of=columns)


# --- ledgers --------------------------------------------------------------------------------------
RecipientOption = Annotated[
    Text, Option(metavar="NAME", help="Who gets the release; everybody, if nobody is named.")
]
DatasetOption = Annotated[
    Text,
    Option(metavar="NAME", help="Whom it is about: releases of one dataset are judged together."),
]
ExpiresOption = Annotated[
    Text, Option(metavar="DAY", help="The last day on which its recipient should have it.")
]


@dataclass(frozen=True)
class LedgerLookupOptions:
    """The ledger whose releases count as prior releases; nothing is written to it."""

    panel: ClassVar[str] = "Output"
    ledger: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="Judge together with the releases in this ledger; nothing is entered in it.",
        ),
    ] = None
    recipient: RecipientOption = None
    coalition: Annotated[
        Text,
        Option(
            metavar="NAMES",
            help="Who puts together what they hold, as a,b; all, if nobody is named.",
        ),
    ] = None
    dataset: DatasetOption = None

    def value(self, context: typer.Context) -> dv.Ledger | None:
        """Return the ledger; None without --ledger, and then an error for options that need it."""
        return _ledger_value(self, context, publishes=False)


@dataclass(frozen=True)
class LedgerOptions(LedgerLookupOptions):
    """The ledger that a release is checked against and entered in."""

    ledger: Annotated[
        Path | None,
        Option(
            metavar="DIR", help="Judge with the releases in this ledger, and enter the new one."
        ),
    ] = None
    expires: ExpiresOption = None

    def value(self, context: typer.Context, *, publishes: bool = True) -> dv.Ledger | None:
        """Return the ledger; `publishes`: the release is entered in it."""
        if publishes or self.ledger is None:
            idle = {}
        else:
            idle = {"where nothing is published": ("expires",)}
        program.refuse_idle(context, idle)
        return _ledger_value(self, context, publishes=publishes, expires=self.expires)


def _ledger_value(
    options: LedgerLookupOptions,
    context: typer.Context,
    *,
    publishes: bool,
    expires: str | None = None,
) -> dv.Ledger | None:
    if options.ledger is None:
        program.refuse_idle(context, {"without --ledger": program.options_of(type(options))[1:]})
        return None
    if options.coalition is None:
        coalition = None
    else:
        coalition = [name.strip() for name in options.coalition.split(",")]
    ledger = open_ledger(
        options.ledger,
        recipient=options.recipient,
        coalition=coalition,
        dataset=options.dataset,
        expires=expires,
    )
    # An invalid request fails before any long work, and the remains of a killed process are
    # recovered before its folder is removed.
    ledger.judge(new=publishes)
    return ledger


def open_ledger(folder: Path, **settings: Any) -> dv.Ledger:
    """Return the ledger with these settings; waiting for another process is reported."""
    explicit_settings = {name: value for name, value in settings.items() if value is not None}
    return dv.Ledger(folder, waiting=tell_of_waiting, **explicit_settings)


def tell_of_waiting(folder: Path) -> None:
    """Report that the command waits for another process."""
    typer.echo(f"another process publishes by the ledger {folder}: waiting for it ...", err=True)


def turn_of(ledger: dv.Ledger | None) -> contextlib.AbstractContextManager[object]:
    """Return a context in which no other process publishes by the ledger."""
    if ledger is None:
        return contextlib.nullcontext()
    return ledger.turn()
