"""How code is spelled; that `spelled` is the opposite of `resolve` stands in test_loading.py, which has the files for it."""

from __future__ import annotations

import pytest

from fl_config.errors import ConfigError
from fl_models.spelling import is_file, looks_like_code, parse, spelled, top_level_names


@pytest.mark.parametrize(
    ("spec", "file", "code"),
    [
        ("net.py:Net", True, True),
        ("nets/net:Net", True, True),
        ("net.py", True, True),
        ("torch.nn:Linear", False, True),
        ("json:JSONDecoder", False, True),  # one word, but a module of that name is there
        ("lenet", False, False),
        ("mlp:200,200", False, False),
        ("no_such_module:Net", False, False),
    ],
)
def test_what_means_code(spec: str, file: bool, code: bool) -> None:
    assert is_file(spec.partition(":")[0]) is file
    assert looks_like_code(spec) is code


def test_a_place_and_a_name() -> None:
    assert parse("C:/nets/net.py:Outer.Inner") == ("C:/nets/net.py", "Outer.Inner")
    assert parse("package.nets:make") == ("package.nets", "make")
    for nameless in ("net.py", "net.py:", "net.py:two words"):
        with pytest.raises(ConfigError, match="does not say what to take"):
            parse(nameless)


def test_names_without_running_the_text() -> None:
    text = "import a.b, c as d\nif x:\n    y = 1\nelse:\n    def f(): ...\nclass K: field = 2\nraise SystemExit\n"
    assert top_level_names(text) == {"a", "d", "y", "f", "K"}
    assert top_level_names("if x:\n    def f():\n        inner = 1\nelse:\n    class K:\n        field = 1\n") == {
        "f",
        "K",
    }
    assert top_level_names("a = [i for i in (b := x)]\nc = lambda: (d := 1)\n") == {"a", "b", "c"}
    caught = "try:\n    e = 1\nexcept E as error:\n    f = 1\nmatch x:\n    case [g, *h] as i:\n        j = 1\n"
    assert top_level_names(caught) == {*"efghij"}
    assert top_level_names("from torch.nn import *\n") is None
    assert top_level_names("def __getattr__(name): ...\n") is None


def test_spelled_by_module() -> None:
    assert spelled(parse) == "fl_models.spelling:parse"
