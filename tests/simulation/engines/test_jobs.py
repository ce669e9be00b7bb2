"""What a call is made of: one share each where that is quick, small helpings where it is not, the longest clients first."""

from __future__ import annotations

from typing import Any

import pytest
from flwr.app import Message, MessageType, RecordDict

from fl_protocol.flower import speak_for
from simulation.engines.jobs import BATCH_SECONDS, Job, JobQueue, Pace
from simulation.engines.transport.shared_memory import LINE
from simulation.engines.transport.wire import FIRST_NODE, RUN_ID, Answer

TRAIN = MessageType.TRAIN


def job(client: int) -> Job:
    return Job(Message(RecordDict(), FIRST_NODE + client, TRAIN), {})


def queue(count: int, seconds: float | None, bytes: int = 1000) -> JobQueue:
    speak_for(RUN_ID)
    made = JobQueue(foretold=range(count))
    for client in range(count):
        made.put(job(client))
    if seconds is not None:
        made.paces[TRAIN] = Pace(seconds, bytes)
    return made


def taken(jobs: JobQueue, workers: int, known: Any = (TRAIN,)) -> list[int]:
    return [job.client for job in jobs.take(known, workers)]


def test_a_quick_round_is_one_call_per_worker() -> None:
    jobs = queue(10, BATCH_SECONDS / 10)
    assert taken(jobs, 2) == [9, 8, 7, 6, 5]
    assert taken(jobs, 1) == [4, 3, 2, 1, 0]


def test_a_longer_one_is_dealt_in_helpings() -> None:
    jobs = queue(40, BATCH_SECONDS / 10)
    assert len(taken(jobs, 2)) == 6  # a quarter of a share
    assert len(taken(queue(400, BATCH_SECONDS / 10), 2)) == 10  # no more than should take so long


def test_long_clients_are_dealt_one_by_one() -> None:
    jobs = queue(10, 2 * BATCH_SECONDS)
    assert [taken(jobs, 2) for _ in range(3)] == [[9], [8], [7]]


def test_the_longest_are_known_beforehand_or_from_replies() -> None:
    speak_for(RUN_ID)
    jobs = JobQueue(foretold=[5, 9])  # nothing is known of client 2
    jobs.learn(job(0), Answer({"metrics": ("metrics", {"num-examples": 20})}, {}))
    for client in range(3):
        jobs.put(job(client))
    assert [taken(jobs, 1, known=()) for _ in range(3)] == [[0], [1], [2]]
    assert jobs.sizes == {0: 20}


@pytest.mark.parametrize("known", [(), (MessageType.QUERY,)])
def test_the_first_of_a_kind_comes_alone(known: Any) -> None:
    assert taken(queue(10, 1e-6), 2, known) == [9]
    assert taken(queue(10, None), 2) == [9]


def test_room_for_the_answers_is_known_once_one_has_come() -> None:
    jobs = queue(4, 0.001, bytes=1000)
    assert jobs.expected_bytes([entry[2] for entry in jobs.heap]) == 4 * (1000 + LINE)
    assert queue(4, None).expected_bytes([entry[2] for entry in jobs.heap]) == 0
