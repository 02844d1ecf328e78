# SPDX-License-Identifier: Apache-2.0
"""The two manifests of a release: one that is shared, and one in the private part.

They are release/manifest.json and release.private/manifest.json.

The public one contains only the publisher's request and numbers that follow from the published
files. It has no number of the original, none that was measured against the original, and no hash or
size of a private file. Any of these would help an adversary who guesses the suppressed values: each
guess could be tested against such a number. Rounding does not prevent this. Data that the publisher
needs later is in the private manifest. It carries the hash of the public one, never the reverse.

Both carry the release id, which is drawn at random for each release. A private part is used only
with the release that has its id.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from divulge.arguments import arg
from divulge.engines import Engine
from divulge.errors import BadInput
from divulge.metrics import Measurement
from divulge.policy import Policy, Promise, Verdict
from divulge.releases.file_hashes import file_names, reject_changed_files, sha256
from divulge.releases.schema import TAKE_AGAIN_HINT, check, read_json
from divulge.releases.staging import private_place, release_id_of
from divulge.results import plain
from divulge.version import __version__

NAME = "manifest.json"
FORMAT = 3
FOLDER = "mapping"
"""The folder of the private part that holds the mappings of values to labels."""
_KINDS = ("generalized", "anatomized", "applied")
_OMITTED_SETTINGS = ("source", "read", "background")
"""A path or address, reading options, and values named in background knowledge."""
_PUBLIC_OMITTED_SETTINGS = (
    *_OMITTED_SETTINGS,
    "identifier",
    "person",
    "original",
    "population",
    "released",
)
"""Settings that do not apply to a table measured by itself."""


PrivatePart = Literal["required", "if there", "never"]
"""Treatment of the private part: an error if it is missing, optional, or not looked for."""


class Manifests(NamedTuple):
    """The public and the private manifest of a release."""

    public: dict[str, Any]
    private: dict[str, Any] | None
    """None if the private part is missing or was not looked for."""
    private_folder: Path | None
    """The folder of the private part."""


def new_release_id() -> str:
    """Draw a release id: 128 random bits, which reveal nothing."""
    return secrets.token_hex(16)


def write_manifests(
    folder: Path, private_folder: Path, public: Mapping[str, Any], private: Mapping[str, Any]
) -> None:
    """Write both manifests, with one new release id."""
    release_id = new_release_id()
    _write_json(folder / NAME, {"divulge_release": FORMAT, "release_id": release_id, **public})
    sealed = {
        "divulge_private": FORMAT,
        "release_id": release_id,
        "manifest": sha256(folder / NAME),
    }
    _write_json(private_folder / NAME, {**sealed, **private})


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the public manifest, after comparing every shared file with its hash."""
    return read_manifests(folder, private_part="never").public


def release_kind(folder: Path) -> str:
    """Return the kind of a release from its public manifest, without hashing its files.

    Callers that use the files open the release, which compares them with their hashes.
    """
    return str(_read_public(folder / NAME)["kind"])


def read_manifests(
    folder: Path, *, private_part: PrivatePart = "required", private_dir: str | Path | None = None
) -> Manifests:
    """Return both manifests, after comparing every file with its hash.

    The private part is next to the release unless `private_dir` names its folder. If it is named,
    it must exist.
    """
    document = _read_public(folder / NAME)
    reject_changed_files(folder, document["files"], file_names(folder) - {NAME})
    return add_private_manifest(
        folder, document, private_part=private_part, private_dir=private_dir
    )


def add_private_manifest(
    folder: Path,
    document: dict[str, Any],
    *,
    private_part: PrivatePart,
    private_dir: str | Path | None = None,
) -> Manifests:
    """Add the private manifest to a public one, after comparing every private file with its hash.

    The shared files are not hashed again.
    """
    if private_part == "never":
        return Manifests(document, None, None)
    private_folder = private_place(folder, private_dir)
    if not private_folder.is_dir() and private_part == "if there" and private_dir is None:
        return Manifests(document, None, None)
    return Manifests(document, _read_private(folder, private_folder, document), private_folder)


def refuse_unless_release(folder: Path, private_folder: Path) -> Path:
    """Return the private part of a release that is to be replaced.

    It is looked for at the path of the new one, and next to the release. Raises an error unless
    both are complete and unchanged.
    """
    release_id = release_id_of(folder)
    candidates = dict.fromkeys((private_folder, private_place(folder)))
    candidate = next(
        (candidate for candidate in candidates if release_id_of(candidate) == release_id),
        private_folder,
    )
    try:
        read_manifests(folder, private_dir=candidate)
    except BadInput as error:
        hint = "Only a complete release that nobody has changed is replaced; move it away first"
        raise BadInput(f"{folder} is not replaced: {error.message.marked}", hint=hint) from None
    return candidate


def versions(*engines: Engine) -> dict[str, str]:
    """Versions of divulge, Python and the packages of the engines that processed the rows."""
    packages = {
        name: importlib.metadata.version(name) for engine in engines for name in engine.packages
    }
    return {"divulge": __version__, "python": platform.python_version(), **packages}


def numbers(measurement: Measurement) -> dict[str, Any]:
    """The numbers of `divulge measure --json` without the classes and values that it names.

    For the private manifest.
    """
    settings = {
        name: value for name, value in measurement.settings.items() if name not in _OMITTED_SETTINGS
    }
    return {"people": measurement.people, **_measurement_numbers(measurement, settings)}


def public_numbers(measurement: Measurement) -> dict[str, Any]:
    """The numbers of a published table that was counted row by row and measured by itself.

    For the public manifest.
    """
    omitted = _PUBLIC_OMITTED_SETTINGS
    return _measurement_numbers(
        measurement,
        {name: setting for name, setting in measurement.settings.items() if name not in omitted},
    )


def _measurement_numbers(measurement: Measurement, settings: Mapping[str, Any]) -> dict[str, Any]:
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
    """Describe the requirements, so that they can be read and reconstructed."""
    return {
        "promises": [_describe_requirement(promise) for promise in policy.promises],
        "protections": [
            {
                "where": dict(protection.where),
                "attribute": protection.attribute,
                "values": list(protection.values),
                "promises": [_describe_requirement(promise) for promise in protection.promises],
            }
            for protection in policy.protections
        ],
        "suppression": policy.suppression,
        "unique_share": policy.unique_share,
    }


def describe_verdict(verdict: Verdict) -> list[dict[str, Any]]:
    """List every requirement with its value, for the private manifest."""
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


def _describe_requirement(promise: Promise) -> dict[str, Any]:
    return {
        "promise": promise.text,
        "metric": promise.metric.name,
        "scope": promise.metric.scope,
        "attribute": promise.attribute,
        "bound": promise.bound,
        "l": promise.l_value,
    }


CHUNK_SETTINGS = ("records", "chunks", "chunk_rows")
"""Settings of an anatomized release that depend on the number of rows of the source."""


# --- files ----------------------------------------------------------------------------------------
def _read_public(path: Path) -> dict[str, Any]:
    if not path.is_file() or path.is_symlink():
        raise BadInput(f"{path.parent} is not a release: it has no {NAME}")
    document = read_json(path)
    if isinstance(document, dict) and "divulge_private" in document:
        message = f"{path.parent} is the private part of a release, not the release"
        raise BadInput(
            message, hint="Name the folder that may be shared; the private part is found from it"
        )
    if not isinstance(document, dict) or not {"divulge_release", "kind", "files"} <= set(document):
        raise BadInput(f"{path} is not the manifest of a release")
    format_version = document["divulge_release"]
    kind = document["kind"]
    if format_version in (1, 2) and not isinstance(format_version, bool):
        message = (
            f"{path} has the format {format_version}, which held the private part inside the "
            f"release; this divulge reads {FORMAT}"
        )
        raise BadInput(message, hint="Make the release again from its original")
    if format_version != FORMAT or isinstance(format_version, bool):
        format_text = repr(format_version)[:40]
        raise BadInput(
            f"{path} has the format {format_text}; this divulge reads {FORMAT}",
            hint="Is there a newer one?",
        )
    if kind not in _KINDS:
        message = f"{path} is a release of the kind {repr(kind)[:40]}"
        raise BadInput(message, hint=f"There are: {', '.join(_KINDS)}")
    check(document, f"{kind}-{FORMAT}", path)
    _refuse_unsealed_tables(path, document)
    return document


def _refuse_unsealed_tables(path: Path, document: Mapping[str, Any]) -> None:
    """Raise an error unless every named table is one of the hashed files, or a folder of them."""
    if document["kind"] == "anatomized":
        tables = document["tables"]
    else:
        tables = [document["table"]]
    for name in (table["file"] for table in tables):
        if not any(file == name or file.startswith(f"{name}/") for file in document["files"]):
            raise BadInput(
                f"{path} names the table {name!r}, which is not one of its files",
                hint=TAKE_AGAIN_HINT,
            )
    if document["kind"] != "anatomized" and "roles" in document:
        roles = document["roles"]
        columns_with_roles = [*roles["quasi_identifiers"], *roles["sensitive"], roles.get("weight")]
        if unknown_columns := [
            name
            for name in columns_with_roles
            if name is not None and name not in document["table"]["types"]
        ]:
            raise BadInput(
                f"{path} names the column {unknown_columns[0]!r}, which the table does not have",
                hint=TAKE_AGAIN_HINT,
            )


def _read_private(folder: Path, private_folder: Path, public: Mapping[str, Any]) -> dict[str, Any]:
    path = private_folder / NAME
    if not private_folder.is_dir() or private_folder.is_symlink() or not path.is_file():
        message = f"the private part of {folder} is not at {private_folder}"
        raise BadInput(
            message, hint=f"Its publisher has it; say with {arg('private_dir')} where it is"
        )
    document: dict[str, Any] = read_json(path)
    kind = public["kind"]
    check(
        document,
        f"private-generalized-{FORMAT}" if kind == "generalized" else f"private-{FORMAT}",
        path,
    )
    if document["release_id"] != public["release_id"]:
        message = (
            f"{private_folder} is the private part of another release than {folder}: their release "
            "ids differ"
        )
        raise BadInput(
            message,
            hint=f"Say with {arg('private_dir')} where its own is. After an interrupted "
            "run, run that "
            "command again",
        )
    if document["kind"] != kind or document["manifest"] != sha256(folder / NAME):
        raise BadInput(
            f"{path} belongs to another {NAME} than the one in {folder}", hint=TAKE_AGAIN_HINT
        )
    reject_changed_files(private_folder, document["files"], file_names(private_folder) - {NAME})
    return document


def _write_json(path: Path, document: Mapping[str, Any]) -> None:
    text = json.dumps(plain(document), ensure_ascii=False, allow_nan=False, indent=2)
    path.write_text(text + "\n", encoding="utf-8")
