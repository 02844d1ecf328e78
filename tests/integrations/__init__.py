# SPDX-License-Identifier: Apache-2.0
"""Tests of the policy check inside other tools."""
