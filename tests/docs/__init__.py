# SPDX-License-Identifier: Apache-2.0
"""The documentation does what it says: its commands run, its numbers are ours."""
