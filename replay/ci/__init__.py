# SPDX-License-Identifier: LGPL-2.1-or-later
""".ci/run: tests a commit in a minimal Debian."""
