# SPDX-License-Identifier: Apache-2.0
"""Whang and Garcia-Molina: every worked number of sections 2 to 5."""

from __future__ import annotations

from functools import partial

from divulge.dossier import (
    Chain,
    Cost,
    Record,
    Resolve,
    attack,
    dip,
    enhance,
    incremental,
    leakage,
    possible_worlds,
    table_leakage,
)
from tests.docs.papers.layout import HOW_TO_READ, Cell, Page, Rows, Section, fraction
from tests.dossier.oracle import golden, record_of
from tests.dossier.test_tables import ALICE, BOTH, KNOWN, RELEASE, ZOE
from tests.dossier.worlds import golden_database, golden_rule

Exactly = partial(Cell, shown=fraction)


def section_2_2() -> Rows:
    inputs = golden()["003-2.2-F1"]["inputs"]
    found = leakage(record_of(inputs["r"]), record_of(inputs["p"]), weights=inputs["weights"])
    return {
        "precision": {"value": Exactly(found.precision, "3/4")},
        "recall": {"value": Exactly(found.recall, "3/5")},
        "record leakage (F_1)": {"value": Exactly(found.leakage, "2/3")},
    }


def section_2_3() -> Rows:
    inputs = golden()["003-2.3-worlds"]["inputs"]
    rows: dict[str, dict[str, Cell]] = {}
    printed = {3: "0.2", 2: "0.2", 1: "0.3"}
    for world, chance in possible_worlds(record_of(inputs["r"])):
        told = ", ".join(
            f"{label} {value}"
            for label, value in sorted(world, key=lambda pair: ("name", "age", "phone").index(pair[0]))
        )
        text = "0.3" if ("age", "20") not in world else printed[len(world)]
        rows[f"world {{{told}}}"] = {"value": Cell(chance, text)}
    example = golden()["003-2.3-L-as-stated"]["inputs"]
    r, p = record_of(example["r"]), record_of(example["p"])
    rows["L with w_N = 2, as the text sets it"] = {
        "value": Exactly(leakage(r, p, weights=example["weights"]).leakage, "13/20")
    }
    rows["L with equal weights"] = {"value": Exactly(leakage(r, p).leakage, "13/20")}
    return rows


def section_2_4() -> Rows:
    case = golden()["003-2.4-after-ER"]
    database, p = golden_database(case), record_of(case["inputs"]["p"])
    resolved = attack(database, p, Resolve(golden_rule(case)))
    asked = golden()["003-2.4-dipping"]
    dipped = dip(golden_database(asked), record_of(asked["inputs"]["q"]), Resolve(golden_rule(asked)))
    thousand = tuple(Record.of({"N": str(i)}, id=str(i)) for i in range(1000))
    return {
        "set leakage before": {"value": Exactly(attack(database, p, Chain()).leakage, "2/3")},
        "after entity resolution": {"value": Exactly(resolved.leakage, "6/7")},
        "cost of resolving 1000 records at c = 1/1000": {
            "value": Cell(Resolve("N", price=Cost(0.001, exponent=2)).cost(thousand), "1000")
        },
        "leakage of what dipping finds": {"value": Exactly(leakage(dipped.record, p).leakage)},
    }


def section_3() -> Rows:
    def of(person: Record, release: object = RELEASE, **options: object) -> float:
        (found,) = table_leakage(release, [person], quasi_identifiers=BOTH, **options)  # type: ignore[arg-type]
        return found.leakage

    renamed = [*RELEASE[:-1], {**RELEASE[-1], "Disease": "Influenza"}]
    return {
        "Alice, 3-anonymous table": {"value": Exactly(of(ALICE), "2/3")},
        "Zoe, the same table": {"value": Exactly(of(ZOE), "3/4")},
        "Alice, with the background of Table 3": {"value": Exactly(of(ALICE, background=[KNOWN]), "4/5")},
        "Zoe, one Flu renamed Influenza (3-diverse)": {"value": Exactly(of(ZOE, renamed), "2/3")},
        "Zoe, adversary knows that they are the same": {
            "value": Exactly(of(ZOE, renamed, same={"Disease": {"Flu": ["Influenza"]}}), "3/4")
        },
    }


def section_4_1() -> Rows:
    rows: dict[str, dict[str, Cell]] = {}
    for card, name, printed in (("first", "u", "0"), ("second", "v", "5/36")):
        case = golden()[f"003-4.1-incremental-{name}"]
        given, new = record_of(case["inputs"]["p"]), record_of(case["inputs"]["new"])
        found = incremental(golden_database(case), given, new, operator=Resolve(golden_rule(case)))
        rows["leakage before the purchase"] = {"value": Exactly(found.before, "3/4")}
        rows[f"increment, {card} card"] = {"value": Exactly(found.change, printed)}
        if name == "v":
            rows["leakage after it"] = {"value": Exactly(found.after, "8/9")}
    return rows


def section_4_3() -> Rows:
    found = enhance(golden_database(golden()["003-4.3-base"]))
    ratio = {option.attribute.label: option.ratio for option in found.options}
    return {
        "certainty of the composite record": {"value": Exactly(found.certainty, "13/14")},
        "gain per cost, name": {"value": Exactly(ratio["N"], "0")},
        "gain per cost, phone": {"value": Exactly(ratio["P"], "1/28")},
    }


def section_5_2() -> Rows:
    rows: dict[str, dict[str, Cell]] = {}
    for told, name in (("equal weights", "tiny"), ("weights 1 and 1000", "fails")):
        inputs = golden()[f"003-5.2-taylor-{name}"]["inputs"]
        r, p, weights = record_of(inputs["r"]), record_of(inputs["p"]), inputs.get("weights")
        rows[f"one correct and one false attribute, half certain, {told}"] = {
            "exact": Cell(leakage(r, p, weights=weights).leakage),
            "Taylor": Cell(leakage(r, p, weights=weights, method="taylor").leakage),
        }
    return rows


OPENING = f"""# Whang and Garcia-Molina

*S. E. Whang, H. Garcia-Molina: A Model for Quantifying Information Leakage.* One person, many records: how much of a
person do scattered records give away, before and after somebody joins them? [Concepts:
dossier](../concepts/dossier.md) explains the model, our exact method and every
[erratum](../concepts/dossier.md#errata-of-the-paper); [the how-to page](../how-to/dossier.md) uses it. Table 5 and
Fig. 3 are random experiments: [the concept page](../concepts/dossier.md#table-5-of-the-paper) has them with their
spread over seeds.

{HOW_TO_READ}
"""

PAGE = Page(
    "whang",
    OPENING,
    (
        Section(
            "Sections 2.1 and 2.2: precision, recall, F_1",
            "r = {Alice, age 20, phone 111} against p = {Alice, 20, 123, zip 94305}; the name weighs 2.",
            "`divulge dossier leakage`, `dv.dossier.leakage`.",
            "quantity",
            section_2_2,
        ),
        Section(
            "Section 2.3: uncertain attributes",
            "A record with confidences stands for possible worlds. The text sets w_N = 2 and then computes "
            "with equal weights.",
            "`dv.dossier.possible_worlds`; `dv.dossier.leakage(…, weights=…)`.",
            "quantity",
            section_2_3,
        ),
        Section(
            "Section 2.4: joining records",
            "Two records of Alice and one of Bob; whoever shares a name is joined.",
            "`divulge dossier leakage --resolve N`, `divulge dossier dip`.",
            "quantity",
            section_2_4,
        ),
        Section(
            "Section 3: anonymous tables",
            "The 3-anonymous Table 2 protects Alice and Zoe unequally. The rows of the background collapse "
            "into 11\\* and 3\\*; otherwise 4/5 would be 2/3.",
            "`divulge dossier leakage --table release.csv --qi Zip,Age --background known.csv`.",
            "quantity",
            section_3,
        ),
        Section(
            "Section 4.1: which card to use",
            "The second card ties the records of two shops together.",
            "`divulge dossier release`.",
            "quantity",
            section_4_1,
        ),
        Section(
            "Section 4.3: what to verify next",
            "(1 - 13/14) / (1/2) is 1/7; the paper multiplies where it must divide. The phone is still the one "
            "to verify.",
            "`divulge dossier enhance`.",
            "quantity",
            section_4_3,
        ),
        Section(
            "Section 5.2: Taylor",
            "The paper's approximation is good for equal weights and arbitrarily bad for others, so that it is "
            "never the default here; the exact method is linear in the size of the record.",
            "`divulge dossier leakage --method taylor`.",
            "record",
            section_5_2,
        ),
    ),
)
