# SPDX-License-Identifier: Apache-2.0
"""The manners that all results share: a line for a shell, the text of the command, its JSON document, a table, a picture, a page's part.

A result is a frozen value that knows nothing of how it is shown. The class only names the module of `views` that shows it, which is
imported when somebody looks: the one late import of the package. There a function for each kind of result is registered with
`text_of`, with `rows_of` and, where more than the result's own fields or rows is told, with `document_of` and `html_of`; and in `charts`,
where it has a picture, with `chart_of`.
"""

from __future__ import annotations

import functools
import importlib
import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, is_dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from divulge.errors import BadInput, InternalError

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import RenderableType


Item = TypeVar("Item")
_WIDTH = 120
"""Of a text that is not shown on a terminal."""


@dataclass(frozen=True, repr=False)
class Result:
    """What somebody asked for: `print` tells it in words, `to_dict` as the JSON document of the command, `to_frame` as one table."""

    view: ClassVar[str]
    """The module of `views` that shows it."""
    frame: str = field(default="arrow", kw_only=True, compare=False, repr=False, metadata={"told": False})
    """The kind of frame that was handed in, and that `to_frame` gives back."""

    def __repr__(self) -> str:
        told = next((line.strip() for line in str(self).splitlines() if line.strip()), "")
        whole = f"<{type(self).__name__}: {told}>"
        return whole if len(whole) <= _WIDTH else f"{whole[: _WIDTH - 4]}...>"

    def __str__(self) -> str:
        return as_lines(self.text())

    def text(self, **options: Any) -> RenderableType:
        """What the command shows, for a terminal of any width; `options` are those of the view."""
        _load(self)
        return text_of(self, **options)

    def to_dict(self, **options: Any) -> dict[str, Any]:
        """The JSON document of the command; `options` are those of the view."""
        _load(self)
        return {str(key): _with_notes_spoken(key, plain(item)) for key, item in document_of(self, **options).items()}

    def to_frame(self, **options: Any) -> Any:
        """One table, as the kind of frame that came in: pandas, Polars, else Arrow; `options` are those of the view."""
        _load(self)
        found = rows_of(self, **options)
        return as_frame(_arrow(*found) if isinstance(found, tuple) else found, self.frame)

    def chart(self, **options: Any) -> Any:
        """Its main picture, as an Altair chart; `options` are those of the function of `dv.charts` that draws it."""
        importlib.import_module("divulge.charts")
        return chart_of(self, **options)

    def _repr_html_(self, **options: Any) -> str:
        """What Jupyter and marimo show: the short answer, its numbers, and the chart."""
        _load(self)
        importlib.import_module("divulge.views.summary")
        return str(html_of(self, **options))


@dataclass(frozen=True, repr=False)
class Several(Result, Generic[Item]):
    """Findings of one kind, in an order that means something: iterate over them, or take one by its place."""

    items: tuple[Item, ...]
    settings: Mapping[str, Any]
    """Everything that the numbers depend on."""

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, place: int) -> Item:
        return self.items[place]


# --- notes speak of arguments in the words of Python; a command that shows a result says them in its own -------------------
_WORDS: ContextVar[Callable[[str], str]] = ContextVar("words", default=str)


def spoken(note: str) -> str:
    """A note in the words of whoever shows it."""
    return _WORDS.get()(note)


@contextmanager
def speaking(words: Callable[[str], str]) -> Iterator[None]:
    """Show results in other words than Python's, as long as this is open."""
    before = _WORDS.set(words)
    try:
        yield
    finally:
        _WORDS.reset(before)


# --- without values: what leaves is told by cli/value_free; pages and pictures cannot ---------------------------------
_HIDDEN: ContextVar[bool] = ContextVar("hidden", default=False)


def values_hidden() -> bool:
    """Whether no value of a cell may be shown."""
    return _HIDDEN.get()


@contextmanager
def without_values() -> Iterator[None]:
    """Show no value of a cell, as long as this is open."""
    before = _HIDDEN.set(True)
    try:
        yield
    finally:
        _HIDDEN.reset(before)


def refuse_to_show(what: str) -> None:
    """Pictures and pages name classes by their values."""
    if _HIDDEN.get():
        raise BadInput(f"a {what} shows values, and none may be shown", hint="Leave it out, or let values be shown")


def _load(result: Result) -> None:
    importlib.import_module(f"divulge.views.{result.view}")


def _with_notes_spoken(name: str, item: Any) -> Any:
    """What a document says, its notes in the words of whoever shows it."""
    if name == "notes" and isinstance(item, list):
        return [spoken(note) if isinstance(note, str) else note for note in item]
    return {key: _with_notes_spoken(key, inner) for key, inner in item.items()} if isinstance(item, dict) else item


@functools.singledispatch
def text_of(result: Any, **_: Any) -> RenderableType:
    """A result in words; each kind has its own."""
    raise InternalError(f"nothing in views/ tells a {type(result).__name__} in words")


@functools.singledispatch
def document_of(result: Any, **_: Any) -> Mapping[str, Any]:
    """A result as a JSON document: its fields, unless its kind has a document of its own."""
    found: Mapping[str, Any] = plain(result)
    return found


Rows = tuple[Sequence[str], Iterable[Sequence[Any]]]
"""The names of the columns, which a table without rows has too, and the rows."""


@functools.singledispatch
def rows_of(result: Any, **_: Any) -> Rows | pa.Table:
    """A result as one table; each kind has its own."""
    raise InternalError(f"nothing in views/ tells a {type(result).__name__} as a table")


@functools.singledispatch
def chart_of(result: Any, **_: Any) -> Any:
    """A result as a picture; a kind that has none says so."""
    raise BadInput(f"there is no picture of a {type(result).__name__}", hint="to_frame() gives its numbers as a table")


@functools.singledispatch
def html_of(result: Any, **_: Any) -> str:
    """A result as a part of a page; each kind has its own, or the one that all have."""
    raise InternalError(f"nothing in views/ shows a {type(result).__name__} on a page")


def _arrow(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> pa.Table:
    import pyarrow as pa

    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return pa.table({name: pa.array(column) for name, column in zip(names, columns, strict=True)})


def as_frame(table: pa.Table, kind: str) -> Any:
    """An Arrow table as pandas, Polars or Arrow."""
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        import polars as pl

        return pl.from_arrow(table)
    return table


def as_lines(text: RenderableType, *, width: int = _WIDTH) -> str:
    """What a terminal of this width would show, without colour and without the blanks that fill lines up."""
    from rich.console import Console

    # A notebook would show what is only to be captured.
    target = Console(highlight=False, markup=False, width=width, no_color=True, force_jupyter=False)
    with target.capture() as captured:
        target.print(text)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def page_path(path: str | Path) -> Path:
    """The name of a report, refused where no report could be written: before the work, not after."""
    refuse_to_show("report")
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise BadInput(f"a report is a page, and {str(target)!r} does not end in .html", hint="for example report.html")
    if not target.parent.is_dir():
        raise BadInput(f"the report cannot be written to {target}: there is no folder {target.parent}")
    return target


def write_file(target: Path, content: bytes, what: str) -> Path:
    """Write a picture or a page; whoever reads the file sees all of it or the one before."""
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".divulge-") as folder:
            partial = Path(folder) / target.name
            partial.write_bytes(content)
            return partial.replace(target)
    except OSError as error:
        raise BadInput(f"the {what} cannot be written to {target}: {error.strerror}") from None


def plain(value: Any) -> Any:
    """The value as JSON can carry it: infinities as "inf" and "-inf", NumPy scalars as Python's, dates as text."""
    if is_dataclass(value) and not isinstance(value, type):
        told = (item.name for item in fields(value) if item.metadata.get("told", True))
        return {name: plain(getattr(value, name)) for name in told}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    if hasattr(value, "item"):
        return plain(value.item())
    if isinstance(value, Decimal):
        # A whole number keeps all its digits: 38 of them are an identifier, not a measurement.
        return int(value) if value.is_finite() and value == value.to_integral_value() else plain(float(value))
    if isinstance(value, float):
        if math.isnan(value):
            return "nan"
        return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")
    return str(value)
