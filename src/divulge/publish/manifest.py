# SPDX-License-Identifier: Apache-2.0
"""manifest.json: what a release promises, how it was made, what was measured, and the hash of every file in it.

The manifest goes out with the release, so it must not tell what the release hides: of the original it holds numbers, never a value, a
class or a row. Whom and what a policy protects is repeated as the publisher wrote it, for a promise is made to be read. Files that do
hold values of the original (the mappings) are marked as not for publication.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import math
import platform
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa

from divulge import search
from divulge.arrays import Bools, Ints
from divulge.count import Contingency, Domain
from divulge.engines import Engine
from divulge.errors import BadInput
from divulge.hierarchy import Hierarchy
from divulge.metrics import Measurement
from divulge.policy import Policy, Promise
from divulge.search import Recoding
from divulge.values import as_text
from divulge.version import __version__

NAME = "manifest.json"
FORMAT = 1
_TAKE = "Take the release from where it was published"
_SETTINGS_LEFT_OUT = ("source", "background")
"""A path or an address, and values that background knowledge names."""


def seal(folder: Path, public: Mapping[str, bool]) -> dict[str, dict[str, Any]]:
    """The hash of each file of a release, and whether it may be handed out."""
    return {
        name: {"sha256": sha256(folder / name), "bytes": (folder / name).stat().st_size, "public": may}
        for name, may in public.items()
    }


def write_manifest(folder: Path, document: Mapping[str, Any], *, files: Mapping[str, Any]) -> None:
    """Write manifest.json beside the files of a release."""
    whole = {"divulge_release": FORMAT, **document, "files": files}
    text = json.dumps(_plain(whole), ensure_ascii=False, allow_nan=False, indent=2)
    (folder / NAME).write_text(text + "\n", encoding="utf-8")


def read_manifest(folder: Path, *, handed_out: bool = False) -> dict[str, Any]:
    """The manifest of a release, after every file has been held against its hash.

    With `handed_out`, files that are not for publication may be missing: whoever was handed the release does not have them.
    """
    document = _read(folder)
    problems = [
        problem
        for name, entry in document["files"].items()
        if (problem := _problem(folder, name, entry)) and not (handed_out and _kept_back(folder, name, entry))
    ]
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    problems += [f"{name} is not in the manifest" for name in sorted(present - {NAME, *document["files"]})]
    if problems:
        raise BadInput(f"{folder} is not as it was released: {'; '.join(problems)}", hint=_TAKE)
    return document


def refuse_unless_release(folder: Path) -> None:
    """Before a folder is replaced: it must be a release, with nothing in it that was not released."""
    try:
        read_manifest(folder)
    except BadInput as error:
        hint = "Only a release that nobody has changed is; move it away first"
        raise BadInput(f"{folder} is not replaced: {error.message}", hint=hint) from None


def sha256(path: Path) -> str:
    """The hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def versions(*engines: Engine) -> dict[str, str]:
    """What a release was made with, by the engines that its rows went through."""
    packages = {name: importlib.metadata.version(name) for engine in engines for name in engine.packages}
    return {"divulge": __version__, "python": platform.python_version(), **packages}


def numbers(measurement: Measurement) -> dict[str, Any]:
    """What `divulge measure --json` prints, without the classes and values it names."""
    return {
        "rows": measurement.rows,
        "people": measurement.people,
        "classes": len(measurement.contingency),
        "settings": {name: value for name, value in measurement.settings.items() if name not in _SETTINGS_LEFT_OUT},
        "identity": {name: score.number for name, score in measurement.identity.items()},
        "sensitive": {
            attribute: {name: score.number for name, score in scores.items()}
            for attribute, scores in measurement.sensitive.items()
        },
    }


def describe_policy(policy: Policy) -> dict[str, Any]:
    """The promises, so that they can be read and be made again."""
    return {
        "promises": [_describe(promise) for promise in policy.promises],
        "protections": [
            {
                "where": dict(protection.where),
                "attribute": protection.attribute,
                "values": list(protection.values),
                "promises": [_describe(promise) for promise in protection.promises],
            }
            for protection in policy.protections
        ],
        "suppression": policy.suppression,
    }


def _describe(promise: Promise) -> dict[str, Any]:
    return {
        "promise": promise.text,
        "metric": promise.metric.name,
        "scope": promise.metric.scope,
        "attribute": promise.attribute,
        "bound": promise.bound,
        "l": promise.l_value,
    }


def _read(folder: Path) -> dict[str, Any]:
    path = folder / NAME
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadInput(f"{folder} is not a release: it has no {NAME}") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise BadInput(f"{path} is not JSON", hint=_TAKE) from None
    known = isinstance(document, dict) and "divulge_release" in document
    if not known or not isinstance(document.get("files"), dict):
        raise BadInput(f"{path} is not the manifest of a release")
    if document["divulge_release"] != FORMAT:
        raise BadInput(f"{path} has the format {document['divulge_release']!r}; this divulge reads {FORMAT}")
    return cast("dict[str, Any]", document)


def _problem(folder: Path, name: str, entry: Any) -> str | None:
    """What is wrong with one file; a name that leads out of the folder is not followed."""
    place = PurePosixPath(name)
    if place.is_absolute() or ".." in place.parts or not isinstance(entry, dict):
        return f"{name!r} is not a file of a release"
    if not (folder / name).is_file():
        return f"{name} is missing"
    return None if sha256(folder / name) == entry.get("sha256") else f"{name} has changed"


def _kept_back(folder: Path, name: str, entry: Any) -> bool:
    """Whether a file is missing because it was not for publication."""
    return isinstance(entry, dict) and entry.get("public") is False and not (folder / name).exists()


def _plain(value: Any) -> Any:
    """The value as JSON can carry it: infinities as text, NumPy scalars as Python's, dates as text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    if hasattr(value, "item"):
        return _plain(value.item())
    if isinstance(value, (float, Decimal)):
        return float(value) if math.isfinite(value) else str(float(value))
    return str(value)


# --- mapping ----------------------------------------------------------------------------------------------------------
# For each quasi-identifier, what each value was published as: hierarchy files of ARX (`;`, no header) with one level.
FOLDER = "mapping"
ORIGINAL = f"{FOLDER}/original.json"
"""How often each sensitive value occurred in the original: the prior of whoever checks the release again."""
TYPES = f"{FOLDER}/types.json"
Mapped = dict[str | None, str | None]
"""A value as text to what it is published as; null is None."""


def mapping_of(hierarchy: Hierarchy, level: int) -> Mapped:
    """Every value that a hierarchy knows, and its label on one level."""
    return {None: hierarchy.null_labels[level], **{value: labels[level] for value, labels in hierarchy.rows.items()}}


def write_mapping(path: Path, mapping: Mapping[str | None, str | None]) -> None:
    """One line per value; an empty cell is null and an empty text is "", as in a published table."""
    lines = (f"{_cell(value)};{_cell(label)}\n" for value, label in mapping.items())
    path.write_text("".join(lines), encoding="utf-8", newline="")


def _cell(text: str | None) -> str:
    if text is None:
        return ""
    return '"' + text.replace('"', '""') + '"' if text == "" or any(mark in text for mark in ';"\r\n') else text


def read_mapping(path: Path) -> Mapped:
    """The mapping that `write_mapping` wrote."""
    from pyarrow import csv

    try:
        rows = csv.read_csv(
            path,
            read_options=csv.ReadOptions(column_names=["value", "label"]),
            parse_options=csv.ParseOptions(delimiter=";", newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types={"value": pa.string(), "label": pa.string()},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        raise BadInput(f"{path.name}: a mapping has two cells in each line, value and published value") from None
    return dict(zip(rows["value"].to_pylist(), rows["label"].to_pylist(), strict=True))


def write_types(path: Path, types: Mapping[str, str]) -> None:
    """The types that quasi-identifiers had before they were published as text; they can tell something about values, so they stay here."""
    path.write_text(json.dumps(types, ensure_ascii=False) + "\n", encoding="utf-8")


def read_types(folder: Path) -> dict[str, str]:
    """What `write_types` wrote; nothing where it is not part of a release."""
    path = folder / TYPES
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(type_, str) for type_ in found.values()):
        raise BadInput(f"{path} does not hold the types of columns", hint=_TAKE)
    return found


def write_original(path: Path, counts: Mapping[str, Mapping[str | None, float]]) -> None:
    """The mass of each value of each sensitive attribute; pairs, because JSON has no null keys."""
    pairs = {name: [[value, mass] for value, mass in masses.items()] for name, masses in counts.items()}
    path.write_text(json.dumps(pairs, ensure_ascii=False) + "\n", encoding="utf-8")


def read_original(path: Path) -> dict[str, dict[str | None, float]]:
    """What `write_original` wrote."""
    pairs: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return {name: {value: float(mass) for value, mass in masses} for name, masses in pairs.items()}


# --- boxes ------------------------------------------------------------------------------------------------------------
# What each class of a local recoding (Mondrian) stands for. A row belongs to the first box that holds all its values.
BOXES = f"{FOLDER}/boxes.json"


class Placed(NamedTuple):
    """A box as it stands in the file, one label and one span per column; spans hold texts."""

    labels: Sequence[str | None]
    spans: Sequence[Any]
    """{"from": low, "to": high}, both included, {"values": [...]}, or None for anything."""


def write_boxes(path: Path, boxes: Sequence[search.Box]) -> None:
    """One entry per class."""
    document = [{"labels": box.labels, "spans": [_span(span) for span in box.spans]} for box in boxes]
    path.write_text(json.dumps(document, ensure_ascii=False) + "\n", encoding="utf-8")


def read_boxes(path: Path) -> tuple[Placed, ...]:
    """What `write_boxes` wrote."""
    return tuple(Placed(**box) for box in json.loads(path.read_text(encoding="utf-8")))


def place(boxes: Sequence[Placed], contingency: Contingency, *, unchanged: Sequence[bool]) -> Recoding:
    """The recoding that gives each raw class the labels of its box; classes without one are left out."""
    box_of = np.full(len(contingency), -1, dtype=np.int64)
    for number, box in enumerate(boxes):
        inside: Bools = box_of < 0
        for domain, codes, span in zip(contingency.keys, contingency.codes, box.spans, strict=True):
            inside &= _holds(domain, span)[codes]
        box_of[inside] = number
    labels: list[tuple[str | None, ...]] = []
    published: list[Ints] = []
    for position in range(len(contingency.keys)):
        numbers: dict[str | None, int] = {}
        of_box = np.array([numbers.setdefault(box.labels[position], len(numbers)) for box in boxes], dtype=np.int64)
        labels.append(tuple(numbers))
        published.append(of_box[box_of])
    names = tuple(key.name for key in contingency.keys)
    return Recoding(names, tuple(labels), tuple(published), box_of >= 0, tuple(unchanged))


def _span(span: Any) -> Any:
    if span is None:
        return None
    if isinstance(span, frozenset):
        return {"values": sorted(span, key=lambda value: (value is None, value or ""))}
    low, high = span
    return {"from": as_text(low), "to": as_text(high)}


def _holds(domain: Domain, span: Any) -> Bools:
    """Which values of a column lie in a span."""
    if span is None:
        return np.ones(len(domain), dtype=bool)
    if "values" in span:
        values = set(span["values"])
        return np.array([as_text(label) in values for label in domain.labels])
    try:
        low, high = pa.array([span["from"], span["to"]]).cast(domain.values.type).to_pylist()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        told = f"the column {domain.name!r} has the type {domain.values.type}"
        hint = "Give the new rows the types of the old ones"
        raise BadInput(f"{told}, and was published in ranges of another type", hint=hint) from None
    return np.array([label is not None and low <= label <= high for label in domain.labels])
