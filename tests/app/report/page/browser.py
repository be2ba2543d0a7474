"""A headless Chromium, driven through its own driver by the protocol WebDriver (W3C)."""

import base64
import json
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the protocol's name for an element


def missing():
    """Why there is no browser to test with, or None."""
    if shutil.which("chromedriver") is None:
        return "no chromedriver: apt-get install chromium chromium-driver"
    return None


class Browser:
    """A context manager; ends the browser with it."""

    def __enter__(self):
        self._driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True,
        )
        port = None
        while port is None:
            line = self._driver.stdout.readline()
            if not line:
                raise RuntimeError("chromedriver ended at once")
            port = re.search(r"successfully on port (\d+)", line)
        self._url = f"http://127.0.0.1:{port[1]}/session"
        arguments = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage",
                     "--window-size=1400,1000", "--force-device-scale-factor=1"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            arguments.append("--no-sandbox")  # Chromium's sandbox refuses root
        try:
            session = self._ask("POST", "", {"capabilities": {"alwaysMatch": {
                "goog:chromeOptions": {"args": arguments},
                "goog:loggingPrefs": {"browser": "ALL"},
            }}})
        except BaseException:
            self._stop()
            raise
        self._url += "/" + session["sessionId"]
        return self

    def __exit__(self, *_):
        try:
            self._ask("DELETE", "")
        finally:
            self._stop()

    def _stop(self):
        self._driver.terminate()
        self._driver.wait(timeout=20)
        self._driver.stdout.close()

    def _ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, method=method)
        # No proxy: the driver is on this machine.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=60) as answer:
                return json.loads(answer.read())["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.loads(error.read())["value"]["message"]) from error

    def open(self, path):
        """Shows a file of this machine."""
        self._ask("POST", "/url", {"url": path.as_uri()})

    def run(self, script, *arguments):
        """What the JavaScript function body returns."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector):
        """The first element for a CSS selector."""
        return self._ask("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        """A click as a mouse does it: refused if something lies above."""
        self._ask("POST", f"/element/{self.find(selector)}/click", {})

    def press(self, *keys):
        """Presses and releases keys one after the other, where the focus is."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._ask("POST", "/actions", {"actions": [
            {"type": "key", "id": "keyboard", "actions": actions}]})

    def media(self, **features):
        """Pretends, for example, prefers_color_scheme="dark"."""
        self._ask("POST", "/goog/cdp/execute", {
            "cmd": "Emulation.setEmulatedMedia",
            "params": {"media": features.pop("media", ""), "features": [
                {"name": name.replace("_", "-"), "value": value}
                for name, value in features.items()]},
        })

    def width(self, pixels):
        """Pretends that the screen is so many pixels wide, less than a window can be; None: as it is."""
        size = {"width": pixels or 0, "height": 0, "deviceScaleFactor": 0, "mobile": False}
        self._ask("POST", "/goog/cdp/execute", {
            "cmd": f"Emulation.{'set' if pixels else 'clear'}DeviceMetricsOverride",
            "params": size if pixels else {}})

    def complaints(self):
        """What the browser's console said since the last call."""
        return [entry["message"] for entry in self._ask("POST", "/se/log", {"type": "browser"})]

    def screenshot(self, path):
        """Writes what is shown as PNG."""
        path.write_bytes(base64.b64decode(self._ask("GET", "/screenshot")))

    def printed(self):
        """The page on paper, as a PDF."""
        return base64.b64decode(self._ask("POST", "/print", {"background": False}))
