# SPDX-License-Identifier: Apache-2.0
"""`divulge measure`: all metrics of a table."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import divulge as dv
from divulge.arguments import outside
from divulge.cli import options, program, redaction
from divulge.cli.inputs import TableOptions, table_or_release
from divulge.cli.options import Makers, Pictures
from divulge.errors import BadInput

app = options.new_app()


@dataclass(frozen=True)
class FurtherOptions:
    """Further analyses of the classes, in addition to the metrics."""

    itpr_bands: options.Text = None
    repair: Literal["records", "cells"] | None = None
    repair_limit: float = 0.05

    independence: bool = False

    def answered(self, measurement: dv.Measurement) -> dict[str, Any]:
        """Return the result of each analysis, by its name in the JSON output."""
        further_results: dict[str, Any] = {}
        if self.itpr_bands is not None:
            further_results["itpr_bands"] = measurement.bands(_bounds(self.itpr_bands))
        if self.repair is not None:
            repair_options: dict[str, Any] = {"how": self.repair, "limit": self.repair_limit}
            further_results["repair"] = [
                measurement.repair(name, **repair_options) for name in (None, *measurement.beliefs)
            ]
        if self.independence:
            further_results["independence"] = [
                measurement.independence(name) for name in measurement.beliefs or (None,)
            ]
        return further_results


def _bounds(text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise BadInput(
            f"--itpr-bands {outside(text)} are not two numbers", hint="such as 0.33,0.67"
        ) from None
    return low, high


@app.command()
def measure(
    table: TableOptions,
    roles: options.RoleOptions,
    adversary: options.BeliefOptions,
    further: FurtherOptions,
    about: options.Text,
    given: options.Texts,
    t: float | None,
    l_value: float | None,
    classes: bool,
    worst: int,
    by: options.Text,
    class_: options.Texts,
    joint: bool,
    with_private: bool,
    private_dir: Path | None,
    chart: options.Texts,
    json_: bool,
) -> None:
    """Measure every metric of a table, or of a release by its folder, and name the classes that are worst.

    \b
    Examples:
      divulge measure patients.csv --qi zip,age --sensitive disease
      divulge measure patients.csv --about age --given zip,disease --json
      divulge measure patients.csv --qi zip,age --sensitive disease --class zip=47605 --class age=30 --chart class.svg
    """  # noqa: E501
    from divulge import metrics

    is_csv_output = classes and not json_
    if is_csv_output:
        in_words = ("worst", "by", "t", "l_value", *program.field_names(FurtherOptions))
        program.reject_idle("with --classes and without --json", *in_words)
    program.reject_idle("with --worst 0", "by", when=not worst)
    drawing = Pictures.of(
        chart, _kinds(is_single=bool(class_), bounded=t is not None or l_value is not None)
    )
    if (l_value is not None and not 1 <= l_value < math.inf) or (
        t is not None and not 0 <= t < math.inf
    ):
        raise BadInput("--l must be a number of at least 1, and --t of at least 0")
    target = table_or_release(table, with_private=with_private, private_dir=private_dir)
    opened = target.table
    measurement = dv.measure(
        target,
        **_roles(roles, opened, about, given),
        joint=joint,
        adversary=adversary.resolve(opened.names),
    )
    if class_:
        keys = measurement.contingency.keys
        class_values = _class_values(class_, [key.name for key in keys])
        _reject_ambiguous_null(class_values, {key.name: key.labels for key in keys})
        class_view = measurement.of_class(**class_values)
        options.tell(class_view, json_=json_)
        drawing.draw({"before_and_after": class_view.chart}, json_=json_)
        return
    has_bounds = t is not None or l_value is not None
    if has_bounds and not measurement.beliefs:
        raise BadInput("--t and --l are about a sensitive attribute, and none was measured")
    if has_bounds:
        conditions = {
            name: metrics.conditions_of(measurement, name, t=t, l_value=l_value)
            for name in measurement.beliefs
        }
    else:
        conditions = None
    if is_csv_output:
        if measurement.survey is not None:
            # without this note, the rows could be mistaken for all classes
            redaction.print_sentence(measurement.notes[-1])
        _write_csv(measurement.class_table())
    else:
        if json_:
            output_options: dict[str, Any] = {"classes": classes}
        else:
            output_options = {}
        output_options["beside"] = further.answered(measurement)
        options.tell(
            measurement, json_=json_, worst=worst, by=by, conditions=conditions, **output_options
        )
    makers: Makers = {
        "leakages": measurement.chart,
        "class_sizes": lambda: dv.charts.class_sizes(measurement),
        "information": lambda: dv.charts.information(measurement, t=t, l_value=l_value),
        "independence": lambda: measurement.independence(
            next(iter(measurement.beliefs), None)
        ).chart(),
    }
    drawing.draw(makers, json_=json_ or is_csv_output)


def _kinds(*, is_single: bool, bounded: bool) -> tuple[str, ...]:
    """Return the charts of a measurement, the default first: `information` with t or l."""
    if is_single:
        return ("before_and_after",)
    usual = ("leakages", "class_sizes", "information", "independence")
    if bounded:
        return tuple(sorted(usual, key=lambda name: name != "information"))
    return usual


def _reject_ambiguous_null(
    class_values: Mapping[str, str], labels: Mapping[str, Sequence[Any]]
) -> None:
    """Raise BadInput for "null" in a column that has both nulls and the text "null"."""
    for name, value in class_values.items():
        column_labels = labels.get(name, ())
        if value == "null" and None in column_labels and "null" in column_labels:
            raise BadInput(
                f"--class {name}=null denotes two classes: {name!r} has nulls and the text 'null'",
                hint=f"In Python of_class({name}=None) and of_class({name}='null') differ",
            )


def _class_values(texts: list[str], names: list[str]) -> dict[str, str]:
    """Parse the value of each quasi-identifier.

    A column name may hold "="; the longest matching name is used.
    """
    class_values: dict[str, str] = {}
    for text in texts:
        name, sign, value = options.parted(text, names)
        if not sign:
            raise BadInput(
                f"--class {outside(text)} does not say COLUMN=VALUE",
                hint=f"for example --class {names[0]}=...",
            )
        if name in class_values:
            raise BadInput(
                f"--class names {name!r} twice",
                hint="a class has one value of each quasi-identifier",
            )
        class_values[name] = value
    return class_values


def _roles(
    roles: options.RoleOptions, opened: Any, about: str | None, known_columns: list[str] | None
) -> dict[str, Any]:
    resolved = roles.resolve(opened)
    if about is None and not known_columns:
        return resolved
    if about is None or not known_columns or {"quasi_identifiers", "sensitive"} & set(roles.values):
        raise BadInput("--about and --given go together and take the place of --sensitive and --qi")
    from divulge.sources import split_names

    return resolved | {
        "sensitive": (about,),
        "quasi_identifiers": split_names(opened, known_columns),
    }


def _write_csv(table: Any) -> None:
    import io

    import pyarrow.csv

    buffer = io.BytesIO()
    pyarrow.csv.write_csv(table, buffer)
    sys.stdout.write(buffer.getvalue().decode())
