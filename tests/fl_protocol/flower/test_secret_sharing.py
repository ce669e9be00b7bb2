"""Flower's Shamir shares and sealed parcels do what is relied on."""

from __future__ import annotations

from itertools import combinations

from fl_protocol.flower.secret_sharing import opened, sealed, secret_of, share_bytes, shares_of

SECRET = bytes(range(31))
KEY = bytes(32)


def test_any_three_of_five_make_the_secret_and_two_do_not() -> None:
    shares = shares_of(SECRET, 3, 5)
    assert {secret_of(three) for three in combinations(shares, 3)} == {SECRET}
    assert all(secret_of(two) != SECRET for two in combinations(shares, 2))
    assert [int.from_bytes(share[:4], "little") for share in shares] == [1, 2, 3, 4, 5]
    assert {len(share) for share in shares} == {share_bytes(len(SECRET))} == {36}
    assert shares_of(SECRET, 3, 5) != shares, "the shares are not random"


def test_a_share_says_nothing_of_the_secret() -> None:
    """The first shares of two secrets that differ in every bit are alike: all values of a byte come up in both."""
    zeros = {shares_of(bytes(15), 2, 2)[0][4:] for _ in range(64)}
    ones = {shares_of(b"\xff" * 15, 2, 2)[0][4:] for _ in range(64)}
    assert len(zeros) == len(ones) == 64
    for drawn in (zeros, ones):
        bits = sum(bin(byte).count("1") for share in drawn for byte in share) / (64 * 128)
        assert abs(bits - 0.5) < 0.05


def test_a_wrong_share_makes_another_secret_or_none() -> None:
    shares = shares_of(SECRET, 3, 5)
    spoilt = shares[0][:-1] + bytes([shares[0][-1] ^ 1])
    assert secret_of([spoilt, *shares[1:3]]) != SECRET
    assert secret_of([shares[0], shares[0], shares[1]]) == b""


def test_a_parcel_opens_for_its_addressee_only() -> None:
    parcel = sealed(KEY, 1, 2, (b"one", b"other"))
    assert opened(KEY, 1, 2, parcel) == (b"one", b"other")
    assert opened(b"\x01" * 32, 1, 2, parcel) == (b"", b"")
    assert opened(KEY, 2, 1, parcel) == opened(KEY, 1, 3, parcel) == (b"", b"")
    assert opened(KEY, 1, 2, parcel[:-4] + b"AAA=") == (b"", b"")
    assert opened(KEY, 1, 2, b"") == (b"", b"")
