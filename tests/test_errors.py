# SPDX-License-Identifier: Apache-2.0
"""Errors as they are told, also after the way from a worker to the driver."""

from __future__ import annotations

import pickle

import pytest

from divulge.errors import BadInput, DivulgeError, InternalError


@pytest.mark.parametrize(
    "error", [BadInput("no  such\ncolumn", hint="Name another"), BadInput("no"), InternalError("x")]
)
def test_an_error_says_the_same_after_it_was_pickled(error: DivulgeError) -> None:
    sent = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert type(sent) is type(error)
    assert str(sent) == str(error)
    assert str(sent).count(error.message) == 1


def test_an_error_is_one_line() -> None:
    assert str(BadInput("no  such\ncolumn", hint="Name\nanother")) == "no such column. Name another"
