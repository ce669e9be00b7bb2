"""What the handler of SIGINT raised comes out of the block, also where it got lost inside; other handlers are left alone."""

from __future__ import annotations

import contextlib
import os
import signal
import threading

import pytest

from simulation.engines.interrupts import NoInterruptLost

pytestmark = pytest.mark.usefixtures("interruptible")


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def swallowed() -> None:
    with contextlib.suppress(KeyboardInterrupt):
        interrupt()
        raise AssertionError("the interrupt did not arrive")


def turned_into_another_error() -> None:
    swallowed()
    raise RuntimeError("something else is made of it")


class Dying:
    """Python prints what is raised in a destructor and goes on, as it does in callbacks of compiled code."""

    def __del__(self) -> None:
        interrupt()


def test_a_swallowed_interrupt_is_raised_at_the_end_of_the_block() -> None:
    with pytest.raises(KeyboardInterrupt), NoInterruptLost():
        swallowed()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_one_that_arrives_in_a_destructor_is_raised_too() -> None:
    with pytest.raises(KeyboardInterrupt), NoInterruptLost():
        Dying()


def test_one_that_becomes_another_error_is_still_an_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt), NoInterruptLost():
        turned_into_another_error()


def test_one_that_comes_out_by_itself_is_raised_as_it_is() -> None:
    with pytest.raises(KeyboardInterrupt) as caught, NoInterruptLost():
        interrupt()
    assert caught.value.__context__ is None
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_errors_pass_and_a_quiet_block_raises_nothing() -> None:
    with NoInterruptLost():
        pass
    with pytest.raises(ValueError, match="its own"), NoInterruptLost():
        raise ValueError("its own")


def test_a_handler_that_raises_nothing_is_called_and_left_alone() -> None:
    calls: list[int] = []

    def note(number: int, _: object) -> None:
        calls.append(number)

    signal.signal(signal.SIGINT, note)
    with NoInterruptLost():
        interrupt()
    assert calls == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is note


def test_an_ignored_signal_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with NoInterruptLost():
        interrupt()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_other_threads_are_not_touched() -> None:
    problems: list[BaseException] = []

    def work() -> None:
        try:
            with NoInterruptLost():
                assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not problems
