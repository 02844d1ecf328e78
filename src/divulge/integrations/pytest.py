# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin: a test checks a table against a policy, and its failure lists the violations.

    def test_the_release_keeps_its_promises(divulge_check):
        divulge_check("data/release.csv", "divulge.toml")

pytest loads this file wherever divulge is installed, so it imports nothing slow before a test uses
the fixture. The message of a failure goes into logs, so it holds no data value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from divulge.policy import PolicyLike, Verdict


class DivulgeCheck(Protocol):
    """Type of the fixture: `dv.check` that fails the test if a requirement is violated."""

    def __call__(self, table: Any, policy: PolicyLike | None = None) -> Verdict:
        """Check a table against a policy, or a release against its own; return the verdict."""


@pytest.fixture(scope="session")
def divulge_check() -> DivulgeCheck:
    """Check a table against a policy, called with (table, policy).

    The test fails with a message that lists the violated requirements.
    """
    return check


def check(table: Any, policy: PolicyLike | None = None) -> Verdict:
    """Check a table, and fail the test if a requirement is violated."""
    import divulge as dv
    from divulge.output import ci_reports

    verdict: Verdict = dv.check(table, policy)
    if not verdict.holds:
        violations = "".join(
            f"\n  - {violation}" for violation in ci_reports.broken_in_words(verdict)
        )
        pytest.fail(
            f"{verdict.settings['source']} does not keep the policy:{violations}", pytrace=False
        )
    return verdict
