# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a new machine makes of a commit: .ci/run."""
