# SPDX-License-Identifier: Apache-2.0
"""The gate inside other tools: one file for each of them, imported by that tool or by its user, and by nobody here."""
