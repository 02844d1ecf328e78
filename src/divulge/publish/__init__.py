# SPDX-License-Identifier: Apache-2.0
"""Releases: rows are written to a private place, read back, checked, and only then moved to where others can see them."""
