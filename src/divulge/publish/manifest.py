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
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any

from divulge import __version__
from divulge.errors import BadInput
from divulge.metrics.measurement import Measurement
from divulge.policy import Policy, Promise

NAME = "manifest.json"
FORMAT = 1
_PACKAGES = ("duckdb", "numpy", "pyarrow")
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
    whole = {"divulge_release": FORMAT, **document, "versions": versions(document), "files": files}
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
    problems += [
        f"{name} is not in the manifest" for name in sorted(_present(folder) - set(document["files"]) - {NAME})
    ]
    if problems:
        raise BadInput(
            f"{folder} is not as it was released: {'; '.join(problems)}",
            hint="Take the release from where it was published",
        )
    return document


def refuse_unless_release(folder: Path) -> None:
    """Before a folder is replaced: it must be a release, with nothing in it that was not released."""
    try:
        read_manifest(folder)
    except BadInput as error:
        raise BadInput(
            f"{folder} is not replaced: {error.message}",
            hint="Only a release that nobody has changed is; move it away first",
        ) from None


def sha256(path: Path) -> str:
    """The hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def versions(document: Mapping[str, Any]) -> dict[str, str]:
    """What the release was made with."""
    names = (*_PACKAGES, "pyspark") if document.get("engine") == "spark" else _PACKAGES
    packages = {name: importlib.metadata.version(name) for name in names}
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
        raise BadInput(f"{path} is not JSON", hint="Take the release from where it was published") from None
    if (
        not isinstance(document, dict)
        or not isinstance(document.get("files"), dict)
        or "divulge_release" not in document
    ):
        raise BadInput(f"{path} is not the manifest of a release")
    if document["divulge_release"] != FORMAT:
        raise BadInput(f"{path} has the format {document['divulge_release']!r}; this divulge reads {FORMAT}")
    return document


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


def _present(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


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
