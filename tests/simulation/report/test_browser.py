"""The report in a real browser: it draws every figure, raises no script error, and fits a desktop and a phone.

Chromium is driven over its debugging pipe, so that nothing but the browser is needed. Without one the tests are skipped;
with FEDLOOM_REQUIRE_BROWSER=1 they fail instead.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from simulation.report.page import page_script, write_report
from simulation.report.sections import SECTIONS
from tests.simulation.report.headline_runs import with_headline

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
WIDTHS = (1280, 400)
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

    def open(self, page: Path, width: int, scheme: str = "light") -> dict[str, str]:
        """Load the page at this width, wait until it says that it is drawn, and return the root's data attributes."""
        self.requests, self.console = [], []
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=page.resolve().as_uri())
        deadline = time.monotonic() + PATIENCE
        while not self.evaluate("document.readyState === 'complete' && location.protocol === 'file:'"):
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


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    driven = Browser(find_browser(), tmp_path_factory.mktemp("profile"))
    yield driven
    driven.close()


def assert_drawn(seen: dict[str, str], browser: Browser, width: int) -> None:
    assert json.loads(seen["scriptErrors"]) == []
    assert browser.console == []
    assert int(seen["figures"]) > 0
    assert seen["rendered"] == seen["figures"]
    assert int(seen["innerWidth"]) == width
    assert int(seen["scrollWidth"]) <= width
    assert [url for url in browser.requests if not url.startswith(("file:", "data:", "blob:"))] == []


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_single_run_is_drawn(
    make_run: Callable[..., Path], browser: Browser, tmp_path: Path, width: int, scheme: str
) -> None:
    page = write_report([with_headline(make_run(dropped=True, extra=True))], tmp_path / "report.html")
    seen = browser.open(page, width, scheme)
    assert_drawn(seen, browser, width)
    assert int(seen["rendered"]) == len(SECTIONS)


@pytest.mark.parametrize("width", WIDTHS)
def test_comparison_is_drawn(make_run: Callable[..., Path], browser: Browser, tmp_path: Path, width: int) -> None:
    runs = [make_run(f"{s}-{k}", strategy=s, seed=k, rounds=8) for s in ("fedavg", "fedssa") for k in (1, 2)]
    page = write_report([*runs, make_run("other", lr=0.5, finished=False, partition=False)], tmp_path / "report.html")
    assert_drawn(browser.open(page, width), browser, width)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_comparison_by_another_metric_is_drawn_with_its_tables(
    make_run: Callable[..., Path], browser: Browser, tmp_path: Path, width: int
) -> None:
    runs = [
        with_headline(make_run(f"{s}-{k}", strategy=s, seed=k, rounds=4, extra=True))
        for s in ("fedavg", "fedssa")
        for k in (1, 2)
    ]
    assert_drawn(browser.open(write_report(runs, tmp_path / "report.html"), width), browser, width)
    headings = browser.evaluate("[...document.querySelectorAll('h2')].map(one => one.textContent)")
    assert {"macro-f1", "Further metrics", "Confusion matrix", "Calibration", "macro-f1 by client"} < set(headings)
    figure = "document.getElementById('figure-' + [...document.querySelectorAll('section:has(.figure) h2')].map(one => one.textContent).indexOf('macro-f1 by client'))"
    assert browser.evaluate(f"{figure}.querySelectorAll('.mark.dots').length") == 4
    browser.evaluate("document.querySelector('.key button').click()")
    left = f"new Promise(done => setTimeout(() => done({figure}.querySelectorAll('.mark.dots').length), 300))"
    assert browser.evaluate(left) == 2


def test_key_hides_a_configuration_and_choice_redraws(
    make_run: Callable[..., Path], browser: Browser, tmp_path: Path
) -> None:
    runs = [make_run(name, strategy=name, seed=1, rounds=4) for name in ("fedavg", "fedssa")]
    browser.open(write_report(runs, tmp_path / "report.html"), 1280)
    lines = "document.querySelectorAll('#figure-0 .mark.line').length"
    assert browser.evaluate(lines) == 2
    browser.evaluate("document.querySelector('.key button').click()")
    assert browser.evaluate(f"new Promise(done => setTimeout(() => done({lines}), 300))") == 1
    choose = (
        "(() => {const s = document.querySelector('select'); s.value = '1'; s.dispatchEvent(new Event('change'));})()"
    )
    browser.evaluate(choose)
    assert json.loads(browser.evaluate("document.documentElement.dataset.scriptErrors")) == []


def test_hostile_names_are_only_text(make_run: Callable[..., Path], browser: Browser, tmp_path: Path) -> None:
    attack = "<script>document.documentElement.dataset.hacked=1</script>"
    image = "</script><img src=x onerror=document.documentElement.dataset.hacked=1>"
    first = make_run("a&lt;b", strategy=attack, seed=1, rounds=4, dataset=image, extra=True)
    second = make_run("b", strategy=image, seed=1, rounds=4, model=attack)
    split = json.loads((first / "partition.json").read_text())
    split["class_names"][0], split["client_ids"][0] = attack, image
    (first / "partition.json").write_text(json.dumps(split))
    drop = {"round": 4, "dropped": [{"id": attack, "reason": image}], image: 0.5}
    with (first / "metrics.jsonl").open("a") as lines:
        lines.write(json.dumps(drop) + "\n")
    seen = browser.open(write_report([first, second], tmp_path / "report.html", title=attack), 400)
    assert "hacked" not in seen
    assert_drawn(seen, browser, 400)
    assert browser.evaluate("document.querySelector('h1').textContent") == attack
    assert attack in browser.evaluate("document.querySelector('.key button').textContent")


def test_a_run_without_any_evaluation_says_so(make_run: Callable[..., Path], browser: Browser, tmp_path: Path) -> None:
    page = write_report([make_run(eval_every=0, partition=False, rounds=3)], tmp_path / "report.html")
    assert_drawn(browser.open(page, 400), browser, 400)
    assert "No round was evaluated" in browser.evaluate("document.body.innerText")


@pytest.mark.parametrize("broken", ["throw new Error('deliberate')", "Promise.reject('deliberate')"])
def test_a_script_error_would_be_seen(
    make_run: Callable[..., Path], browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    working = page_script()
    monkeypatch.setattr("simulation.report.page.page_script", lambda: f"{working};\n{broken};")
    seen = browser.open(write_report([make_run(rounds=2)], tmp_path / "report.html"), 1280)
    assert any("deliberate" in error for error in json.loads(seen["scriptErrors"]))
    with pytest.raises(AssertionError, match="deliberate"):
        assert_drawn(seen, browser, 1280)


def test_a_page_that_is_too_wide_or_not_drawn_would_be_seen(
    make_run: Callable[..., Path], browser: Browser, tmp_path: Path
) -> None:
    page = write_report([make_run(rounds=2)], tmp_path / "report.html")
    page.write_text(page.read_text().replace("<main>", "<main><div style='width:2000px'>wide</div>"))
    seen = browser.open(page, 400)
    with pytest.raises(AssertionError):
        assert_drawn(seen, browser, 400)
    assert_drawn(seen | {"scrollWidth": "400"}, browser, 400)
    with pytest.raises(AssertionError):
        assert_drawn(seen | {"scrollWidth": "400", "rendered": "0"}, browser, 400)


def test_a_foreign_script_is_blocked_and_seen(make_run: Callable[..., Path], browser: Browser, tmp_path: Path) -> None:
    page = write_report([make_run(rounds=2)], tmp_path / "report.html")
    foreign = (
        "<script>document.documentElement.dataset.hacked=1</script><img src='https://example.invalid/x.png'></body>"
    )
    page.write_text(page.read_text().replace("</body>", foreign))
    seen = browser.open(page, 1280)
    assert "hacked" not in seen
    assert any("blocked" in error for error in json.loads(seen["scriptErrors"]))


def test_a_missing_browser_is_a_failure_where_one_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setenv("FEDLOOM_REQUIRE_BROWSER", "1")
    with pytest.raises(pytest.fail.Exception, match="install chromium"):
        find_browser()
    monkeypatch.setenv("FEDLOOM_REQUIRE_BROWSER", "0")
    with pytest.raises(pytest.skip.Exception, match="install chromium"):
        find_browser()
