"""Every reach into Flower's insides, for the one line of Flower that is supported (1.39); the rest of the tree uses its public modules.

| file | what it reaches into |
|---|---|
| `envelope.py` | the number and the sender of a message, the run that a process speaks for, error codes, records as bytes |
| `plain_array.py` | an `Array` whose bytes are made only when they are asked for |
| `unchecked.py` | records of values that need no check |
| `waiting.py` | how long and how often Flower looks for the arrays of a message |
| `secret_sharing.py` | the cryptographic pieces of SecAgg+ |
| `in_process.py` | Flower's simulation runtime, run in this process |
| `control.py` | the server's control interface: nodes with their names, runs with their options |
| `submission.py` | the same for one run: starting it, its log, how it ended |
| `node_patches.py` | a supernode that waits less and does not get stuck |
| `link_patches.py` | a superlink that knows sooner who is gone |
| `readable.py` | requests to its open port that cannot be read |
| `launching.py` | the process beside either of them that starts apps, as forks |
| `careful_grid.py` | the grid of a deployed run, which one site cannot hold up or bring down |

tests/fl_protocol/test_flower.py checks that each of these is still there, and that no other module reaches in.
The last eight import much, and are imported by name where they are needed.
"""

from fl_protocol.flower.envelope import (
    RESTARTED,
    SUPERLINK_NODE_ID,
    ErrorCode,
    Run,
    begin_run,
    from_bytes,
    set_message_id,
    set_sender,
    speak_for,
    to_bytes,
)
from fl_protocol.flower.plain_array import PlainArray
from fl_protocol.flower.unchecked import record_of
from fl_protocol.flower.waiting import wait_for_parts

__all__ = [
    "RESTARTED",
    "SUPERLINK_NODE_ID",
    "ErrorCode",
    "PlainArray",
    "Run",
    "begin_run",
    "from_bytes",
    "record_of",
    "set_message_id",
    "set_sender",
    "speak_for",
    "to_bytes",
    "wait_for_parts",
]
