# SPDX-License-Identifier: Apache-2.0
"""Commands whose parameters are options, and the groups of options that several commands share.

A command names its parameters; their flags, help and sections are rows of `divulge.options`.
"""

from __future__ import annotations

import functools
import inspect
import json
import sys
import typing
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar, cast

import typer
from typer.core import TyperCommand, TyperGroup

import divulge as dv
from divulge import results
from divulge.arguments import outside
from divulge.cli import completion, program, progress, redaction
from divulge.errors import BadInput, nearest
from divulge.options import (
    FALLBACK_ROLES,
    PANELS,
    ROLES,
    SINGLE_ROLES,
    Option,
    flag_of,
    option_of,
    options_of,
)
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
        self._appendix: list[RenderableType] = []
        self._json = json_

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.show()

    def append(self, part: RenderableType) -> None:
        """Add a part that follows the result, which is the answer; on an error it comes first."""
        self._appendix.append(part)

    def show(self) -> None:
        """Show everything that was not shown yet; nothing with --json."""
        self._show([*self._parts, *self._appendix])
        self._parts = []
        self._appendix = []

    def _show(self, parts: list[RenderableType]) -> None:
        if not self._json:
            show(*parts)

    def tell(self, result: Result, *, warns: bool, **options: Any) -> None:
        """Show the lines and the result, the result first if it begins with a warning."""
        if not warns:
            self._show(self._parts)
            self._parts = []
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
        """Register a function as the command, with the options of its rows."""
        settings = {"cls": _Command, "context_settings": self.info.context_settings, **settings}
        register = super().command(name, **settings)

        def add(function: Function) -> Function:
            module = function.__module__.rpartition(".")[2]
            own_name = name or function.__name__
            verb = module if own_name == module else f"{module} {own_name}"
            return cast("Function", register(with_options(function, verb)))

        return add


def new_app() -> App:
    """Return an empty command with the shared settings of all commands."""
    return App()


# --- options --------------------------------------------------------------------------------------
class Arguments:
    """Options of a command that none of its other parameters takes, by their names."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = {name: value for name, value in values.items() if value is not None}

    @classmethod
    def takes(cls, option: Option) -> bool:  # noqa: ARG003 - subclasses choose among the options
        """Return whether an option belongs to this group."""
        return True

    def chosen(self, verb: str) -> dict[str, Any]:
        """Return the options that were given, as arguments of the library's function."""
        rows = {name: option_of(name, verb) for name in self.values}
        return {
            row.library_name: pairs(self.values[name], row.flag)
            if row.takes == "by column"
            else self.values[name]
            for name, row in rows.items()
            if self.values[name] != row.unset
        }


class RoleOptions(Arguments):
    """Roles of the columns."""

    @classmethod
    def takes(cls, option: Option) -> bool:
        """Return whether an option is a role."""
        return option.name in ROLES

    def resolve(self, table: Table) -> dict[str, Any]:
        """Return the roles as keyword arguments of the library's functions."""
        from divulge.sources import split_names

        return {
            role: value
            if role in SINGLE_ROLES
            else split_names(table, value, spread=role not in FALLBACK_ROLES)
            for role, value in self.values.items()
        }


class BeliefOptions(Arguments):
    """The adversary: prior, background knowledge, population, prior releases."""

    @classmethod
    def takes(cls, option: Option) -> bool:
        """Return whether an option is a setting of the adversary."""
        return option.policy_key.startswith("adversary.")

    def only(self, *names: str) -> BeliefOptions:
        """Return these options without the others."""
        return BeliefOptions({name: self.values.get(name) for name in names})

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

        settings = {name: self._setting(name, columns) for name in self.values if name != "as_"}
        for name in levels_of:
            settings.get("taxonomies", {}).pop(name, None)
        settings.get("orders", {}).pop(order_of, None)
        settings |= self._suppressed()
        # An option that was not given leaves the setting to the policy file.
        return Adversary(
            **{name: value for name, value in settings.items() if value not in ({}, [])}
        )

    def orders(self, columns: Sequence[str] = ()) -> dict[str, list[str]]:
        """Return the values of each column from low to high."""
        return cast("dict[str, list[str]]", self._setting("orders", columns))

    def hierarchies(self, columns: Sequence[str] = ()) -> dict[str, str]:
        """Return the hierarchy file of each column.

        It is the adversary's taxonomy of a sensitive column, or the levels of another column.
        """
        return cast("dict[str, str]", self._setting("taxonomies", columns))

    def _setting(self, name: str, columns: Sequence[str]) -> Any:
        """Return the value of an option as a setting of the adversary."""
        flag = flag_of(name)
        texts = self.values.get(name, [])
        match name:
            case "prior":
                return _prior(texts, columns)
            case "rule_out" | "rule_in":
                return _values(texts, columns)
            case "orders":
                by_column = pairs(texts, flag, columns)
                return {column: order.split(",") for column, order in by_column.items()}
            case "released_of":
                return _originals(texts)
            case "distances" | "taxonomies" | "tries" | "within":
                return pairs(texts, flag, columns)
        return texts

    def _suppressed(self) -> dict[str, Any]:
        """Return the texts in suppressed cells with their meaning."""
        texts = self.values.get("suppressed", [])
        meaning = self.values.get("as_")
        if texts and meaning is None:
            raise BadInput(
                f"it is not said how {texts[0]!r} is meant", hint="add --as wildcard or --as value"
            )
        if meaning is not None and not texts:
            raise BadInput(
                f"--as {meaning} has no effect without --suppressed",
                hint="name what stands in such cells",
            )
        return {"suppressed": dict.fromkeys(texts, meaning)}


def _prior(texts: list[str], columns: Sequence[str]) -> str | Mapping[str, str]:
    if len(texts) == 1 and ("=" not in texts[0] or Path(texts[0]).exists()):
        return texts[0]
    return pairs(texts, flag_of("prior"), columns)


def _originals(texts: list[str]) -> dict[str, str]:
    """Parse repeated RELEASE=TABLE into the table of each release."""
    originals = [text.rpartition("=")[::2] for text in texts]
    flag = flag_of("released_of")
    if wrong := [table for release, table in originals if not (release and table)]:
        raise BadInput(
            f"{flag} {outside(wrong[0])} says no release and its table",
            hint=f"For example {flag} release-2024=patients-2024.csv",
        )
    return dict(originals)


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


# --- commands with the options of their rows ------------------------------------------------------
_TYPES: Mapping[str, Any] = {"flag": bool, "integer": int, "number": float}


def with_options(command: Callable[..., Any], verb: str) -> Callable[..., Any]:
    """Return a command whose parameters are options, as the rows of its verb describe them.

    A parameter whose type is a dataclass or `Arguments` is a group: on the command line its fields
    appear as options of the command. Fields without a row of this verb keep their defaults.
    `promises` are the bounds of metrics, each with a flag of its own.
    """
    hints = typing.get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if _is_group(hint)}
    rows = {option.name: option for option in options_of(verb)}
    dataclass_groups = {name for name, hint in groups.items() if is_dataclass(hint)}
    names_by_group = {
        name: [field.name for field in fields(hint) if field.name in rows]
        for name, hint in groups.items()
        if name in dataclass_groups
    }
    declared = {name for name in hints if name not in groups}
    declared.update(*names_by_group.values())
    if "promises" in hints:
        declared.add("promise")
    for name, hint in groups.items():
        if name not in names_by_group:
            taken = [row for row in rows if row not in declared and hint.takes(rows[row])]
            names_by_group[name] = taken
            declared |= set(taken)
    parameters: list[inspect.Parameter] = []
    for name in inspect.signature(command).parameters:
        if name in groups:
            types = typing.get_type_hints(groups[name], include_extras=True)
            parameters += [
                _parameter(rows[field], types.get(field)) for field in names_by_group[name]
            ]
        elif name in rows and name != "promises":
            parameters.append(_parameter(rows[name], hints[name]))
        elif name == "promises":
            parameters += _requirement_parameters(rows["promise"], rows)
        else:
            parameters.append(_keyword(name, hints[name]))

    @functools.wraps(command)
    def call(context: typer.Context, **arguments: Any) -> None:
        program.begin(context, verb, arguments)
        made: dict[str, Any] = {}
        for name, field_names in names_by_group.items():
            values = {field: arguments.pop(field) for field in field_names}
            make: Any = groups[name]
            made[name] = make(**values) if name in dataclass_groups else make(values)
        if "promises" in hints:
            made["promises"] = _promises(arguments, rows)
        command(**arguments, **made)

    parameters.append(_keyword("context", typer.Context))
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return call


def _is_group(hint: Any) -> bool:
    return isinstance(hint, type) and (is_dataclass(hint) or issubclass(hint, Arguments))


def _keyword(name: str, hint: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _parameter(option: Option, hint: Any = None) -> inspect.Parameter:
    """Return the parameter of a row; without a type, its type follows from the row."""
    if hint is None:
        hint = _type_of(option)
    if option.takes == "choice":
        optional = type(None) in typing.get_args(hint)
        hint = Literal[option.values] | None if optional else Literal[option.values]
    default = False if hint is bool else option.default
    return _keyword(
        option.name,
        Annotated[hint, _declaration(option)],
        inspect.Parameter.empty if option.required else default,
    )


def _type_of(option: Option) -> Any:
    """Return the type of a value whose parameter declares none."""
    if option.repeated or option.takes in ("columns", "by column"):
        hint: Any = list[str]
    elif option.takes == "flag" and not option.off_flag:
        return bool
    else:
        hint = _TYPES.get(option.takes, str)
    return hint if option.required else hint | None


def _declaration(option: Option) -> Any:
    """Return the row as an option or argument of Typer."""
    values = completion.values_of(option)
    help_text = option.help
    if values:
        help_text = help_text.replace("{values}", ", ".join(values()))
    settings: dict[str, Any] = {
        "metavar": option.placeholder,
        "help": help_text,
        "rich_help_panel": option.panel,
    }
    if option.takes in ("columns", "column") and option.completes:
        settings["autocompletion"] = completion.columns
    elif values and option.takes != "choice":
        settings["autocompletion"] = completion.one_of(values)
    if option.positional:
        return typer.Argument(**settings)
    *aliases, flag = option.all_flags
    if option.off_flag:
        flag = f"{flag}/{option.off_flag}"
    return typer.Option(*aliases, flag, min=option.low, max=option.high, **settings)


# --- charts and reports; an invalid request raises an error before any work -----------------------
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


def check_page(path: Text) -> None:
    """Raise an error before any work if a report cannot be written there; None: there is none."""
    if path is not None:
        results.page_path(path)


def write_report(made: Any, path: str, *, json_: bool) -> None:
    """Save a report, and print its path."""
    written = made.save(path)
    if not json_:
        show("", f"Report: {written}")


# --- requirements: a flag for each metric, --promise for any bound --------------------------------
def _requirement_parameters(promise: Option, rows: Container[str]) -> list[inspect.Parameter]:
    """Return a flag for every metric that a requirement can bound, and --promise.

    A flag of `rows` with the same name takes its place.
    """
    flags = [_keyword(name, _flag(name), None) for name in _requirement_names() if name not in rows]
    return [*flags, _parameter(promise)]


def _requirement_names() -> list[str]:
    """Return the metrics that a requirement can bound, the most common first."""
    from divulge import metrics

    return sorted(
        completion.promised_metrics(),
        key=lambda name: metrics.find_metric(name).common or len(metrics.METRICS),
    )


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
        typer.Option(
            flag_of(name, "check"),
            metavar=bound.upper().replace(" ", "-"),
            help=f"{metric.plain[:1].upper()}{metric.plain[1:]}.",
            hidden=not metric.common,
            rich_help_panel="Promises",
        ),
    ]


def _promises(arguments: dict[str, Any], rows: Container[str]) -> tuple[Promise, ...]:
    """Take the requirements of the flags and of --promise out of a command's arguments.

    A second, different statement about the same metric and attribute raises an error.
    """
    from divulge.policy import Promise

    made = [
        (flag_of(name, "check"), Promise.make(name, bound))
        for name in _requirement_names()
        if name in arguments and name not in rows
        for bound in arguments.pop(name) or ()
    ]
    made += [
        (flag_of("promise"), promise)
        for text in arguments.pop("promise") or ()
        for promise in Promise.parse(text)
    ]
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
