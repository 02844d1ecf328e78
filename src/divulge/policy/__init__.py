# SPDX-License-Identifier: Apache-2.0
"""Promises about a table, the policy file that holds them, and the verdict on whether a table keeps them."""

from divulge.policy.policy import Policy
from divulge.policy.promise import Promise, Protected, Protection, choose, choose_measured
from divulge.policy.verdict import Outcome, Verdict, judge

__all__ = ["Outcome", "Policy", "Promise", "Protected", "Protection", "Verdict", "choose", "choose_measured", "judge"]
