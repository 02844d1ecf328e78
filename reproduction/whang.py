# SPDX-License-Identifier: Apache-2.0
"""Whang and Garcia-Molina 2012: information leakage of a person from scattered records.

Covers every worked number, Table 5 and Figs. 1 to 3.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from divulge import datasets, dossier
from divulge.api.measure import measure
from divulge.arrays import Floats
from reproduction import simulate
from reproduction.verdicts import Figure, Paper, Printed, Row, claim, row

PAPER = Paper(
    "whang",
    "Whang and Garcia-Molina 2012",
    "A Model for Quantifying Information Leakage",
    "One person, many records: how much of a person do scattered records give away, before and "
    "after somebody joins them? "
    "[Concepts: dossier](../concepts/dossier.md) explains the model and our exact method; [the "
    "how-to page](../how-to/dossier.md) uses "
    "it.",
)
RowsAndFigures = Iterator[Row | Figure]
Seeds = Sequence[int]
_HALF = 0.5


def _exact_row(
    label: str, quantity: str, ours: float, printed: str | None = None, **more: Any
) -> Row:
    return row(label, quantity, ours, printed, exact=True, **more)


# --- sections 1 and 2 -----------------------------------------------------------------------------
ALICE = dossier.Record.of(
    {"N": "Alice", "A": "123 Main", "P": "555", "C": "999", "S": "000"}, id="p"
)
"""The true attributes of Alice in section 1."""
FIGURE_1_RECORDS = tuple(
    dossier.Record.of(attributes, id=name)
    for name, attributes in {
        "r": {"N": "Alice", "P": "123"},
        "s": {"N": "Alice", "C": "999"},
        "t": {"N": "Alice", "P": "987"},
        "u": {"N": "Bob", "P": "333"},
        "v": {"N": "Carol", "S": "000"},
    }.items()
)
"""The records of Fig. 1. The text calls them five people; three of them are Alice's."""


@PAPER.part(
    "Section 1",
    "example",
    title="what a vendor knows",
    told="Alice gives a vendor three of the five things that are true of her. Then she gives "
    "another address and something false, so that "
    "he is half certain of either address.",
    how="`divulge dossier leakage`.",
)
def section_1() -> RowsAndFigures:
    """Precision and recall in words, and the effect of uncertain and false values."""
    first_purchase = dossier.leakage(
        dossier.Record.of({"N": "Alice", "A": "123 Main", "C": "999"}), ALICE
    )
    yield _exact_row("what she gave", "correct (3 out of 3)", first_purchase.precision, "3/3")
    yield _exact_row("what she gave", "complete (3 out of 5)", first_purchase.recall, "3/5")
    yield _exact_row("what she gave", "leakage", first_purchase.leakage)
    second_record = dossier.Record.of(
        [
            ("N", "Alice", 1.0),
            ("A", "123 Main", _HALF),
            ("A", "777 Main", _HALF),
            ("C", "999", 1.0),
            ("X", "111", 1.0),
        ]
    )
    second_purchase = dossier.leakage(second_record, ALICE)
    yield _exact_row(
        "after the second purchase, half certain of each address",
        "leakage",
        second_purchase.leakage,
    )
    yield claim(
        "if Eve is not sure, or sure of something false, the leakage is less",
        holds=second_purchase.leakage < first_purchase.leakage,
        ours=f"{first_purchase.leakage:.4f} to {second_purchase.leakage:.4f}",
    )
    for label, record, printed in (
        ("nothing", dossier.Record.of({}), "0"),
        ("everything", ALICE, "1"),
    ):
        yield _exact_row(
            f"{label} is known",
            "leakage",
            dossier.leakage(record, ALICE).leakage,
            printed,
            where="Abstract",
        )


@PAPER.part(
    "Fig. 1",
    "figure",
    title="joining records by name",
    told="The text says that the records of five people are shown; three of them are Alice's. No "
    "number is printed. With the reference of "
    "section 1, whose phone is 555, both phones that are joined are false, and joining *lowers* "
    "the largest leakage.",
    how="`divulge dossier leakage --resolve N`.",
)
def figure_1() -> RowsAndFigures:
    """Leakage of each record, and after joining."""
    before = dossier.attack(FIGURE_1_RECORDS, ALICE, dossier.Chain())
    after = dossier.attack(FIGURE_1_RECORDS, ALICE, dossier.Resolve("N"))
    joined = dossier.resolve(FIGURE_1_RECORDS, "N").records
    points = [
        {
            "x": "+".join(sorted(record.sources)),
            "y": dossier.leakage(record, ALICE).leakage,
            "series": kind,
        }
        for kind, records in (("given", FIGURE_1_RECORDS), ("joined by name", joined))
        for record in records
    ]
    yield Figure(
        "Fig. 1",
        "What each record gives away of Alice",
        "record",
        "leakage",
        tuple(points),
        told="No number is printed.",
    )
    yield _exact_row("before", "largest leakage", before.leakage)
    yield _exact_row("r, s and t joined", "largest leakage", after.leakage)
    yield claim(
        "as a result of joining r, s and t, Eve may obtain better information about Alice",
        holds=after.leakage > before.leakage,
        ours=f"{before.leakage:.4f} to {after.leakage:.4f}",
        note="She then has the credit card, and two false phones: more is known, and less of it "
        "is right.",
    )


@PAPER.part(
    "Section 2",
    "example",
    title="precision, recall, F_1; weights",
    told="r = {Alice, age 20, phone 111} against p = {Alice, 20, 123, zip 94305}; the name "
    "weighs 2.",
    how="`divulge dossier leakage`, `dv.dossier.leakage(..., weights=...)`.",
)
def section_2() -> RowsAndFigures:
    """Examples of sections 2 to 2.2."""
    r = dossier.Record.of({"N": "Alice", "A": "20", "P": "111"})
    p = dossier.Record.of({"N": "Alice", "A": "20", "P": "123", "Z": "94305"})
    leakage = dossier.leakage(r, p, weights={"N": 2})
    yield _exact_row("w_N = 2", "precision", leakage.precision, "3/4", where="Section 2.1")
    yield _exact_row("w_N = 2", "recall", leakage.recall, "3/5", where="Section 2.2")
    yield _exact_row("w_N = 2", "record leakage (F_1)", leakage.leakage, "2/3", where="Section 2.2")
    single_leakage, doubled_leakage = (
        dossier.leakage(r, p, weights={"N": k, "A": 2 * k, "P": 3 * k, "Z": 3 * k}).leakage
        for k in (1, 2)
    )
    yield claim(
        "the weights 1, 2 and 3 are equivalent to the weights 2, 4 and 6",
        holds=abs(single_leakage - doubled_leakage) < 1e-12,
        ours=f"{single_leakage:.6f} and {doubled_leakage:.6f}",
    )


EVE_CONFIDENCES = ("1", "40%", "50%", "30%")
"""Eve's confidence in N Alice ("is certain"), A 20, A 30 and Z 94305, in the text's words."""


@PAPER.part(
    "Section 2.3",
    "example",
    title="uncertain attributes",
    told="A record with confidences stands for possible worlds. The text reads its first record "
    "with the two ages exchanged; later it sets "
    "w_N = 2 and then computes with equal weights.",
    how="`dv.dossier.possible_worlds`, `dv.dossier.leakage(..., weights=...)`.",
)
def section_2_3() -> RowsAndFigures:
    """Confidences in words, four possible worlds, and an expected value."""
    eve_record = dossier.Record.of(
        [("N", "Alice", 1.0), ("A", "20", 0.5), ("A", "30", 0.4), ("Z", "94305", 0.3)]
    )
    for (attribute, confidence), text in zip(
        eve_record.attributes.items(), EVE_CONFIDENCES, strict=True
    ):
        if attribute.label == "A":
            exchanged = "the record has A 20 with 0.5 and A 30 with 0.4; the text exchanges them"
        else:
            exchanged = ""
        yield row(
            f"{attribute.label} {attribute.value}",
            "confidence",
            confidence,
            text,
            erratum=exchanged,
        )
    printed = {
        ("age", "name", "phone"): "0.2",
        ("age", "name"): "0.2",
        ("name", "phone"): "0.3",
        ("name",): "0.3",
    }
    uncertain_record = dossier.Record.of(
        [("name", "Alice", 1.0), ("age", "20", 0.4), ("phone", "123", 0.5)]
    )
    for world, chance in dossier.possible_worlds(uncertain_record):
        labels = tuple(sorted(label for label, _ in world))
        yield row(f"world {{{', '.join(labels)}}}", "probability", chance, printed[labels])
    p = dossier.Record.of({"N": "Alice", "A": "20", "P": "123"})
    for record_name, record, text in (
        ("r1 = {A}", {"A": "20"}, "1/2"),
        ("r2 = {N, A}", {"N": "Alice", "A": "20"}, "4/5"),
    ):
        yield _exact_row(
            f"{record_name}, equal weights",
            "L0",
            dossier.leakage(dossier.Record.of(record), p).leakage,
            text,
        )
    r = dossier.Record.of([("N", "Alice", _HALF), ("A", "20", 1.0)])
    weighted_leakage = dossier.leakage(r, p, weights={"N": 2}).leakage
    yield _exact_row(
        "w_N = 2, as the text sets it",
        "L",
        weighted_leakage,
        "13/20",
        erratum="13/20 belongs to equal weights; with w_N = 2 the two worlds have 2/5 and 6/7",
    )
    yield _exact_row("equal weights", "L", dossier.leakage(r, p).leakage, "13/20")


@PAPER.part(
    "Section 2.4",
    "example",
    title="joining records",
    told="Two records of Alice and one of Bob; whoever shares a name is joined.",
    how="`divulge dossier leakage --resolve N`, `divulge dossier dip`.",
)
def section_2_4() -> RowsAndFigures:
    """Incremental leakage, cost, and dipping."""
    p = dossier.Record.of({"N": "Alice", "P": "123", "C": "999", "Z": "111"})
    database = (*FIGURE_1_RECORDS[:2], dossier.Record.of({"N": "Bob", "P": "987"}, id="t"))
    operator = dossier.Resolve("N", price=dossier.Cost(0.001, exponent=2))
    leakages = [dossier.leakage(record, p).leakage for record in database]
    for record, leakage, text in zip(database, leakages, ("2/3", "2/3", "0"), strict=True):
        yield _exact_row(f"record {record.id}", "leakage", leakage, text)
    before = dossier.attack(database, p, dossier.Chain()).leakage
    yield _exact_row("before", "set leakage", before, "2/3")
    yield claim(
        "if E is an identity function, L(R, p, E) reduces to the largest record leakage",
        holds=before == max(leakages),
        ours=f"{before:.4f} and {max(leakages):.4f}",
    )
    yield _exact_row(
        "after entity resolution",
        "set leakage",
        dossier.attack(database, p, operator).leakage,
        "6/7",
    )
    thousand_records = tuple(dossier.Record.of({"N": str(i)}, id=str(i)) for i in range(1000))
    yield row("1000 records, c = 1/1000", "cost", operator.cost(thousand_records), "1000")
    yield row(
        "leakage of 0.9 after 0.3",
        "additional information",
        0.9 - 0.3,
        "0.6",
        note="a difference of two numbers that are given",
    )
    dip_result = dossier.dip(database, dossier.Record.of({"N": "Alice"}, id="q"), operator)
    attributes_text = ", ".join(
        f"{attribute.label} {attribute.value}" for attribute in sorted(dip_result.record.attributes)
    )
    yield row("q = {N Alice}", "dipping result", attributes_text, "C 999, N Alice, P 123")


# --- sections 3 and 4 -----------------------------------------------------------------------------
@PAPER.part(
    "Section 3",
    "table",
    title="Tables 1 to 3, anonymous tables",
    told="The 3-anonymous Table 2 protects Alice and Zoe unequally. The rows of the background "
    "collapse into 11\\* and 3\\*; otherwise 4/5 "
    "would be 2/3. The text writes 1\\*\\* for 11\\* and Table 2 for Table 3.",
    how="`divulge dossier leakage --table release.csv --qi Zip,Age --background known.csv`.",
)
def section_3() -> RowsAndFigures:
    """Leakage compared with k-anonymity and l-diversity."""
    release = datasets.load("whang-table-2").to_pylist()
    people = {
        entry["Name"]: dossier.Record.of(
            {key: str(value) for key, value in entry.items()}, id=entry["Name"]
        )
        for entry in datasets.load("whang-table-1").to_pylist()
    }
    background_rows = [
        {key: str(value) for key, value in entry.items()}
        for entry in datasets.load("whang-table-3").to_pylist()
    ]

    def leakage_of(person: str, rows: Any = release, **options: Any) -> float:
        (table_leakage,) = dossier.table_leakage(
            rows, [people[person]], quasi_identifiers=["Zip", "Age"], **options
        )
        return table_leakage.leakage

    renamed_rows = [*release[:-1], {**release[-1], "Disease": "Influenza"}]
    numbers = {}
    for version, rows in (("Table 2", release), ("Zoe's Flu renamed", renamed_rows)):
        columns = {name: [entry[name] for entry in rows] for name in rows[0]}
        numbers[version] = measure(
            pa.table(columns), quasi_identifiers=["Zip", "Age"], sensitive="Disease"
        )
    k = numbers["Table 2"]["k_anonymity"].value
    l_diversity = "l_diversity"
    yield row("Table 2", "k", k, "3", where="Table 2")
    alice = leakage_of("Alice")
    zoe = leakage_of("Zoe")
    yield _exact_row("Table 2", "leakage of Alice", alice, "2/3", where="Section 3.1")
    yield _exact_row("Table 2", "leakage of Zoe", zoe, "3/4", where="Section 3.1")
    yield _exact_row(
        "with the background of Table 3",
        "leakage of Alice",
        leakage_of("Alice", background=[background_rows]),
        "4/5",
        where="Section 3.1",
    )
    yield claim(
        "the leakage of Zoe is higher than that of Alice, although k-anonymity considers both to "
        "be equally safe",
        holds=zoe > alice,
        ours=f"{zoe:.4f} and {alice:.4f}, k = {k:.0f} for both",
        where="Section 3.1",
    )
    entry = numbers["Table 2"].per_class(l_diversity, "Disease")
    yield row("first class of Table 2", "diseases", float(max(entry)), "3", where="Section 3.2")
    yield row("second class of Table 2", "diseases", float(min(entry)), "2", where="Section 3.2")
    yield row(
        "Zoe's Flu renamed to Influenza",
        "l",
        numbers["Zoe's Flu renamed"][l_diversity].value,
        "3",
        where="Section 3.2",
    )
    equivalences = {"Disease": {"Flu": ["Influenza"]}}
    yield _exact_row(
        "Influenza is another disease",
        "leakage of Zoe",
        leakage_of("Zoe", renamed_rows),
        "2/3",
        where="Section 3.2",
    )
    yield _exact_row(
        "Influenza is known to be the same",
        "leakage of Zoe",
        leakage_of("Zoe", renamed_rows, same=equivalences),
        "3/4",
        where="Section 3.2",
    )


@PAPER.part(
    "Section 4.1",
    "example",
    title="which card to use",
    told="The second card ties the records of two shops together.",
    how="`divulge dossier release`.",
)
def section_4_1() -> RowsAndFigures:
    """Two incremental leakages."""
    p = dossier.Record.of([("N", "n1"), ("C", "c1"), ("C", "c2"), ("P", "p1"), ("A", "a1")])
    s = dossier.Record.of({"N": "n1", "C": "c1", "P": "p1"}, id="s")
    t = dossier.Record.of({"N": "n1", "C": "c2"}, id="t")
    operator = dossier.Resolve("N+C,N+P")
    for record, text in ((s, "3/4"), (t, "4/7")):
        yield _exact_row(f"record {record.id}", "leakage", dossier.leakage(record, p).leakage, text)
    increments = {
        card: dossier.incremental(
            (s, t),
            p,
            dossier.Record.of({"N": "n1", "C": card, "P": "p1"}, id=name),
            operator=operator,
        )
        for card, name in (("c1", "u"), ("c2", "v"))
    }
    yield _exact_row("before the purchase", "leakage", increments["c1"].before, "3/4")
    for card, after, change in (("c1", "3/4", "0"), ("c2", "8/9", "5/36")):
        yield _exact_row(f"with card {card}", "leakage", increments[card].after, after)
        yield _exact_row(
            f"with card {card}", "incremental leakage", increments[card].change, change
        )
    yield claim(
        "Alice should use the card c1",
        holds=increments["c1"].change < increments["c2"].change,
        ours=f"{increments['c1'].change:.4f} and {increments['c2'].change:.4f}",
    )


@PAPER.part(
    "Section 4.2",
    "figure",
    title="self and linkage disinformation (Fig. 2)",
    told="The paper states the problem, names two ways, and prints no number. Ours: r and s are "
    "Alice's, v is a stranger's; the adversary "
    "joins by name or phone. Costs are attributes. The plan is optimal where its lower bound is "
    "met.",
    how="`divulge dossier disinform`, `dv.dossier.plan_disinformation`.",
)
def section_4_2() -> RowsAndFigures:
    """Effect of one false record, and of a budget."""
    p = dossier.Record.of({"N": "Alice", "P": "1", "C": "9", "Z": "5"})
    r = dossier.Record.of({"N": "Alice", "P": "1"}, id="r")
    stranger = dossier.Record.of({"N": "Bob", "Q1": "a", "Q2": "b", "Q3": "c", "Q4": "d"}, id="v")
    database = (r, stranger)
    operator = dossier.Resolve("N,P")
    before = dossier.attack(database, p, operator).leakage
    disinformation = {
        "self": dossier.Record.of({"N": "Alice", "C": "777"}, id="d1"),
        "linkage": dossier.Record.of([("N", "Alice"), ("N", "Bob")], id="d2"),
    }
    after = {
        kind: dossier.attack((*database, record), p, operator).leakage
        for kind, record in disinformation.items()
    }
    for kind, leakage in after.items():
        yield claim(
            f"{kind} disinformation reduces the database leakage",
            holds=leakage < before,
            ours=f"{before:.4f} to {leakage:.4f}",
            where="Fig. 2",
        )
    budgets = range(9)
    plans = [
        dossier.plan_disinformation(database, p, rule="N,P", budget=budget) for budget in budgets
    ]
    points = tuple(
        {"x": budget, "y": plan.leakage} for budget, plan in zip(budgets, plans, strict=True)
    )
    yield Figure(
        "Fig. 2",
        "What a budget of false attributes buys",
        "budget",
        "leakage",
        points,
        mark="lines",
        told="No number is printed.",
    )
    values = [plan.leakage for plan in plans]
    yield claim(
        "Alice can reduce the information leakage by releasing arbitrarily large disinformation",
        holds=bool(np.all(np.diff(values) <= 1e-12) and values[-1] < values[0]),
        ours=f"{values[0]:.4f} without, {values[-1]:.4f} for {budgets[-1]} attributes; "
        f"{sum(plan.optimal for plan in plans)} of "
        f"{len(plans)} plans proved optimal",
    )


@PAPER.part(
    "Section 4.3",
    "example",
    title="what to verify next",
    told="(1 - 13/14) / (1/2) is 1/7; the paper multiplies where it must divide. The phone is "
    "still the one to verify.",
    how="`divulge dossier enhance`.",
)
def section_4_3() -> RowsAndFigures:
    """Gain per cost of verifying the name and the phone."""
    r1 = dossier.Record.of({"N": "Alice", "A": "20"}, id="r1")
    r2 = dossier.Record.of([("N", "Alice", 0.9), ("P", "123", _HALF), ("C", "987", 1.0)], id="r2")
    enhancement = dossier.enhance((r1, r2))
    options = {option.attribute.label: option for option in enhancement.options}
    yield _exact_row("composite record", "certainty", enhancement.certainty)
    for label, cost, ratio, wrong in (
        ("N", "0.1", "0", ""),
        ("P", "0.5", "1/28", "(1 - 13/14) divided by 1/2 is 1/7; 1/28 is 1/14 multiplied by it"),
    ):
        yield row(f"verifying {label}", "cost", options[label].cost, cost)
        yield _exact_row(
            f"verifying {label}", "gain per cost", options[label].ratio, ratio, erratum=wrong
        )
    yield claim(
        "verifying the phone number is better than verifying the name",
        holds=options["P"].ratio > options["N"].ratio,
        ours=f"{options['P'].ratio:.4f} and {options['N'].ratio:.4f}",
    )


# --- sections 5 and 6 -----------------------------------------------------------------------------
@PAPER.part(
    "Section 5",
    "claim",
    title="Algorithm 1 and the approximation",
    told="Algorithm 1 is for equal weights; as printed, lines 4, 9 and 12 need mending (Z is "
    "made once, one index is out of range). The "
    "approximation by Taylor is good for equal weights and arbitrarily bad for others, so that "
    "it is never the default here; our exact "
    "method takes any weights and is linear in the size of the record.",
    how="`divulge dossier leakage --method naive|taylor`; the default is exact.",
    heavy=True,
)
def section_5(*, quick: bool) -> RowsAndFigures:
    """Exactness of Algorithm 1, accuracy of the Taylor approximation."""
    worst = 0.0
    for seed in range(3 if quick else 20):
        made = simulate.generate(simulate.Parameters(n=6, records=1), seed=seed)
        true = dossier.naive(made.batch, made.reference_weight)[0]
        places = np.flatnonzero(made.batch.credit > 0).tolist()
        by_rows = dossier.algorithm1_printed(
            made.batch.confidence.tolist(), [*places, *[None] * (6 - len(places))]
        )
        worst = max(worst, abs(by_rows - true), abs(made.exact()[0] - true))
    yield claim(
        "Algorithm 1 computes the exact value of information leakage for constant weights",
        holds=worst < 1e-12,
        ours=f"differs from all possible worlds by at most {worst:.1e}",
        where="Section 5.1",
    )
    records = {
        "equal weights": (
            {"N": 1.0, "X": 1.0},
            dossier.Record.of([("N", "a", _HALF), ("X", "b", _HALF)]),
        ),
        "weights 1 and 1000": (
            {"N": 1.0, "X": 1000.0},
            dossier.Record.of([("N", "a", _HALF), ("X", "b", _HALF)]),
        ),
    }
    off = {}
    for case, (weights, record) in records.items():
        p = dossier.Record.of({"N": "a"})
        exact, near = (
            dossier.leakage(record, p, weights=weights, method=method).leakage
            for method in ("exact", "taylor")
        )
        yield row(f"one correct and one false attribute, half certain, {case}", "exact", exact)
        yield row(f"one correct and one false attribute, half certain, {case}", "Taylor", near)
        off[case] = abs(near / exact - 1)
    yield claim(
        "the approximation works for arbitrary weights, and the second order series is already "
        "quite accurate",
        holds=max(off.values()) < 0.01,
        ours=", ".join(f"{case}: off by {error:.1%}" for case, error in off.items()),
        where="Section 5.2",
        note="It is accurate in the paper's experiments, and can be off by almost everything.",
    )


def _seeds(*, quick: bool) -> tuple[Seeds, int]:
    if quick:
        return (range(2), 300)
    return (range(5), 10_000)


BASIC = {
    "n": "100",
    "records": "10,000",
    "p_c": "0.5",
    "p_p": "0.5",
    "p_b": "0.5",
    "m": "0.5",
    "w": "C",
}


@PAPER.part(
    "Table 4",
    "table",
    title="parameters",
    told="The basic values, with which Figs. 3a to 3c and Table 5 begin; those of our generator.",
    how="`reproduction.simulate.Parameters()`.",
)
def table_4() -> RowsAndFigures:
    """The defaults of the generator."""
    basic = simulate.Parameters()
    for name, printed in BASIC.items():
        yield row(
            "|R|" if name == "records" else name, "basic value", getattr(basic, name), printed
        )


PANELS: dict[Literal["a", "b", "c"], tuple[str, str, bool]] = {
    "a": ("p_c", "as p_c increases, the information leakage increases", True),
    "b": ("p_p", "the more frequent the perturbation, the lower the information leakage", False),
    "c": ("m", "leakage increases as confidence increases", True),
}


@PAPER.part(
    "Fig. 3",
    "figure",
    title="trends (a to c)",
    told="The generator of section 6, each parameter from 0 to 1. No number is printed. The "
    "leakage of a set is its largest record "
    "leakage; the mean over records is shown beside it, because the maximum over many records "
    "hides it.",
    how='`reproduction.simulate.figure3("a")`.',
    heavy=True,
)
def figure_3(*, quick: bool) -> RowsAndFigures:
    """The three panels of Fig. 3."""
    seeds, records = _seeds(quick=quick)
    for panel, (name, statement, up) in PANELS.items():
        runs = simulate.figure3(panel, seeds=seeds, records=records, steps=4 if quick else 10)
        disinformation = [getattr(run.parameters, name) for run in runs]
        series = {
            "largest of the records": [run.leakage.mean for run in runs],
            "mean of the records": [run.mean_record.mean for run in runs],
        }
        points = tuple(
            {"x": way, "y": value, "series": series_name}
            for series_name, values in series.items()
            for way, value in zip(disinformation, values, strict=True)
        )
        yield Figure(
            f"Fig. 3{panel}",
            f"Leakage as {name} grows",
            name,
            "leakage",
            points,
            mark="lines",
            told="No number is printed.",
        )
        steps = [np.diff(values) for values in series.values()]
        yield claim(
            statement,
            where=f"Fig. 3({panel})",
            holds=all(bool(np.all(step > 0 if up else step < 0)) for step in steps),
            ours="; ".join(
                f"{series_name}: {values[0]:.4f} to {values[-1]:.4f}"
                for series_name, values in series.items()
            ),
        )


@PAPER.part(
    "Table 5",
    "table",
    title="exact and approximate leakage",
    told="A random experiment: ours is the mean over seeds of the largest leakage of 10,000 "
    "records. A printed number *holds* if a maximum "
    "that low, and one that high, would come up at least once in a thousand times, going by how "
    "many of our records leak more. The "
    "column "
    "b is p_b, and the last row has n = 10 (section 6.2), though the table prints 100.",
    how="`reproduction.simulate.table5()`.",
    heavy=True,
)
def table_5(*, quick: bool) -> RowsAndFigures:
    """The seven rows of Table 5, exact and by Taylor approximation."""
    seeds, records = _seeds(quick=quick)
    errors = []
    printed_error = 0.0
    for parameters, exact, approximate, _ in simulate.TABLE_5:
        label = (
            ", ".join(f"{name} = {value}" for name, value in _changed_parameters(parameters))
            or "basic values"
        )
        made = [
            simulate.generate(replace(parameters, records=records), seed=seed) for seed in seeds
        ]
        numbers = {
            "exact": [simulation.exact() for simulation in made],
            "Taylor": [simulation.approximate() for simulation in made],
        }
        for (quantity, record_leakages), printed in zip(
            numbers.items(), (exact, approximate), strict=True
        ):
            yield compare_maximum(
                label, quantity, np.array(record_leakages), printed, decided=not quick
            )
        if exact:
            true, near = (np.concatenate(numbers[quantity]) for quantity in ("exact", "Taylor"))
            errors.append((float(np.max(np.abs(near[true > 0] / true[true > 0] - 1))), label))
            printed_error = max(printed_error, abs(approximate / exact - 1))
    yield row(
        "going by the printed numbers",
        "largest error rate",
        printed_error,
        "0.006%",
        where="Section 6.2",
    )
    worst, where = max(errors)
    yield claim(
        "in all scenarios the exact and approximate leakage values are nearly identical",
        holds=worst < 0.01,
        ours=f"a record's is off by at most {worst:.3%} ({where})",
        where="Section 6.2",
        note="True of these experiments only; see section 5.",
    )


def compare_maximum(
    label: str, quantity: str, record_leakages: Floats, printed: float, *, decided: bool
) -> Row:
    """Compare a printed maximum with ours, and compute its probability.

    The verdict is open if too few records were drawn.
    """
    ours = float(record_leakages.max(axis=1).mean())
    above = float((record_leakages > printed).mean())
    lower = (1 - above) ** 10_000
    explanation = (
        f"{above:.2%} of our records leak more, so a maximum this low has a chance of {lower:.2g}"
    )
    if printed:
        text = f"{printed:.7f}"
    else:
        text = "0.0"
    if printed == ours == 0:
        return row(label, quantity, ours, text)
    likely = decided and 0.001 <= lower <= 0.999
    return Row(
        label,
        quantity,
        Printed(text),
        ours,
        "holds" if likely else "not reproducible",
        explanation if decided else TOO_FEW_RECORDS,
    )


TOO_FEW_RECORDS = "the quick form draws too few records to tell"


def _changed_parameters(parameters: simulate.Parameters) -> list[tuple[str, Any]]:
    basic = replace(simulate.Parameters(), records=parameters.records)
    return [
        (name, getattr(parameters, name))
        for name in BASIC
        if getattr(parameters, name) != getattr(basic, name)
    ]


@PAPER.part(
    "Fig. 3(d)",
    "figure",
    title="time",
    told="The figure's times are not printed. Ours are those of this machine, per record, and "
    "only their growth means something; Algorithm "
    "1 is timed as printed, in Python. The exact method for any weights is ours.",
    how="`reproduction.simulate.figure3d()`.",
    heavy=True,
    timed=True,
)
def figure_3d(*, quick: bool) -> RowsAndFigures:
    """Seconds per record by method."""
    sizes = (4, 12, 250, 2000) if quick else (4, 8, 12, 50, 100, 250, 1000, 2000, 5000)
    timings = simulate.figure3d(sizes=sizes, repeat=1 if quick else 3)
    names = {
        "naive": "naive",
        "algorithm1": "Algorithm 1",
        "taylor": "Taylor",
        "exact": "exact (ours)",
    }
    points = tuple(
        {"x": timing.n, "y": timing.seconds, "series": names[timing.method]} for timing in timings
    )
    yield Figure(
        "Fig. 3d",
        "Time per record",
        "n",
        "seconds",
        points,
        mark="lines",
        log=("x", "y"),
        told="Times of this machine.",
    )
    seconds = {(timing.method, timing.n): timing.seconds for timing in timings}
    more = simulate.generate(simulate.Parameters(n=16, records=1), seed=0)
    start = time.perf_counter()
    dossier.naive(more.batch, more.reference_weight)
    yield claim(
        "the naive algorithm only handles up to 12 attributes",
        holds=False,
        ours=f"{time.perf_counter() - start:.2g} s for a record of {len(more.column)} attributes",
        note="All worlds at once in NumPy; it doubles with each attribute all the same.",
    )
    for method, reach, statement in (
        ("algorithm1", 250, "Algorithm 1 scales to 250 attributes"),
        ("taylor", 2000, "the approximation algorithm scales to more than 2,000 attributes"),
    ):
        largest_size = max(n for name, n in seconds if name == method)
        yield claim(
            statement,
            holds=largest_size >= reach,
            ours=f"{seconds[method, largest_size]:.2g} s for a record of about {largest_size} "
            "attributes",
        )
