# SPDX-License-Identifier: LGPL-2.1-or-later
"""The patches as commits, as mails, one by one, and on another release."""
