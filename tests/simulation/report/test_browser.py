"""The report in a real browser: it draws every figure, raises no script error, and fits a desktop, a phone and paper."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from simulation.report.page import page_script, write_report
from simulation.report.sections import SECTIONS
from tests.simulation.driven_browser import Browser, find_browser
from tests.simulation.report.headline_runs import with_headline

WIDTHS = (1280, 400)


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


def test_pointing_tells_the_values_and_a_legend_hides_what_is_pressed(
    make_run: Callable[..., Path], browser: Browser, tmp_path: Path
) -> None:
    runs = [make_run(f"fedavg-{k}", seed=k, rounds=4) for k in (1, 2)]
    browser.open(write_report([*runs, make_run("b", strategy="fedssa", rounds=4)], tmp_path / "report.html"), 1280)
    pointed = """(selector, x, y) => {
      const figure = document.querySelector(selector), box = figure.querySelector("svg.plot").getBoundingClientRect();
      const place = {clientX: box.left + x * box.width, clientY: box.top + y * box.height, bubbles: true};
      figure.dispatchEvent(new PointerEvent("pointermove", place));
      return figure.querySelector(".tip").hidden ? null : figure.querySelector(".tip").innerText;
    }"""
    told = browser.evaluate(f"({pointed})('#figure-0', 0.99, 0.5)")
    assert told.startswith("Round 4\n") and "fedavg" in told and "±" in told and "fedssa" in told and "%" in told
    assert browser.evaluate(f"({pointed})('#figure-0', 0.5, -0.5)") is None
    section = "[...document.querySelectorAll('section')].find(one => one.querySelector('h2').textContent === '{}')"
    for title, said in (
        ("Weights of the clients", "weight"),
        ("Classes over time", "round"),
        ("Who holds what", "examples"),
    ):
        figure = section.format(title) + ".querySelector('.figure').id"
        texts = [browser.evaluate(f"({pointed})('#' + {figure}, {x / 12}, 0.6)") for x in range(2, 11)]
        assert any(text and said in text for text in texts), title
    time = section.format("Time")
    bars = f"{time}.querySelectorAll('.mark.bars').length"
    before = browser.evaluate(bars)
    browser.evaluate(f"{time}.querySelector('.legend button').click()")
    assert browser.evaluate(bars) == before - 1
    assert json.loads(browser.evaluate("document.documentElement.dataset.scriptErrors")) == []


def test_a_picture_can_be_kept_as_a_file_of_its_own(
    make_run: Callable[..., Path], browser: Browser, tmp_path: Path
) -> None:
    runs = [make_run(name, strategy=name, rounds=4) for name in ("fedavg", "fed<ssa>")]
    browser.open(write_report(runs, tmp_path / "report.html"), 1280, "dark")
    kept = """(() => {
      const made = HTMLAnchorElement.prototype.click; let text = "";
      HTMLAnchorElement.prototype.click = function () { text = this.download + "|" + decodeURIComponent(this.href); };
      document.querySelector("button.save").click();
      HTMLAnchorElement.prototype.click = made;
      return text;
    })()"""
    name, _, content = browser.evaluate(kept).partition("|data:image/svg+xml;charset=utf-8,")
    assert name == "Accuracy.svg" and content.startswith("<svg") and "var(--" not in content
    parsed = browser.evaluate(
        f"new DOMParser().parseFromString({json.dumps(content)}, 'image/svg+xml').documentElement.textContent"
    )
    assert "fed<ssa>" in parsed and "Round" in parsed


def test_paper_is_light_and_nothing_on_it_is_cut(
    make_run: Callable[..., Path], browser: Browser, tmp_path: Path
) -> None:
    page = write_report([with_headline(make_run(dropped=True, extra=True))], tmp_path / "report.html")
    browser.open(page, 1280, "dark")
    dark = browser.evaluate("document.querySelector('.cell').getAttribute('fill')")
    browser.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    browser.call("Emulation.setEmulatedMedia", media="print", features=[])
    assert browser.evaluate("document.querySelector('.cell').getAttribute('fill')") != dark
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    cut = """[...document.querySelectorAll('.figure')].filter(one => {
      const own = one.getBoundingClientRect(), card = one.closest('section').getBoundingClientRect();
      return own.right > card.right + 1 || own.bottom > card.bottom + 1 || getComputedStyle(one.closest('section')).breakInside !== 'avoid';
    }).length"""
    assert browser.evaluate(cut) == 0
    paper = browser.call("Page.printToPDF", printBackground=True)["data"]
    assert base64.b64decode(paper).startswith(b"%PDF")
    browser.evaluate("window.dispatchEvent(new Event('afterprint'))")
    browser.call("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    browser.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert browser.evaluate("document.querySelector('.cell').getAttribute('fill')") == dark


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
    monkeypatch.setattr("simulation.report.page.page_script", lambda more: f"{working};\n{broken};")
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
