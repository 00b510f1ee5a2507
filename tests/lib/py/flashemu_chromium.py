# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium that a test drives, by the protocol of its developer tools over two pipes.

It has no window, no network and a folder of its own.
"""

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from flashemu_browser import BROWSER as CHROMIUM, waited
from flashemu_script import PROGRAM_HANG_S



class Browser:
    """One tab; close() ends it."""

    def __init__(self):
        self._folder = tempfile.mkdtemp(prefix="fe-browser")
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()

        def hand_over():  # the browser reads its fd 3 and writes its fd 4
            inputs, outputs = os.dup(to_read), os.dup(to_write)
            os.dup2(inputs, 3)
            os.dup2(outputs, 4)

        # The numbers are copied first, so that none of the four is closed by taking its place.
        self._process = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--no-first-run", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND",
             "--user-data-dir=" + self._folder, "--remote-debugging-pipe",
             "about:blank"], preexec_fn=hand_over, close_fds=False,
            start_new_session=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self._id, self._rest, self._session = 0, b"", None
        self.events = []
        target = next(t for t in self.call("Target.getTargets")["targetInfos"]
                      if t["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target["targetId"],
                                  flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        self._process.terminate()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _message(self):
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], PROGRAM_HANG_S)
            assert ready, "the browser hangs"
            part = os.read(self._from, 1 << 20)
            assert part, "the browser has ended"
            self._rest += part
        text, self._rest = self._rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        """The result of a command; what happens meanwhile goes to self.events."""
        self._id += 1
        message = {"id": self._id, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data):]
        while True:
            answer = self._message()
            if answer.get("id") == self._id:
                assert "result" in answer, (method, answer)
                return answer["result"]
            self.events.append(answer)

    def look(self, width, height=900, dark=False, phone=False):
        """How wide the page is, and which colours the user wants."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=phone)
        self.call("Emulation.setTouchEmulationEnabled", enabled=phone)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def js(self, expression):
        """The value of an expression of JavaScript in the page."""
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                        awaitPromise=True)
        assert "exceptionDetails" not in got, (expression, got)
        return got["result"].get("value")

    def wait(self, expression):
        """Waits until an expression is true, and returns its value."""
        return waited(self.js, expression)

    def key(self, name, modifiers=0):
        """Presses a key: "Tab", "Enter", "ArrowRight", " " ..."""
        codes = {"Tab": 9, "Enter": 13, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
                 "ArrowDown": 40, "Home": 36, "End": 35}
        text = {"Enter": "\r", " ": " "}.get(name, "")
        for kind in ("keyDown" if text else "rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, modifiers=modifiers,
                      windowsVirtualKeyCode=codes[name], text=text)

    def choose_file(self, selector, path):
        """Puts a file of this machine into an <input type=file>, as somebody does who picks it."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", files=[os.path.abspath(path)], nodeId=node)

    def names(self):
        """(role, name) of what a screen reader meets, in its order."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in nodes
                if not n.get("ignored") and "role" in n]

    @contextlib.contextmanager
    def slowed(self, times):
        """Makes the browser so many times slower, workers as well, which the throttle of its
        developer tools leaves out: it is stopped for that share of each 40 ms."""
        over = threading.Event()

        def hold():
            while not over.is_set():
                os.killpg(self._process.pid, signal.SIGSTOP)
                time.sleep(0.04 * (times - 1) / times)
                os.killpg(self._process.pid, signal.SIGCONT)
                time.sleep(0.04 / times)

        thread = threading.Thread(target=hold)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def errors(self):
        """What the browser complains about, and what the page asked of a network."""
        bad = [e["params"] for e in self.events if e.get("method") == "Runtime.exceptionThrown"
               or (e.get("method") == "Log.entryAdded"
                   and e["params"]["entry"]["level"] == "error")]
        asked = [e["params"]["request"]["url"] for e in self.events
                 if e.get("method") == "Network.requestWillBeSent"]
        return bad + [u for u in asked if not u.startswith(("file:", "blob:", "data:"))]

    def shot(self, path, whole=True):
        """A picture of the page as PNG."""
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole, format="png")
        with open(path, "wb") as file:
            file.write(base64.b64decode(data["data"]))
