"""Replies of a masked sum: they come back as they were sent, and whatever does not fit is refused with a reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, RecordDict

from fl_protocol.flower import speak_for
from fl_protocol.messages import Peer
from fl_protocol.replies import BadReply
from fl_protocol.secure_replies import ByPlace, Keys, Masked

PEER = Peer("01" * 32, "02" * 32, "03" * 32)
WORDS = np.array([1, 2**64 - 1, 3], dtype="<u8")


def reply(content: RecordDict | Error) -> Message:
    speak_for(1)
    return Message(content, reply_to=Message(RecordDict(), 1, "query"))


def told(**values: Any) -> RecordDict:
    return RecordDict({"config": ConfigRecord(values)})


def sent(array: Array, name: str = "masked") -> RecordDict:
    return RecordDict({"arrays": ArrayRecord({name: array})})


def test_what_is_packed_is_read() -> None:
    assert Keys.read(reply(Keys(PEER).pack())).peer == PEER
    assert ByPlace.read(reply(ByPlace([b"", b"abc"]).pack()), 2, 3).each == [b"", b"abc"]
    words, size = Masked.read(reply(Masked(WORDS).pack()), 3)
    assert words.tolist() == WORDS.tolist() and size >= 24


@pytest.mark.parametrize(
    ("read", "content", "reason"),
    [
        (
            Keys.read,
            told(sealing=b"1", masking=b"2" * 32, commitment=b"3" * 32),
            "its sealing is missing or has not 32",
        ),
        (Keys.read, told(sealing=b"1" * 32, masking="2" * 32, commitment=b"3" * 32), "its masking is missing"),
        (Keys.read, told(sealing=b"1" * 32, masking=b"2" * 32), "its commitment is missing"),
        (lambda m: ByPlace.read(m, 2, 9), told(), "one share for each of 2 clients"),
        (lambda m: ByPlace.read(m, 2, 9), told(**{"by-place": [b"1"]}), "one share for each of 2 clients"),
        (lambda m: ByPlace.read(m, 1, 9), told(**{"by-place": ["1"]}), "one share for each of 1 clients"),
        (lambda m: ByPlace.read(m, 1, 9), told(**{"by-place": [b"1" * 10]}), "more than 9 bytes"),
        (lambda m: Masked.read(m, 3), told(), "did not send its vector under masks"),
        (lambda m: Masked.read(m, 3), sent(Array(WORDS), "weight"), "did not send its vector under masks"),
        (lambda m: Masked.read(m, 4), sent(Array(WORDS)), "no 4 words of 64 bits"),
        (lambda m: Masked.read(m, 3), sent(Array(WORDS.astype(np.float64))), "no 3 words of 64 bits"),
        (lambda m: Masked.read(m, 3), sent(Array("uint64", (3,), "numpy.ndarray", b"x" * 9999)), "takes 9999 bytes"),
        (lambda m: Masked.read(m, 3), sent(Array("uint64", (3,), "numpy.ndarray", b"garbage")), "cannot be read"),
        (lambda m: Masked.read(m, 3), Error(0, "it broke"), "the client failed: it broke"),
    ],
)
def test_what_does_not_fit_is_refused(read: Any, content: RecordDict | Error, reason: str) -> None:
    with pytest.raises(BadReply, match=reason):
        read(reply(content))
