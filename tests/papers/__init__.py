# SPDX-License-Identifier: Apache-2.0
"""The papers, recomputed: the rule of verdicts, the list of everything printed, and the pages."""
