"""Chromium, driven over its debugging pipe, so that nothing but the browser is needed to look at a page as its reader sees it.

Without a browser the tests are skipped; with FEDLOOM_REQUIRE_BROWSER=1 they fail instead.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
PATIENCE = 60.0


class Browser:
    """One headless Chromium; `fd 3` takes commands and `fd 4` gives answers, as JSON that ends in a zero byte."""

    def __init__(self, program: str, profile: Path) -> None:
        to_browser, self._commands = os.pipe()
        self._answers, from_browser = os.pipe()
        line = f'exec "$@" 3<&{to_browser} 4>&{from_browser}'
        command = ["bash", "-c", line, "browser", program, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, pass_fds=(to_browser, from_browser), **quiet)
        os.close(to_browser)
        os.close(from_browser)
        self._count, self._buffer, self.requests, self.console = 0, b"", list[str](), list[str]()
        target = self.call("Target.createTarget", session=None, url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", session=None, targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, session: str | None = "", **params: Any) -> dict[str, Any]:
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._next(deadline)
            if answer.get("id") == self._count:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return dict(answer["result"])
            self._note(answer)

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"Chromium gave no answer within {PATIENCE:.0f} seconds."
            chunk = os.read(self._answers, 1 << 20)
            assert chunk, "Chromium ended before it answered."
            self._buffer += chunk
        text, self._buffer = self._buffer.split(b"\0", 1)
        return dict(json.loads(text))

    def _note(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif event.get("method") == "Runtime.exceptionThrown":
            self.console.append(str(params["exceptionDetails"].get("text")))
        elif event.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.console.append(params["entry"]["text"])

    def evaluate(self, expression: str) -> Any:
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return result["result"].get("value")

    def open(self, page: Path | str, width: int, scheme: str = "light") -> dict[str, str]:
        """Load the file or address at this width, wait until it says that it is drawn, and return the root's data attributes."""
        address = page if isinstance(page, str) else page.resolve().as_uri()
        self.call("Page.navigate", url="about:blank")  # the page before this one has nothing more to say
        self.until("document.readyState === 'complete' && location.protocol === 'about:'")
        self.requests, self.console = [], []
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=address)
        deadline = time.monotonic() + PATIENCE
        while not self.evaluate("document.readyState === 'complete' && location.protocol !== 'about:'"):
            assert time.monotonic() < deadline, f"{page} did not load within {PATIENCE:.0f} seconds."
            time.sleep(0.05)
        while time.monotonic() < deadline and not self.evaluate("'rendered' in document.documentElement.dataset"):
            if json.loads(self.evaluate("document.documentElement.dataset.scriptErrors") or "[]"):
                break
            time.sleep(0.05)
        return dict(self.evaluate("({...document.documentElement.dataset})"))

    def screenshot(self, path: Path) -> None:
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def until(self, expression: str) -> Any:
        """Wait until the expression is true in the page, and return its value."""
        deadline = time.monotonic() + PATIENCE
        while not (value := self.evaluate(expression)):
            assert time.monotonic() < deadline, f"{expression} was not true within {PATIENCE:.0f} seconds."
            time.sleep(0.05)
        return value

    def close(self) -> None:
        os.close(self._commands)  # Chromium ends when its pipe does
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._answers)


def find_browser() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if program := shutil.which(name):
            return program
    reason = "No Chromium or Chrome is on the PATH, so the report was not looked at in a browser; install chromium."
    if os.environ.get("FEDLOOM_REQUIRE_BROWSER") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
