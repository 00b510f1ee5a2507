# SPDX-License-Identifier: BSD-3-Clause
"""What a browser shows.

    svg      shapes and colours
    charts   what to draw as plain values in, a picture out
    figures  the figures of a table
    html     pages and their parts from templates
    page     one page for a result
    folder   the files of a result
"""
