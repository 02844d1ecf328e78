# SPDX-License-Identifier: Apache-2.0
"""Findings about one person's records as JSON documents.

Graph and timeline are data for a chart: nodes with the cluster they ended in, edges with the rule and the values that
joined them, one point for each record in the order in which the records came.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from divulge.dossier.adversary import Attack
from divulge.dossier.decide import Increment, TimelineStep, Without
from divulge.dossier.disinformation import Disinformation
from divulge.dossier.enhance import Enhancement
from divulge.dossier.files import record_to_json
from divulge.dossier.leakage import Leakage
from divulge.dossier.record import Record
from divulge.dossier.resolve import name_of
from divulge.dossier.simulate import Run, Table5Row
from divulge.dossier.tables import TableLeakage


def record_document(record: Record) -> dict[str, Any]:
    """A record with its provenance."""
    return {**record_to_json(record), "id": name_of(record), "sources": sorted(record.sources)}


def leakage_document(found: Leakage) -> dict[str, Any]:
    """The three numbers of one record; an approximation says so."""
    document: dict[str, Any] = {"leakage": found.leakage, "precision": found.precision, "recall": found.recall}
    return {**document, "approximate": True} if found.method == "taylor" else document


def attack_document(
    found: Attack,
    *,
    graph: Mapping[str, Any] | None = None,
    kept: Sequence[Without] = (),
    steps: Sequence[TimelineStep] = (),
) -> dict[str, Any]:
    """The leakage of a database, every record's own, and the witnesses; with what else was asked for."""
    return {
        "leakage": found.leakage,
        "records": [
            {"id": name_of(record), "leakage": leakage, "sources": sorted(record.sources)}
            for record, leakage in zip(found.records, found.each, strict=True)
        ],
        "witnesses": [name_of(record) for record in found.witnesses],
        "witness_records": [record_document(record) for record in found.witnesses],
        "before": found.before,
        "cost": found.cost,
        **({"graph": graph} if graph is not None else {}),
        **({"without": without_document(kept)} if kept else {}),
        **({"timeline": timeline_document(steps)} if steps else {}),
    }


def timeline_document(steps: Iterable[TimelineStep]) -> list[dict[str, Any]]:
    """One point for each record."""
    return [
        {
            "position": number,
            "id": step.id,
            "leakage": step.leakage,
            "change": step.change,
            "records": step.records,
            "joined": sorted(step.joined),
        }
        for number, step in enumerate(steps, start=1)
    ]


def without_document(found: Iterable[Without]) -> list[dict[str, Any]]:
    """One entry for each label, the most helpful first."""
    return [{"label": each.label, "leakage": each.leakage, "change": each.change} for each in found]


def release_document(found: Sequence[Increment]) -> dict[str, Any]:
    """The alternatives, the least revealing first."""
    return {
        "before": found[0].before,
        "alternatives": [
            {
                "name": each.name,
                "after": each.after,
                "change": each.change,
                "joined": sorted(each.joined),
                "witnesses": [name_of(record) for record in each.witnesses],
            }
            for each in found
        ],
        "best": found[0].name,
    }


def disinformation_document(found: Disinformation) -> dict[str, Any]:
    """The choice and how good it can be."""
    return {
        "before": found.before,
        "leakage": found.leakage,
        "budget": found.budget,
        "cost": found.cost,
        "method": found.method,
        "optimal": found.optimal,
        "lower_bound": found.lower_bound,
        "gap": found.gap,
        "examined": found.examined,
        "chosen": [
            {"name": each.name, "cost": each.cost, "attributes": record_to_json(each.record)["attributes"]}
            for each in found.chosen
        ],
    }


def enhancement_document(found: Enhancement) -> dict[str, Any]:
    """A composite record and what to verify, best first."""
    return {
        "id": name_of(found.record),
        "certainty": found.certainty,
        "options": [
            {
                "record": each.source,
                "label": each.attribute.label,
                "value": each.attribute.value,
                "confidence": each.confidence,
                "gain": each.gain,
                "cost": each.cost,
                "ratio": each.ratio,
            }
            for each in found.options
        ],
    }


def people_document(found: Sequence[TableLeakage]) -> dict[str, Any]:
    """The leakage of each person through a table."""
    return {
        "leakage": max((each.leakage for each in found), default=0.0),
        "people": [
            {
                "person": each.person,
                "leakage": each.leakage,
                "witnesses": [record_document(record) for record in each.witnesses],
            }
            for each in found
        ],
    }


def simulation_document(found: Run) -> dict[str, Any]:
    """One run of the generator over several seeds."""
    return {
        "parameters": asdict(found.parameters),
        "seeds": list(found.seeds),
        "leakage": asdict(found.leakage),
        "approximate": asdict(found.approximate),
        "mean_record": asdict(found.mean_record),
        "taylor_error": found.taylor_error,
    }


def table5_document(rows: Sequence[Table5Row]) -> dict[str, Any]:
    """Table 5, the printed values beside ours."""
    return {
        "table5": [
            {
                "printed": {"exact": row.printed_exact, "approximate": row.printed_approximate},
                "as_stated": simulation_document(row.as_stated),
                "with_1000_records": simulation_document(row.with_1000),
                "note": row.note,
            }
            for row in rows
        ]
    }
