# SPDX-License-Identifier: Apache-2.0
"""Releases: write rows to a private folder, read them back, check them, and publish them."""

from divulge.releases.batch import Unseen, read_batch, recode_batch
from divulge.releases.earlier_release import ContinuedRelease
from divulge.releases.file_hashes import sha256
from divulge.releases.formats import Format, choose_format, draw_secret, read_rows, shuffled
from divulge.releases.generalized import EarlierReleases, GeneralizedRelease
from divulge.releases.incremental import (
    REVEALS,
    Decision,
    NewRecords,
    smallest_class,
    unique_records,
)
from divulge.releases.labels import (
    LabelMeaning,
    Text,
    ValueIndex,
    is_date,
    meaning_of_values,
    parse_label,
    values_by_label,
)
from divulge.releases.manifest import (
    CHUNK_SETTINGS,
    FOLDER,
    NAME,
    PrivatePart,
    numbers,
    read_manifest,
    read_manifests,
    release_kind,
)
from divulge.releases.mapping import BOXES, CLASSES, read_boxes, read_mapping, read_types
from divulge.releases.open import OpenedRelease, needs_publisher, promises_of
from divulge.releases.release import Register, Release, ReleasePart, Written, refuse_target
from divulge.releases.release_search import ReleaseSearch
from divulge.releases.staging import private_place, readable_parent, sync
from divulge.releases.verification import Fingerprint, Unverified, compare

__all__ = [
    "BOXES",
    "CHUNK_SETTINGS",
    "CLASSES",
    "FOLDER",
    "NAME",
    "REVEALS",
    "ContinuedRelease",
    "Decision",
    "EarlierReleases",
    "Fingerprint",
    "Format",
    "GeneralizedRelease",
    "LabelMeaning",
    "NewRecords",
    "OpenedRelease",
    "PrivatePart",
    "Register",
    "Release",
    "ReleasePart",
    "ReleaseSearch",
    "Text",
    "Unseen",
    "Unverified",
    "ValueIndex",
    "Written",
    "choose_format",
    "compare",
    "draw_secret",
    "is_date",
    "meaning_of_values",
    "needs_publisher",
    "numbers",
    "parse_label",
    "private_place",
    "promises_of",
    "read_batch",
    "read_boxes",
    "read_manifest",
    "read_manifests",
    "read_mapping",
    "read_rows",
    "read_types",
    "readable_parent",
    "recode_batch",
    "refuse_target",
    "release_kind",
    "sha256",
    "shuffled",
    "smallest_class",
    "sync",
    "unique_records",
    "values_by_label",
]
