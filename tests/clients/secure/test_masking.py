"""Masks that cancel in the sum: among whom a client masks, and with which keys."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clients.secure.masking import host_secret, masked, public_key
from fl_config.errors import ConfigError


def test_a_client_masks_only_among_three_others_and_itself(tmp_path: Path) -> None:
    secrets = [host_secret(tmp_path / f"{i}.secret") for i in range(4)]
    assert (tmp_path / "0.secret").stat().st_mode & 0o777 == 0o600
    assert host_secret(tmp_path / "0.secret") == secrets[0]
    keys = [public_key(secret, "s") for secret in secrets]
    values = np.array([1, 2, 3])
    for wrong in (keys[:2], keys[1:], [keys[0]] * 3, [keys[0], keys[1], keys[1]]):
        with pytest.raises(ConfigError, match="3 or more different clients"):
            masked(values, secrets[0], "s", wrong)
    assert public_key(secrets[0], "other") != keys[0], "a key is used for two sums"
    first, second = masked(values, secrets[0], "s", keys), masked(values, secrets[0], "s", keys[:3])
    known = np.frombuffer(first, "<u8") - np.frombuffer(second, "<u8")
    assert (known > 2**40).all() and not np.array_equal(first, second)


def test_a_number_that_could_make_the_sum_overflow_is_a_sentence(tmp_path: Path) -> None:
    secrets = [host_secret(tmp_path / f"{i}.secret") for i in range(3)]
    keys = [public_key(secret, "s") for secret in secrets]
    largest = (2**63 - 1) // 3
    assert masked(np.array([largest]), secrets[0], "s", keys)
    with pytest.raises(ConfigError, match="too large for a secure sum over 3 clients"):
        masked(np.array([0, -largest - 1]), secrets[0], "s", keys)
