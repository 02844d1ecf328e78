# SPDX-License-Identifier: Apache-2.0
"""The table of options agrees with the commands and with the lists of names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import Any, get_args

import pytest
import typer
from typer.core import TyperGroup

from divulge.cli.main import COMMANDS
from divulge.cli.main import OPTIONS as PROGRAM_OPTIONS
from divulge.cli.program import Program
from divulge.metrics import METRICS
from divulge.options import (
    ANATOMIZATION_METHODS,
    DEFAULT_METHOD,
    GENERALIZATION_METHODS,
    METHOD_LABELS,
    RELEASE_FORMATS,
    ROLE_OF_COLUMN,
    ROLES,
    ColumnRole,
    all_options,
    flag_of,
    idle_reason,
    option_of,
    options_of,
)
from divulge.sources import Roles
from tests.helpers import run_cli

METRIC_NAMES = {metric.name for metric in METRICS}


@cache
def commands() -> dict[str, Any]:
    """Every command by its verb, such as "hierarchy cut"."""
    return dict(_commands("", Program(COMMANDS, PROGRAM_OPTIONS)))


def _commands(verb: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(command, TyperGroup):
        yield verb, command
        return
    for name in command.list_commands(typer.Context(command)):
        inner = command.get_command(typer.Context(command), name)
        yield from _commands(f"{verb} {name}".strip(), inner)


def parameters(verb: str) -> dict[str, Any]:
    """The parameters of a command by their flags, without the flags of metrics."""
    rows = {option.name for option in options_of(verb)}
    return {
        parameter.opts[0]: parameter
        for parameter in commands()[verb].params
        if parameter.name in rows or parameter.name not in METRIC_NAMES
    }


@pytest.mark.parametrize("verb", commands())
def test_a_command_takes_the_options_of_its_rows_and_no_others(verb: str) -> None:
    rows = {option.flag or option.name: option for option in options_of(verb)}
    assert set(rows) == set(parameters(verb))
    for flag, parameter in parameters(verb).items():
        row = rows[flag]
        assert row.placeholder == parameter.metavar, row
        assert row.panel == getattr(parameter, "rich_help_panel", None), row
        assert row.positional == (parameter.param_type_name == "argument"), row
        if row.positional:
            continue
        assert list(row.all_flags) == list(parameter.opts), row
        assert [row.off_flag] == (list(parameter.secondary_opts) or [""]), row
        assert parameter.help.startswith(row.help.removesuffix("{values}.")), row


def test_an_option_of_a_command_has_one_row() -> None:
    pairs = [(option.name, verb) for option in all_options() for verb in option.verbs]
    assert len(set(pairs)) == len(pairs)
    flags = [(option.flag, verb) for option in all_options() for verb in option.verbs]
    assert len({pair for pair in flags if pair[0]}) == len([pair for pair in flags if pair[0]])


def test_arguments_are_spelled_as_flags() -> None:
    assert flag_of("quasi_identifiers") == "--qi"
    assert flag_of("taxonomies", "measure") == "--hierarchy"
    assert flag_of("graded", "dossier leakage") == "--grade"
    assert flag_of("k_anonymity") == "--k-anonymity"
    with_flag = run_cli("measure", "--help").out
    assert "--qi COLUMNS" in with_flag


def test_roles_are_the_fields_of_the_roles_of_a_table() -> None:
    assert set(ROLES) == {field.name for field in fields(Roles)}
    assert set(ROLE_OF_COLUMN) == set(get_args(ColumnRole))


def test_every_method_has_a_name_in_the_studio() -> None:
    assert set(METHOD_LABELS) == set(GENERALIZATION_METHODS)
    assert DEFAULT_METHOD == "full-domain"
    assert ANATOMIZATION_METHODS[0] == "slppa"
    assert RELEASE_FORMATS == ("csv", "parquet", "arrow")


def test_rows_name_options_that_exist() -> None:
    names = {verb: {option.name for option in options_of(verb)} for verb in commands()}
    for option in all_options():
        for other in (*option.needs, *option.excluded_by):
            assert any(other in names[verb] for verb in option.verbs), (option.name, other)


def test_an_option_that_needs_another_has_no_effect_without_it() -> None:
    seed = option_of("seed", "generalize")
    assert idle_reason(seed, "generalize", {"out": None, "pareto": None}) == "without --out"
    assert idle_reason(seed, "generalize", {"out": "release", "pareto": None}) == ""
    cost = option_of("cost_exponent", "dossier leakage")
    values = {"resolve": None, "link": None, "record": None, "table": None}
    assert idle_reason(cost, "dossier leakage", values) == "without --resolve or --link"
    assert idle_reason(cost, "dossier leakage", {**values, "link": "N"}) == ""


def test_an_option_has_no_effect_with_one_that_excludes_it() -> None:
    out = option_of("out", "generalize")
    reason = idle_reason(out, "generalize", {"pareto": ["k_anonymity"]})
    assert reason == "with --pareto, which publishes nothing and looks at one level per column"
