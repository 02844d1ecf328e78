# SPDX-License-Identifier: Apache-2.0
"""The tests: folders mirror src/divulge; expected values come from a paper, a hand count or an independent oracle."""
