# SPDX-License-Identifier: BSD-3-Clause
"""What has nothing to do with flash.

    errors      mistakes of users, and what is not installed
    units       quantities as users write and read them
    text        lists of words in sentences, and lines
    markup      text in HTML and SVG
    toml_lines  which line of a TOML file a key is in
    json_text   JSON that somebody else may have written
    json_schema what json_text reads, as JSON Schema
    files       files that appear whole or not at all
    signals     Ctrl-C
    streams     standard output, and what a locale cannot write
    progress    how far a command is
"""
