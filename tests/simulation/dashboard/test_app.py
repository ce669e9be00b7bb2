"""What the dashboard answers, and whom."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from simulation.dashboard.app import HEADERS, changes, make_app, names_here
from tests.runs.made_runs import write_run


def ask(app: Any, path: str, method: str = "GET", query: str = "", **headers: str) -> tuple[int, dict[str, str], str]:
    """One request, as the server would hand it over."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    given = {"host": "127.0.0.1:8000"} | headers
    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in given.items() if value],
        "root_path": "",
        "scheme": "http",
        "http_version": "1.1",
    }
    asyncio.run(app(scope, receive, send))
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], {k.decode(): v.decode() for k, v in sent[0]["headers"]}, body.decode()


@pytest.fixture
def app(tmp_path: Path) -> Any:
    write_run(tmp_path / "a", rounds=2)
    return make_app(tmp_path, "runs")


def test_pages_have_headers_that_keep_others_out(app: Any) -> None:
    for path, query, kind in (
        ("/", "", "text/html"),
        ("/view", "run=a", "text/html"),
        ("/runs.json", "", "application/json"),
    ):
        code, headers, body = ask(app, path, query=query)
        assert code == 200 and headers["content-type"].startswith(kind) and body
        assert headers.items() >= HEADERS.items()
        assert not [name for name in headers if name.startswith("access-control")]
    assert ask(app, "/view", query="run=../a")[0] == 404
    for path in ("/nothing", "/../etc/passwd", "/a/config.toml", "/static/x"):
        assert ask(app, path)[0] == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"])
def test_nothing_but_get_is_answered(app: Any, method: str) -> None:
    code, headers, _ = ask(app, "/", method)
    assert code == 405 and headers["allow"] == "GET"


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:80", "localhost:9", "LOCALHOST.", "[::1]:9", "[::1]", "192.168.0.7:1"]
)
def test_addresses_and_localhost_are_our_names(app: Any, host: str) -> None:
    assert ask(app, "/", host=host)[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "", ":1", "@"]
)
def test_a_foreign_name_is_refused(app: Any, host: str) -> None:
    code, _, body = ask(app, "/runs.json", host=host)
    assert code == 421 and "rows" not in body


def test_the_machines_own_names_count_only_where_it_is_open_to_others(tmp_path: Path) -> None:
    assert names_here("127.0.0.1") == frozenset()
    assert "lab.example" in names_here("lab.example")
    assert ask(make_app(tmp_path, names=names_here("lab.example")), "/", host="lab.example:8")[0] == 200


def test_events_tell_of_changes_and_end_when_the_server_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simulation.dashboard.app.EVERY", 0.0)
    monkeypatch.setattr("simulation.dashboard.app.SHARE", 0)
    tokens = iter(["one", "one", "two", "two", "two"])
    rest = [5]

    def ending() -> bool:
        rest[0] -= 1
        return rest[0] < 0

    async def heard() -> list[str]:
        return [event async for event in changes(lambda: next(tokens), ending)]

    assert asyncio.run(heard()) == ["event: change\ndata: one\n\n", "event: change\ndata: two\n\n"]
