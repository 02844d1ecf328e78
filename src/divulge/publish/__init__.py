# SPDX-License-Identifier: Apache-2.0
"""Releases: rows are written to a private place, read back, checked, and only then moved to where others can see them."""

from divulge.publish.files import Format, choose_format, draw_secret, read_rows, recoded_rows, shuffled, writable
from divulge.publish.generalized import EarlierReleases, GeneralizedRelease, Original, follow
from divulge.publish.later import Earlier
from divulge.publish.manifest import (
    CHUNK_SETTINGS,
    FOLDER,
    NAME,
    Manifests,
    describe_policy,
    numbers,
    public_numbers,
    read_manifest,
    read_manifests,
    sha256,
)
from divulge.publish.mapping import BOXES, CLASSES, read_boxes, read_mapping, read_types
from divulge.publish.opened import OpenedRelease, needs_publisher, promises_of
from divulge.publish.release import Register, Release, ReleasePart, Written, refuse_target
from divulge.publish.reseal import Resealed, reseal
from divulge.publish.staging import sync
from divulge.publish.verify import Fingerprint, Unverified, compare, hold

__all__ = [
    "BOXES", "CHUNK_SETTINGS", "CLASSES", "FOLDER", "NAME", "Earlier", "EarlierReleases", "Fingerprint", "Format", "GeneralizedRelease",
    "Manifests", "OpenedRelease", "Original", "Register", "Release", "ReleasePart", "Resealed",
    "Unverified", "Written", "choose_format", "compare",
    "describe_policy", "draw_secret", "follow", "hold", "needs_publisher", "numbers", "promises_of", "public_numbers", "read_boxes",
    "read_manifest", "read_manifests", "read_mapping", "read_rows", "read_types", "recoded_rows",
    "refuse_target", "reseal", "sha256", "shuffled", "sync", "writable",
]  # fmt: skip
