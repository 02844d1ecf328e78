# SPDX-License-Identifier: Apache-2.0
"""`divulge hierarchy`: build, check, convert and show generalization hierarchies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import typer
from typer import Argument, Option

import divulge as dv
from divulge.cli import options, program
from divulge.cli.inputs import PolicyOptions, TableOptions
from divulge.policy import Promise

app = options.new_app()


@app.callback()
def hierarchy() -> None:
    """Levels of columns: from a value to coarser and coarser labels.

    \b
    Examples:
      divulge hierarchy build patients.csv --column age --intervals 5,10,20 --out age.csv
      divulge hierarchy check patients.csv --hierarchies hierarchies/
    """


ToOption = Annotated[
    Literal["arx", "anjana"],
    Option("--to", help="The kind of file to write: arx (;) or anjana (,)."),
]
ForceOption = Annotated[bool, Option("--force", help="Overwrite what is there.")]
MostOption = Annotated[int, Option(help="How many values to show.", min=1)]


@dataclass(frozen=True)
class RuleOptions:
    """The rule of the levels; without one, it is chosen from the data."""

    panel: ClassVar[str] = "Search"
    intervals: Annotated[
        options.Text, Option(metavar="5,10,20", help="Ranges of numbers: the width on each level.")
    ] = None
    start: Annotated[
        options.Text, Option(help="Where the ranges are counted from; 0 if not given.")
    ] = None
    bottom: Annotated[options.Text, Option(help="Numbers below it are written <BOTTOM.")] = None
    top: Annotated[options.Text, Option(help="Numbers from it on are written >=TOP.")] = None
    cuts: Annotated[
        options.Texts,
        Option(
            metavar="18,30,65",
            help="Cut points of a level; repeat for coarser levels, with fewer points.",
        ),
    ] = None
    prefix: Annotated[
        bool, Option("--prefix", help="Hide one character more on each level: 4767*, 476**, ...")
    ] = False
    dates: Annotated[
        options.Text,
        Option(metavar="month,year,decade", help="Periods: day, month, quarter, year, decade."),
    ] = None
    format: Annotated[
        options.Text,
        Option(metavar="%d.%m.%Y", help="How the dates are written; ISO if not given."),
    ] = None
    order: Annotated[
        options.Text,
        Option(metavar="LOW,..,HIGH", help="The values of a scale, to be grouped with neighbours."),
    ] = None
    groups: Annotated[
        options.Text,
        Option(metavar="2,4", help="With --order: how many neighbours are joined on each level."),
    ] = None
    taxonomy: Annotated[
        options.Text,
        Option(metavar="FILE", help="Groups as indented text (.txt), or a hierarchy (.csv)."),
    ] = None
    rule: Annotated[
        options.Text,
        Option(
            metavar="TOML", help="Any rule, as in a policy file: '{intervals = [5], top = 90}'."
        ),
    ] = None
    other: Annotated[
        options.Text, Option(metavar="LABEL", help="The label of values that do not fit the rule.")
    ] = None
    no_suppress: Annotated[bool, Option("--no-suppress", help="Leave out the top level *.")] = False

    def spec(self) -> dict[str, Any] | None:
        """Return the options as keys of a rule; None if no rule was given."""
        from divulge import hierarchies as levels

        option_values = {name: value for name, value in vars(self).items() if value is not None}
        keys: dict[str, Any] = {
            name: option_values[name].split(",")
            for name in ("intervals", "dates", "order")
            if name in option_values
        }
        keys |= {
            name: option_values[name]
            for name in ("start", "bottom", "top", "format")
            if name in option_values
        }
        if self.rule:
            keys |= levels.parse_inline(self.rule)
        if self.cuts:
            keys["cuts"] = [level.split(",") for level in self.cuts]
        if self.prefix:
            keys["prefix"] = True
        if self.groups is not None:
            keys["groups"] = [
                int(size) if size.strip().isdigit() else size for size in self.groups.split(",")
            ]
        if self.taxonomy is not None:
            keys["file"] = self.taxonomy
        if self.other is not None:
            keys["other"] = self.other
        if self.no_suppress:
            keys["suppress"] = False
        return keys or None


def _idle(*, out: Path | None, json_: bool) -> dict[str, tuple[str, ...]]:
    """Return the options without effect in this combination, by the reason."""
    return {
        **({} if out else {"without --out": ("to", "force")}),
        **({"with --json": ("most",)} if json_ else {}),
    }


@app.command()
@options.takes_groups
def build(
    context: typer.Context,
    table: TableOptions,
    column: Annotated[
        list[str],
        options.columns("The column; a name, a glob, or several with commas; repeatable."),
    ],
    rules: RuleOptions,
    out: Annotated[
        Path | None,
        Option(
            help="Where to write: a .csv file for one column, or a folder. Nothing is written "
            "without it."
        ),
    ] = None,
    to: ToOption = "arx",
    force: ForceOption = False,
    most: MostOption = 10,
    json_: options.JsonOption = False,
) -> None:
    """Build the hierarchy of a column by a rule, or by default from its values.

    \b
    Examples:
      divulge hierarchy build patients.csv --column zip,age
      divulge hierarchy build patients.csv --column age --intervals 5,10,20 --top 90 --out age.csv
      divulge hierarchy build patients.csv --column grade --order A,B,C,D --groups 2 --out hierarchies/
    """  # noqa: E501
    from divulge.api import hierarchies as work
    from divulge.sources import split_names

    program.refuse_idle(context, _idle(out=out, json_=json_))
    opened = table.read()
    columns = split_names(opened, column)
    spec = rules.spec()
    built = work.build(opened, columns, specs={} if spec is None else dict.fromkeys(columns, spec))
    if out is None:
        written = []
    else:
        written = work.write_to(built.hierarchies, out, to=to, force=force)
    options.tell(built, json_=json_, text={"most": most}, written=written)


def _points(text: str | None) -> list[str] | None:
    if text is None:
        return None
    return [point.strip() for point in text.split(",") if point.strip()]


@app.command()
@options.takes_promises
@options.takes_groups
def cut(
    context: typer.Context,
    table: TableOptions,
    column: Annotated[
        str,
        options.column(
            "The column of numbers or dates, or of text with --order COLUMN=LOW,..,HIGH."
        ),
    ],
    about: Annotated[
        str, options.column("The sensitive column that the ranges are to tell about.")
    ],
    adversary: options.BeliefOptions,
    policy: PolicyOptions,
    ranges: Annotated[
        int | None,
        Option(help="The most ranges; any number if not given.", min=1, rich_help_panel="Search"),
    ] = None,
    keep: Annotated[
        options.Text,
        Option(
            metavar="POINTS",
            help="Cut points to keep, as 30,60: those of a coarser level.",
            rich_help_panel="Search",
        ),
    ] = None,
    among: Annotated[
        options.Text,
        Option(
            metavar="POINTS",
            help="Cut only at these points: those of a finer level.",
            rich_help_panel="Search",
        ),
    ] = None,
    beside: Annotated[
        options.Text, options.columns("Quasi-identifiers published as they are beside the ranges.")
    ] = None,
    against: Annotated[
        options.Text, options.columns("Also tell the share lost of what these tell together.")
    ] = None,
    out: Annotated[
        Path | None, Option(help="Where to write the hierarchy: a .csv file, or a folder.")
    ] = None,
    to: ToOption = "arx",
    force: ForceOption = False,
    most: MostOption = 10,
    json_: options.JsonOption = False,
    promises: tuple[Promise, ...] = (),
) -> None:
    """Cut a column into the ranges that keep the promises and tell the most about another (the true optimum).

    \b
    Example:
      divulge hierarchy cut patients.csv --column age --about disease --ranges 4 --surprise 0.5 --k-anonymity 5 --out age.csv
    """  # noqa: E501
    from divulge.api import hierarchies as work
    from divulge.sources import split_names

    program.refuse_idle(context, _idle(out=out, json_=json_))
    in_force = policy.in_force(promises)
    in_force.announce(json_=json_)
    opened = table.read()
    effective_adversary = adversary.resolve(opened.names, order_of=column)
    scale = adversary.orders(opened.names).get(column)
    cut_column = dv.cut(
        opened,
        column,
        about=about,
        policy=in_force.policy,
        most=ranges,
        order=scale,
        keep=_points(keep) or (),
        among=_points(among),
        beside=split_names(opened, [beside]) if beside else (),
        against=split_names(opened, [against]) if against else (),
        adversary=effective_adversary,
    )
    if out is None:
        written = []
    else:
        written = work.write_to({column: cut_column.hierarchy}, out, to=to, force=force)
    options.tell(
        cut_column, json_=json_, text={"most": most}, settings=in_force.settings, written=written
    )


@app.command()
@options.takes_groups
def check(
    table: TableOptions,
    hierarchies: Annotated[
        Path | None,
        Option(metavar="DIR", help="Folder of <column>.csv or *_hierarchy_<column>.csv."),
    ] = None,
    hierarchy: Annotated[
        options.Texts,
        Option(metavar="COLUMN=FILE", help="The hierarchy of one column; repeatable."),
    ] = None,
    json_: options.JsonOption = False,
) -> None:
    """Tell whether every value of a table has its place in its hierarchy: exit code 2, and all that are missing, if not.

    \b
    Example:
      divulge hierarchy check adult.csv --hierarchies hierarchies/
    """  # noqa: E501
    from divulge.api import hierarchies as work

    opened = table.read()
    coverage = work.cover(
        opened, work.load_for(opened, hierarchies, options.pairs(hierarchy or [], "--hierarchy"))
    )
    if json_:  # one object: the error lists the missing values
        coverage.refuse_gaps()
    options.tell(coverage, json_=json_)
    coverage.refuse_gaps()


@app.command()
def convert(
    context: typer.Context,
    source: Annotated[
        Path, Argument(help="A hierarchy file, a folder of them, or an ARX project (.deid).")
    ],
    target: Annotated[
        Path, Argument(help="The file to write; the folder, if a folder or a project is read.")
    ],
    to: ToOption = "arx",
    encoding: Annotated[str, Option(help="The encoding of an ARX project's files.")] = "utf-8",
    force: ForceOption = False,
    json_: options.JsonOption = False,
) -> None:
    """Rewrite hierarchies for another tool, or unpack an ARX project into data, hierarchies and roles.

    \b
    Examples:
      divulge hierarchy convert adult_hierarchy_age.csv age.csv --to anjana
      divulge hierarchy convert study.deid study/
    """  # noqa: E501
    from divulge.api import hierarchies as work
    from divulge.output import formatting

    project = source.suffix.lower() == ".deid"
    program.refuse_idle(
        context, {} if project else {f"where {source} is no ARX project": ("encoding",)}
    )
    written = work.convert(source, target, to=to, force=force, encoding=encoding)
    if json_:
        options.emit_json({"written": [str(path) for path in written]})
    else:
        options.show(*formatting.written_text(written))


@app.command(name="show")
def show_levels(
    context: typer.Context,
    source: Annotated[
        Path, Argument(help="A hierarchy file, a folder of them, or an ARX project (.deid).")
    ],
    most: MostOption = 10,
    json_: options.JsonOption = False,
) -> None:
    """Show the levels of a hierarchy: how many labels each has, and what becomes of the values.

    \b
    Example:
      divulge hierarchy show adult_hierarchy_age.csv
    """
    from divulge.api import hierarchies as work
    from divulge.output import columns

    program.refuse_idle(context, {"with --json": ("most",)} if json_ else {})
    levels_by_column = work.load_any(source)
    if json_:
        options.emit_json(
            {
                "hierarchies": {
                    name: columns.hierarchy_document(hierarchy)
                    for name, hierarchy in levels_by_column.items()
                }
            }
        )
    else:
        options.show(
            *(
                columns.hierarchy_text(hierarchy, most=most)
                for hierarchy in levels_by_column.values()
            )
        )
