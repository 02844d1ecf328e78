# SPDX-License-Identifier: Apache-2.0
"""Afifi et al. 2018, Section 6.2: what the paper says about Adult."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

import divulge as dv
from tests.docs.papers.golden_entries import listed
from tests.docs.papers.layout import NOT_REPRODUCED, Cell, Rows, Section
from tests.metrics.adult import complete_adult


def table_6() -> Rows:
    names = ("age", "workclass", "education", "country", "marital", "race", "sex", "salary", "occupation")
    rows = dict(listed("values", {name: f"000.table6.{name}" for name in names}))
    rows["age"] = {"values": replace(rows["age"]["values"], told="a domain size")}
    return rows


def coarse_adult(*, years: int) -> pa.Table:
    """Adult with left-closed ranges of age, and the work class as government or not."""
    people = complete_adult()
    ages = np.asarray(people["age"]) // years * years
    government = ["Gov" if str(work).endswith("-gov") else "other" for work in people["workclass"].to_pylist()]
    return pa.table({"age": ages, "work": government, "occupation": people["occupation"]})


def figure_2() -> Rows:
    found = dv.measure(coarse_adult(years=25), quasi_identifiers=["age", "work"], sensitive="occupation")
    keys = [found.contingency.class_key(i) for i in range(len(found.contingency))]
    worst = int(np.argmax(found.per_class("entropy_leakage", "occupation")))
    return {
        "classes (Fig. 4)": {"value": Cell(found.identity["classes"].value, "8")},
        "k, promised": {"value": Cell(found.identity["k_anonymity"].value, "6", told="holds")},
        "l": {"value": Cell(found["l_diversity"].value, "6")},
        "t, promised": {"value": Cell(found["t_closeness"].value, "0.5", told="holds")},
        f"number of the class with the most L_E: age from {keys[worst]['age']}, {keys[worst]['work']}": {
            "value": Cell(worst + 1, "7")
        },
        "values an observer rules out there": {
            "value": Cell(float(found.per_class("values_ruled_out", "occupation")[worst]), "8")
        },
    }


SCHOOLS = {
    ("up to 8th", "no diploma"): "Preschool 1st-4th 5th-6th 7th-8th",
    ("9th to 12th", "no diploma"): "9th 10th 11th 12th",
    ("HS-grad", "HS-grad"): "HS-grad",
    ("college", "beyond"): "Some-college Assoc-voc Assoc-acdm",
    ("bachelor", "beyond"): "Bachelors",
    ("graduate", "beyond"): "Masters Prof-school Doctorate",
}


def figure_4() -> Rows:
    government = ["Federal-gov", "Local-gov", "State-gov"]
    hierarchies: dict[str, Any] = {
        "age": {"intervals": [5, 25, 50]},
        "workclass": {"taxonomy": {"Gov": government}, "other": "other"},
        "education": {"rows": {v: [*up, "*"] for up, values in SCHOOLS.items() for v in values.split()}},
        "native-country": {"keep": ["United-States"]},
    }
    sets = {
        "(1, 2)": ("age", "workclass", "8"),
        "(2, 3)": ("workclass", "education", "6"),
        "(2, 4)": ("workclass", "native-country", "4"),
        "(3, 4)": ("education", "native-country", "6"),
    }
    found = dv.rank(
        complete_adult(),
        quasi_identifiers=list(hierarchies),
        sensitive="occupation",
        up_to=1,
        sets=[names for *names, _ in sets.values()],
        policy={"k_anonymity": 6, "l_diversity": 6, "t_closeness": 0.5},
        hierarchies=hierarchies,
    )
    told = {}
    for (name, (*columns, printed)), item in zip(sets.items(), found.anonymized, strict=True):
        third = item.classes[2].sensitive["occupation"]
        told[f"{name}: {' and '.join(columns)}"] = {
            "classes": Cell(len(item.classes), printed),
            "L_D of C3": Cell(third["distribution_leakage"]),
            "L_E of C3": Cell(third["entropy_leakage"]),
        }
    return told


def section_6_2() -> Rows:
    found = dv.measure(coarse_adult(years=50), quasi_identifiers="age", sensitive="occupation")
    belief = found.beliefs["occupation"]
    shares = dict(zip(belief.cells.domain.labels, np.atleast_2d(belief.prior.shares)[0], strict=True))
    distances = found.per_class("distribution_leakage", "occupation")
    entropies = found.per_class("entropy_leakage", "occupation")
    printed = (("0.0125", "0.0015"), ("0.0477", "0.0306"))
    rows: dict[str, dict[str, Cell]] = {
        "l of two halves of age": {"value": Cell(found["l_diversity"].value, "13")},
        "t of them, promised": {"value": Cell(found["t_closeness"].value, "0.1", told="holds")},
        "values ruled out from 50 on (Armed-Forces)": {
            "value": Cell(float(found.per_class("values_ruled_out", "occupation")[1]), "1")
        },
    }
    for i, (l_d, l_e) in enumerate(printed):
        rows[f"L_D of C{i + 1}"] = {"value": Cell(float(distances[i]), l_d, told=NOT_REPRODUCED)}
        rows[f"L_E of C{i + 1}"] = {"value": Cell(float(entropies[i]), l_e, told=NOT_REPRODUCED)}
    rows["share of the 8th occupation, Other-service"] = {
        "value": Cell(float(shares["Other-service"]), "0.1077", told=NOT_REPRODUCED)
    }
    rows["share of the 10th, Prof-specialty"] = {"value": Cell(float(shares["Prof-specialty"]), "0.1339")}
    return rows


ADULT = (
    Section(
        "Table 6: Adult",
        "The 30,162 rows of Adult without a missing value. 74 is the size of the domain of age, 17 to 90; 72 of them occur.",
        "`classes` of `divulge measure` with one quasi-identifier, or `divulge profile`.",
        "attribute",
        table_6,
        public=True,
    ),
    Section(
        "Fig. 2: eight classes of Adult",
        "Age in ranges of 25 years, work class as government or not (the paper does not print its "
        "hierarchies; these give its classes). Whoever is 75 or older and works for the government has "
        "none of eight occupations.",
        "`values_ruled_out` and the leakages of `divulge measure --classes`.",
        "quantity",
        figure_2,
        public=True,
    ),
    Section(
        "Fig. 4: sets of quasi-identifiers, each made coarser first",
        "Each pair is generalized at the least loss until it is 6-anonymous, 6-diverse and 0.5-close, as in "
        "Fig. 2. The hierarchies have the heights of Table 6 (4, 2, 3 and 2); what they join is not printed, "
        "and these were chosen so that the numbers of classes come out: ages by 5, 25 and 50 years; "
        "government or not; up to the 8th year, 9th to 12th, high school, college, bachelor, graduate, then "
        "no diploma, high school, beyond; United States or not. With ARX's hierarchies of education and "
        "country they are 8, 3, 5 and 5. The paper warns of the third class of (2, 3): its L_D is the largest "
        "of all third classes.",
        "`divulge rank --set age,workclass … --k-anonymity 6 --l-diversity 6 --t-closeness 0.5 --chart fig4.svg`.",
        "set",
        figure_4,
        public=True,
    ),
    Section(
        "Section 6.2: two halves of age, and shares",
        "13-diverse and 0.1-close, and whoever is older than 50 is not in the armed forces. The printed "
        "leakages of the two classes are met by no cut point between 46 and 59, nor is the class C6 of "
        "Fig. 3 (L_D = 0.2853) by the usual hierarchies of education: they are not printed. One of the two "
        "printed shares is not that of the 30,162 rows either.",
        "as above.",
        "quantity",
        section_6_2,
        public=True,
    ),
)
