"""Drives a headless Chromium by the DevTools protocol over a pipe, with the standard library alone."""

from __future__ import annotations

import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

# Seconds that a browser which hangs is waited for.
PATIENCE = 60
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str | None:
    """Return the path of a Chromium, or None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A headless Chromium with one tab; notes what its console said and which requests it made."""

    def __init__(self, executable: str) -> None:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        self._process = subprocess.Popen(
            # The browser reads commands from descriptor 3 and answers on 4.
            [
                *("bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "bash", executable),
                *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
                *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"),
                *("--remote-debugging-pipe", f"--user-data-dir={self._profile.name}"),
            ],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._numbers = itertools.count(1)
        self._buffer = b""
        self.console: list[str] = []
        self.requests: list[str] = []
        self._session = ""
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self._session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._profile.cleanup()

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], PATIENCE)
            part = os.read(self._read, 1 << 16) if ready else b""
            if not part:
                raise RuntimeError("Chromium ended, or says nothing")
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        result: dict[str, Any] = json.loads(message)
        self._note(result)
        return result

    def _note(self, message: Mapping[str, Any]) -> None:
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Log.entryAdded":
            self.console.append(parameters["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.console.append(json.dumps(parameters["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled":
            self.console.append(json.dumps(parameters["args"]))

    def call(self, method: str, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a command of the protocol and return its result."""
        number = next(self._numbers)
        command: dict[str, Any] = {"id": number, "method": method, "params": parameters or {}}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._write, json.dumps(command).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                result: dict[str, Any] = message["result"]
                return result

    def open(self, url: str) -> None:
        """Open a page and wait until it is loaded."""
        self.call("Page.navigate", {"url": "about:blank"})
        self.console.clear()
        self.requests.clear()
        self.call("Page.navigate", {"url": url})
        while self.run("document.readyState") != "complete" or self.run("location.href") == "about:blank":
            pass

    def run(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page; a promise is awaited."""
        answer = self.call("Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": True})
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def screenshot(self, path: Path) -> None:
        """Write what the page shows to a PNG file."""
        import base64

        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", {"format": "png"})["data"]))
