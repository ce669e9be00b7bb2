"""The dashboard as a web application: it answers GET only, only under names of this machine, and names of runs come from the list.

A page of another site cannot read it: there is no CORS, and a Host header that is a foreign name (DNS rebinding) is refused.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from simulation.dashboard.listing import Listing
from simulation.dashboard.pages import Pages

EVERY = 0.7  # seconds between two looks at the files
SHARE = 9  # times as long as a look is the pause after it: many runs must not cost a core
SIGN_OF_LIFE = 15.0  # seconds
MOST_CHOSEN = 200
HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


def make_app(
    folder: Path, shown: str = "", names: frozenset[str] = frozenset(), ending: Callable[[], bool] = bool
) -> ASGIApp:
    """`names` are further host names under which it answers; `ending` says that streams have to end."""
    pages = Pages(Listing(folder), shown or str(folder))

    async def runs(request: Request) -> Response:
        return HTMLResponse(await run_in_threadpool(pages.runs_page))

    async def rows(request: Request) -> Response:
        token, found = await run_in_threadpool(pages.rows)
        return JSONResponse({"token": token, "rows": found})

    async def view(request: Request) -> Response:
        code, page = await run_in_threadpool(pages.view, chosen_in(request))
        return HTMLResponse(page, code)

    async def events(request: Request) -> Response:
        ids = chosen_in(request)
        look = (lambda: pages.view_token(ids)) if ids else (lambda: pages.rows()[0])
        return StreamingResponse(changes(look, ending), media_type="text/event-stream")

    routes = [
        Route("/", runs, methods=["GET"]),
        Route("/runs.json", rows, methods=["GET"]),
        Route("/view", view, methods=["GET"]),
        Route("/events", events, methods=["GET"]),
    ]
    return Guard(Starlette(routes=routes), names)


def chosen_in(request: Request) -> list[str]:
    return list(dict.fromkeys(request.query_params.getlist("run")))[:MOST_CHOSEN]


async def changes(look: Callable[[], str], ending: Callable[[], bool]) -> AsyncIterator[str]:
    """Server-sent events: the token, at first and whenever it is another one."""
    before, quiet = None, 0.0
    while not ending():
        began = time.monotonic()
        token = await run_in_threadpool(look)
        pause = max(EVERY, SHARE * (time.monotonic() - began))
        if token != before:
            yield f"event: change\ndata: {token}\n\n"
            before, quiet = token, 0.0
        elif quiet >= SIGN_OF_LIFE:
            yield ": still here\n\n"
            quiet = 0.0
        await asyncio.sleep(pause)
        quiet += pause


class Guard:
    """Before anything is looked up: the method, the name by which we were called, and headers of every answer."""

    def __init__(self, app: ASGIApp, names: frozenset[str]) -> None:
        self.app = app
        self.names = names | {"localhost"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refusal = self.refusal(scope)
        app = self.app if refusal is None else refusal

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *((k.encode(), v.encode()) for k, v in HEADERS.items())]
            await send(message)

        await app(scope, receive, guarded)

    def refusal(self, scope: Scope) -> Response | None:
        if scope["method"] != "GET":
            return PlainTextResponse("The dashboard only shows runs: it answers GET.\n", 405, {"allow": "GET"})
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or not self.is_ours(hosts[0].decode("latin-1")):
            return PlainTextResponse(
                "The dashboard does not go by this name: open it by the address that it printed.\n", 421
            )
        return None

    def is_ours(self, host: str) -> bool:
        """Addresses are: only a name can be made to mean this machine by somebody else."""
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        name = name.removeprefix("[").removesuffix("]").lower().rstrip(".")
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self.names
        return True


def names_here(host: str) -> frozenset[str]:
    """The names of this machine, where the dashboard is open to others; at home it is only localhost."""
    if host in ("127.0.0.1", "::1", "localhost"):
        return frozenset()
    named: set[Any] = {host, socket.gethostname(), socket.getfqdn()}
    return frozenset(str(name).lower() for name in named)
