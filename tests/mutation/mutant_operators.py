"""What tests/mutation/mutants.py changes in a source file: one small change of the syntax tree per mutant, and the lines that it touches."""

from __future__ import annotations

import ast
import copy
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

COMPARISONS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Mult,
}  # fmt: skip
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list", "zeros": "ones", "sum": "mean"}
NAMES |= {"mean": "sum", "argmax": "argmin", "maximum": "minimum", "minimum": "maximum", "setdefault": "get"}
REMOVED = (ast.AugAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete)
UNREAD = {"annotation", "returns", "decorator_list", "bases", "pattern"}  # fields whose change no test could see
Change = tuple[str, Any, ast.AST]  # the operator, the node that is replaced, the node that replaces it
Lines = tuple[int, int]  # first and last


@dataclass(frozen=True)
class Mutant:
    """One changed source file; `around` are the lines of the changed node and of everything around it, the innermost first."""

    file: str
    line: int
    column: int
    operator: str
    before: str
    after: str
    source: bytes
    around: tuple[Lines, ...]

    def record(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("file", "line", "column", "operator", "before", "after")}


def key(record: dict[str, Any]) -> str:
    """By which a mutant is known again."""
    return json.dumps([record[name] for name in ("file", "line", "column", "operator", "after")])


def mutants(file: str, source: bytes) -> Iterator[Mutant]:
    lines = source.splitlines(keepends=True)
    for (operator, old, new), around in walk(ast.parse(source)):
        start = sum(map(len, lines[: old.lineno - 1])) + old.col_offset
        end = sum(map(len, lines[: old.end_lineno - 1])) + old.end_col_offset
        after = ast.unparse(ast.fix_missing_locations(new))
        text = after if isinstance(new, ast.stmt | ast.Slice) else f"({after})"
        before = source[start:end].decode()
        mutated = source[:start] + text.encode() + source[end:]
        yield Mutant(file, old.lineno, old.col_offset, operator, before, after, mutated, around)


def sample(found: dict[str, list[Mutant]], count: int, seed: int) -> list[Mutant]:
    """`count` mutants, shared among the files by how much there is to change in each, but one of each file at least."""
    share = count / max(1, sum(map(len, found.values())))
    chosen: list[Mutant] = []
    for file, made in found.items():
        number = min(len(made), max(1, round(share * len(made))))
        chosen += random.Random(f"{seed} {file}").sample(made, number)
    return chosen


def walk(node: Any, around: tuple[Lines, ...] = ()) -> Iterator[tuple[Change, tuple[Lines, ...]]]:
    """Every change of a node and of what is below it."""
    if unmutated(node):
        return
    if hasattr(node, "lineno"):
        around = ((node.lineno, node.end_lineno), *around)
    yield from ((change, around) for change in changes(node))
    if not isinstance(node, ast.Raise):
        for name, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and name not in UNREAD:
                    yield from walk(child, around)


def unmutated(node: Any) -> bool:
    """Text, log lines and checks that are there for the type checker or that cannot fail: no behaviour is lost with them."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    if isinstance(node, ast.Expr):
        return ast.unparse(node).startswith("log.")
    if isinstance(node, ast.keyword):
        return node.arg == "strict"
    return isinstance(node, ast.JoinedStr | ast.Assert | ast.Import | ast.ImportFrom)


def changed(node: Any, **fields: Any) -> Any:
    twin = copy.copy(node)
    for name, value in fields.items():
        setattr(twin, name, value)
    return twin


def changes(node: Any) -> Iterator[Change]:
    match node:
        case ast.Compare(ops=[op]):
            yield "comparison", node, changed(node, ops=[COMPARISONS[type(op)]()])
        case ast.BinOp(op=op) if type(op) in ARITHMETIC:
            yield "arithmetic", node, changed(node, op=ARITHMETIC[type(op)]())
        case ast.BinOp(op=ast.BitOr() | ast.BitAnd()):
            yield "operand", node, node.left
        case ast.BoolOp(op=op):
            yield "and/or", node, changed(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield "sign", node, operand
        case ast.Constant(value=bool(value)):
            yield "constant", node, ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield "constant", node, ast.Constant(value + 1)
            if value:
                yield "constant", node, ast.Constant(0 if value == 1 else value - 1)
        case ast.Slice(lower=lower, upper=upper):
            yield "slice", node, changed(node, lower=ast.BinOp(lower or ast.Constant(0), ast.Add(), ast.Constant(1)))
            if upper is not None:
                yield "slice", node, changed(node, upper=ast.BinOp(upper, ast.Sub(), ast.Constant(1)))
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield "return", value, ast.Constant(None)
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]) | ast.Expr(value=ast.Call()):
            yield "removal", node, ast.Pass()
        case ast.comprehension(ifs=conditions):
            yield from (("filter", each, ast.Constant(True)) for each in conditions)
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield "condition", test, ast.UnaryOp(ast.Not(), test)
        case ast.Call():
            yield from call_changes(node)
        case ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield "arithmetic", node, changed(node, op=ARITHMETIC[type(op)]())
    if isinstance(node, REMOVED):
        yield "removal", node, ast.Pass()


def call_changes(node: ast.Call) -> Iterator[Change]:
    """Another function, or one keyword argument less."""
    function = node.func
    if isinstance(function, ast.Name) and function.id in NAMES:
        yield "function", function, ast.Name(NAMES[function.id])
    if isinstance(function, ast.Attribute) and function.attr in NAMES:
        yield "function", function, changed(function, attr=NAMES[function.attr])
    for keyword in node.keywords:
        if keyword.arg not in (None, "strict") and not isinstance(keyword.value, ast.Constant):
            yield "keyword", node, changed(node, keywords=[each for each in node.keywords if each is not keyword])
