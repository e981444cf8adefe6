# SPDX-License-Identifier: LGPL-2.1-or-later
"""Two network namespaces, the link between them, and the capture."""
