# SPDX-License-Identifier: Apache-2.0
"""`divulge demo`: measure, anonymize and publish synthetic patients, explained step by step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import divulge as dv
from divulge.cli.options import emit_json, new_app, show

app = new_app()


@app.command()
def demo(out: str, rows: int, seed: int, json_: bool) -> None:
    """Invent 20,000 patients, measure what their table gives away, tell it in plain words, and publish a table that tells less.

    \b
    Example:
      divulge demo --out divulge-demo
    """  # noqa: E501
    import pyarrow.csv

    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "divulge.toml").write_text(dv.datasets.POLICY, encoding="utf-8")
    pyarrow.csv.write_csv(dv.datasets.patients(rows=rows, seed=seed), folder / "patients.csv")
    pyarrow.csv.write_csv(
        dv.datasets.generalized(dv.datasets.patients(rows=rows, seed=seed)),
        folder / "generalized.csv",
    )
    before = dv.measure(
        folder / "patients.csv",
        quasi_identifiers=dv.datasets.QUASI_IDENTIFIERS,
        sensitive=dv.datasets.SENSITIVE,
        identifier="patient_id",
    )
    policy = dv.Policy.load(folder / "divulge.toml")
    verdict = dv.check(dv.read(folder / "generalized.csv"), policy)
    after = verdict.measurement
    columns = dv.profile(folder / "patients.csv")
    release = dv.generalize(folder / "patients.csv", policy=policy, suppression=0.01)
    published = release.write(folder / "release", force=True)
    reports = [
        dv.report(verdict, title="generalized.csv").save(folder / "report-before.html"),
        dv.report(release, title="the release").save(folder / "report.html"),
    ]
    written = [
        *_write(folder, after),
        str(folder / "divulge.toml"),
        str(folder / "demo.json"),
        str(folder / "release"),
    ]
    written += map(str, reports)
    document = {
        "settings": {"rows": rows, "seed": seed},
        "raw": before.to_dict(worst=3),
        "generalized": after.to_dict(worst=5),
        "verdict": verdict.to_dict(),
        "release": release.to_dict(written=published),
        "files": written,
    }
    (folder / "demo.json").write_text(
        json.dumps(document, indent=2, ensure_ascii=False), encoding="utf-8"
    )
    if json_:
        emit_json(document)
    else:
        _tell(columns, before, verdict, release.text(written=published), written)


def _write(folder: Path, after: Any) -> list[str]:
    import pyarrow.csv

    from divulge import metrics

    pyarrow.csv.write_csv(after.class_table(), folder / "classes.csv")
    belief = after.beliefs[dv.datasets.SENSITIVE]
    worst = int(belief.classes[metrics.distribution_leakage(belief).argmax()])
    drawn = [
        dv.charts.save(after.chart(), folder / "leakage.png"),
        dv.charts.save(
            after.of_class(**after.contingency.class_key(worst)).chart(), folder / "worst-class.png"
        ),
    ]
    tables = [folder / name for name in ("patients.csv", "generalized.csv", "classes.csv")]
    return [str(path) for path in (*tables, *drawn)]


def _tell(columns: Any, before: Any, verdict: Any, release: Any, files: list[str]) -> None:
    from divulge.output import measurement

    show(
        "Nobody in this demonstration exists: the patients are invented.",
        "",
        "1. What does each column give away by itself?",
        columns.text(),
        "",
        "2. The raw table, to somebody who knows a patient's zip, age and sex",
        measurement.story_text(before, worst=3),
        "",
        "3. A usual attempt at anonymity: zips cut to three digits, ages in decades",
        measurement.story_text(verdict.measurement, worst=5),
        "",
        "4. Does that keep what the hospital promises (divulge.toml)? k and l are the usual "
        "promises; the leakages see more",
        verdict.text(sample=3),
        "",
        "5. Of all combinations of levels of its columns, the one that keeps every promise and "
        "loses least",
        release,
        "",
        "Written: " + ", ".join(files),
        f"Open in a browser: {files[-1]} (the release), {files[-2]} (the usual attempt). They "
        "need no network.",
        f"Next: divulge rank {files[0]} --qi zip,age,sex,occupation --sensitive diagnosis; "
        "divulge --help lists the commands.",
    )
