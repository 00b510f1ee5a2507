# SPDX-License-Identifier: BSD-3-Clause
"""What a kernel's filesystem asked of a device for some work.

    recordings  the files, and how requests are read from them
    recipes     how recordings are made
"""
