"""Headless Chromium driven through its debugging pipe: no package beyond Python's own is needed."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--remote-debugging-pipe",
]


class Browser:
    """One Chromium with an empty profile of its own; ends with the `with` block."""

    def __init__(self, deadline=60):
        self.deadline = time.monotonic() + deadline
        self.profile = tempfile.mkdtemp(prefix="clusterbench-browser-")
        commands, self.to_browser = os.pipe()
        self.from_browser, answers = os.pipe()

        def place_pipes():
            # Chromium reads commands from 3 and writes answers to 4. Copies above both first, so
            # that one dup2 does not close what the next one needs.
            spare_in, spare_out = os.dup(commands), os.dup(answers)
            while min(spare_in, spare_out) < 5:
                spare_in, spare_out = os.dup(spare_in), os.dup(spare_out)
            os.dup2(spare_in, 3)
            os.dup2(spare_out, 4)

        self.process = subprocess.Popen(
            [shutil.which("chromium"), *FLAGS, f"--user-data-dir={self.profile}", "about:blank"],
            preexec_fn=place_pipes,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self.buffer = b""
        self.number = 0
        self.events = []
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.page(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.wait(timeout=20)
        os.close(self.to_browser)
        os.close(self.from_browser)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _message(self):
        while b"\0" not in self.buffer:
            left = self.deadline - time.monotonic()
            if left <= 0 or not select.select([self.from_browser], [], [], left)[0]:
                raise TimeoutError("Chromium did not answer before the deadline")
            chunk = os.read(self.from_browser, 1 << 20)
            if not chunk:
                raise RuntimeError("Chromium ended early")
            self.buffer += chunk
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, params=None, session=None):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def page(self, method, params=None):
        return self.call(method, params, self.session)

    def open(self, path, width=1280, height=900, media="screen"):
        """Loads a file with a window of that width and returns the events of doing so."""
        self.page(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )
        self.page("Emulation.setEmulatedMedia", {"media": media})
        self.events.clear()
        self.page("Page.navigate", {"url": f"file://{path}"})
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self._message())
        return list(self.events)

    def evaluate(self, expression):
        result = self.page("Runtime.evaluate", {"expression": expression, "returnByValue": True})
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def pdf(self):
        self.page("Emulation.setEmulatedMedia", {"media": ""})
        printed = self.page("Page.printToPDF", {"preferCSSPageSize": True, "printBackground": True})
        return base64.b64decode(printed["data"])
