# SPDX-License-Identifier: Apache-2.0
"""Small tables that papers print, cell by cell: `load("afifi-table-4b")`.

Their examples run without a network. The papers are Afifi et al. 2018, Bezzi 2010, Bkakria et al.
2021, Yao et al. 2021 (SLPPA), Whang and Garcia-Molina 2012. Comments state which cells were
corrected, and why.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from textwrap import dedent

from divulge.datasets.catalogue import Dataset

AFIFI = "Afifi, Zhou and Ren: Privacy Characterization and Quantification in Data Publishing (2018)"
BEZZI = "Bezzi: An information theoretic approach for privacy metrics (2010)"
BKAKRIA = (
    "Bkakria et al.: Information theoretic-based privacy risk evaluation for data anonymization "
    "(2021)"
)
YAO = (
    "Yao et al.: Sensitive Label Privacy Preservation with Anatomization for Data Publishing (2021)"
)
WHANG = "Whang and Garcia-Molina: A Model for Quantifying Information Leakage (2012)"


@dataclass(frozen=True)
class InThePackage:
    """A file that comes with divulge."""

    content: bytes

    def __str__(self) -> str:
        return "divulge itself"

    def read(self) -> bytes:
        """Return the content."""
        return self.content


def printed(
    name: str, title: str, paper: str, columns: str, cells: str, *, integers: str = ""
) -> Dataset:
    """Return a table of a paper from lines of comma-separated cells."""
    content = dedent(cells).strip().encode() + b"\n"
    return Dataset(
        name=name,
        title=title,
        rows=content.count(b"\n"),
        columns=tuple(columns.split()),
        integers=frozenset(integers.split()),
        size=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        source=paper,
        licence="facts, as printed",
        sources=(InThePackage(content),),
    )


_PATIENTS = "zip age disease"
_INPATIENTS = "zip age nationality condition"
PRINTED: tuple[Dataset, ...] = (
    printed(
        "afifi-table-1a",
        "Nine patients",
        AFIFI,
        _PATIENTS,
        """
        47677, 29, Heart Disease
        47602, 22, Heart Disease
        47678, 27, Heart Disease
        47905, 43, Flu
        47909, 49, Heart Disease
        47906, 47, Cancer
        47605, 30, Heart Disease
        47673, 36, Cancer
        47607, 32, Cancer
        """,
        integers="age",
    ),
    printed(
        "afifi-table-1b",
        "Nine patients, 3-anonymous",
        AFIFI,
        _PATIENTS,
        """
        476**, 2*, Heart Disease
        476**, 2*, Heart Disease
        476**, 2*, Heart Disease
        4790*, >=40, Flu
        4790*, >=40, Heart Disease
        4790*, >=40, Cancer
        476**, 3*, Heart Disease
        476**, 3*, Cancer
        476**, 3*, Cancer
        """,
    ),
    printed(
        "afifi-table-2a",
        "Nine people, salary in thousands and disease",
        AFIFI,
        "zip age salary disease",
        """
        47677, 29, 3, gastric ulcer
        47602, 22, 4, gastritis
        47678, 27, 5, stomach cancer
        47905, 43, 6, gastritis
        47909, 52, 11, flu
        47906, 47, 8, bronchitis
        47605, 30, 7, bronchitis
        47673, 36, 9, pneumonia
        47607, 32, 10, stomach cancer
        """,
        integers="age salary",
    ),
    printed(
        "afifi-table-2b",
        "The same, 3-diverse",
        AFIFI,
        "zip age salary disease",
        """
        476**, 2*, 3, gastric ulcer
        476**, 2*, 4, gastritis
        476**, 2*, 5, stomach cancer
        4790*, >=40, 6, gastritis
        4790*, >=40, 11, flu
        4790*, >=40, 8, bronchitis
        476**, 3*, 7, bronchitis
        476**, 3*, 9, pneumonia
        476**, 3*, 10, stomach cancer
        """,
        integers="salary",
    ),
    printed(
        "afifi-table-3",
        "The same, 0.167-close in salary and 0.278-close in disease",
        AFIFI,
        "zip age salary disease",
        """
        4767*, <=40, 3, gastric ulcer
        4767*, <=40, 5, stomach cancer
        4767*, <=40, 9, pneumonia
        4790*, >=40, 6, gastritis
        4790*, >=40, 11, flu
        4790*, >=40, 8, bronchitis
        4760*, <=40, 4, gastritis
        4760*, <=40, 7, bronchitis
        4760*, <=40, 10, stomach cancer
        """,
        integers="salary",
    ),
    printed(
        "afifi-table-4a",
        "Twelve inpatients",
        AFIFI,
        _INPATIENTS,
        """
        13053, 28, Russian, Heart Disease
        13068, 29, American, Heart Disease
        13068, 21, Japanese, Virus Infection
        13053, 23, American, Virus Infection
        14853, 50, Indian, Cancer
        14853, 55, Russian, Heart Disease
        14850, 47, American, Virus Infection
        14850, 49, American, Virus Infection
        13053, 31, American, Cancer
        13053, 37, Indian, Cancer
        13068, 36, Japanese, Cancer
        13068, 35, American, Cancer
        """,
        integers="age",
    ),
    printed(
        "afifi-table-4b",
        "Twelve inpatients, 4-anonymous",
        AFIFI,
        _INPATIENTS,
        """
        130**, <30, *, Heart Disease
        130**, <30, *, Heart Disease
        130**, <30, *, Virus Infection
        130**, <30, *, Virus Infection
        1485*, >=40, *, Cancer
        1485*, >=40, *, Heart Disease
        1485*, >=40, *, Virus Infection
        1485*, >=40, *, Virus Infection
        130**, 3*, *, Cancer
        130**, 3*, *, Cancer
        130**, 3*, *, Cancer
        130**, 3*, *, Cancer
        """,
    ),
    printed(
        "afifi-table-4c",
        "Twelve inpatients, 3-diverse",
        AFIFI,
        _INPATIENTS,
        """
        1305*, <=40, *, Heart Disease
        1305*, <=40, *, Virus Infection
        1305*, <=40, *, Cancer
        1305*, <=40, *, Cancer
        1485*, >40, *, Cancer
        1485*, >40, *, Heart Disease
        1485*, >40, *, Virus Infection
        1485*, >40, *, Virus Infection
        1306*, <=40, *, Heart Disease
        1306*, <=40, *, Virus Infection
        1306*, <=40, *, Cancer
        1306*, <=40, *, Cancer
        """,
    ),
    printed(
        "afifi-table-5a",
        "Twelve patients",
        AFIFI,
        _PATIENTS,
        """
        49012, 25, Flu
        49013, 28, Flu
        49013, 29, Heart Disease
        49970, 39, Flu
        48823, 49, Cancer
        49971, 34, Flu
        48824, 48, Heart Disease
        48823, 45, Cancer
        48824, 46, Flu
        49971, 37, Heart Disease
        49012, 22, Flu
        49970, 32, Flu
        """,
        integers="age",
    ),
    printed(
        "afifi-table-5b",
        "Twelve patients, 4-anonymous and 2-diverse",
        AFIFI,
        _PATIENTS,
        """
        4901*, 2*, Flu
        4901*, 2*, Flu
        4901*, 2*, Flu
        4901*, 2*, Heart Disease
        4997*, 3*, Flu
        4997*, 3*, Flu
        4997*, 3*, Flu
        4997*, 3*, Heart Disease
        4882*, 4*, Flu
        4882*, 4*, Heart Disease
        4882*, 4*, Cancer
        4882*, 4*, Cancer
        """,
    ),
    printed(
        "bezzi-table-2",
        "Twelve people, their height and diagnosis",
        BEZZI,
        "name height diagnosis",
        """
        Timothy, 166, N
        Alice, 163, N
        Perry, 161, N
        Tom, 167, N
        Ron, 175, N
        Omer, 170, N
        Bob, 170, N
        Amber, 171, N
        Sonya, 181, N
        Leslie, 183, N
        Erin, 195, Y
        John, 191, N
        """,
        integers="height",
    ),
    # The printed table has 13 rows, one N more than Table 2. The text does not preserve which range
    # that row is in. These are Table 2's rows.
    printed(
        "bezzi-table-3",
        "The same, anonymized",
        BEZZI,
        "height diagnosis",
        """
        [160-170), N
        [160-170), N
        [160-170), N
        [160-170), N
        [170-180), N
        [170-180), N
        [170-180), N
        [170-180), N
        [180-190), N
        [180-190), N
        [190-200), Y
        [190-200), N
        """,
    ),
    printed(
        "bkakria-table-1a",
        "Nine patients",
        BKAKRIA,
        _PATIENTS,
        """
        35510, 21, Asthma
        35591, 42, HIV
        35593, 47, Asthma
        35210, 38, Diabetes
        35273, 32, HIV
        35517, 20, Diabetes
        35599, 49, Diabetes
        35262, 33, Asthma
        35511, 26, HIV
        """,
        integers="age",
    ),
    printed(
        "bkakria-table-1b",
        "Nine patients, 3-anonymous and 3-diverse",
        BKAKRIA,
        _PATIENTS,
        """
        3551*, 2*, Asthma
        3551*, 2*, Diabetes
        3551*, 2*, HIV
        3559*, 4*, HIV
        3559*, 4*, Asthma
        3559*, 4*, Diabetes
        352*, 3*, Diabetes
        352*, 3*, HIV
        352*, 3*, Asthma
        """,
    ),
    printed(
        "bkakria-table-2a",
        "Fifteen patients",
        BKAKRIA,
        _PATIENTS,
        """
        35510, 21, Asthma
        35591, 42, HIV
        35593, 47, Asthma
        35210, 38, Diabetes
        35273, 32, HIV
        35517, 20, Diabetes
        35599, 49, Diabetes
        35262, 33, Asthma
        35511, 26, HIV
        35212, 39, Diabetes
        35281, 32, Diabetes
        35596, 41, Diabetes
        35592, 46, Diabetes
        35515, 23, Diabetes
        35511, 26, Diabetes
        """,
        integers="age",
    ),
    printed(
        "bkakria-table-2b",
        "Fifteen patients, 5-anonymous and 3-diverse",
        BKAKRIA,
        _PATIENTS,
        """
        3551*, 2*, Asthma
        3551*, 2*, Diabetes
        3551*, 2*, Diabetes
        3551*, 2*, Diabetes
        3551*, 2*, HIV
        3559*, 4*, HIV
        3559*, 4*, Asthma
        3559*, 4*, Diabetes
        3559*, 4*, Diabetes
        3559*, 4*, Diabetes
        352*, 3*, Diabetes
        352*, 3*, HIV
        352*, 3*, Asthma
        352*, 3*, Diabetes
        352*, 3*, Diabetes
        """,
    ),
    # The last two columns are Table 6: two cases of a zip code for the same eight people.
    printed(
        "bkakria-table-3",
        "Eight people: five cases of age, three of disease, two of zip code (Table 6)",
        BKAKRIA,
        "identifier age1 age2 age3 age4 age5 disease1 disease2 disease3 zip1 zip2",
        """
        1, 30, 30, 30, 30, 30, Diabetes, Diabetes, Diabetes, 35000, 35000
        2, 62, 30, 30, 30, 30, Epilepsy, Diabetes, Diabetes, 35000, 35000
        3, 37, 30, 30, 30, 30, Asthma, Epilepsy, Diabetes, 35000, 35000
        4, 21, 30, 47, 47, 30, Allergies, Depression, Diabetes, 35510, 35510
        5, 19, 30, 30, 30, 47, Depression, HIV, Diabetes, 35510, 35510
        6, 47, 30, 30, 47, 47, HIV, Heart Disease, HIV, 35510, 35510
        7, 71, 30, 30, 30, 47, Heart Disease, Cancer, Asthma, 35510, 35200
        8, 73, 30, 30, 30, 47, Cancer, Allergies, Allergies, 35510, 35200
        """,
        integers="identifier age1 age2 age3 age4 age5",
    ),
    printed(
        "slppa-table-1",
        "Eight people of a financial network",
        YAO,
        "name gender job age zipcode salary",
        """
        Alice, F, Teacher, 30, 11100, 4500
        Ben, M, Engineer, 33, 12200, 6000
        Cary, F, Engineer, 45, 12200, 4700
        David, M, Teacher, 42, 11100, 4500
        Eric, M, Doctor, 32, 25300, 6700
        Frank, M, Police, 44, 23200, 4000
        Gina, F, Doctor, 30, 11100, 6400
        Henry, M, Doctor, 33, 12200, 6000
        """,
        integers="age salary",
    ),
    printed(
        "whang-table-1",
        "Six patients",
        WHANG,
        "Name Zip Age Disease",
        """
        Alice, 111, 30, Heart
        Bob, 112, 31, Breast
        Carol, 115, 33, Cancer
        Dave, 222, 50, Hair
        Pat, 299, 70, Flu
        Zoe, 241, 60, Flu
        """,
        integers="Age",
    ),
    printed(
        "whang-table-2",
        "Six patients, 3-anonymous",
        WHANG,
        "Zip Age Disease",
        """
        11*, 3*, Heart
        11*, 3*, Breast
        11*, 3*, Cancer
        2**, >=50, Hair
        2**, >=50, Flu
        2**, >=50, Flu
        """,
    ),
    printed(
        "whang-table-3",
        "What an adversary knows of Alice",
        WHANG,
        "Name Zip Age",
        "Alice, 111, 30",
        integers="Age",
    ),
)
