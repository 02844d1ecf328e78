# SPDX-License-Identifier: Apache-2.0
"""What a user asks for, one file each: measure, profile, rank, check. The library's functions and the commands both start here."""
