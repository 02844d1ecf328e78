# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, and with which exit code.

An error says in one line what was asked, what was found and what to do. The command line prints that line on standard
error and leaves with the error's exit code; the library raises it. A mistake of the user and a bug of ours are different
classes, so that nobody searches their data for our fault.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any, ClassVar

_ADDRESS = re.compile(r"""(\w[\w+.-]*)://(?:([^\s/@:'"]*)(?::[^\s/@'"]*)?@)?([^\s?'"]*)(?:\?[^\s'"]*)?""")


def without_secrets(text: str) -> str:
    """A text whose addresses have neither login nor query, which may be a password, a token or a signature.

    >>> without_secrets("https://ann:secret@host/t.csv?sig=secret is empty; postgresql://ann:secret@host/db too")
    'https://host/t.csv is empty; postgresql://ann@host/db too'
    """

    def shown(found: re.Match[str]) -> str:
        scheme, user, place = found.groups()
        return f"{scheme}://{f'{user}@' if user and scheme.startswith('postgres') else ''}{place}"

    return _ADDRESS.sub(shown, text)


class DivulgeError(Exception):
    """Base of every error divulge raises on purpose."""

    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, *, hint: str = "") -> None:
        # An error ends up in logs, and may repeat what the user typed to name a table.
        self.message = without_secrets(" ".join(message.split()))
        self.hint = without_secrets(" ".join(hint.split()))
        super().__init__(self.message)

    def __str__(self) -> str:
        # From the attributes, which survive the way from a Spark worker to the driver.
        return f"{self.message}. {self.hint}" if self.hint else self.message

    def document(self) -> dict[str, Any]:
        """What `--json` prints instead of a result."""
        return {"error": self.message, "hint": self.hint, "exit_code": self.exit_code}


class BadInput(DivulgeError):
    """The request or the data cannot be used as given."""


class MissingDependency(DivulgeError):
    """An optional package or program is needed and not there."""


class BrokenPromise(DivulgeError):
    """A table does not keep a promise that it was held against."""

    exit_code = 1


class Infeasible(DivulgeError):
    """Nothing can satisfy the request; the message names the nearest request that can be satisfied."""

    exit_code = 3


class InternalError(DivulgeError):
    """A bug of divulge, not a mistake of the user."""

    exit_code = 70

    def __init__(self, message: str) -> None:
        super().__init__(
            message, hint="This is a bug in divulge, not in your data: please report it with the command you ran"
        )


def nearest(name: str, candidates: Iterable[str], *, most: int = 3) -> str:
    """'did you mean ...' for a name that does not exist, or the list of what exists when nothing is near.

    >>> nearest("agee", ["age", "zip"])
    "did you mean 'age'?"
    """
    known = list(candidates)
    folded = {candidate.casefold(): candidate for candidate in known}
    close = [folded[hit] for hit in difflib.get_close_matches(name.casefold(), folded, n=most, cutoff=0.6)]
    if close:
        return f"did you mean {' or '.join(repr(hit) for hit in close)}?"
    return f"there are: {listed(known)}"


def listed(values: Iterable[object], *, most: int = 20) -> str:
    """Values as a message shows them, the first of many.

    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b', ..."
    """
    known = list(values)
    return ", ".join(map(repr, known[:most])) + (", ..." if len(known) > most else "")
