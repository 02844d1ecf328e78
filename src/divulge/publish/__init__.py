# SPDX-License-Identifier: Apache-2.0
"""Releases: rows are written to a private place, read back, checked, and only then moved to where others can see them."""

from divulge.publish.files import Format, choose_format, draw_secret, read_rows, recoded_rows, shuffled, writable
from divulge.publish.generalized import GeneralizedRelease, Original, follow
from divulge.publish.later import Earlier
from divulge.publish.manifest import (
    BOXES,
    FOLDER,
    NAME,
    describe_policy,
    numbers,
    place,
    read_boxes,
    read_manifest,
    read_mapping,
    read_types,
    sha256,
)
from divulge.publish.release import Release, ReleasePart, Written, refuse_target
from divulge.publish.verify import Fingerprint, Unverified, compare, hold

__all__ = [
    "BOXES", "FOLDER", "NAME", "Earlier", "Fingerprint", "Format", "GeneralizedRelease", "Original", "Release",
    "ReleasePart", "Unverified", "Written", "choose_format", "compare", "describe_policy", "draw_secret", "follow",
    "hold", "numbers", "place", "read_boxes", "read_manifest", "read_mapping", "read_rows", "read_types",
    "recoded_rows", "refuse_target", "sha256", "shuffled", "writable",
]  # fmt: skip
