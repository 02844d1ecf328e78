# SPDX-License-Identifier: Apache-2.0
"""The pandera check: a schema rejects a frame that violates a policy.

    import pandera.pandas as pa
    from divulge.integrations.pandera import keeps

    schema = pa.DataFrameSchema({"age": pa.Column(int)}, checks=keeps("divulge.toml"))

The error describes the violated requirements and holds no data value. pandera is an extra: pip
install '.[pandera]' in a clone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from divulge.errors import MissingDependency
from divulge.validation import checked

if TYPE_CHECKING:
    from pandera.api.checks import Check

    from divulge.policy import PolicyLike

NAME = "keeps_policy"


@checked
def keeps(policy: PolicyLike) -> Check:
    """Return a check of a whole frame, pandas or Polars, for `checks=` of a pandera schema.

    Args:
        policy: The requirements and the roles: a `Policy`, a mapping with the keys of a policy
            file, or the path of one.
    """
    try:
        from pandera.api.checks import Check
    except ImportError:
        raise MissingDependency(
            "a pandera check needs the package pandera", extra="pandera"
        ) from None
    from divulge.policy import Policy

    required_policy = Policy.of(policy)

    def holds(frame: Any) -> bool:
        import divulge as dv
        from divulge.output import ci_reports

        verdict = dv.check(getattr(frame, "lazyframe", frame), required_policy)
        # pandera formats the check into the error that it raises next, and accepts only a text.
        check.error = "; ".join(ci_reports.broken_in_words(verdict)) or None
        return bool(verdict.holds)

    check = Check(holds, name=NAME, description="The table keeps the promises of a privacy policy.")
    return check
