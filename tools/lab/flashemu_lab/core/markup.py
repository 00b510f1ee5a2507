# SPDX-License-Identifier: BSD-3-Clause
"""Text in HTML and SVG."""

from __future__ import annotations

import html
import re

# What XML 1.0 does not allow in a document in any form.
_CONTROL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def escape(words: str, quote: bool = True) -> str:
    """Words as HTML and XML take them: marks escaped, and a control character as the replacement
    character."""
    return html.escape(_CONTROL.sub("\ufffd", words), quote)
