# SPDX-License-Identifier: Apache-2.0
"""Public functions of the library, one file for each; the commands start here too."""
