# SPDX-License-Identifier: Apache-2.0
"""The policy check inside other tools, with one module for each tool.

Only that tool or its user imports the module.
"""
