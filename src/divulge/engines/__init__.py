# SPDX-License-Identifier: Apache-2.0
"""Where SQL runs. Everything that knows a dialect, a connection or a scratch directory lives here."""
