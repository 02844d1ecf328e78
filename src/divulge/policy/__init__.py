# SPDX-License-Identifier: Apache-2.0
"""Requirements for a table, the policy file that lists them, and the verdict on a table."""

from divulge.policy import guard, recognition, role_suggestions
from divulge.policy.policy import Policy, PolicyLike
from divulge.policy.protection import Protected, Protection, choose, choose_measured
from divulge.policy.requirement import Promise
from divulge.policy.role_suggestions import Profile
from divulge.policy.verdict import Outcome, Verdict, judge

__all__ = [
    "Outcome",
    "Policy",
    "PolicyLike",
    "Profile",
    "Promise",
    "Protected",
    "Protection",
    "Verdict",
    "choose",
    "choose_measured",
    "guard",
    "judge",
    "recognition",
    "role_suggestions",
]
