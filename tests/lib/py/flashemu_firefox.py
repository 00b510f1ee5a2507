# SPDX-License-Identifier: BSD-3-Clause
"""A headless Firefox that a test drives, by Marionette: JSON over a connection to this machine.

It can what most tests of a page need; flashemu_chromium has the rest.
"""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time

from flashemu_browser import waited
from flashemu_script import PROGRAM_HANG_S

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
# No network, no updates and no greetings; a port that the system chooses.
PREFERENCES = {"marionette.port": 0, "network.proxy.type": 1, "network.proxy.http": "127.0.0.1",
               "network.proxy.http_port": 9, "network.proxy.ssl": "127.0.0.1",
               "network.proxy.ssl_port": 9, "app.update.enabled": False,
               "browser.shell.checkDefaultBrowser": False, "datareporting.policy.dataSubmissionEnabled": False,
               "browser.aboutwelcome.enabled": False, "toolkit.telemetry.reportingpolicy.firstRun": False}


class Firefox:
    """One tab; close() ends it."""

    def __init__(self):
        self._folder = tempfile.mkdtemp(prefix="fe-firefox")
        with open(os.path.join(self._folder, "user.js"), "w") as file:
            for name, value in PREFERENCES.items():
                file.write("user_pref(%s, %s);\n" % (json.dumps(name), json.dumps(value)))
        self._process = subprocess.Popen(
            [FIREFOX, "--headless", "--marionette", "--no-remote", "--profile", self._folder],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(os.environ, HOME=self._folder, MOZ_CRASHREPORTER_DISABLE="1"))
        self.events, self._id, self._rest = [], 0, b""
        self._socket = socket.create_connection(("127.0.0.1", self._port()), PROGRAM_HANG_S)
        self._message()  # its greeting
        self.call("WebDriver:NewSession", capabilities={"alwaysMatch": {"acceptInsecureCerts": False}})
        self.call("WebDriver:SetTimeouts", script=PROGRAM_HANG_S * 1000)

    def _port(self):
        """The port that it has written into its profile."""
        end, path = time.monotonic() + PROGRAM_HANG_S, os.path.join(self._folder, "MarionetteActivePort")
        while True:
            if os.path.exists(path):
                with open(path) as file:
                    text = file.read().strip()
                if text:
                    return int(text)
            assert self._process.poll() is None and time.monotonic() < end, "Firefox does not start"
            time.sleep(0.1)

    def close(self):
        try:
            self.call("Marionette:Quit", flags=["eForceQuit"])
        except (AssertionError, OSError):
            self._process.terminate()
        self._socket.close()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _message(self):
        while b":" not in self._rest:
            self._receive()
        size, rest = self._rest.split(b":", 1)
        while len(rest) < int(size):
            self._receive()
            rest = self._rest.split(b":", 1)[1]
        self._rest = rest[int(size):]
        return json.loads(rest[:int(size)])

    def _receive(self):
        part = self._socket.recv(1 << 20)
        assert part, "Firefox has ended"
        self._rest += part

    def call(self, method, **params):
        """The value that a command of WebDriver returns."""
        self._id += 1
        data = json.dumps([0, self._id, method, params]).encode()
        self._socket.sendall(b"%d:%s" % (len(data), data))
        _, number, error, result = self._message()
        assert number == self._id and not error, (method, error)
        return result.get("value") if isinstance(result, dict) else result

    def look(self, width, height=900, **_):
        self.call("WebDriver:SetWindowRect", width=width, height=height)

    def open(self, url):
        self.call("WebDriver:Navigate", url=url)
        self.js("window.seen = [], window.addEventListener('error', e => seen.push(e.message)), 1")

    def js(self, expression):
        """The value of an expression of JavaScript in the page."""
        return self.call("WebDriver:ExecuteScript", script="return (%s);" % expression, args=[],
                         sandbox=None)

    def wait(self, expression):
        """Waits until an expression is true, and returns its value."""
        return waited(self.js, expression)

    def errors(self):
        return self.js("window.seen")
