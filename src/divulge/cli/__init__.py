# SPDX-License-Identifier: Apache-2.0
"""The command line: one file per command. No logic here: a command fills in a request, calls the library, shows the result."""
