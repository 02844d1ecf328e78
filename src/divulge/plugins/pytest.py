# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: a test holds a table against a policy, and fails with the broken promises in words.

    def test_the_release_keeps_its_promises(divulge_check):
        divulge_check("data/release.csv", "divulge.toml")

pytest loads this file wherever divulge is installed, so it imports nothing that takes time before a test asks. The message of a failure
goes into logs: no value of a cell is in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from divulge.policy import PolicyLike, Verdict


class DivulgeCheck(Protocol):
    """What the fixture gives: `dv.check` that fails the test where a promise is broken."""

    def __call__(self, table: Any, policy: PolicyLike | None = None) -> Verdict:
        """Hold a table against a policy, or a release against its own; the verdict, where everything holds."""


@pytest.fixture(scope="session")
def divulge_check() -> DivulgeCheck:
    """Hold a table against a policy, given as (table, policy); the test fails with the broken promises in words."""
    return check


def check(table: Any, policy: PolicyLike | None = None) -> Verdict:
    """What the fixture gives."""
    import divulge as dv
    from divulge.views import gates

    verdict = dv.check(table, policy)
    if not verdict.holds:
        told = "".join(f"\n  - {broken}" for broken in gates.broken_in_words(verdict))
        pytest.fail(f"{verdict.settings['source']} does not keep the policy:{told}", pytrace=False)
    return verdict
