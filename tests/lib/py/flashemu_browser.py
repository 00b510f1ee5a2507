# SPDX-License-Identifier: BSD-3-Clause
"""Pages in a headless Chromium, without a window and without a network.

A page under test gets a script of the test's own, which measures what the browser has made of it
and posts the answer to the page around it:

    parent.postMessage(JSON.stringify(answer), "*")

The start of a browser takes longer than a page, so one of them shows many, each in a frame of its
own width.
"""

import html
import json
import os
import re
import shutil
import time

from flashemu_script import PROGRAM_HANG_S, ended

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")

# The script stands before the frames, which may speak before all of them are there.
_FRAMES = """<!DOCTYPE html><html><body style="margin:0"><pre id="found"></pre><script>
const found = [];
onmessage = m => {
  const sender = [...document.querySelectorAll("iframe")]
    .find(f => f.contentWindow == m.source);
  found.push([Number(sender.src.match(/-(\\d+)[.]/)[1]), JSON.parse(m.data)]);
  document.getElementById("found").textContent = "found " + JSON.stringify(found);
};
</script>%s</body></html>"""


def waited(js, expression):
    """Waits until an expression is true in a page, and returns its value.  `js` asks the page."""
    end = time.monotonic() + PROGRAM_HANG_S
    while True:
        value = js(expression)
        if value:
            return value
        assert time.monotonic() < end, expression
        time.sleep(0.05)


def browser(dark, *args):
    """Standard output of a browser that prefers dark or light pages."""
    code, out, err = ended(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
         "--allow-file-access-from-files", "--user-data-dir=" + os.path.abspath("browser"),
         "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=20000",
         "--force-color-profile=srgb", "--force-device-scale-factor=1",
         "--blink-settings=preferredColorScheme=%d" % (0 if dark else 1), *args])
    assert code == 0, err[-2000:]
    return out


def url(name):
    return "file://" + os.path.abspath(name)


def found_in(out):
    """The JSON that a page has put into its element "found", from a browser's --dump-dom."""
    found = re.search(r'<pre id="found">found (.*?)</pre>', out, re.S)
    assert found, out[-2000:]
    return json.loads(html.unescape(found[1]))


def _write(path, text):
    with open(path, "w") as f:
        f.write(text)


def answers(pages, script, dark):
    """What the script says in each page.  `pages`: (text of a page, width in CSS pixels)."""
    frames = ""
    for i, (text, width) in enumerate(pages):
        _write("measured-%d.html" % i, text.replace("</body>", script + "</body>"))
        frames += ('<iframe src="measured-%d.html" width="%d" height="900" style="border:0">'
                   '</iframe>' % (i, width))
    _write("frames.html", _FRAMES % frames)
    found = dict(found_in(browser(dark, "--window-size=1400,900", "--dump-dom",
                                  url("frames.html"))))
    return [found[i] for i in range(len(pages))]
