"""Code that a run executes for its user: plug-ins, a model, a task, each a file or an installed module.

A simulation takes the texts along: they are in the run's options (`code`), so that workers on other machines execute the very same, and
their SHA-256 sums are in config.toml (`sources`), so that a resume with another text is refused. A deployed client executes only what its
owner named when starting it, and only with the sums of the run: a run brings no code to a host.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fl_config.errors import ConfigError
from fl_config.options import Options
from fl_config.parts import read_installed
from fl_models.building import names_code
from fl_models.loading import Source, read_source, resolve_module, sha256_of, source_of
from fl_models.spelling import looks_like_code

SIMULATION = "FEDLOOM_SIMULATION"  # set in processes that a simulation started, which may execute its user's texts


@dataclass(frozen=True)
class Code:
    plugins: tuple[Source, ...] = ()
    model: Source | None = None
    task: Source | None = None

    @property
    def everything(self) -> tuple[Source, ...]:
        return (*self.plugins, *(one for one in (self.model, self.task) if one is not None))

    @property
    def sums(self) -> str:
        """`my_parts.py=SHA-256` of each, for config.toml."""
        return ", ".join(dict.fromkeys(f"{one.place}={one.sha256}" for one in self.everything))

    def packed(self) -> str:
        """The texts as one option."""
        if not self.everything:
            return ""
        pair = {
            name: [one.place, one.text] if one else None for name, one in (("model", self.model), ("task", self.task))
        }
        return json.dumps({"plugins": [[one.place, one.text] for one in self.plugins], **pair})

    @classmethod
    def unpacked(cls, text: str) -> Code:
        if not text:
            return cls()
        given = json.loads(text)
        model, task = (Source.of(*given[name]) if given[name] else None for name in ("model", "task"))
        return cls(tuple(Source.of(*one) for one in given["plugins"]), model, task)

    def read(self) -> Code:
        """Execute the plug-ins, so that what is in them declares itself; a model and a task are executed where they are made."""
        for one in self.plugins:
            resolve_module(one)
        return self


def trust() -> None:
    """Say that this process, and those that it starts, belong to a simulation, whose user's own code they may execute."""
    os.environ[SIMULATION] = "1"


def plugins_of(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def code_on_disk(config: Options) -> Code:
    """What the options name, as it is on this machine."""
    return Code(
        tuple(read_source(place) for place in plugins_of(config.plugin)),
        source_of(config.model) if names_code(config.model) else None,
        source_of(config.task) if looks_like_code(config.task) else None,
    )


def code_of_client(config: Options, own: str | None) -> Code:
    """What a client executes. `own` is what the owner of a host named; None in a simulation, where the run brings the texts."""
    read_installed()  # a client looks up partitions, data sets and metrics before it asks for any part
    return _code_of_client(config.sources, config.code, (config.plugin, config.model, config.task), own)


@functools.lru_cache(maxsize=8)
def _code_of_client(sources: str, code: str, named: tuple[str, str, str], own: str | None) -> Code:
    if not sources:
        return Code()
    if own is None:
        if os.environ.get(SIMULATION) != "1":
            raise ConfigError(
                "The run brings code of its user's, which this host does not execute: start the client with `fedloom deploy client` "
                "and name the files there (--plugin)."
            )
        return Code.unpacked(code).read()
    return _named_by_owner(sources, named, plugins_of(own)).read()


def code_of_folder(config: Options, folder: Path) -> Code:
    """What a finished run executed, from the texts that it kept in `folder`, or from where it had them, with the run's sums."""
    if not config.sources:
        return Code()
    known = {one.sha256: one for one in (read_source(str(file)) for file in sorted(folder.glob("*.py")))}
    found: dict[str, Source] = {}
    for place, digest in _wanted(config.sources).items():
        # Of two files with one name in different folders, only one has been kept.
        text = known[digest].text if digest in known else read_source(place).text
        if sha256_of(text) != digest:
            raise ConfigError(
                f"The run executed {place} with another text than it has now, and {folder} does not keep it."
            )
        found[place] = Source(place, text, digest)
    return _by_use(found, (config.plugin, config.model, config.task))


def _wanted(sources: str) -> dict[str, str]:
    """The sums of a run's texts by their places."""
    return dict(pair.strip().rpartition("=")[::2] for pair in sources.split(","))


def _named_by_owner(sources: str, named: tuple[str, str, str], own: Sequence[str]) -> Code:
    """The owner's files that have the sums of the run; a sentence for one that is missing or has another text."""
    here = [read_source(place) for place in own]
    known = {one.sha256: one for one in here}
    found: dict[str, Source] = {}
    for place, digest in _wanted(sources).items():
        if digest not in known:
            same = next((one for one in here if _name(one.place) == _name(place)), None)
            why = (
                f"has another text there (SHA-256 {same.sha256[:12]})" if same else "was not named by this host's owner"
            )
            raise ConfigError(
                f"The run executes {place} (SHA-256 {digest[:12]}), which {why}: a client executes only what it was started with."
            )
        found[place] = Source(place, known[digest].text, digest)
    return _by_use(found, named)


def _by_use(found: dict[str, Source], named: tuple[str, str, str]) -> Code:
    plugin, model, task = named
    return Code(tuple(found[place] for place in plugins_of(plugin)), _of(found, model), _of(found, task))


def _of(found: dict[str, Source], spec: str) -> Source | None:
    return found.get(spec.rpartition(":")[0])


def _name(place: str) -> str:
    return place.replace("\\", "/").rpartition("/")[2]


def check_unchanged(now: Code, before: str, folder: str) -> None:
    """Refuse to go on with a run whose code has changed."""
    if before != now.sums:
        odd = sorted(set(_pairs(before)) ^ set(_pairs(now.sums)))[0]
        raise ConfigError(
            f"A resumed run keeps its code, but {odd.rpartition('=')[0]} is not what it was when {folder} was begun: bring the old text "
            f"back (it is in {folder}/sources), or start a new run."
        )


def _pairs(sums: str) -> Iterable[str]:
    return [pair.strip() for pair in sums.split(",") if pair.strip()]
