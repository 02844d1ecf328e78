# SPDX-License-Identifier: Apache-2.0
"""Dossier: what scattered records give away about one person (Whang and Garcia-Molina)."""
