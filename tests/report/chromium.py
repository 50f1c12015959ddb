"""A headless Chromium driven through a pipe: Chromium's debugging protocol needs no package then.

Messages are JSON objects ended by a zero byte, on the browser's descriptors 3 (in) and 4 (out).
"""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time


class Unavailable(Exception):
    """No browser can run here; the text says why."""


class Page:
    """One tab, at a width, with a list of what went wrong in it."""

    def __init__(self, limit_s=60):
        program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        if program is None:
            raise Unavailable("no chromium on the path (scripts/install_deps.sh --browser)")
        self.limit_s = limit_s
        self.folder = tempfile.mkdtemp(prefix="gemmsmith-chromium-")
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def take_descriptors():
            # Through high numbers: either end may be 3 or 4 already.
            os.dup2(to_browser, 100)
            os.dup2(from_browser, 101)
            os.dup2(100, 3)
            os.dup2(101, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--no-first-run", "--disable-extensions", "--remote-debugging-pipe",
             f"--user-data-dir={self.folder}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=take_descriptors, close_fds=False)
        os.close(to_browser)
        os.close(from_browser)
        self.rest = b""
        self.number = 0
        self.events = []
        self.session = None
        try:
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log", "Network"):
                self.call(domain + ".enable")
        except (OSError, TimeoutError) as error:
            self.close()
            raise Unavailable(f"{program} did not start: {error}") from error

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        shutil.rmtree(self.folder, ignore_errors=True)

    def receive(self, until):
        while b"\0" not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.read_end], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            piece = os.read(self.read_end, 1 << 20)
            if not piece:
                raise OSError("the browser ended")
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + self.limit_s
        while True:
            answer = self.receive(until)
            if answer.get("id") != self.number:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def show(self, url, width, height=900, dark=False):
        """Loads a page in a window of this size."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.media("screen", dark)
        self.events.clear()
        self.call("Page.navigate", url=url)
        until = time.monotonic() + self.limit_s
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.receive(until))
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def media(self, kind, dark=False):
        self.call("Emulation.setEmulatedMedia", media=kind, features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def evaluate(self, script):
        """The value of a JavaScript expression; promises are waited for."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", script))
        return answer["result"].get("value")

    def complaints(self):
        """Exceptions, console warnings and errors, and requests for anything but files."""
        found = []
        for event in self.events:
            method, body = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append("exception: " + str(body["exceptionDetails"].get("exception", {}).get("description")))
            elif method == "Runtime.consoleAPICalled" and body["type"] in ("error", "warning", "assert"):
                found.append("console: " + str([a.get("value") for a in body["args"]]))
            elif method == "Log.entryAdded" and body["entry"]["level"] in ("error", "warning"):
                found.append("log: " + body["entry"]["text"])
            elif method == "Network.requestWillBeSent" and not body["request"]["url"].startswith(("file:", "data:")):
                found.append("request: " + body["request"]["url"])
        return found

    def screenshot(self, path, height=None):
        import base64
        clip = {}
        if height:
            width = self.evaluate("innerWidth")
            clip = {"clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1},
                    "captureBeyondViewport": True}
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png", **clip)["data"]))
