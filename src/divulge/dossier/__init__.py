# SPDX-License-Identifier: Apache-2.0
"""Dossier: the leakage of scattered records about one person (Whang and Garcia-Molina).

import divulge as dv

alice = dv.dossier.Record.of({"N": "Alice", "A": "20", "P": "123"})
known = dv.dossier.Record.of({"N": ("Alice", 0.5), "A": "20"})
dv.dossier.leakage(known, alice).leakage      # 0.65
"""

from divulge.dossier.disinformation import Disinformation, candidates_of, choose_disinformation
from divulge.dossier.disinformation_plan import plan_disinformation
from divulge.dossier.equivalence import Equivalence
from divulge.dossier.expectation import Batch
from divulge.dossier.files import (
    from_rows,
    read_background,
    read_database,
    read_joint_values,
    read_lookup,
    read_record,
    read_weights,
    record_to_json,
    write_database,
)
from divulge.dossier.leakage import (
    NO_SHIELDS,
    Leakage,
    Measure,
    SetLeakage,
    expected_f,
    leakage,
    record_leakages,
    set_leakage,
)
from divulge.dossier.linkage import Compared, Link, link, link_tables
from divulge.dossier.operators import (
    Attack,
    Augment,
    Chain,
    Correct,
    Cost,
    Dip,
    Operator,
    Resolve,
    attack,
    dip,
)
from divulge.dossier.paper_methods import algorithm1_printed, naive, possible_worlds, taylor
from divulge.dossier.record import Attribute, Database, Joint, Record, show
from divulge.dossier.resolve import MatchRule, name_of, resolve
from divulge.dossier.what_if import (
    Alternatives,
    Enhancement,
    Enhancements,
    Increment,
    PeopleLeakage,
    TableLeakage,
    Timeline,
    TimelineStep,
    Without,
    WithoutLabels,
    compare,
    enhance,
    enhance_each,
    incremental,
    table_leakage,
    timeline,
    without,
)

__all__ = [
    "NO_SHIELDS",
    "Alternatives",
    "Attack",
    "Attribute",
    "Augment",
    "Batch",
    "Chain",
    "Compared",
    "Correct",
    "Cost",
    "Database",
    "Dip",
    "Disinformation",
    "Enhancement",
    "Enhancements",
    "Equivalence",
    "Increment",
    "Joint",
    "Leakage",
    "Link",
    "MatchRule",
    "Measure",
    "Operator",
    "PeopleLeakage",
    "Record",
    "Resolve",
    "SetLeakage",
    "TableLeakage",
    "Timeline",
    "TimelineStep",
    "Without",
    "WithoutLabels",
    "algorithm1_printed",
    "attack",
    "candidates_of",
    "choose_disinformation",
    "compare",
    "dip",
    "enhance",
    "enhance_each",
    "expected_f",
    "from_rows",
    "incremental",
    "leakage",
    "link",
    "link_tables",
    "naive",
    "name_of",
    "plan_disinformation",
    "possible_worlds",
    "read_background",
    "read_database",
    "read_joint_values",
    "read_lookup",
    "read_record",
    "read_weights",
    "record_leakages",
    "record_to_json",
    "resolve",
    "set_leakage",
    "show",
    "table_leakage",
    "taylor",
    "timeline",
    "without",
    "write_database",
]
