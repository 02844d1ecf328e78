# SPDX-License-Identifier: Apache-2.0
"""Afifi et al. 2018: every worked example of Section 6.1, the tables, and what Section 6.2 says about Adult."""

from __future__ import annotations

import pyarrow as pa

import divulge as dv
from divulge.metrics import Measurement
from tests.docs.papers.afifi_adult import ADULT
from tests.docs.papers.golden_entries import by_class, listed, ours
from tests.docs.papers.layout import HOW_TO_READ, Cell, Page, Rows, Section
from tests.literature import TABLE_1B, TABLE_2B

LEAKAGES = {"L_D": "LD", "L_E": "LE"}
MEASURE = (
    "`divulge measure published.csv --qi … --sensitive … --original original.csv --classes`: L_D is "
    "`distribution_leakage`, L_E `entropy_leakage`"
)
IN_CLASSES = "as in Example 2."
THREE, FOUR = ("C1", "C2", "C3"), ("C1", "C2", "C3", "C4")


def of_age(found: Measurement, age: str) -> float:
    """The best guess in a class of Table 1."""
    ages = [found.contingency.class_key(i)["age"] for i in range(len(found.contingency))]
    return float(found.per_class("alpha", "disease")[ages.index(age)])


def table_1() -> Rows:
    found = dv.measure(TABLE_1B, quasi_identifiers=["zip", "age"], sensitive="disease")
    told = dv.measure(
        TABLE_1B,
        quasi_identifiers=["zip", "age"],
        sensitive="disease",
        adversary=dv.Adversary(rule_out={"disease": "Heart Disease"}),
    )
    bob, carl = of_age(found, "2*"), of_age(told, "3*")
    return {
        "k of Table 1(b)": {"value": Cell(found.identity["k_anonymity"].value, "3")},
        "best guess about Bob, class 476\\*\\*, 2\\*": {"value": Cell(bob, "1")},
        "about Carl, class 476\\*\\*, 3\\*, heart disease ruled out": {"value": Cell(carl, "1")},
    }


def tables_2_and_3() -> Rows:
    diverse = dv.measure(TABLE_2B, quasi_identifiers=["zip", "age"], sensitive=["salary", "disease"])
    return {
        "l of Table 2(b), salary": {"value": Cell(diverse.sensitive["salary"]["l_diversity"].value, "3")},
        "l of Table 2(b), disease": {"value": Cell(diverse.sensitive["disease"]["l_diversity"].value, "3")},
        "t of Table 3, salary": {"value": Cell(max(ours(f"000.ex11a.{c}.EMD_ordered") for c in THREE), "0.167")},
        **listed("value", {"t of Table 3, disease": "000.table3.disease.max_EMD_hier"}),
    }


def definition_2() -> Rows:
    counts = {
        ("5*", "Cancer"): (4, 7),
        ("5*", "other"): (21, 18),
        ("rest", "Cancer"): (6, 3),
        ("rest", "other"): (69, 72),
    }
    believed = [{"age": age, "disease": disease, "joint": f"{n}/100"} for (age, disease), (n, _) in counts.items()]
    rows = [key for key, (_, n) in counts.items() for _ in range(n)]
    table = pa.table({"age": [age for age, _ in rows], "disease": [disease for _, disease in rows]})
    found = dv.measure(table, quasi_identifiers="age", sensitive="disease", adversary=dv.Adversary(prior=believed))
    told = next(each for each in found.class_records() if each["class"] == {"age": "5*"})["sensitive"]["disease"]
    belief = found.beliefs["disease"]
    before = float(belief.prior.shares[0][belief.cells.domain.labels.index("Cancer")])
    return {
        "P(Cancer given 5\\*), believed": {"value": Cell(before, "16/100")},
        "P(Cancer given 5\\*), published": {"value": Cell(1 - told["alpha"], "28/100")},
        "L_D of 5\\*": {"value": Cell(told["distribution_leakage"])},
        "L_E of 5\\*": {"value": Cell(told["entropy_leakage"])},
    }


def figure_1() -> Rows:
    found = dv.papers.compare_distances()
    return {
        name: {"sensitivity": Cell(found.sensitivity[name]), "independence": Cell(found.independence(name))}
        for name in sorted(found.names, key=lambda name: -found.sensitivity[name])
    }


def claims() -> Rows:
    entropies = {
        "permuted belief, L_E": "000.thm3.2.counterexample",
        "middle of two beliefs with L_E = 0": "000.convexity.counterexample",
    }
    return {
        "largest L_D, against a uniform class (m = 4)": {"value": Cell(ours("000.thm1.point4"), "sqrt(3)/2")},
        "largest L_D, against any class": {"value": Cell(ours("000.maxLD.general"))},
        "largest L_E, uniform prior (m = 4): log2 m - Z": {"value": Cell(ours("000.maxLE.formula"), "0")},
        **listed("value", entropies),
        "largest L_E after two classes are merged (0.469 before)": {"value": Cell(ours("000.alphaLE.merge"))},
    }


OPENING = f"""# Afifi, Zhou and Ren 2018

*M. H. Afifi, K. Zhou, J. Ren: Privacy Characterization and Quantification in Data Publishing.* What a table gives
away is the change of an adversary's belief: **distribution leakage** L_D (Euclidean distance) and **entropy leakage**
L_E (change of uncertainty), for each class, and their largest values epsilon and alpha. The paper's examples show
that neither k-anonymity, l-diversity nor t-closeness sees it. [Concepts](../concepts/leakage.md) tells it in short.

{HOW_TO_READ}
"""

PAGE = Page(
    "afifi",
    OPENING,
    (
        Section(
            "Table 1 and Example 1: Bob and Carl",
            "A 3-anonymous table. Everybody in Bob's class has heart disease (homogeneity). Alice knows that "
            "Carl has none, so cancer is left (background knowledge).",
            "`k_anonymity` and `alpha` of `divulge measure`; Carl with `--rule-out 'disease=Heart Disease'`.",
            "quantity",
            table_1,
        ),
        Section(
            "Example 2: skewness",
            "99 % test negative. C1 is half positive, C2 is 49 to 1 positive: both are 2-diverse. L_E of C2 is "
            "small, because the class is as uncertain as the table was; L_D and the surprise (KL) see it. The "
            "paper prints only the shares.",
            f"{MEASURE}; KL is `surprise`.",
            "class (negative, positive)",
            lambda: by_class("000.ex2", ("C1", "C2"), {**LEAKAGES, "KL": "KL"}),
        ),
        Section(
            "Tables 2 and 3: similarity",
            "Table 2(b) is 3-diverse, and yet the first class has low salaries and diseases of the stomach. "
            "Table 3 is the paper's remedy. Its 0.278 for the disease needs a taxonomy, which the paper does "
            "not print: with two branches whose members are 1/4 apart it is met exactly.",
            "`l_diversity`; `t_closeness` with `--distance salary=ordered` and `--hierarchy disease=taxonomy.csv`.",
            "quantity",
            tables_2_and_3,
        ),
        Section(
            "Example 4: 0.1-closeness",
            "From the belief (0.1, 0.5, 0.4) both classes are equally far, by EMD and by L_D. Only L_E tells "
            "that C2 has ruled cancer out.",
            f"{IN_CLASSES} EMD is `t_closeness`.",
            "class (cancer, heart, flu)",
            lambda: by_class("000.ex4", ("C1", "C2"), {"EMD": "EMD_equal", **LEAKAGES}),
        ),
        Section(
            "Definitions 2 to 4: a conditional belief",
            "An adversary believes P(Cancer and 5\\*) = 4/100 and P(5\\*) = 1/4; the table says 7/100. The "
            "belief moves from 16/100 to 28/100.",
            "`divulge measure --prior prior.csv` with a column `joint`: [beliefs](../how-to/beliefs.md).",
            "quantity",
            definition_2,
        ),
        Section(
            "Fig. 1: which distances to use",
            "The figure's data are not printed; here beliefs are drawn at random, as the function states. The "
            "entropy distance is by far the most independent one, as the paper says. L1 is among the most "
            "sensitive ones; that the Euclidean distance is, too, is not confirmed: it lies in the middle.",
            "`dv.papers.compare_distances()`.",
            "distance",
            figure_1,
        ),
        Section(
            "Example 5",
            "Prior (7/12, 3/12, 2/12). The differences of C3 are (4, 0, -4)/12, so L_D = sqrt(32)/12; the "
            "printed sqrt(26)/12 is the distance to (3, 4, 5)/12, the prior of Example 8. Two-decimal L_E "
            "values are cut off.",
            IN_CLASSES,
            "class",
            lambda: by_class("000.ex5", THREE, LEAKAGES),
        ),
        Section(
            "Example 6: uniform is not best",
            "Prior (10, 2, 2, 2)/16. The uniform class has the largest L_D.",
            IN_CLASSES,
            "class",
            lambda: by_class("000.ex6", FOUR, LEAKAGES),
        ),
        Section(
            "Example 7", "Prior (9, 3, 2, 2)/16.", IN_CLASSES, "class", lambda: by_class("000.ex7", FOUR, LEAKAGES)
        ),
        Section(
            "Example 8: Table 4(b), 4-anonymous",
            "Prior (3, 4, 5)/12. L_D of C3 is sqrt(74)/12 = 0.7169: two digits are exchanged in print, twice.",
            IN_CLASSES,
            "class (heart, virus, cancer)",
            lambda: by_class("000.ex8", THREE, LEAKAGES),
        ),
        Section(
            "Example 9: Table 4(c), 3-diverse",
            "The same patients.",
            IN_CLASSES,
            "class (heart, virus, cancer)",
            lambda: by_class("000.ex9", THREE, LEAKAGES),
        ),
        Section(
            "Example 10: Table 5(b)",
            "The distributions of Example 5. The printed EMD is twice the EMD: it is the L1 norm, so that the "
            "table is 1/3-close and not 0.67-close.",
            f"{IN_CLASSES} EMD is `t_closeness`.",
            "class (flu, heart, cancer)",
            lambda: by_class("000.ex10", THREE, {"EMD": "EMD_equal", **LEAKAGES}),
        ),
        Section(
            "Example 11, first part: Table 3, salaries",
            "Nine salaries, each once; EMD with the ordered distance. (The text exchanges the tables: the "
            "original is 2(a), the published one 3.)",
            "`t_closeness` with `--distance salary=ordered`.",
            "class",
            lambda: by_class("000.ex11a", THREE, {"EMD": "EMD_ordered"}, told=False),
        ),
        Section(
            "Example 11, second part: 27 records",
            "C1 holds 3K, 4K and 5K, C2 holds 7K three times. EMD finds C2 closer, although its salary is "
            "certain. The printed L_D are squares (2/9 and 8/9), and the point of 1.58 has slipped.",
            "as in Example 10, with `--distance salary=ordered`.",
            "class",
            lambda: by_class("000.ex11b", ("C1", "C2"), {"EMD": "EMD_ordered", **LEAKAGES}, told=False),
        ),
        Section(
            "Theorems and claims",
            "Theorem 1 holds with the population's standard deviation. Theorem 3(2) does not: a permuted "
            "belief has L_E = 0. After Definition 9: L_E is not convex, and its maximum is max(Z, log2 m - Z), "
            "where Z is the entropy of the prior. Definition 10: merging classes can raise alpha, so a search "
            "must not prune by it (epsilon never rises).",
            "tests/metrics/test_laws.py and test_false_claims.py.",
            "claim",
            claims,
        ),
        *ADULT,
    ),
)
