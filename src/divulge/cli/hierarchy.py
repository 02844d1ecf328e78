# SPDX-License-Identifier: Apache-2.0
"""`divulge hierarchy`: build, check, convert and show generalization hierarchies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

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


@dataclass(frozen=True)
class RuleOptions:
    """The rule of the levels; without one, it is chosen from the data."""

    intervals: options.Text = None
    start: options.Text = None
    bottom: options.Text = None
    top: options.Text = None
    cuts: options.Texts = None
    prefix: bool = False
    dates: options.Text = None
    format: options.Text = None
    order: options.Text = None
    groups: options.Text = None
    taxonomy: options.Text = None
    rule: options.Text = None
    other: options.Text = None
    no_suppress: bool = False

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


@app.command()
def build(
    table: TableOptions,
    column: list[str],
    rules: RuleOptions,
    out: Path | None,
    to: Literal["arx", "anjana"],
    force: bool,
    most: int,
    json_: bool,
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
def cut(
    table: TableOptions,
    column: str,
    about: str,
    adversary: options.BeliefOptions,
    policy: PolicyOptions,
    ranges: int | None,
    keep: options.Text,
    among: options.Text,
    beside: options.Text,
    against: options.Text,
    out: Path | None,
    to: Literal["arx", "anjana"],
    force: bool,
    most: int,
    json_: bool,
    promises: tuple[Promise, ...],
) -> None:
    """Cut a column into the ranges that keep the promises and tell the most about another (the true optimum).

    \b
    Example:
      divulge hierarchy cut patients.csv --column age --about disease --ranges 4 --surprise 0.5 --k-anonymity 5 --out age.csv
    """  # noqa: E501
    from divulge.api import hierarchies as work
    from divulge.sources import split_names

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
def check(
    table: TableOptions, hierarchies: Path | None, hierarchy: options.Texts, json_: bool
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
    source: Path,
    target: Path,
    to: Literal["arx", "anjana"],
    encoding: str,
    force: bool,
    json_: bool,
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
    program.reject_idle(f"where {source} is no ARX project", "encoding", when=not project)
    written = work.convert(source, target, to=to, force=force, encoding=encoding)
    if json_:
        options.emit_json({"written": [str(path) for path in written]})
    else:
        options.show(*formatting.written_text(written))


@app.command(name="show")
def show_levels(source: Path, most: int, json_: bool) -> None:
    """Show the levels of a hierarchy: how many labels each has, and what becomes of the values.

    \b
    Example:
      divulge hierarchy show adult_hierarchy_age.csv
    """
    from divulge.api import hierarchies as work
    from divulge.output import columns

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
