# SPDX-License-Identifier: Apache-2.0
"""Tests of publishing: staging, killing, manifests, formats, order and verification."""
