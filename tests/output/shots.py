# SPDX-License-Identifier: Apache-2.0
"""`make shots`: screenshots of the demo reports on a phone, a screen and paper.

They are written to build/shots.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import divulge as dv
from tests.output import browser as driver

FOLDER = Path("build") / "shots"
ROLES: dict[str, Any] = {
    "quasi_identifiers": ["zip", "age", "sex"],
    "sensitive": "diagnosis",
    "identifier": "patient_id",
}
PROMISES: dict[str, Any] = {
    "k_anonymity": 5,
    "l_diversity": 2,
    "entropy_leakage": 1.5,
    "distribution_leakage": 0.5,
}


def write_reports(folder: Path) -> list[Path]:
    """Write four reports.

    They show a table that violates its policy, a release with its cost, its public report, and an
    anatomized release with attacks.
    """
    patients = dv.datasets.patients(rows=20_000, seed=2026)
    usual = dv.datasets.generalized(patients)
    release = dv.generalize(
        patients, policy={**PROMISES, "suppression": 0.01}, leave_out="*", **ROLES
    )
    published = release.write(folder / "release", force=True)
    few = dv.datasets.patients(rows=400, seed=2026).drop_columns(["patient_id"])
    anatomized = dv.anatomize(
        few,
        sensitive="diagnosis",
        quasi_identifiers=["zip", "age", "sex"],
        leave_out="*",
        beta="1/3",
        alpha="1/2",
    )
    release_roles = {role: names for role, names in ROLES.items() if role != "identifier"}
    reports = {
        "table": dv.report(usual, PROMISES, title="generalized.csv", **release_roles),
        "release": dv.report(release, title="The release"),
        "public": dv.report(published, audience="public", title="Admissions 2026"),
        "anatomized": dv.report(anatomized, title="The anatomized release"),
    }
    return [made.save(folder / f"{name}.html") for name, made in reports.items()]


def main() -> int:
    """Write the screenshots and print their paths."""
    if driver.chromium() is None:
        sys.stderr.write(f"{driver.MISSING}\n")
        return 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    with driver.started() as browser:
        for path in write_reports(FOLDER):
            for size in driver.SIZES:
                watched = driver.opened(browser, path, size)
                watched.drawn()
                watched.page.screenshot(path=FOLDER / f"{path.stem}-{size}.png", full_page=True)
            driver.opened(browser, path).page.pdf(
                path=FOLDER / f"{path.stem}-print.pdf", format="A4"
            )
    sys.stdout.write(f"look at {FOLDER}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
