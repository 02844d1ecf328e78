# SPDX-License-Identifier: Apache-2.0
"""Example data: public tables by name (public.py), and synthetic patients (demo.py)."""

from divulge.datasets.demo import POLICY, QUASI_IDENTIFIERS, SENSITIVE, generalized, patients
from divulge.datasets.public import Available, available, fetch, load

__all__ = [
    "POLICY",
    "QUASI_IDENTIFIERS",
    "SENSITIVE",
    "Available",
    "available",
    "fetch",
    "generalized",
    "load",
    "patients",
]
