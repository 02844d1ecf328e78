# SPDX-License-Identifier: Apache-2.0
"""Errors and their exit codes.

An error states in one line the request, the problem and the remedy. The command line prints that
line on standard error and exits with the error's exit code; the library raises it. User errors and
bugs of divulge are different classes, so that nobody searches their data for a bug of ours.
"""

from __future__ import annotations

import difflib
import importlib.metadata
import re
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from divulge.arguments import Sentence, arguments_in, marked

_ADDRESS = re.compile(
    r"""(\w[\w+.-]*)://(?:([^\s/@:'"]*)(?::[^\s/@'"]*)?@)?([^\s?'"]*)(?:\?[^\s'"]*)?"""
)


def without_secrets(text: str) -> str:
    """Remove secrets from the addresses in a text.

    Logins and queries of addresses go, because they may hold a password, a token or a signature.

    >>> without_secrets(
    ...     "https://ann:secret@host/t.csv?sig=secret is empty; postgresql://ann:secret@host/db too"
    ... )
    'https://host/t.csv is empty; postgresql://ann@host/db too'
    """

    def redact_address(match: re.Match[str]) -> str:
        scheme, user, location = match.groups()
        return (
            f"{scheme}://{f'{user}@' if user and scheme.startswith('postgres') else ''}{location}"
        )

    return _ADDRESS.sub(redact_address, text)


class DivulgeError(Exception):
    """Base of every error divulge raises on purpose.

    Message and hint mark the arguments that they name, and each front end spells these.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, *, hint: str = "", argument: str = "") -> None:
        # An error ends up in logs, and may repeat the address that the user typed for a table.
        self.message = Sentence(without_secrets(" ".join(marked(message).split())))
        self.hint = Sentence(without_secrets(" ".join(marked(hint).split())))
        arguments = [*arguments_in(self.message), *arguments_in(self.hint)]
        self.argument = argument or next((mention.name for mention in arguments), "")
        """The argument that the error is about; else the first that it names; "" if none."""
        super().__init__(self.message)

    def __str__(self) -> str:
        # Built from the attributes, which survive the transfer from a Spark worker to the driver.
        if self.hint:
            return f"{self.message}. {self.hint}"
        return self.message

    def word(self, wording: Callable[[str], str]) -> None:
        """Word message and hint for a front end, as `arguments.spelled` does."""
        self.message = Sentence(wording(self.message))
        self.hint = Sentence(wording(self.hint))

    def document(self) -> dict[str, Any]:
        """Return the JSON object that `--json` prints instead of a result."""
        return {"error": self.message, "hint": self.hint, "exit_code": self.exit_code}


class BadInput(DivulgeError):
    """The request or the data cannot be used as given."""


class MissingDependency(DivulgeError):
    """An optional package or program is needed and not installed.

    The hint is the command that installs an extra.
    """

    def __init__(self, message: str, *, hint: str = "", extra: str = "") -> None:
        if extra:
            command = f"Install it with: {install_command(extra)}"
        else:
            command = ""
        super().__init__(message, hint="; ".join(part for part in (command, hint) if part))


class BrokenPromise(DivulgeError):
    """A table violates a requirement that it was checked against."""

    exit_code = 1


class Infeasible(DivulgeError):
    """The request cannot be satisfied.

    The message names the nearest request that can be satisfied.
    """

    exit_code = 3


class InternalError(DivulgeError):
    """A bug of divulge, not a mistake of the user."""

    exit_code = 70

    def __init__(self, message: str) -> None:
        super().__init__(
            message,
            hint="This is a bug in divulge, not in your data: please report it with the command "
            "you ran",
        )


def install_command(extra: str) -> str:
    """Return the pip command that installs the packages of one of our extras.

    It names the packages themselves, because no package index has divulge itself.
    """
    try:
        requirements = importlib.metadata.requires("divulge") or []
    except importlib.metadata.PackageNotFoundError:
        # divulge runs from a clone where it is not installed
        requirements = []
    marker = re.compile(rf"""extra\s*==\s*['"]{re.escape(extra)}['"]""")
    packages = [text.partition(";")[0].strip() for text in requirements if marker.search(text)]
    if not packages:
        return f"pip install '.[{extra}]' in a clone of divulge"
    return "pip install " + " ".join(f"'{package}'" for package in packages)


def nearest(name: str, candidates: Iterable[str], *, limit: int = 3) -> str:
    """Suggest names near one that does not exist, or list all names if none is near.

    >>> nearest("agee", ["age", "zip"])
    "did you mean 'age'?"
    """
    candidate_names = list(candidates)
    folded = {candidate.casefold(): candidate for candidate in candidate_names}
    close = [
        folded[hit]
        for hit in difflib.get_close_matches(name.casefold(), folded, n=limit, cutoff=0.6)
    ]
    if close:
        return f"did you mean {' or '.join(repr(hit) for hit in close)}?"
    return f"there are: {listed(candidate_names)}"


def listed(values: Iterable[object], *, most: int = 20) -> str:
    """List values for a message; of many values only the first ones.

    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b', ..."
    """
    items = list(values)
    return ", ".join(map(repr, items[:most])) + (", ..." if len(items) > most else "")
