"""The dashboard in a real browser: a list that sorts and filters, a run that goes on, files that are half-written or vanish."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from logging import FileHandler
from pathlib import Path

import pytest

from fl_config.held_files import held
from simulation.dashboard.serving import address_of, listen, serve
from tests.runs.made_runs import write_run
from tests.simulation.dashboard.test_listing import make_sweep
from tests.simulation.driven_browser import Browser, find_browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    driven = Browser(find_browser(), tmp_path_factory.mktemp("profile"))
    yield driven
    driven.close()


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A dashboard over tmp_path / "runs", in a thread of its own."""
    (tmp_path / "runs").mkdir()
    opened, ending = listen(), threading.Event()
    server = threading.Thread(target=serve, args=(tmp_path / "runs", opened), kwargs={"until": ending})
    server.start()
    yield address_of(opened, "127.0.0.1")
    ending.set()
    server.join(timeout=60)
    assert not server.is_alive()
    opened.close()


def assert_sound(browser: Browser, seen: dict[str, str], width: int, address: str) -> None:
    assert json.loads(seen["scriptErrors"]) == []
    assert [line for line in browser.console if "404" not in line] == []
    assert int(browser.evaluate("document.documentElement.scrollWidth")) <= width
    assert [url for url in browser.requests if not url.startswith((address, "data:", "blob:"))] == []


def names(browser: Browser) -> list[str]:
    return list(browser.evaluate("[...document.querySelectorAll('tbody th a')].map(one => one.textContent)"))


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_the_list_sorts_filters_and_compares(
    browser: Browser, address: str, tmp_path: Path, width: int, scheme: str
) -> None:
    for name in ("fedavg", "fedssa", "scaffold"):
        write_run(tmp_path / "runs" / name, strategy=name, rounds=4)
    write_run(tmp_path / "runs" / "dead", strategy="<b>dead", rounds=2, finished=False)
    make_sweep(tmp_path / "runs" / "sweep")
    seen = browser.open(address, width, scheme)
    assert_sound(browser, seen, width, address)
    assert set(names(browser)) == {"fedavg", "fedssa", "scaffold", "<b>dead", "fedavg, fedssa"}
    browser.evaluate("document.querySelector('th[data-sort=strategy] button').click()")
    assert names(browser) == sorted(names(browser))
    browser.evaluate("document.querySelector('th[data-sort=figure] button').click()")
    figures = "[...document.querySelectorAll('tbody tr td.number:first-of-type, tbody tr td:nth-child(4)')].map(one => parseFloat(one.textContent))"
    shown = browser.evaluate(figures)
    assert shown == sorted(shown, reverse=True)
    browser.evaluate("document.querySelector('.states [data-state=failed]').click()")
    assert names(browser) == ["<b>dead"]
    browser.evaluate("document.querySelector('.states [data-state=failed]').click()")
    typed = (
        "(text) => {const f = document.getElementById('filter'); f.value = text; f.dispatchEvent(new Event('input'));}"
    )
    browser.evaluate(f"({typed})('digits')")
    assert "Nothing fits the filter" in browser.evaluate("document.body.innerText")
    browser.evaluate(f"({typed})('finished SCAF')")
    assert names(browser) == ["scaffold"]
    browser.evaluate(f"({typed})('')")
    browser.evaluate("[...document.querySelectorAll('.pick input')].slice(0, 2).forEach(one => one.click())")
    link = browser.evaluate("document.querySelector('.choice a').href")
    assert link.count("run=") == 2 and browser.evaluate("document.querySelector('.choice').hidden") is False
    seen = browser.open(link, width, scheme)
    assert_sound(browser, seen, width, address)
    assert int(seen["figures"]) > 5 and seen["rendered"] == seen["figures"]


@pytest.mark.parametrize("width", [1280, 400])
def test_a_run_that_goes_on_updates_by_itself_until_its_folder_vanishes(
    browser: Browser, address: str, tmp_path: Path, width: int
) -> None:
    other = write_run(tmp_path / "other", rounds=8, finished=False)
    lines = (other / "metrics.jsonl").read_text().splitlines(keepends=True)
    browser.open(f"{address}view?run=going", width)
    assert "appears here by itself" in browser.evaluate("document.body.innerText")
    folder = tmp_path / "runs" / "going"
    (other / "metrics.jsonl").write_text("".join(lines[:4]))
    shutil.copytree(other, folder)
    log = held(FileHandler(folder / "log.txt"))
    browser.until("document.querySelector('.status .told')?.textContent.startsWith('round 3 of 8')")
    choose = "(() => {const s = document.querySelector('details'); s.open = true; window.scrollTo(0, 300);})()"
    browser.evaluate(choose)
    points = "document.querySelectorAll('#figure-0 .mark.line path').length"
    before = browser.evaluate(points)
    with (folder / "metrics.jsonl").open("a") as file:
        file.write(lines[4] + lines[5] + lines[6][:40])  # the last one is only half-written
    browser.until("document.querySelector('.status .told').textContent.startsWith('round 5 of 8')")
    assert browser.evaluate(points) == before + 2
    assert browser.evaluate("document.querySelector('details').open && window.scrollY === 300")
    assert "Running" in browser.evaluate("document.querySelector('.status').innerText")
    assert_sound(browser, browser.evaluate("({...document.documentElement.dataset})"), width, address)
    log.close()
    browser.until("document.querySelector('.status .chip').textContent === 'Failed'")
    shutil.rmtree(folder)
    browser.until("document.body.innerText.includes('There is no run going')")
    assert_sound(browser, browser.evaluate("({...document.documentElement.dataset})"), width, address)


def test_the_list_follows_its_folder(browser: Browser, address: str, tmp_path: Path) -> None:
    browser.open(address, 400)
    assert "No runs yet" in browser.evaluate("document.body.innerText")
    folder = write_run(tmp_path / "runs" / "a", rounds=3, finished=False)
    browser.until("document.documentElement.dataset.rows === '1'")
    log = held(FileHandler(folder / "log.txt"))
    browser.until("document.querySelector('tbody .chip')?.textContent === 'Running'")
    log.close()
    (folder / "config.toml").write_bytes(b"\xff")
    browser.until("document.querySelector('tbody .problem')?.textContent.includes('cannot be read')")
    shutil.rmtree(tmp_path / "runs")
    browser.until("document.body.innerText.includes('No runs yet')")
    assert_sound(browser, browser.evaluate("({...document.documentElement.dataset})"), 400, address)
