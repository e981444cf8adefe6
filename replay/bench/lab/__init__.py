# SPDX-License-Identifier: LGPL-2.1-or-later
"""Two namespaces, the link between them, what listens to it."""
