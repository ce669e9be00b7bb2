"""Code that users bring: spellings, texts and their SHA-256, modules made of a text, and a sentence for every mistake."""

from __future__ import annotations

import hashlib
import inspect
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from torch import nn

from fl_config.errors import ConfigError
from fl_models import building, loading
from fl_models.loading import Source, being_loaded, check_code, from_text, resolve, source_of
from fl_models.spelling import looks_like_code, spelled

NET = """
from torch import nn


class Net(nn.Module):
    def __init__(self, num_classes=10, shape=(3, 32, 32)):
        super().__init__()
        self.fc = nn.Linear(shape[0], num_classes)

    def forward(self, x):
        return self.fc(x)


def make(num_outputs):
    return Net(num_outputs, (4,))


class Outer:
    Inner = Net
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "my_net.py").write_text(NET)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").write_text("")
    (tmp_path / "mine" / "nets.py").write_text(NET + "\nfrom mine import __name__ as package\n")
    yield tmp_path
    for name in [each for each in sys.modules if each == "mine" or each.startswith(("mine.", loading.PRIVATE))]:
        del sys.modules[name]


def test_a_file_and_a_module(folder: Path) -> None:
    for spec in ("my_net.py:Net", f"{folder}/my_net.py:Net", "./my_net.py:Outer.Inner", "mine.nets:Net"):
        assert looks_like_code(spec)
        check_code(spec)
        assert resolve(spec).__name__ == "Net"
    assert looks_like_code("my_net:Net") and resolve("my_net:make") is not None
    assert resolve("my_net.py:Net") is resolve("./my_net.py:Net")
    assert resolve(nn.Linear) is nn.Linear
    for spec in ("lenet", "mlp:200,200", "resnet18:bn", "auto", "lenet5:bn", ""):
        assert not looks_like_code(spec)


def test_the_text_and_what_identifies_it(folder: Path) -> None:
    digest = hashlib.sha256(NET.encode()).hexdigest()
    assert source_of("my_net.py:Net") == ("my_net.py", NET, digest)
    assert source_of("mine.nets:Net").place == "mine.nets"
    assert source_of(resolve("my_net.py:Net")).sha256 == digest
    assert source_of(resolve("mine.nets:Net")).text.startswith(NET)


def test_a_text_becomes_a_module_that_python_can_work_with(folder: Path) -> None:
    (folder / "my_net.py").unlink()
    module = from_text("my_net.py", NET)
    assert from_text("my_net.py", NET) is module and sys.modules[module.__name__] is module
    assert module.__name__.startswith(loading.PRIVATE + "my_net_")
    assert from_text("my_net.py", NET + "\n") is not module
    assert inspect.getsource(module.Net).startswith("class Net(nn.Module)")
    copied = pickle.loads(pickle.dumps(module.Net(2, (4,))))
    assert type(copied) is module.Net


def test_the_given_text_wins_over_the_disk(folder: Path) -> None:
    other = NET.replace("class Net", "class Before(nn.Module): ...\n\n\nclass Net")
    assert resolve("my_net.py:Before", Source.of("my_net.py", other)).__name__ == "Before"
    assert resolve("mine.nets:Before", Source.of("mine.nets", other)).__module__.startswith(loading.PRIVATE)
    assert resolve("mine.nets:Net", source_of("mine.nets:Net")).__module__ == "mine.nets"
    assert resolve("elsewhere.nets:Net", Source.of("elsewhere.nets", NET)).__name__ == "Net"


def test_spelled_is_the_opposite_of_resolve(folder: Path) -> None:
    for spec in ("my_net.py:Net", "my_net.py:Outer.Inner", "mine.nets:make"):
        thing = resolve(spec)
        assert resolve(spelled(thing)) is thing
    assert spelled(nn.Linear) == "torch.nn.modules.linear:Linear"

    class Local(nn.Module): ...

    for nameless in (Local, lambda: None, nn.Linear(2, 2)):
        with pytest.raises(ConfigError, match="top level of a file"):
            spelled(nameless)


def test_a_class_of_a_script_is_spelled_by_its_file(folder: Path) -> None:
    script = folder / "script.py"
    script.write_text(
        NET + "\nfrom fl_models.spelling import spelled\nif __name__ == '__main__':\n    print(spelled(Net))\n"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, env={"PYTHONPATH": str(root)}, cwd=folder, check=False
    )
    assert done.stdout.strip() == "script.py:Net", done.stderr
    assert resolve("script.py:Net").__name__ == "Net"


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("my_net.py", "'my_net.py' does not say what to take: .* where NAME may be Net, Outer"),
        ("my_net.py:", "does not say what to take: .* where NAME may be Net, Outer"),
        ("my_net", "does not say what to take: .* where NAME may be Net, Outer"),
        ("mine.nets", "does not say what to take: .* where NAME may be Net, Outer"),
        ("my_net.Net", r"does not say what to take: .*; did you mean 'my_net:Net'\?"),
        ("my_net.py:Nett", "my_net.py has no 'Nett'; did you mean 'Net'"),
        ("your_net.py:Net", "file your_net.py cannot be read"),
        ("no.such.module:Net", "no module 'no.such.module' here"),
        ("broken.py:Net", r"broken\.py is not Python: .* \(line 2\)"),
        ("latin.py:Net", "not UTF-8"),
    ],
)
def test_wrong_spellings_are_sentences_before_anything_is_run(folder: Path, spec: str, sentence: str) -> None:
    (folder / "broken.py").write_text("x = 1\nclass Net(:\n")
    (folder / "latin.py").write_bytes(b"# \xe9\n")
    with pytest.raises(ConfigError, match=sentence):
        building.check_model_spec(spec)


def test_checking_runs_nothing(folder: Path) -> None:
    (folder / "loud.py").write_text("raise SystemExit(3)\nfrom torch.nn import *\n")
    check_code("loud.py:Linear")
    with pytest.raises(ConfigError, match=r"loud\.py fails in line 1: SystemExit: 3"):
        resolve("loud.py:Linear")


def test_what_a_file_raises_is_a_sentence_and_leaves_nothing_behind(folder: Path) -> None:
    before = set(sys.modules)
    for text, sentence in (
        ("x = 1\ny = x / 0\n", "fails in line 2: ZeroDivisionError"),
        ("import nowhere_to_be_found\n", "imports 'nowhere_to_be_found', which is not installed here"),
        ("def f(:\n", "fails in line 1: SyntaxError"),
    ):
        with pytest.raises(ConfigError, match=sentence):
            from_text("bad.py", text)
    assert not [name for name in set(sys.modules) - before if name.startswith(loading.PRIVATE)]


def test_a_text_knows_that_it_is_being_loaded() -> None:
    module = from_text("probe.py", "from fl_models.loading import being_loaded\nseen = being_loaded()\n")
    assert module.seen == "probe.py" and being_loaded() == ""
    del sys.modules[module.__name__]
