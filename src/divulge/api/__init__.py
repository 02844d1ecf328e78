# SPDX-License-Identifier: Apache-2.0
"""One file for each question a user asks; the library's public functions and the commands both start here."""
