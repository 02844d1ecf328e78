# SPDX-License-Identifier: Apache-2.0
"""Shared inputs of the commands: the table or release, the policy, prior releases, the ledger."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import divulge as dv
from divulge.arguments import spelled
from divulge.cli import options, program, redaction
from divulge.cli.progress import statement_bar
from divulge.errors import BadInput
from divulge.options import ENGINE_NAMES, READING_NAMES, Option, command_words, option_of
from divulge.policy import Policy, Promise, Protection

if TYPE_CHECKING:
    from divulge.api.opened import OneTable
    from divulge.sources import Table


class TableOptions(options.Arguments):
    """The table or tables, and how they are read."""

    @classmethod
    def takes(cls, option: Option) -> bool:
        """Return whether an option is about reading a table."""
        return option.name in ("source", *READING_NAMES, *ENGINE_NAMES)

    @property
    def source(self) -> str:
        """The table; of several tables, the first."""
        return self.sources[0]

    @property
    def sources(self) -> list[str]:
        """All tables."""
        source = self.values.get("source", [])
        if isinstance(source, str):
            return [source]
        return list(source)

    def table_options(self) -> list[TableOptions]:
        """Return the options of each table or release.

        Reading options apply to tables only, unless all sources are releases: then they raise an
        error.
        """
        from divulge.releases import NAME

        releases = [(Path(source) / NAME).is_file() for source in self.sources]
        of_engine = {name: value for name, value in self.values.items() if name in ENGINE_NAMES}
        of_release = self.values if all(releases) else of_engine
        return [
            TableOptions({**(of_release if release else self.values), "source": source})
            for source, release in zip(self.sources, releases, strict=True)
        ]

    def read(self) -> Table:
        """Open the table, and print notes about reading it to standard error."""
        from divulge.sources import read

        opened = read(self.source, **self.reading, engine=self.chosen_engine())
        flags = {
            name: program.Flag(option_of(name).flag, option_of(name).placeholder)
            for name in ("codes", "decimal")
        }
        for note in opened.reading.notes:
            text = spelled(note, lambda argument: program.spell_flag(argument, flags))
            redaction.print_sentence(text)
        return opened

    @property
    def reading(self) -> dict[str, Any]:
        """Reading options that differ from their defaults, as arguments of the library's `read`."""
        return {
            name: value
            for name, value in self.values.items()
            if name in READING_NAMES and value != option_of(name).unset
        }

    def chosen_engine(self) -> Any:
        """Return the chosen engine, with its settings."""
        name = self.values.get("engine")
        of_spark = {
            option: self.values[option] for option in ("master", "remote") if option in self.values
        }
        of_duckdb = {
            option: self.values[option]
            for option in ("memory_limit", "temp_directory")
            if option in self.values
        }
        if of_spark and name not in (None, "spark"):
            raise BadInput(f"--master and --remote are Spark's, and --engine {name} was asked for")
        if of_spark or name == "spark":
            if of_duckdb:
                raise BadInput(
                    "--memory-limit and --temp-directory are DuckDB's",
                    hint="set them in Spark's own configuration",
                )
            from divulge.engines import SparkEngine

            return SparkEngine(**of_spark)
        if name in (None, "duckdb"):
            from divulge.engines import DuckDBEngine

            return DuckDBEngine(**of_duckdb, progress=statement_bar())
        return name


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
    """The policy file, and requirements that are added to it."""

    unique_share: float | None = None
    policy: options.Text = None
    no_policy: bool = False
    protect: options.Texts = None

    def in_force(self, promises: Sequence[Promise]) -> PolicyInEffect:
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
            policy_of(name, promises, protect=self.protect, unique_share=self.unique_share)
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


def table_or_release(
    table: TableOptions, *, with_private: bool = False, private_dir: Path | None = None
) -> OneTable:
    """Open a table, or the table of a release; a release states how it is read."""
    from divulge.api.measure import open_measurable
    from divulge.api.opened import is_anatomized, is_release

    private: dict[str, Any] = {"with_private": with_private, "private_dir": private_dir}
    is_table = not is_release(table.source)
    if is_table and (table.reading or not is_anatomized(table.source)):
        opens_private = with_private or private_dir is not None
        return open_measurable(table.source if opens_private else table.read(), **private)
    for flag in command_words(table.reading)[:1]:
        raise BadInput(
            f"{flag} has no effect: {table.source} is a release, which says how its table is read"
        )
    return open_measurable(table.source, **private, engine=table.chosen_engine())


def exact_names(texts: options.Texts) -> tuple[str, ...]:
    """Return the named columns of an anatomized release, whose several tables have no globs."""
    return tuple(name.strip() for text in texts or () for name in text.split(","))


def reject_with_levels(*, used: Collection[str]) -> None:
    """Raise an error for options without effect on an anatomized release.

    These are all options of the command but those of the engine and `used`.
    """
    idle = [
        name for name in program.parameter_names() if name not in ("source", *ENGINE_NAMES, *used)
    ]
    why = "on an anatomized release, which has levels of groups and no classes"
    program.reject_idle(why, *idle)


# --- publishing -----------------------------------------------------------------------------------


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

    names = role_arguments.get("quasi_identifiers") or policy.roles.get("quasi_identifiers", ())
    columns = resolve_roles(opened, quasi_identifiers=names, declared=True).quasi_identifiers
    one_by_one = adversary.hierarchies(opened.names)
    if hierarchies is None:
        hierarchy_specs: dict[str, Any] = {}
    else:
        hierarchy_specs = dict(load_hierarchies(hierarchies, columns=columns))
    hierarchy_specs |= {name: spec for name, spec in one_by_one.items() if name in columns}
    return hierarchy_specs, adversary.resolve(opened.names, levels_of=columns)


# --- ledgers --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LedgerOptions:
    """The ledger whose releases count as prior releases, and that a new release is entered in."""

    ledger: Path | None = None
    recipient: options.Text = None
    coalition: options.Text = None
    dataset: options.Text = None
    expires: options.Text = None

    def value(self, *, publishes: bool = False) -> dv.Ledger | None:
        """Return the ledger, None without --ledger; `publishes`: the release is entered in it."""
        if self.ledger is None:
            return None
        if not publishes:
            program.reject_idle("where nothing is published", "expires")
        if self.coalition is None:
            coalition = None
        else:
            coalition = [name.strip() for name in self.coalition.split(",")]
        ledger = open_ledger(
            self.ledger,
            recipient=self.recipient,
            coalition=coalition,
            dataset=self.dataset,
            expires=self.expires,
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
    text = f"another process publishes by the ledger {folder}: waiting for it ..."
    typer.echo(redaction.vouch(text), err=True)


def turn_of(ledger: dv.Ledger | None) -> contextlib.AbstractContextManager[object]:
    """Return a context in which no other process publishes by the ledger."""
    if ledger is None:
        return contextlib.nullcontext()
    return ledger.turn()
