"""The soak in its short form: a few rounds with a fault every few seconds, everything explained, nothing left."""

from __future__ import annotations

from pathlib import Path

from tests.deploy.drills.explained import Fault
from tests.deploy.drills.soak import soaked


def test_a_disturbed_run_can_be_explained(tmp_path: Path) -> None:
    soak, wrong = soaked(tmp_path, rounds=15, seed=1, seconds=(4.0, 10.0))
    assert wrong == []
    assert len(soak.faults) >= 2


def test_a_fault_explains_its_own_site_for_a_while() -> None:
    fault = Fault("cut link", "site-a", began=100.0, ended=120.0)
    assert fault.explains("site-a", 110, 130) and not fault.explains("site-b", 110, 130)
    assert not fault.explains("site-a", 80, 99) and not fault.explains("site-a", 500, 510)
    assert Fault("kill server", "", 100.0, 120.0).explains("site-b", 110, 130)
