# SPDX-License-Identifier: Apache-2.0
"""Reproduction of the papers: verdicts, the list of everything printed, and the pages."""
