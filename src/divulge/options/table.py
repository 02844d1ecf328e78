# SPDX-License-Identifier: Apache-2.0
"""The table of all options, and lookups in it.

The rows are imported when they are first looked up: most callers need only the names of roles.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from divulge.errors import InternalError
from divulge.options.reading import ENGINE_OPTIONS, READ_OPTIONS, READING_OPTIONS

if TYPE_CHECKING:
    from divulge.options.row import Option


@functools.cache
def all_options() -> tuple[Option, ...]:
    """Return the row of every option."""
    from divulge.options.adversary import ADVERSARY_OPTIONS
    from divulge.options.commands import COMMAND_OPTIONS
    from divulge.options.dossier import DOSSIER_OPTIONS
    from divulge.options.hierarchy import HIERARCHY_OPTIONS
    from divulge.options.output import OUTPUT_OPTIONS
    from divulge.options.requirements import REQUIREMENT_OPTIONS
    from divulge.options.roles import ROLE_OPTIONS
    from divulge.options.search import SEARCH_OPTIONS

    return (
        *READING_OPTIONS,
        *ROLE_OPTIONS,
        *ADVERSARY_OPTIONS,
        *REQUIREMENT_OPTIONS,
        *SEARCH_OPTIONS,
        *OUTPUT_OPTIONS,
        *COMMAND_OPTIONS,
        *HIERARCHY_OPTIONS,
        *DOSSIER_OPTIONS,
    )


READING_NAMES = tuple(option.name for option in READ_OPTIONS)
"""Arguments of `read`."""
ENGINE_NAMES = tuple(option.name for option in ENGINE_OPTIONS)
"""Options that choose an engine and its settings."""


def options_of(verb: str) -> Iterator[Option]:
    """Yield the options of a command, such as `measure` or `hierarchy cut`."""
    return (option for option in all_options() if verb in option.verbs)


@functools.cache
def policy_keys() -> tuple[str, ...]:
    """Return the keys of a policy file that are options, each once."""
    keys = (option.policy_key.partition(".")[0] for option in all_options())
    return tuple(dict.fromkeys(key for key in keys if key))


@functools.cache
def find_option(name: str, verb: str = "") -> Option | None:
    """Return the option by its name here or in the library; None if there is none.

    Without a command, it is the first option of that name.
    """
    options = [option for option in all_options() if not verb or verb in option.verbs]
    by_name = (option for option in options if option.name == name)
    by_argument = (option for option in options if option.argument == name)
    return next(by_name, None) or next(by_argument, None)


def option_of(name: str, verb: str = "") -> Option:
    """Return the option by its name, which must exist."""
    option = find_option(name, verb)
    if option is None:
        raise InternalError(f"there is no option {name!r} of {verb or 'any command'}")
    return option


def flag_of(argument: str, verb: str = "") -> str:
    """Return the flag of an argument of the library.

    An argument without a row, such as the name of a metric, has the flag of its name.

    >>> flag_of("quasi_identifiers"), flag_of("graded", "dossier leakage"), flag_of("k_anonymity")
    ('--qi', '--grade', '--k-anonymity')
    """
    option = find_option(argument, verb)
    if option is None or option.positional:
        return f"--{argument.strip('_').replace('_', '-')}"
    return option.flag


def command_words(arguments: Mapping[str, Any], verb: str = "") -> tuple[str, ...]:
    """Return arguments of the library as words of the command line.

    >>> command_words({"quasi_identifiers": ["zip", "age"], "rule_out": {"job": ["none", "other"]}})
    ('--qi', 'zip,age', '--rule-out', 'job=none', '--rule-out', 'job=other')
    >>> command_words({"header": False, "codes": True, "sheet": "Data"})
    ('--no-header', '--codes', '--sheet', 'Data')
    >>> command_words({"suppressed": {"*": "wildcard"}, "orders": {"size": ["S", "M", "L"]}})
    ('--suppressed', '*', '--as', 'wildcard', '--order', 'size=S,M,L')
    """
    return tuple(itertools.chain.from_iterable(_words(*item, verb) for item in arguments.items()))


def _words(name: str, value: Any, verb: str) -> list[str]:
    option = find_option(name, verb)
    flag = flag_of(name, verb)
    if isinstance(value, bool):
        off_flag = [option.off_flag] if option and option.off_flag else []
        return [flag] if value else off_flag
    if name == "suppressed":
        texts = [word for text in value for word in (flag, text)]
        return [*texts, flag_of("as_"), next(iter(value.values()))] if value else []
    if isinstance(value, Mapping):
        joins = name == "orders"
        pairs = [
            f"{key}={item}"
            for key, values in value.items()
            for item in ([",".join(values)] if joins else _items(values))
        ]
        return [word for pair in pairs for word in (flag, pair)]
    if option is not None and option.takes == "columns":
        return [flag, ",".join(_items(value))]
    return [word for item in _items(value) for word in (flag, _text(item))]


def _items(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return list(value)
    return [value]


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)
