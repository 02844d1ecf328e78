# SPDX-License-Identifier: Apache-2.0
"""Joint disclosure risk of several releases."""
