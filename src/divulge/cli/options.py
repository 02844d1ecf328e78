# SPDX-License-Identifier: Apache-2.0
"""Options that several commands share, in groups that a command takes as one argument.

`@takes_groups` lets a command declare a parameter whose type is one of these dataclasses; on the
command line its fields appear as options of the command.
"""

from __future__ import annotations

import copy
import functools
import inspect
import json
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeVar

import typer
from typer import Option
from typer.core import TyperCommand, TyperGroup

import divulge as dv
from divulge.cli import program, progress, redaction
from divulge.errors import BadInput, nearest
from divulge.results import Result, plain

if TYPE_CHECKING:
    from rich.console import RenderableType

    from divulge.adversary import Adversary
    from divulge.policy import Promise
    from divulge.sources import Table


# --- common ---------------------------------------------------------------------------------------
# Shared by all commands: one JSON object on standard output, a console for people, and lists of
# columns from flags.
Text = str | None
Texts = list[str] | None
Function = TypeVar("Function", bound=Callable[..., Any])


def emit_json(document: Mapping[str, Any]) -> None:
    """Print one JSON object and nothing else, redacted if that was requested."""
    progress.SCREEN.clear()
    if redaction.emitted(plain(document)):
        return
    # Escapes are JSON in any encoding. An output that is not UTF-8 cannot represent every character
    # directly.
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "")
    sys.stdout.write(
        json.dumps(plain(document), ensure_ascii=encoding != "utf8", allow_nan=False) + "\n"
    )


def tell(
    result: Result,
    *,
    json_: bool,
    text: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> None:
    """Print a result as one JSON object or as text.

    `options` are those of its views, `text` those of the text only. `settings` are added to the
    settings of the JSON output: facts that the command knows and the library does not.
    """
    if json_:
        document = result.to_dict(**options)
        emit_json(
            document
            | ({"settings": {**document.get("settings", {}), **settings}} if settings else {})
        )
    else:
        show(result.text(**options, **(text or {})))


class Preface:
    """Lines that precede a result, or follow it if the result begins with a warning.

    Used with `with`: on an error the lines are shown first, because they may explain it.
    """

    def __init__(self, *parts: RenderableType, json_: bool) -> None:
        self._parts = list(parts)
        self._json = json_

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.show()

    def add(self, part: RenderableType) -> None:
        """Add a line, to be shown with the others."""
        self._parts.append(part)

    def show(self) -> None:
        """Show the lines once; not with --json."""
        if self._json:
            parts = []
        else:
            parts = self._parts
        self._parts = []
        show(*parts)

    def tell(self, result: Result, *, warns: bool, **options: Any) -> None:
        """Show the lines and the result, the result first if it begins with a warning."""
        if not warns:
            self.show()
        tell(result, json_=self._json, **options)
        self.show()


def show(*parts: RenderableType) -> None:
    """Print text without trailing blanks; piped output is plain text and a little wider."""
    from rich.console import Console

    progress.SCREEN.clear()
    target = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 120)
    for part in parts:
        with target.capture() as captured:
            target.print(part)
        sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


PANELS = ("Records", "Table", "Roles", "Measure", "Adversary", "Promises", "Search", "Output")
"""Sections of a command's help, in this order.

An option without one (rich_help_panel) is in the last.
"""


class _Command(program.Converting, TyperCommand):
    """A command whose help lists its options by section, as plain text for pipes and web pages."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options by section."""
        sections: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Arguments", *PANELS)}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            is_argument = parameter.param_type_name == "argument"
            if is_argument:
                panel = "Arguments"
            else:
                panel = getattr(parameter, "rich_help_panel", None) or PANELS[-1]
            if record is not None:
                sections.setdefault(panel, []).append(record)
        for name, records in sections.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


class _Group(program.Converting, TyperGroup):
    """A group of subcommands."""


class App(typer.Typer):
    """A command, or a group of commands, with the shared settings of all commands."""

    def __init__(self) -> None:
        manners = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
        super().__init__(
            cls=_Group, add_completion=False, rich_markup_mode=None, context_settings=manners
        )

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Function], Function]:
        """Register a function as the command."""
        return super().command(
            name, **{"cls": _Command, "context_settings": self.info.context_settings, **settings}
        )


def new_app() -> App:
    """Return an empty command with the shared settings of all commands."""
    return App()


# --- options --------------------------------------------------------------------------------------
def columns(help_text: str, *, metavar: str = "COLUMNS", panel: str | None = "Roles") -> Any:
    """Return an option that takes columns of the table, with completion."""
    return Option(
        metavar=metavar, help=help_text, rich_help_panel=panel, autocompletion=program.columns
    )


column = functools.partial(columns, metavar="COLUMN")


@dataclass(frozen=True)
class RoleOptions:
    """Roles of the columns."""

    panel: ClassVar[str] = "Roles"
    qi: Annotated[
        Texts, columns("Quasi-identifier, which she may know: a name, a glob, several with commas.")
    ] = None
    sensitive: Annotated[Texts, columns("Sensitive column: what must not be learnt. As --qi.")] = (
        None
    )
    identifier: Annotated[
        Texts, columns("Column that names a person directly; never a quasi-identifier. As --qi.")
    ] = None
    person: Annotated[
        Text, column("Column that tells people apart where one may own several rows.")
    ] = None
    weight: Annotated[
        Text, column("Survey weight: how many people of the population a row stands for.")
    ] = None

    def resolve(self, table: Table) -> dict[str, Any]:
        """Return the roles as keyword arguments of the library's functions."""
        from divulge.sources import split_names

        return {
            "quasi_identifiers": split_names(table, self.qi or []),
            "sensitive": split_names(table, self.sensitive or []),
            "identifier": split_names(table, self.identifier or []),
            "weight": self.weight,
            "person": self.person,
        }


LeaveOutOption = Annotated[
    Texts, columns("Column not published that names nobody. As --qi; '*' is all the rest.")
]
PlainOption = Annotated[
    Texts, columns("Column that may be published as it is, whatever it looks like. As --qi.")
]


@dataclass(frozen=True)
class GuardOptions:
    """Columns that may be published in addition to those that requirements are about."""

    panel: ClassVar[str] = "Roles"
    leave_out: LeaveOutOption = None
    plain: PlainOption = None
    unique_share: Annotated[
        float | None,
        Option(
            metavar="SHARE",
            help="Share of people unique without sensitive columns.",
            min=0,
            max=1,
            rich_help_panel="Promises",
        ),
    ] = None

    def resolve(self, table: Table) -> dict[str, Any]:
        """Return the roles as keyword arguments of the library's functions."""
        from divulge.sources import split_names

        names_by_role = {"leave_out": self.leave_out or [], "plain": self.plain or []}
        return {
            role: split_names(table, names, spread=False) for role, names in names_by_role.items()
        }


@dataclass(frozen=True)
class BeliefOptions:
    """Background knowledge of the adversary."""

    panel: ClassVar[str] = "Adversary"
    original: Annotated[
        Text, Option(metavar="TABLE", help="Of a published table; its marginal is the prior.")
    ] = None
    prior: Annotated[
        Texts,
        Option(
            metavar="[COLUMN=]FILE",
            help="CSV with a prior: column, probability or joint, conditions.",
        ),
    ] = None
    rule_out: Annotated[
        Texts, Option(metavar="COLUMN=VALUE", help="A value the adversary knows to be impossible.")
    ] = None
    rule_in: Annotated[
        Texts, Option(metavar="COLUMN=VALUE", help="The only values the adversary holds possible.")
    ] = None
    distance: Annotated[
        Texts,
        Option(
            metavar="COLUMN=KIND",
            help="Ground distance of t-closeness: equal, ordered or hierarchical.",
        ),
    ] = None
    hierarchy: Annotated[
        Texts,
        Option(metavar="COLUMN=FILE", help="Taxonomy of a sensitive column (ARX or anjana CSV)."),
    ] = None
    order: Annotated[
        Texts, Option(metavar="COLUMN=LOW,..,HIGH", help="The order of a text column's values.")
    ] = None
    tries: Annotated[
        Texts, Option(metavar="COLUMN=N", help="Guesses at a value, for vulnerability; else one.")
    ] = None
    within: Annotated[
        Texts, Option(metavar="COLUMN=N", help="How near one must be; of dates, days. Else exact.")
    ] = None
    recursive_l: Annotated[
        int | None, Option(help="The l of recursive (c,l)-diversity; else the table's own.")
    ] = None
    population: Annotated[
        Text, Option(metavar="TABLE", help="The population, for journalist risk and k-map.")
    ] = None
    population_count: Annotated[
        Text, Option(metavar="COLUMN", help="Its column of how many people a row is.")
    ] = None
    nulls: Annotated[
        Text,
        Option(
            metavar="HOW",
            help="A null is a value (category), left out (drop), or a wildcard.",
            autocompletion=program.one_of(lambda: ["category", "drop", "wildcard"]),
        ),
    ] = None

    def resolve(
        self,
        columns: Sequence[str] = (),
        *,
        levels_of: Sequence[str] = (),
        order_of: str | None = None,
    ) -> Adversary:
        """Return the adversary; `columns` are the table's, whose names may hold a "=".

        A hierarchy of one of `levels_of`, and the order of `order_of`, are not the adversary's:
        they define how these columns are generalized.
        """
        from divulge.adversary import Adversary

        settings: dict[str, Any] = {
            "original": self.original,
            "prior": _priors(self.prior or [], columns),
            "rule_out": _values(self.rule_out or [], columns),
            "rule_in": _values(self.rule_in or [], columns),
            "distances": pairs(self.distance or [], "--distance", columns),
            "taxonomies": {
                name: file
                for name, file in self.hierarchies(columns).items()
                if name not in levels_of
            },
            "orders": {
                name: order for name, order in self.orders(columns).items() if name != order_of
            },
            "population": self.population,
            "population_count": self.population_count,
            "nulls": self.nulls,
            "recursive_l": self.recursive_l,
            "tries": pairs(self.tries or [], "--tries", columns),
            "within": pairs(self.within or [], "--within", columns),
        }
        # An option that was not given leaves the setting to the policy file.
        return Adversary(
            **{name: value for name, value in settings.items() if value not in (None, {}, [])}
        )

    def orders(self, columns: Sequence[str] = ()) -> dict[str, list[str]]:
        """Return the values of each column from low to high."""
        return {
            name: order.split(",")
            for name, order in pairs(self.order or [], "--order", columns).items()
        }

    def hierarchies(self, columns: Sequence[str] = ()) -> dict[str, str]:
        """Return the hierarchy file of each column.

        It is the adversary's taxonomy of a sensitive column, or the levels of another column.
        """
        return pairs(self.hierarchy or [], "--hierarchy", columns)


JointOption = Annotated[
    bool,
    Option(
        "--joint",
        help="Also measure all sensitive columns together as one.",
        rich_help_panel="Roles",
    ),
]
JsonOption = Annotated[bool, Option("--json", help="Print one JSON object and nothing else.")]


def pairs(texts: list[str], option: str, columns: Sequence[str] = ()) -> dict[str, str]:
    """Parse repeated COLUMN=SOMETHING into a mapping."""
    values_by_name: dict[str, str] = {}
    for text in texts:
        name, sign, value = parted(text, columns)
        if not sign or not value:
            raise BadInput(f"{option} {text!r} does not have the form COLUMN=...")
        values_by_name[name] = value
    return values_by_name


def parted(text: str, columns: Sequence[str]) -> tuple[str, str, str]:
    """Split a text at "=" into the column, the sign and the value.

    The column is the longest known one that the text begins with, else all before the first "=".
    """
    matches = [name for name in columns if text.startswith(f"{name}=")]
    if not matches:
        return text.partition("=")
    name = max(matches, key=len)
    return name, "=", text[len(name) + 1 :]


def _values(texts: list[str], columns: Sequence[str]) -> list[str] | dict[str, list[str]]:
    """Parse repeated COLUMN=VALUE into values by column.

    Texts without "=" are returned as they are; the library rejects them.
    """
    values_by_name: dict[str, list[str]] = {}
    for text in texts:
        name, sign, value = parted(text, columns)
        if not sign:
            return texts
        values_by_name.setdefault(name, []).append(value)
    return values_by_name


def _priors(texts: list[str], columns: Sequence[str] = ()) -> str | Mapping[str, str] | None:
    if len(texts) == 1 and ("=" not in texts[0] or Path(texts[0]).exists()):
        return texts[0]
    return pairs(texts, "--prior", columns) or None


def takes_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Expand the parameters of a command that are option groups into single options."""
    hints = typing.get_type_hints(command, include_extras=True)
    groups = {
        name: hint for name, hint in hints.items() if isinstance(hint, type) and is_dataclass(hint)
    }
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += _parameters(groups[name])
        else:
            parameters.append(
                parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])
            )

    @functools.wraps(command)
    def spread(**arguments: Any) -> None:
        for name, group in groups.items():
            arguments[name] = group(
                **{field.name: arguments.pop(field.name) for field in fields(group)}
            )
        command(**arguments)

    spread.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    spread.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return spread


def _parameters(group: Any) -> list[inspect.Parameter]:
    hints = typing.get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.default
            if field.default is not field.default_factory
            else inspect.Parameter.empty,
            annotation=_in_panel(hints[field.name], getattr(group, "panel", None)),
        )
        for field in fields(group)
    ]


def _in_panel(annotation: Any, panel: str | None) -> Any:
    """Return the option in the help section of its group, unless it names one itself."""
    inner, option, *_ = typing.get_args(annotation)
    if option.rich_help_panel is None:
        option = copy.copy(option)
        option.rich_help_panel = panel
    return Annotated[inner, option]


# --- charts and reports; an invalid request raises an error before any work -----------------------
ChartOption = Annotated[
    Texts,
    Option(
        "--chart",
        metavar="[KIND=]FILE",
        help="Also draw it: .svg, .png or .html. Repeatable, for other kinds.",
    ),
]
Makers = Mapping[str, Callable[[], Any]]


@dataclass(frozen=True)
class Pictures:
    """Charts to draw, and their files."""

    output_files: tuple[tuple[str, Path], ...]

    @classmethod
    def of(cls, texts: Sequence[str] | None, kinds: Sequence[str]) -> Pictures:
        """Parse the texts of --chart; without a kind, the first one is drawn.

        A text with "=" holds a kind and a file, if the part before it is a kind.
        """
        charts = []
        for text in texts or ():
            kind, equals, name = text.partition("=")
            if equals and "/" not in kind and kind not in kinds:
                raise BadInput(f"there is no picture {kind!r} here", hint=nearest(kind, kinds))
            has_kind = bool(equals) and kind in kinds
            charts.append(
                (kind if has_kind else kinds[0], dv.charts.check_path(name if has_kind else text))
            )
        return cls(tuple(charts))

    def draw(self, makers: Makers, *, json_: bool) -> None:
        """Draw all charts, then write them.

        Raises:
            BadInput: The result has no chart of a requested kind.
        """
        for kind, _ in self.output_files:
            if kind not in makers:
                raise BadInput(f"there is no picture {kind!r} of this", hint=nearest(kind, makers))
        drawn = [(makers[kind](), path) for kind, path in self.output_files]
        written = [str(dv.charts.save(chart, path)) for chart, path in drawn]
        if written and not json_:
            show("", f"Drawn: {', '.join(written)}")


PageOption = Annotated[
    Text, Option(metavar="FILE", help="Also write it as one page (.html), replaced if it is there.")
]
ReportOption = Annotated[
    Text, Option(metavar="FILE", help="Also write a page about the release (.html).")
]


def write_report(made: Any, path: str, *, json_: bool) -> None:
    """Save a report, and print its path."""
    written = made.save(path)
    if not json_:
        show("", f"Report: {written}")


# --- requirements: a flag for each metric, --promise for any bound --------------------------------
_PANEL = "Promises"
PolicyOption = Annotated[
    Text,
    Option(
        "--policy",
        metavar="FILE",
        help="Policy file (TOML) with roles and promises.",
        rich_help_panel=_PANEL,
    ),
]
ProtectOption = Annotated[
    Texts,
    Option(
        metavar="WHO:PROMISE",
        help='For chosen people: "age >= 75: k_anonymity >= 20". Repeatable.',
        rich_help_panel=_PANEL,
    ),
]
_PromiseOption = Annotated[
    Texts,
    Option(
        "--promise",
        metavar="PROMISE",
        help='A bound on any of divulge metrics: "itpr <= 0.9". Repeatable.',
        rich_help_panel=_PANEL,
        autocompletion=program.one_of(program.promised_metrics),
    ),
]


def takes_promises(command: Callable[..., None]) -> Callable[..., None]:
    """Add --promise, and a flag for every metric that a requirement can bound, to a command.

    The command receives all of them as `promises`.
    """
    from divulge import metrics

    names = sorted(
        program.promised_metrics(),
        key=lambda name: metrics.find_metric(name).common or len(metrics.METRICS),
    )
    signature = inspect.signature(command)
    annotations: dict[str, Any] = {name: _flag(name) for name in names}
    flags = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in {**annotations, "promise": _PromiseOption}.items()
    ]

    def with_promises(**arguments: Any) -> None:
        bounds = {name: arguments.pop(name) or () for name in names}
        made = _promises(bounds, arguments.pop("promise") or ())
        command(**arguments, promises=made)

    other_parameters = [
        parameter for parameter in signature.parameters.values() if parameter.name != "promises"
    ]
    with_promises.__signature__ = signature.replace(parameters=[*other_parameters, *flags])  # type: ignore[attr-defined]
    with_promises.__annotations__ = {
        parameter.name: parameter.annotation for parameter in [*other_parameters, *flags]
    }
    with_promises.__doc__ = command.__doc__
    with_promises.__name__ = command.__name__
    return with_promises


def _flag(name: str) -> Any:
    from divulge import metrics

    metric = metrics.find_metric(name)
    if metric.worse == "high":
        bound = "max"
    else:
        bound = "min"
    if metric.takes_l:
        bound = "c,l"
    return Annotated[
        Texts,
        Option(
            f"--{name.replace('_', '-')}",
            metavar=bound.upper().replace(" ", "-"),
            help=f"{metric.plain[:1].upper()}{metric.plain[1:]}.",
            hidden=not metric.common,
            rich_help_panel=_PANEL,
        ),
    ]


def _promises(bounds: Mapping[str, Sequence[str]], texts: Sequence[str]) -> tuple[Promise, ...]:
    """Return the requirements of the flags and of --promise.

    A second, different statement about the same metric and attribute raises an error.
    """
    from divulge.policy import Promise

    made = [
        (f"--{name.replace('_', '-')}", Promise.make(name, bound))
        for name, bound_values in bounds.items()
        for bound in bound_values
    ]
    made += [("--promise", promise) for text in texts for promise in Promise.parse(text)]
    promises_by_subject: dict[tuple[str, str, str | None], tuple[str, Promise]] = {}
    for option, promise in made:
        before, other = promises_by_subject.setdefault(promise.about, (option, promise))
        if (before, other) != (option, promise):
            raise BadInput(
                f"{promise.metric.name} is promised twice: {other.text} ({before}) and "
                f"{promise.text} ({option})",
                hint="leave one of them out",
            )
    return tuple(promise for _, promise in promises_by_subject.values())
