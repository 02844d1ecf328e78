# SPDX-License-Identifier: Apache-2.0
"""Public functions, the adversary and policy files have the arguments of the options' rows."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, get_args, get_type_hints

import pytest

import divulge as dv
from divulge.options import (
    ENGINE_NAMES,
    READING_NAMES,
    ROLES,
    Option,
    all_options,
    options_of,
    policy_keys,
)
from divulge.policy import Policy

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "hierarchy cut": dv.cut,
    **{
        name: getattr(dv, name)
        for name in (
            *("profile", "measure", "rank", "check", "generalize", "anatomize", "attack", "query"),
            *("apply", "compose", "compare", "report", "perturbed"),
        )
    },
}
OWN = {
    "adversary": "its fields are rows",
    "announce": "a function",
    "engine": "the engine's options are rows",
    "ledger": "a Ledger",
    "order": "one order for the column of `cut`; --order COLUMN=LOW,..,HIGH is a row",
    "policy": "a Policy or a mapping",
    "progress": "a function",
}
"""Arguments that have no row of their own."""
POSITIONAL = {"table", "release", "releases", "tables", "about"}
"""Names of the first argument, which is the option `source` of a command."""


def arguments(verb: str) -> dict[str, inspect.Parameter]:
    """The keywords of the function of a verb."""
    return dict(inspect.signature(FUNCTIONS[verb]).parameters)


@pytest.mark.parametrize("verb", FUNCTIONS)
def test_every_keyword_of_a_public_function_has_a_row(verb: str) -> None:
    names = {option.library_name for option in options_of(verb)}
    first = next(iter(arguments(verb)))
    without_row = set(arguments(verb)) - names - set(OWN) - ({first} & POSITIONAL)
    assert not without_row


def is_argument(option: Option, verb: str) -> bool:
    """Whether an option is an argument of the function of a verb."""
    return option.library_name in arguments(verb)


@pytest.mark.parametrize("verb", FUNCTIONS)
def test_roles_and_settings_of_the_adversary_reach_the_function(verb: str) -> None:
    adversary = {field.name for field in fields(dv.Adversary)}
    for option in options_of(verb):
        if option.name in ROLES and (verb, option.name) not in {
            ("rank", "identifier"),  # only left out of the columns of globs
            ("rank", "weight"),  # rejected: a ranking counts rows
        }:
            assert is_argument(option, verb), option.name
        if option.policy_key.startswith("adversary.") and not is_argument(option, verb):
            assert option.policy_key.removeprefix("adversary.") in adversary, option.name
            assert "adversary" in arguments(verb)


@pytest.mark.parametrize("verb", FUNCTIONS)
def test_defaults_of_commands_and_functions_agree(verb: str) -> None:
    by_name = {option.library_name: option for option in options_of(verb)}
    for name, parameter in arguments(verb).items():
        option = by_name.get(name)
        if option is None or option.required or parameter.default is inspect.Parameter.empty:
            continue
        if (verb, option.name) in {
            ("apply", "suppress_unseen"),  # a flag for unseen="suppress"
            ("hierarchy cut", "most"),  # of the command: values to show
        }:
            continue
        unset = {None, False, ()}
        if option.unset in unset:
            assert parameter.default in unset, name
        else:
            assert parameter.default == option.unset, name


@pytest.mark.parametrize("verb", FUNCTIONS)
def test_choices_of_commands_and_functions_agree(verb: str) -> None:
    hints = get_type_hints(FUNCTIONS[verb])
    for option in options_of(verb):
        if option.takes != "choice" or option.library_name not in hints:
            continue
        hint = hints[option.library_name]
        choices = {
            value
            for inner in (hint, *get_args(hint))
            for value in get_args(inner)
            if isinstance(value, str)
        }
        assert set(option.values) == choices, option.name


def test_reading_options_are_the_arguments_of_read() -> None:
    parameters = inspect.signature(dv.read).parameters
    assert set(READING_NAMES) == set(parameters) - {"source", "engine"}
    rows = {option.name: option for option in options_of("measure")}
    for name in READING_NAMES:
        assert rows[name].unset == parameters[name].default, name
    assert "engine" in ENGINE_NAMES


def test_the_adversary_has_a_row_for_every_field() -> None:
    keys = {option.policy_key for option in all_options()}
    without_row = {field.name for field in fields(dv.Adversary)} - {
        key.removeprefix("adversary.") for key in keys if key.startswith("adversary.")
    }
    assert not without_row


def test_a_policy_file_has_an_effect_with_every_key_of_the_rows() -> None:
    values: dict[str, Any] = {
        "suppression": 0.1,
        "unique_share": 0.1,
        "method": "columns",
        "hierarchies": {"age": {"intervals": [5]}},
        "promises": {"k_anonymity": 2},
        "protect": [{"where": {"age": ">= 75"}, "k_anonymity": 20}],
        "adversary": {"nulls": "drop"},
        **dict.fromkeys(ROLES, "zip"),
    }
    assert set(policy_keys()) == set(values)
    empty = Policy.from_document({})
    for key, value in values.items():
        assert Policy.from_document({key: value}) != empty, key
