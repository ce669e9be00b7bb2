"""A mistake in what is given to `fedloom deploy` is one sentence, and nothing is started."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fedloom.cli.deploy.replaced import fails


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["server", "--keys", "nowhere"], "nowhere/ca.crt"),
        (["server", "--fleet", "9092"], "HOST:PORT"),
        (["server", "--control", "h:99999"], "HOST:PORT"),
        (["client", "--server", "h:1", "--data", "npz:none.npz"], "federation has 0 files"),
        (["client", "--keys", "federation/clients/site-a", "--server", "h:1", "--data", "npz:none.npz"], "none.npz"),
        (["client", "--keys", "federation/clients/site-a", "--server", "h", "--data", "npz:a.npz"], "HOST:PORT"),
        (["client", "--server", "h:1"], "--data"),
        (["client", "--keys", "federation/clients/site-a", "--server", "h:1", "--partition-id", "x"], "whole number"),
        (["client", "--server", "h:1", "--data", "npz:a.npz", "--port", "x"], "--port"),
        (["client", "--server", "h:1", "--data", "npz:a.npz", "--heartbeat", "0"], "--heartbeat takes whole seconds"),
        (
            ["client", "--server", "h:1", "--data", "npz:a.npz", "--heartbeat", "0.5"],
            "--heartbeat takes a whole number",
        ),
        (
            ["client", "--server", "h:1", "--data", "npz:a.npz", "--heartbeat", "1801"],
            "up to 1800, but '1801' was given",
        ),
        (["client", "--server", "h:1", "--data", "npz:a.npz", "--max-retries", "-1"], "max-retries"),
        (["register", "--keys", "nowhere"], "nowhere"),
        (["register", "none.pub"], "none.pub"),
        (["submit", "--strategy", "fedavgg"], "did you mean 'fedavg'"),
        (["submit", "--keys", "nowhere"], "ca.crt"),
        (["submit", "--over-sample", "-1"], "over-sample"),
        (["submit", "--max-update-norm", "-1"], "max-update-norm"),
        (["submit", "--set", "disco.a=1"], "does not use"),
        (["submit", "--secure-threshold", "0.5"], "'secure-threshold': expected greater than 0.5, but 0.5"),
        (["submit", "--dp", "both"], "expected 'auto', 'none', 'local' or 'central', but 'both'"),
        (["trial", "--secure-aggregation", "--clients", "2"], "raise --clients or --fraction"),
        (["logs", "x", "--control", "127.0.0.1:9"], "does not answer"),
        (["status", "--control", "127.0.0.1:9"], "start it with `fedloom deploy server`"),
        (["revoke", "site-a", "--control", "9"], "HOST:PORT"),
        (["stop", "-1"], ""),
        (["nonsense"], "nonsense"),
    ],
)
def test_a_mistake_is_one_sentence(
    started: list[Any], capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    assert told in fails(capsys, *words)
    assert not started
