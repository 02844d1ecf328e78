# SPDX-License-Identifier: Apache-2.0
"""The two manifests of a release: manifest.json, which goes out with it, and mapping/manifest.json, which stays with the publisher.

The public one tells nothing that cannot be worked out from the published files, but for what the publisher asked for: no number of the
original, none that was measured against it, no hash and no size of a private file. All that would tell what the release hides: whoever
guesses the values that were left out can try each guess against such a number. Rounding is no cure. What a publisher needs
later stands in the private one, which carries the hash of the public one, never the reverse.

Manifests of format 1 told all of it. They are read as if they had been written today; `reseal` rewrites them.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from divulge.engines import Engine
from divulge.errors import BadInput
from divulge.metrics import Measurement
from divulge.policy import Policy, Promise, Verdict
from divulge.publish.schema import check, read_json
from divulge.results import plain
from divulge.version import __version__

NAME = "manifest.json"
FORMAT = 2
FOLDER = "mapping"
"""What stays with the publisher."""
_KINDS = ("generalized", "anatomized", "applied")
_WITH_PRIVATE_PART = ("generalized", "applied")
_TAKE = "Take the release from where it was published"
_SETTINGS_LEFT_OUT = ("source", "read", "background")
"""A path or an address, how it was read, and values that background knowledge names."""
_PUBLIC_SETTINGS_LEFT_OUT = (*_SETTINGS_LEFT_OUT, "identifier", "person", "original", "population", "released")
"""What a table that is measured by itself does not have."""


class Manifests(NamedTuple):
    """What a release says: to everybody, and to its publisher."""

    public: dict[str, Any]
    private: dict[str, Any] | None
    """None where the private part is not there."""
    format: int
    """The one it was written in."""


def seal(folder: Path, names: Collection[str]) -> dict[str, dict[str, Any]]:
    """The hash and the size of each file."""
    return {name: {"sha256": sha256(folder / name), "bytes": (folder / name).stat().st_size} for name in names}


def write_manifests(folder: Path, public: Mapping[str, Any], private: Mapping[str, Any] | None) -> None:
    """Write both beside the files of a release."""
    _write(folder / NAME, {"divulge_release": FORMAT, **public})
    if private is not None:
        (folder / FOLDER).mkdir(mode=0o700, exist_ok=True)
        _write(folder / FOLDER / NAME, {"divulge_private": FORMAT, "manifest": sha256(folder / NAME), **private})


def read_manifest(folder: Path, *, handed_out: bool = False) -> dict[str, Any]:
    """What a release says to everybody, after every file has been held against its hash; `handed_out` as in `read_manifests`."""
    return read_manifests(folder, handed_out=handed_out).public


def read_manifests(folder: Path, *, handed_out: bool = False, private_part: bool = True) -> Manifests:
    """Both manifests, after every file has been held against its hash.

    With `handed_out` the private part may be missing: whoever was handed the release does not have it. Without `private_part` nobody looks
    whether it is there.
    """
    path = folder / NAME
    document, written_as = _read_public(path)
    present = _present(folder) if private_part else {name for name in _present(folder) if not _is_private(name)}
    if written_as == 1:
        sealed = {
            name: entry
            for name, entry in document["files"].items()
            if entry["public"] or (private_part and (not handed_out or name in present))
        }
        _refuse_changed(folder, sealed, present - {NAME})
        public, private = split(document)
        kept_back = private is not None and private["files"] and not any(map(_is_private, present))
        return Manifests(public, None if kept_back else private, 1)
    _refuse_changed(folder, document["files"], {name for name in present - {NAME} if not _is_private(name)})
    private = _read_private(folder, document["kind"], present, handed_out=handed_out) if private_part else None
    return Manifests(document, private, FORMAT)


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
    """What `divulge measure --json` prints, without the classes and values it names; for the publisher."""
    settings = {name: value for name, value in measurement.settings.items() if name not in _SETTINGS_LEFT_OUT}
    return {"people": measurement.people, **_numbers(measurement, settings)}


def public_numbers(measurement: Measurement) -> dict[str, Any]:
    """The same for everybody, of a published table that was counted row by row and measured by itself."""
    left_out = _PUBLIC_SETTINGS_LEFT_OUT
    return _numbers(measurement, {name: it for name, it in measurement.settings.items() if name not in left_out})


def _numbers(measurement: Measurement, settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "rows": measurement.rows,
        "classes": len(measurement.contingency),
        "settings": dict(settings),
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


def describe_verdict(verdict: Verdict) -> list[dict[str, Any]]:
    """Every promise with its number; for the publisher."""
    return [
        {
            "promise": outcome.promise.text,
            "protects": outcome.protects,
            "attribute": outcome.attribute,
            "value": outcome.value,
            "holds": outcome.holds,
        }
        for outcome in verdict.outcomes
    ]


def _describe(promise: Promise) -> dict[str, Any]:
    return {
        "promise": promise.text,
        "metric": promise.metric.name,
        "scope": promise.metric.scope,
        "attribute": promise.attribute,
        "bound": promise.bound,
        "l": promise.l_value,
    }


# --- format 1 ---------------------------------------------------------------------------------------------------------
_TOLD_IN_1 = ("plan", "hierarchies", "before", "after", "verdict", "rows")


def split(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """A manifest of format 1 as the two that would be written today, but for the numbers of the published table."""
    public = {name: value for name, value in document.items() if name not in (*_TOLD_IN_1, "together")}
    public["files"] = {name: _sealed(entry) for name, entry in document["files"].items() if entry["public"]}
    if document["kind"] == "anatomized":
        # Why a column was left out says how many distinct values it has; how chunks were dealt, how many rows there were.
        public["roles"] = {**document["roles"], "left_out": list(document["roles"]["left_out"])}
        settings = document["settings"]
        public["settings"] = {name: settings[name] for name in settings if name not in CHUNK_SETTINGS}
        return {name: value for name, value in public.items() if name != "notes"} | {"rows": document["rows"]}, None
    public["rows"] = document["rows"]["published"]
    mine = {name: document[name] for name in (*_TOLD_IN_1, "together") if name in document}
    if document["kind"] == "applied":
        settings = document["together"]["settings"]
        public["roles"] = {name: settings[name] for name in ("quasi_identifiers", "sensitive", "weight")}
        # A hash of a manifest of format 1 is made of private numbers as well.
        public |= {"nulls": settings["nulls"], "release": None, "joint": False}
        mine["release"] = document["release"]
    else:
        public["nulls"] = document["after"]["settings"]["nulls"]
        public["method"] = document["plan"]["method"]
        public["verdict"] = [
            {name: item.get(name, "") for name in ("promise", "protects", "attribute", "holds")}
            | {"shown_by": "publisher", "value": None}
            for item in document["verdict"]
        ]
        mine["unchanged"] = document["unchanged"]
    private_files = {
        name.removeprefix(f"{FOLDER}/"): _sealed(entry)
        for name, entry in document["files"].items()
        if not entry["public"]
    }
    return public, {"kind": document["kind"], **mine, "files": private_files}


CHUNK_SETTINGS = ("records", "chunks", "chunk_rows")
"""Settings of an anatomized release that follow from how many rows the source has."""


def _sealed(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "public"}


# --- files ------------------------------------------------------------------------------------------------------------
def _read_public(path: Path) -> tuple[dict[str, Any], int]:
    if not path.is_file() or path.is_symlink():
        raise BadInput(f"{path.parent} is not a release: it has no {NAME}")
    document = read_json(path)
    if not isinstance(document, dict) or not {"divulge_release", "kind", "files"} <= set(document):
        raise BadInput(f"{path} is not the manifest of a release")
    written_as, kind = document["divulge_release"], document["kind"]
    if written_as not in (1, FORMAT) or isinstance(written_as, bool):
        shown = repr(written_as)[:40]
        raise BadInput(
            f"{path} has the format {shown}; this divulge reads up to {FORMAT}", hint="Is there a newer one?"
        )
    if kind not in _KINDS:
        told = f"{path} is a release of the kind {repr(kind)[:40]}"
        raise BadInput(told, hint=f"There are: {', '.join(_KINDS)}")
    check(document, f"{kind}-{int(written_as)}", path)
    _refuse_unsealed_tables(path, document)
    return document, int(written_as)


def _refuse_unsealed_tables(path: Path, document: Mapping[str, Any]) -> None:
    """Every table that is named is one of the files that are sealed, or a folder of them."""
    tables = document["tables"] if document["kind"] == "anatomized" else [document["table"]]
    for name in (table["file"] for table in tables):
        if not any(file == name or file.startswith(f"{name}/") for file in document["files"]) or _is_private(name):
            raise BadInput(f"{path} names the table {name!r}, which is not one of its files", hint=_TAKE)
    if document["kind"] != "anatomized" and "roles" in document:
        roles = document["roles"]
        named = [*roles["quasi_identifiers"], *roles["sensitive"], roles.get("weight")]
        if strange := [name for name in named if name is not None and name not in document["table"]["types"]]:
            raise BadInput(f"{path} names the column {strange[0]!r}, which the table does not have", hint=_TAKE)


def _read_private(folder: Path, kind: str, present: Collection[str], *, handed_out: bool) -> dict[str, Any] | None:
    mine = {name.removeprefix(f"{FOLDER}/") for name in present if _is_private(name)}
    if not mine and (handed_out or kind not in _WITH_PRIVATE_PART):
        return None
    if NAME not in mine:
        told = f"{folder} is not as it was released: {FOLDER}/{NAME} is missing"
        raise BadInput(told, hint="Whoever was handed the release has only its public part")
    path = folder / FOLDER / NAME
    document = read_json(path)
    check(document, "private-generalized-2" if kind == "generalized" else "private-2", path)
    if document["kind"] != kind or document["manifest"] != sha256(folder / NAME):
        raise BadInput(f"{path} belongs to another {NAME} than the one beside it", hint=_TAKE)
    sealed = {f"{FOLDER}/{name}": entry for name, entry in document["files"].items()}
    _refuse_changed(folder, sealed, {f"{FOLDER}/{name}" for name in mine - {NAME}})
    found: dict[str, Any] = document
    return found


def _refuse_changed(folder: Path, sealed: Mapping[str, Any], present: Collection[str]) -> None:
    """Each file is there and has its hash, and there is no other."""
    problems = [problem for name, entry in sealed.items() if (problem := _problem(folder, name, entry["sha256"]))]
    problems += [f"{name} is not in the manifest" for name in sorted(set(present) - set(sealed))]
    if problems:
        raise BadInput(f"{folder} is not as it was released: {'; '.join(problems[:20])}", hint=_TAKE)


def _problem(folder: Path, name: str, sealed: str) -> str | None:
    try:
        if not (folder / name).is_file():
            return f"{name} is missing"
        return None if sha256(folder / name) == sealed else f"{name} has changed"
    except OSError as error:
        return f"{name} cannot be read: {error.strerror}"


def _present(folder: Path) -> set[str]:
    """Every file below a folder; a link is refused, for it may lead anywhere."""
    return set(_walk(folder, folder))


def _walk(folder: Path, top: Path) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise BadInput(f"{folder} cannot be read: {error.strerror}") from None
    for entry in entries:
        path = Path(entry.path)
        if entry.is_symlink():
            raise BadInput(f"{path.relative_to(top).as_posix()} in {top} is a link", hint="A release holds files alone")
        if entry.is_dir():
            yield from _walk(path, top)
        else:
            yield path.relative_to(top).as_posix()


def _is_private(name: str) -> bool:
    return name == FOLDER or name.startswith(f"{FOLDER}/")


def _write(path: Path, document: Mapping[str, Any]) -> None:
    text = json.dumps(plain(document), ensure_ascii=False, allow_nan=False, indent=2)
    path.write_text(text + "\n", encoding="utf-8")
