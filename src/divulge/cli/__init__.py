# SPDX-License-Identifier: Apache-2.0
"""The command line: one module per command.

There is no logic here: a command fills in a request, calls the library, and shows the result.
"""
