"""Read the plain values of CIFAR's published `-py` files from their opcodes, without executing anything.

The files are serialised Python objects. Their opcodes are walked here by a reader that knows strings, numbers,
lists, dicts, tuples and byte arrays; a name of a class or function stays a name, and is never imported or called.
"""

from __future__ import annotations

from pathlib import Path
from pickletools import genops
from typing import Any

import numpy as np

from fl_data.dataset import DataError

_MARK = object()
_VALUES = {
    "BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING", "BINSTRING",
    "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES",
    "BINBYTES8", "BYTEARRAY8",
}  # fmt: skip
_CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}


class _Call:
    """A call that the file asks for and that is not made: its name, its arguments, and the state given afterwards."""

    def __init__(self, name: Any, arguments: Any) -> None:
        self.name = name
        self.arguments = arguments
        self.state: Any = None


def read_inert(path: Path) -> dict[str, Any]:
    """The dict of one CIFAR file, with text keys; `data` comes as uint8 rows."""
    try:
        value = _walk(path.read_bytes())
    except (ValueError, IndexError, TypeError, KeyError, AttributeError) as error:
        raise DataError(
            f"{path} is not a complete CIFAR batch file ({error}); delete it and fetch it again."
        ) from error
    if not isinstance(value, dict):
        raise DataError(f"{path} holds no dict of arrays and labels; delete it and fetch it again.")
    return {_text(key): _array(item, path) if isinstance(item, _Call) else item for key, item in value.items()}


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def _pop_to_mark(stack: list[Any]) -> list[Any]:
    at = len(stack) - 1 - next(i for i, item in enumerate(reversed(stack)) if item is _MARK)
    items = stack[at + 1 :]
    del stack[at:]
    return items


def _walk(content: bytes) -> Any:
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    for opcode, argument, _ in genops(content):
        name = opcode.name
        if name in ("PROTO", "FRAME"):
            continue
        if name == "STOP":
            return stack.pop()
        if name in _VALUES:
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in ("BINPUT", "LONG_BINPUT", "PUT"):
            memo[int(str(argument))] = stack[-1]
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET", "GET"):
            stack.append(memo[int(str(argument))])
        else:
            _build(name, argument, stack)
    raise ValueError("it ends early")


def _build(name: str, argument: Any, stack: list[Any]) -> None:
    if name == "MARK":
        stack.append(_MARK)
    elif name == "GLOBAL":
        stack.append(f"name:{argument}")
    elif name == "STACK_GLOBAL":
        attribute, module = stack.pop(), stack.pop()
        stack.append(f"name:{module} {attribute}")
    elif name in ("EMPTY_DICT", "EMPTY_LIST", "EMPTY_TUPLE"):
        stack.append({"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}[name]())
    elif name in ("TUPLE", "LIST", "DICT"):
        items = _pop_to_mark(stack)
        made: Any = tuple(items) if name == "TUPLE" else items
        stack.append(dict(zip(items[::2], items[1::2], strict=True)) if name == "DICT" else made)
    elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
        count = int(name[-1])
        items = stack[-count:]
        del stack[-count:]
        stack.append(tuple(items))
    elif name in ("APPEND", "APPENDS"):
        items = [stack.pop()] if name == "APPEND" else _pop_to_mark(stack)
        stack[-1].extend(items)
    elif name in ("SETITEM", "SETITEMS"):
        items = [stack.pop(), stack.pop()][::-1] if name == "SETITEM" else _pop_to_mark(stack)
        stack[-1].update(zip(items[::2], items[1::2], strict=True))
    elif name == "REDUCE":
        arguments, function = stack.pop(), stack.pop()
        stack.append(_Call(function, arguments))
    elif name == "BUILD":
        state = stack.pop()
        stack[-1].state = state
    else:
        raise ValueError(f"opcode {name} has no place in it")


def _array(call: _Call, path: Path) -> np.ndarray:
    """The byte array that a `_reconstruct` call with its state (version, shape, dtype, order, bytes) describes."""
    if not (isinstance(call.state, tuple) and len(call.state) == 5 and "_reconstruct" in str(call.name)):
        raise DataError(f"{path} holds something else than arrays of bytes; delete it and fetch it again.")
    _, shape, dtype, fortran, raw = call.state
    # Newer writers wrap the bytes as a text and the name of its encoding.
    if isinstance(raw, _Call) and isinstance(raw.arguments, tuple) and raw.arguments:
        raw = raw.arguments[0]
    if isinstance(raw, str):
        raw = raw.encode("latin-1")
    kind = dtype.arguments[0] if isinstance(dtype, _Call) and isinstance(dtype.arguments, tuple) else None
    if _text(kind) not in ("u1", "|u1") or not isinstance(raw, bytes) or len(raw) != int(np.prod(shape)):
        raise DataError(f"{path} holds an array that is not {shape} unsigned bytes; delete it and fetch it again.")
    return np.frombuffer(raw, dtype=np.uint8).reshape(shape, order="F" if fortran else "C")
