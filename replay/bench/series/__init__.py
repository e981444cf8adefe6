# SPDX-License-Identifier: LGPL-2.1-or-later
"""Work on the patches: as commits, as mails, one by one, on another release."""
