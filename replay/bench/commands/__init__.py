# SPDX-License-Identifier: LGPL-2.1-or-later
"""The subcommands of ./run that measure or show."""
