# SPDX-License-Identifier: Apache-2.0
"""Promises about a table, the policy file that holds them, and the verdict on whether a table keeps them."""

from divulge.policy import guard
from divulge.policy.policy import Policy, PolicyLike
from divulge.policy.promise import Outcome, Promise, Protected, Protection, Verdict, choose, choose_measured, judge

__all__ = [
    "Outcome", "Policy", "PolicyLike", "Promise", "Protected", "Protection", "Verdict", "choose", "choose_measured",
    "guard", "judge",
]  # fmt: skip
