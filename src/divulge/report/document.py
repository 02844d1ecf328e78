# SPDX-License-Identifier: Apache-2.0
"""A measurement and a verdict as JSON documents; the keys are part of the interface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from divulge.metrics.conditions import Conditions
from divulge.metrics.measurement import Measurement, Score
from divulge.policy import Verdict
from divulge.report.words import worst_classes


def measurement_document(
    measurement: Measurement,
    *,
    classes: bool = False,
    worst: int = 10,
    by: str | None = None,
    conditions: Mapping[str, Conditions] | None = None,
) -> dict[str, Any]:
    """Everything `divulge measure --json` prints."""
    document: dict[str, Any] = {
        "rows": measurement.rows,
        "people": measurement.people,
        "classes": measurement.class_count,
        "settings": dict(measurement.settings),
        "notes": list(measurement.notes),
        "identity": _numbers(measurement.identity),
        "sensitive": {name: _numbers(scores) for name, scores in measurement.sensitive.items()},
        "worst": [finding.document() for finding in worst_classes(measurement, most=worst, by=by)],
        "worst_class": {
            "identity": _worst(measurement.identity),
            "sensitive": {name: _worst(scores) for name, scores in measurement.sensitive.items()},
        },
    }
    if conditions:
        document["conditions"] = {name: item.document() for name, item in conditions.items()}
    if classes:
        document["class_table"] = measurement.class_records()
    return document


def verdict_document(verdict: Verdict, measurement: Measurement) -> dict[str, Any]:
    """Everything `divulge check --json` prints."""
    return {
        "holds": verdict.holds,
        "rows": measurement.rows,
        "people": measurement.people,
        "classes": measurement.class_count,
        "settings": dict(measurement.settings),
        "promises": [
            {
                "promise": outcome.promise.text,
                "protects": outcome.protects,
                "metric": outcome.promise.metric.name,
                "scope": outcome.promise.metric.scope,
                "attribute": outcome.attribute,
                "bound": outcome.promise.bound,
                "value": outcome.value,
                "holds": outcome.holds,
                "breaking_classes": outcome.breaking_classes,
                "breaking_people": outcome.breaking_people,
                "sample": [{"class": item.key, "size": item.size, "value": item.value} for item in outcome.sample],
            }
            for outcome in verdict.outcomes
        ],
    }


def _numbers(scores: Mapping[str, Score]) -> dict[str, float | int]:
    return {name: score.number for name, score in scores.items()}


def _worst(scores: Mapping[str, Score]) -> dict[str, Any]:
    return {
        name: {"class": dict(score.worst.key), "size": score.worst.size}
        for name, score in scores.items()
        if score.worst is not None
    }
