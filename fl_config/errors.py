"""Wrong input as sentences: what was given, what was expected, and the nearest name that exists."""

from __future__ import annotations

import difflib
import errno
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fl_config.synonyms import SYNONYMS

if TYPE_CHECKING:  # errors are known before anything else is loaded
    from pydantic import ValidationError


class ConfigError(ValueError):
    """A wrong option or parameter; the message is a sentence for the user."""


class RunCutShort(OSError):
    """The system refused something in the midst of a run; the message says what, and how the run goes on."""


def sentences(error: ValidationError, what: str) -> str:
    """One line per wrong key: which key, what was expected, what was given; `what` may end in a comma, for the key that follows."""
    expected: dict[str, list[str]] = {}
    given: dict[str, Any] = {}
    for problem in error.errors():
        words = [str(word) for word in problem["loc"]]
        key = next(
            (word for word in words if "." in word), words[0] if words else ""
        )  # the dotted key of a part's parameter
        message = problem["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
        expected.setdefault(key, []).append(message[0].lower() + message[1:])
        given[key] = problem.get("input")
    lines = []
    for key, messages in expected.items():
        wanted = " or ".join(dict.fromkeys(messages))
        lines.append(
            f"{what} {key!r}: expected {wanted}, but {given[key]!r} was given."
            if key
            else f"{what.rstrip(',')}: {wanted}."
        )
    return "\n".join(lines)


def nearest(name: str, names: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: '; did you mean X?', or a full stop."""
    close = closest(name, names)
    return f"; did you mean {close!r}?" if close else "."


def closest(name: str, names: Iterable[str]) -> str | None:
    """The name that was probably meant: the same in another spelling, one that means the same, or one that looks alike."""
    known = {_plain(each): each for each in names}
    wanted = _plain(name)
    meant, _, value = SYNONYMS.get(wanted, "").partition(" ")
    if wanted in known or (meant and _plain(meant) in known):
        return known[wanted] if wanted in known else f"{known[_plain(meant)]} {value}".strip()
    close = difflib.get_close_matches(wanted, known, n=1, cutoff=0.5)
    return known[close[0]] if close else None


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


def trouble(error: OSError) -> str:
    """What the system would not do, as a sentence: which file, why, and what helps."""
    if isinstance(error, RunCutShort):
        return str(error)
    named = [name for name in (error.filename2, error.filename) if isinstance(name, str | os.PathLike)]
    what = f"{os.fspath(named[0])} cannot be used" if named else "The system refused something"
    reason = (error.strerror or str(error) or type(error).__name__).rstrip(".")
    return f"{what} ({reason}): {_REMEDIES.get(error.errno or 0, 'see to it, then give the command again')}."


_REMEDIES = {
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room in your share of the disk",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f)",
    errno.EROFS: "choose a place that can be written to",
    errno.EACCES: "choose a place that you may use, or have its permissions changed",
    errno.EPERM: "choose a place that you may use, or have its permissions changed",
    errno.ENOTDIR: "a file stands where a folder is needed, choose another place",
    errno.EEXIST: "a file stands where a folder is needed, choose another place",
    errno.EISDIR: "a folder stands where a file is needed, choose another name",
    errno.ENOENT: "look whether it is there, and still there",
    errno.EMFILE: "raise the limit of open files (ulimit -n), or take fewer --workers",
    errno.ENFILE: "close some of the files that are open on this machine",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.EIO: "look into the system's log, the disk or its connection has failed",
    errno.ENOMEM: "take fewer --workers or a smaller --batch-size",
    errno.ECONNREFUSED: "look whether somebody answers there",
}


def last_line(text: str | None) -> str:
    """The last line of an error text, where the exception stands, cut to a readable length."""
    lines = [line for line in (text or "").strip().splitlines() if line.strip()]
    return lines[-1].strip()[:300] if lines else "no reason given"
