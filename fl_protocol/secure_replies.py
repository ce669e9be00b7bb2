"""What a client says in the course of a masked sum: its public keys, sealed shares, the masked vector, and revealed shares."""

from __future__ import annotations

from dataclasses import dataclass

from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict

from fl_protocol.arrays import num_bytes, read_array, to_record
from fl_protocol.codec import CONFIG, configuration
from fl_protocol.masks import WORD, Words
from fl_protocol.messages import Peer
from fl_protocol.replies import ARRAYS, BadReply, check_answered

KEY, HASH = 32, 32  # bytes
MASKED = "masked"


@dataclass
class Keys:
    """The answer to ShowKeys."""

    peer: Peer

    def pack(self) -> RecordDict:
        shown = {name: bytes.fromhex(value) for name, value in vars(self.peer).items()}
        return RecordDict({CONFIG: ConfigRecord({**shown})})

    @classmethod
    def read(cls, message: Message) -> Keys:
        check_answered(message)
        told = configuration(message.content)
        for name, size in (("sealing", KEY), ("masking", KEY), ("commitment", HASH)):
            if not isinstance(told.get(name), bytes) or len(told[name]) != size:
                raise BadReply(f"its {name} is missing or has not {size} bytes")
        return cls(Peer(told["sealing"].hex(), told["masking"].hex(), told["commitment"].hex()))


@dataclass
class ByPlace:
    """The answer to ShareSecrets (sealed parcels) and to Unmask (revealed shares): one text of bytes per client, by place."""

    each: list[bytes]

    def pack(self) -> RecordDict:
        return RecordDict({CONFIG: ConfigRecord({"by-place": self.each})})

    @classmethod
    def read(cls, message: Message, count: int, longest: int) -> ByPlace:
        check_answered(message)
        told = configuration(message.content).get("by-place")
        if not isinstance(told, list) or len(told) != count or not all(isinstance(one, bytes) for one in told):
            raise BadReply(f"it did not send one share for each of {count} clients")
        if max(map(len, told)) > longest:
            raise BadReply(f"it sent a share of more than {longest} bytes")
        return cls(told)


@dataclass
class Masked:
    """The answer to Train under masks: 64-bit words, and nothing else."""

    words: Words

    def pack(self) -> RecordDict:
        return RecordDict({ARRAYS: to_record({MASKED: self.words})})

    @classmethod
    def read(cls, message: Message, length: int) -> tuple[Words, int]:
        """The words and their bytes on the wire."""
        check_answered(message)
        record = message.content.get(ARRAYS)
        if not isinstance(record, ArrayRecord) or set(record) != {MASKED}:
            raise BadReply("it did not send its vector under masks")
        array = record[MASKED]
        if tuple(array.shape) != (length,) or array.dtype != WORD.name:
            raise BadReply(f"its masked vector is no {length} words of 64 bits")
        if num_bytes(array) > length * WORD.itemsize + 4096:
            raise BadReply(f"its masked vector takes {num_bytes(array)} bytes, more than its length needs")
        try:
            words: Words = read_array(array)
        except ValueError as error:
            raise BadReply(f"its masked vector cannot be read: {error}") from None
        return words, num_bytes(array)
