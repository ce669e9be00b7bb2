"""The options of a run, declared once: flags, TOML keys, Flower run-config keys, defaults and help texts all come from `Options`."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AllowInfNan,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
    field_validator,
)

from fl_config.errors import ConfigError, nearest, sentences
from fl_config.toml import Scalar

PRIVATE = "private"  # the partition of a deployment whose clients have data of their own

# What an option has to do with the numbers of a run.
NUMBERS = "numbers"  # it changes them
LENGTH = "length"  # it says how many there are; a resumed run may be given more rounds
HOW = "how"  # how fast, on what and with how much patience the run is made; its numbers stay the same
PLACE = "place"  # where its files lie


def option(default: Any, *, description: str, role: str = NUMBERS, **limits: Any) -> Any:
    """One option: its default, its help text, its range, and its role."""
    return Field(default, description=description, json_schema_extra={"role": role}, **limits)


def _dashed(name: str) -> str:
    return name.replace("_", "-")


class Options(BaseModel):
    """One run. Part parameters (`disco.a` and the like) are in `parts`, under their dotted keys."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=_dashed, populate_by_name=True, allow_inf_nan=False
    )

    strategy: str = option(
        "fedavg",
        description="what to run: a base and plug-ins joined by +, e.g. feddyn+disco+asd (see `fedloom strategies`)",
    )
    dataset: str = option(
        "fashion-mnist",
        description="a data set's name (see `fedloom data list`), npz:FILE, folder:DIR with one folder per class, csv:FILE, parquet:FILE, or hf:PATH",
    )
    label: str = option(
        "",
        description="the column to predict, of csv:, parquet: and hf: data; several with commas for --task multilabel and regression",
    )
    normalise: Literal["auto", "none"] = option(
        "auto",
        description="auto standardises images per channel and the numbers of a table; none leaves pixels / 255 and numbers as they are",
    )
    partition: str = option(
        "dirichlet:0.5",
        description="how training data is split: iid, biased:B:U, capped:BETA, column:NAME, dirichlet:BETA, drawn:SIZE:BETA, file:FILE.json, labels:K, lda:ALPHA, mixed:ALPHA,ALPHA,..., quantity:BETA, shards:CLASSES; longtail:RHO, may precede; private: every client of a deployment has data of its own",
    )
    target: str = option(
        "uniform",
        description="what the server evaluates on and SSA/FedDF see unlabelled: uniform, skew:CLIENT (a name or number), imbalanced:RHO, npz:FILE",
    )
    model: str = option(
        "auto",
        description="the model, e.g. lenet, cnn64, mlp:200,200, linear, or one of your own as my_net.py:Net or package.module:Net; auto takes the papers' model for the data set",
    )
    task: str = option(
        "classification",
        description="what is learned: classification, regression, multilabel, or one of your own as my_task.py:Name",
    )
    metrics: str = option(
        "auto",
        description="what is recorded beside the loss, e.g. accuracy,macro-f1,auroc; auto is what the task usually shows",
    )
    headline: str = option(
        "auto",
        description="the metric that best rounds, --patience, --stop-at and tables go by; auto is the task's own",
    )
    score: str = option(
        "server",
        description="models that the server scores: server (always), cohort (the mean of the round's client models), population (the mean of all clients' last models); several with commas",
    )
    patience: int = option(
        0, ge=0, description="stop after so many evaluations without a better headline metric; 0 never stops early"
    )
    stop_at: float = option(
        0.0,
        role=LENGTH,
        description="stop at the first evaluation whose headline metric is this good, such as 0.97; 0 trains all rounds",
    )
    plugin: str = option(
        "",
        description="parts, metrics and data sets of your own: my_parts.py or an installed module; may be repeated, or several with commas",
    )
    clients: int = option(10, ge=1, description="number of clients in the federation")
    fraction: float = option(1.0, gt=0, le=1, description="share of the clients that train in a round")
    sampler: Literal["fixed", "bernoulli", "poisson"] = option(
        "fixed",
        description="fixed draws max(1, fraction x clients) of them; bernoulli draws each with probability fraction; poisson is the secret sampling of --dp central, which costs less privacy",
    )
    rounds: int = option(10, ge=1, description="number of rounds", role=LENGTH)
    epochs: int = option(1, ge=1, description="local passes over a client's data in a round")
    batch_size: int = option(50, ge=0, description="samples in a minibatch; 0 is the full batch")
    lr: float = option(0.05, gt=0, description="clients' learning rate")
    lr_decay: float = option(1.0, gt=0, le=1, description="the learning rate is multiplied by this after each round")
    momentum: float = option(0.0, ge=0, lt=1, description="clients' momentum")
    weight_decay: float = option(0.0, ge=0, description="clients' L2 weight decay, added after clipping")
    clip: float = option(0.0, ge=0, description="largest global norm of a local gradient; 0 is no clipping")
    augment: Literal["none", "crop-flip", "reflect-crop-flip"] = option(
        "none",
        description="augmentation of training batches; reflect-crop-flip pads with the image's reflection instead of black",
    )
    held_out: Annotated[float, Field(ge=0, lt=1)] | Literal["auto"] = option(
        "auto",
        description="share of each client's training data kept for its personalised accuracy; auto is 0.2 where the strategy has personalised models, else 0",
    )
    personal_epochs: Annotated[int, Field(ge=0)] | Literal["auto"] = option(
        "auto",
        description="local epochs of fine-tuning before a client's personalised accuracy is measured; auto is 5 for fedbabu and with cuau, else 0",
    )
    min_samples: int = option(2, ge=1, description="fewest training samples a client may have")
    seed: int = option(0, ge=0, description="everything random follows from it")
    engine: Literal["ray", "flower", "inline"] = option(
        "ray",
        description="ray runs on our pool of workers, inline in this process, flower on Flower's simulation runtime",
        role=HOW,
    )
    workers: int = option(0, ge=0, description="client processes of a simulation; 0 is as many as fit", role=HOW)
    ray_address: str = option(
        "",
        description="a running Ray cluster for the ray engine, whose nodes need the same fedloom and torch; they fetch data sets of the catalog themselves. Empty starts one here",
        role=HOW,
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = option(
        "auto", description="where clients train; auto takes a GPU if there is one", role=HOW
    )
    gpus_per_client: Annotated[float, Field(ge=0)] | Literal["auto"] = option(
        "auto",
        description="share of a GPU that a simulated client takes; auto measures how many fit into the memory, 0 trains clients on the CPU",
        role=HOW,
    )
    mixed_precision: bool = option(False, description="train in bfloat16 where the device has it")
    eval_every: int = option(1, ge=1, description="evaluate the global model every so many rounds (and after the last)")
    save_every: int = option(
        1, ge=1, description="write a checkpoint every so many rounds (and after the last)", role=HOW
    )
    round_timeout: float = option(
        3600.0, gt=0, description="seconds after which a round goes on with the replies it has", role=HOW
    )
    wait: float = option(60.0, gt=0, description="seconds to wait for the clients before the first round", role=HOW)
    min_replies: int = option(
        1, ge=1, description="fewest usable replies that a round needs; with fewer the model stays as it is"
    )
    over_sample: float = option(
        0.0,
        ge=0,
        description="share of clients asked beyond the round's own, in case some are slow; the first replies win and the rest are not used, so bits then depend on timing",
    )
    max_update_norm: float = option(
        0.0, ge=0, description="a client's model update of a larger norm is scaled down to it; 0 is no limit"
    )
    secure_aggregation: bool = option(
        False,
        description="sum the clients' updates under masks, so that the server sees their weighted sum only, also when clients drop out",
    )
    secure_threshold: float = option(
        0.66,
        gt=0.5,
        le=1,
        description="with --secure-aggregation, the share of a round's clients (and at least 3) without which the round comes to nothing",
    )
    dp: Literal["auto", "none", "local", "central"] = option(
        "auto",
        description="differential privacy: local has clients add noise before their update leaves, central has the server add it to the average; auto is local if --dp-clip is given, else none",
    )
    dp_clip: float = option(
        0.0,
        ge=0,
        description="with --dp, the norm that a client's model update is clipped to; 0 is no differential privacy",
    )
    dp_epsilon: float = option(
        8.0,
        gt=0,
        description="with --dp local, what one reply of a client may cost; smaller is more noise. Over the rounds it adds up",
    )
    dp_delta: float = option(
        1e-5, gt=0, lt=1, description="with --dp, the delta of the guarantee; well below 1 / clients"
    )
    dp_noise: float = option(
        0.0,
        ge=0,
        description="with --dp central, the noise's deviation over what one client can change; 0 takes the least noise with which --rounds fit into --dp-budget",
    )
    dp_budget: float = option(
        0.0,
        ge=0,
        description="with --dp, the epsilon of the whole run: it ends before the round that would exceed it; 0 is no limit",
        role=LENGTH,
    )
    init: str = option("", description="a .safetensors file to start from instead of a random model")
    out: str = option("", description="the run folder; empty is runs/<time>-<strategy>", role=PLACE)
    state_folder: str = option(
        "", description="where simulated clients keep what they remember; empty is <out>/state", role=PLACE
    )
    resume: str = option("", description="a run folder to continue from its checkpoint", role=PLACE)
    track: str = option(
        "",
        description="also record the run in tensorboard[:DIR], mlflow[:URI] or wandb[:PROJECT]; may be repeated, or several with commas",
        role=HOW,
    )
    sources: str = option(
        "",
        description="set by the run itself: the files and modules of the user's that it executes, with their SHA-256",
    )
    code: str = option(
        "", description="set by the run itself: the texts of these, for workers that do not have them", role=PLACE
    )
    # A part itself refuses what is not finite, with the name of its parameter.
    parts: dict[str, StrictBool | StrictInt | Annotated[StrictFloat, AllowInfNan(True)] | StrictStr] = Field(
        default_factory=dict, description="part parameters by dotted key, e.g. disco.a"
    )

    @field_validator("strategy", "dataset", "partition", "target", "model")
    @classmethod
    def _not_empty(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("expected a value")
        return value.strip()


FLAGS: dict[str, Any] = {_dashed(name): info for name, info in Options.model_fields.items() if name != "parts"}


def role_of(key: str) -> str:
    """The role of an option by its flag; the parameters of parts change the numbers."""
    info = FLAGS.get(_dashed(key))
    return str(info.json_schema_extra["role"]) if info is not None else NUMBERS


def changes_numbers(key: str) -> bool:
    return role_of(key) in (NUMBERS, LENGTH)


def options(values: Mapping[str, Any]) -> Options:
    """Options from flat keys: our names with dashes (or underscores), dotted ones for parts; a sentence for every problem."""
    fields: dict[str, Any] = {}
    parts: dict[str, Scalar] = {}
    for key, value in values.items():
        name = _dashed(key)
        if name in FLAGS:
            fields[name] = value
        elif "." in key:
            parts[key] = value
        else:
            raise ConfigError(f"There is no option {key!r}{nearest(name, FLAGS)}")
    try:
        return Options.model_validate({**fields, "parts": parts})
    except ValidationError as error:
        raise ConfigError(sentences(error, "Option")) from None


def as_flat(config: Options) -> dict[str, Scalar]:
    """The reverse of `options`: every option and part parameter under its flat key."""
    values = config.model_dump(by_alias=True, exclude={"parts"})
    return {**values, **config.parts}


def options_of_run(run_config: Mapping[str, Any]) -> Options:
    """The options of an app's run config, which has all of them; one that lacks some would silently mean the defaults."""
    return _of_run(tuple(sorted(run_config.items())))


@functools.lru_cache(maxsize=8)
def _of_run(items: tuple[tuple[str, Any], ...]) -> Options:
    given = dict(items)
    missing = sorted(FLAGS.keys() - given.keys())
    if missing:
        raise ConfigError(
            f"The run config lacks {missing[0]!r} and {len(missing) - 1} more options: run the app with its own pyproject.toml."
        )
    return options(given)
