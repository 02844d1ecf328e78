# SPDX-License-Identifier: Apache-2.0
"""Options of the policy: requirements of a release, and the bounds of anatomization."""

from __future__ import annotations

from divulge.options.row import Option

REQUIREMENT_OPTIONS = (
    Option(
        "t",
        "Hold t (in bits, as I1) against the average and against every class.",
        verbs=("measure",),
        takes="number",
        panel="Promises",
        excluded_by=("class_",),
    ),
    Option(
        "l_value",
        "Hold an entropy l against the average and against every class.",
        verbs=("measure",),
        takes="number",
        flags=("--l",),
        panel="Promises",
        excluded_by=("class_",),
    ),
    Option(
        "policy",
        "Policy file (TOML) with roles and promises.",
        verbs=("rank", "attack"),
        takes="file",
        panel="Promises",
    ),
    Option(
        "promise",
        'A bound on any of divulge metrics: "itpr <= 0.9". Repeatable.',
        verbs=("rank", "check", "generalize", "attack", "report", "hierarchy cut"),
        metavar="PROMISE",
        panel="Promises",
        values_of="requirable metrics",
        repeated=True,
        policy_key="promises",
    ),
    Option(
        "unique_share",
        "Share of people unique without sensitive columns.",
        verbs=("check", "generalize", "report"),
        takes="number",
        metavar="SHARE",
        panel="Promises",
        low=0,
        high=1,
        policy_key="unique_share",
        excluded_by=("pareto",),
    ),
    Option(
        "policy",
        "Policy file (TOML); else divulge.toml, found here or above.",
        verbs=("check", "generalize", "report", "hierarchy cut"),
        takes="file",
        panel="Promises",
    ),
    Option(
        "no_policy",
        "Do not look for divulge.toml.",
        verbs=("check", "generalize", "report", "hierarchy cut"),
        takes="flag",
        panel="Promises",
        excluded_by=("policy",),
    ),
    Option(
        "protect",
        'For chosen people: "age >= 75: k_anonymity >= 20". Repeatable.',
        verbs=("check", "generalize", "report"),
        metavar="WHO:PROMISE",
        panel="Promises",
        repeated=True,
        policy_key="protect",
    ),
    Option(
        "suppression",
        "The share of records that may be left out, as 0.05.",
        verbs=("generalize",),
        takes="number",
        metavar="SHARE",
        panel="Promises",
        low=0,
        high=1,
        policy_key="suppression",
    ),
    Option(
        "alpha",
        "Record linkage: the commonest tuple of a table in a group; 0.5 or 1/2.",
        verbs=("anatomize",),
        panel="Promises",
    ),
    Option(
        "beta",
        "Attribute linkage: the commonest sensitive value in a group.",
        verbs=("anatomize",),
        panel="Promises",
    ),
    Option(
        "gamma",
        "Table linkage: the commonest combination in a group.",
        verbs=("anatomize",),
        panel="Promises",
    ),
    Option(
        "delta",
        "Probabilistic attack: how far the share of a sensitive value may move.",
        verbs=("anatomize",),
        panel="Promises",
    ),
    Option(
        "policy",
        "Of one table: generalize it under this policy; repeatable. Of several: roles and "
        "promises for all.",
        verbs=("compare",),
        takes="file",
        panel="Promises",
        repeated=True,
    ),
)
