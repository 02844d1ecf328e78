# SPDX-License-Identifier: Apache-2.0
"""Conventions that all results share: text, JSON document, table, chart and HTML.

A result is a frozen value that does not depend on how it is shown. The class names only the module
of `output` that shows it. That module is imported when a result is shown: the one late import of
the package. There a function for each kind of result is registered with `text_of` and `rows_of`. It
is also registered with `document_of` and `html_of` if these show more than the result's own fields
or rows. A chart is registered in `charts` with `chart_of`.
"""

from __future__ import annotations

import functools
import importlib
import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from divulge import interrupts
from divulge.arguments import spelled
from divulge.errors import BadInput, InternalError
from divulge.marks import values_hidden

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import RenderableType


Item = TypeVar("Item")
_WIDTH = 120
"""Width of a text that is not shown on a terminal."""


@dataclass(frozen=True, repr=False)
class Result:
    """Result of a public function.

    `print` shows it in words, `to_dict` returns the JSON document of the command, and `to_frame`
    returns one table.
    """

    view: ClassVar[str]
    """Module of `output` that shows it, or the full name of a module outside the package."""
    frame: str = field(
        default="arrow", kw_only=True, compare=False, repr=False, metadata={"told": False}
    )
    """Kind of frame of the input, which `to_frame` returns."""

    def __repr__(self) -> str:
        first_line = next((line.strip() for line in str(self).splitlines() if line.strip()), "")
        summary = f"<{type(self).__name__}: {first_line}>"
        if len(summary) <= _WIDTH:
            return summary
        return f"{summary[: _WIDTH - 4]}...>"

    def __str__(self) -> str:
        return as_lines(self.text())

    def text(self, **options: Any) -> RenderableType:
        """Return the output of the command for terminals of any width; `options` are the view's."""
        _import_view(self)
        return text_of(self, **options)

    def to_dict(self, **options: Any) -> dict[str, Any]:
        """Return the JSON document of the command; `options` are the view's."""
        _import_view(self)
        return {
            str(key): _spell_notes(key, plain(item))
            for key, item in document_of(self, **options).items()
        }

    def to_frame(self, **options: Any) -> Any:
        """Return one table as the kind of frame of the input: pandas, Polars, else Arrow.

        `options` are those of the view.
        """
        _import_view(self)
        content = rows_of(self, **options)
        return as_frame(
            _arrow_table(*content) if isinstance(content, tuple) else content, self.frame
        )

    def chart(self, **options: Any) -> Any:
        """Return its main chart, as an Altair chart.

        `options` are those of the function of `dv.charts` that draws it.
        """
        importlib.import_module("divulge.charts")
        return chart_of(self, **options)

    def _repr_html_(self, **options: Any) -> str:
        """Return the HTML for Jupyter and marimo: the short answer, its numbers, and the chart."""
        _import_view(self)
        importlib.import_module("divulge.output.summary")
        return str(html_of(self, **options))


@dataclass(frozen=True, repr=False)
class Several(Result, Generic[Item]):
    """Results of one kind in a meaningful order; iterate over them, or take one by its index."""

    items: tuple[Item, ...]
    settings: Mapping[str, Any]
    """All settings that the numbers depend on."""

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Item:
        return self.items[index]


# --- redaction: documents are redacted; HTML reports and charts cannot be
def refuse_to_show(what: str) -> None:
    """Raise an error if values are hidden: charts and HTML reports name classes by their values."""
    if values_hidden():
        raise BadInput(
            f"a {what} shows values, and none may be shown",
            hint="Leave it out, or let values be shown",
        )


def _import_view(result: Result) -> None:
    if "." in result.view:
        importlib.import_module(result.view)
    else:
        importlib.import_module(f"divulge.output.{result.view}")


def _spell_notes(name: str, item: Any) -> Any:
    """Spell the arguments in the notes of a JSON document."""
    if name == "notes" and isinstance(item, list):
        return [spelled(note) if isinstance(note, str) else note for note in item]
    if isinstance(item, dict):
        return {key: _spell_notes(key, inner) for key, inner in item.items()}
    return item


@functools.singledispatch
def text_of(result: Any, **_: Any) -> RenderableType:
    """Return a result as text; each kind of result has its own function."""
    raise InternalError(f"nothing in output/ tells a {type(result).__name__} in words")


@functools.singledispatch
def document_of(result: Any, **_: Any) -> Mapping[str, Any]:
    """Return a result as a JSON document: its fields, unless its kind has its own function."""
    document: Mapping[str, Any] = plain(result)
    return document


Rows = tuple[Sequence[str], Iterable[Sequence[Any]]]
"""Names of the columns, which a table without rows has too, and the rows."""


@functools.singledispatch
def rows_of(result: Any, **_: Any) -> Rows | pa.Table:
    """Return a result as one table; each kind of result has its own function."""
    raise InternalError(f"nothing in output/ tells a {type(result).__name__} as a table")


@functools.singledispatch
def chart_of(result: Any, **_: Any) -> Any:
    """Return a result as a chart; a kind without a chart raises an error."""
    raise BadInput(
        f"there is no picture of a {type(result).__name__}",
        hint="to_frame() gives its numbers as a table",
    )


@functools.singledispatch
def html_of(result: Any, **_: Any) -> str:
    """Return a result as HTML; a kind without its own function has the one that all share."""
    raise InternalError(f"nothing in output/ shows a {type(result).__name__} on a page")


def _arrow_table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> pa.Table:
    import pyarrow as pa

    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return pa.table({name: pa.array(column) for name, column in zip(names, columns, strict=True)})


def as_frame(table: pa.Table, kind: str) -> Any:
    """Convert an Arrow table to pandas or Polars, or leave it as Arrow."""
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        import polars as pl

        return pl.from_arrow(table)
    return table


def as_lines(text: RenderableType, *, width: int = _WIDTH) -> str:
    """Return the lines that a terminal of this width shows, without color and trailing blanks."""
    from rich.console import Console

    # A notebook would display the text instead of only capturing it.
    target = Console(highlight=False, markup=False, width=width, no_color=True, force_jupyter=False)
    with target.capture() as captured:
        target.print(text)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def page_path(path: str | Path) -> Path:
    """Check the path of a report before the work begins.

    Raises:
        BadInput: If no report could be written there.
    """
    refuse_to_show("report")
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise BadInput(
            f"a report is a page, and {str(target)!r} does not end in .html",
            hint="for example report.html",
        )
    if not target.parent.is_dir():
        raise BadInput(
            f"the report cannot be written to {target}: there is no folder {target.parent}"
        )
    return target


def write_file(target: Path, content: bytes, what: str, *, private: bool = False) -> Path:
    """Write a chart or a page in one step; a reader sees all of it or the previous file.

    Only the owner may read a `private` file.
    """
    try:
        with interrupts.guard(
            tempfile.TemporaryDirectory(dir=target.parent, prefix=".divulge-")
        ) as folder:
            partial = Path(folder) / target.name
            partial.touch(mode=0o600 if private else 0o666)
            partial.write_bytes(content)
            with interrupts.defer_signals():
                written = partial.replace(target)
                interrupts.notes.append(f"{target} was written before")
            return written
    except OSError as error:
        raise BadInput(f"the {what} cannot be written to {target}: {error.strerror}") from None


def plain(value: Any) -> Any:
    """Convert a value for JSON.

    Infinities become "inf" and "-inf", NumPy scalars Python numbers, dates texts.
    """
    if is_dataclass(value) and not isinstance(value, type):
        field_names = (item.name for item in fields(value) if item.metadata.get("told", True))
        return {name: plain(getattr(value, name)) for name in field_names}
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
        if value.is_finite() and value == value.to_integral_value():
            return int(value)
        return plain(float(value))
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        if math.isnan(value):
            return "nan"
        if value > 0:
            return "inf"
        return "-inf"
    return str(value)
