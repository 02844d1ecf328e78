# SPDX-License-Identifier: Apache-2.0
"""Tests that open a page in a browser, and `shots.py`, which takes pictures of it."""
