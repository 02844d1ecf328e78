# SPDX-License-Identifier: Apache-2.0
"""`divulge compose`: joint disclosure risk of several releases of the same people."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

import divulge as dv
from divulge import results
from divulge.cli import options, program
from divulge.cli.inputs import LedgerLookupOptions, TableOptions
from divulge.cli.options import ChartOption, PageOption, Pictures
from divulge.errors import BadInput

app = options.new_app()


@dataclass(frozen=True)
class SeveralReleases(TableOptions):
    """Several releases, and how tables are read."""

    source: Annotated[
        list[str] | None,
        Argument(
            metavar="RELEASE...",
            help="Folders of releases, or tables of others, in the order in which they came out; "
            "retracted ones too.",
        ),
    ] = None  # type: ignore[assignment]

    def opened(self, source: str, engine: Any) -> Any:
        """Read a table with these options."""
        return dv.read(source, engine=engine, **self.reading)


_WITHOUT_TRUTH = "without --truth"


@app.command()
@options.takes_groups
def compose(
    context: typer.Context,
    releases: SeveralReleases,
    adversary: options.BeliefOptions,
    ledger: LedgerLookupOptions,
    truth: Annotated[
        options.Texts,
        Option(
            metavar="TABLE",
            help="The table that they were made of; given once for each release where it changed "
            "between them.",
            rich_help_panel="Table",
        ),
    ] = None,
    qi: Annotated[
        options.Texts,
        Option(
            metavar="COLUMNS",
            help="By which columns people are found; else as the releases say.",
            rich_help_panel="Roles",
        ),
    ] = None,
    sensitive: Annotated[
        options.Texts,
        Option(
            metavar="COLUMNS",
            help="What must not be learnt; else as the releases say.",
            rich_help_panel="Roles",
        ),
    ] = None,
    person: Annotated[
        options.Text,
        Option(
            metavar="COLUMN",
            help="Names people in the truth, and ties its versions together.",
            rich_help_panel="Roles",
        ),
    ] = None,
    hierarchies: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="What labels stand for, where a release has no mapping.",
            rich_help_panel="Table",
        ),
    ] = None,
    joint: options.JointOption = False,
    people: Annotated[
        int | None,
        Option(metavar="N", help="Without --truth: how many people all releases are about."),
    ] = None,
    sample: Annotated[
        int, Option(metavar="N", help="Name so many of the people who became alone.")
    ] = 0,
    who: Annotated[
        options.Text,
        Option(
            metavar="NAME",
            help="Tell of this person, by --person: what is believed of her after each release.",
        ),
    ] = None,
    out: PageOption = None,
    chart: ChartOption = None,
    json_: options.JsonOption = False,
) -> None:
    """Tell what several releases give away together, beside each alone: what the truth shows, or without it what can be derived.

    \b
    Examples:
      divulge compose first/ second/ --truth patients.csv --sample 5
      divulge compose 2024/ 2025/ --truth old.csv --truth new.csv --person id
      divulge compose first/ theirs.csv --qi zip,age --sensitive disease
    """  # noqa: E501
    if out is not None:
        results.page_path(out)
    drawing = Pictures.of(chart, ("after_each_release",))
    if truth is None:
        program.refuse_idle(
            context, {_WITHOUT_TRUTH: ("person", "joint", "sample", "who", "chart")}
        )
    if who is not None and person is None:
        raise BadInput(
            "--who names a person by a column, and none was given", hint="Give --person COLUMN too"
        )
    release_ledger = ledger.value(context)
    release_names = releases.source or []
    if not release_names and release_ledger is None:
        raise BadInput(
            "no release was named",
            hint="Name two or more, or the ledger that knows them with --ledger DIR",
        )
    engine = releases.chosen_engine()
    tables = [releases.opened(source, engine) for source in truth or []]
    if tables:
        names = tables[0].names
    else:
        names = ()
    original = None
    if truth is not None:
        if len(tables) == 1:
            original = tables[0]
        else:
            original = tables
    effective_adversary = adversary.resolve(names)
    composition = dv.compose(
        release_names,
        truth=original,
        quasi_identifiers=_split(qi),
        sensitive=_split(sensitive),
        person=person,
        joint=joint,
        adversary=effective_adversary if effective_adversary.explicit_settings else None,
        hierarchies=hierarchies,
        people=people,
        sample=sample,
        ledger=release_ledger,
        engine=engine,
    )
    if who is not None:
        if out is not None or chart is not None:
            raise BadInput(
                "--who tells of one person, and writes no page and no picture", hint="Leave it out"
            )
        options.tell(composition.person(who), json_=json_)
        return
    if out is None:
        written = []
    else:
        written = [dv.report(composition, title=_title(composition)).save(out)]
    options.tell(composition, json_=json_, written=written)
    drawing.draw({"after_each_release": composition.chart}, json_=json_)


def _title(composition: Any) -> str:
    """Return the title of the HTML report: the names of the releases, without their folders."""
    first, *others = (Path(release.name).name for release in composition.releases)
    if others:
        return f"{first} with {others[0] if len(others) == 1 else f'{len(others)} other releases'}"
    return first


def _split(texts: options.Texts) -> tuple[str, ...]:
    return tuple(part.strip() for text in texts or () for part in text.split(",") if part.strip())
