# SPDX-License-Identifier: Apache-2.0
"""The pandera check: a schema refuses a frame that breaks a policy, beside everything else that a schema asks of it.

    import pandera.pandas as pa
    from divulge.plugins.pandera import keeps

    schema = pa.DataFrameSchema({"age": pa.Column(int)}, checks=keeps("divulge.toml"))

The error names the broken promises in words and no value of a cell. pandera is an extra: pip install 'divulge[pandera]'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from divulge import values
from divulge.errors import MissingDependency

if TYPE_CHECKING:
    from pandera.api.checks import Check

    from divulge.policy import PolicyLike

NAME = "keeps_policy"


@values.checked
def keeps(policy: PolicyLike) -> Check:
    """A check of a whole frame, pandas or Polars, for `checks=` of a pandera schema.

    Args:
        policy: The promises and the roles: a `Policy`, a mapping with the keys of a policy file, or the path of one.
    """
    try:
        from pandera.api.checks import Check
    except ImportError:
        raise MissingDependency(
            "a pandera check needs the package pandera", hint="pip install 'divulge[pandera]'"
        ) from None
    from divulge.policy import Policy

    kept = Policy.of(policy)

    def holds(given: Any) -> bool:
        import divulge as dv
        from divulge.views import gates

        verdict = dv.check(getattr(given, "lazyframe", given), kept)
        # pandera formats the check itself into the error that it raises next; a text of its own is all it takes.
        check.error = "; ".join(gates.broken_in_words(verdict)) or None
        return verdict.holds

    check = Check(holds, name=NAME, description="The table keeps the promises of a privacy policy.")
    return check
