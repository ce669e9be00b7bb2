"""The options of a run, declared once: flags, TOML keys, Flower run-config keys, defaults and help texts all come from `Options`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import (
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


def _dashed(name: str) -> str:
    return name.replace("_", "-")


class Options(BaseModel):
    """One run. Part parameters (`disco.a` and the like) are in `parts`, under their dotted keys."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=_dashed, populate_by_name=True, allow_inf_nan=False
    )

    strategy: str = Field(
        "fedavg",
        description="what to run: a base and plug-ins joined by +, e.g. feddyn+disco+asd (see `fedloom strategies`)",
    )
    dataset: str = Field(
        "fashion-mnist",
        description="a data set's name (see `fedloom data list`), npz:FILE, folder:DIR with one folder per class, csv:FILE, parquet:FILE, or hf:PATH",
    )
    label: str = Field(
        "",
        description="the column to predict, of csv:, parquet: and hf: data; several with commas for --task multilabel and regression",
    )
    normalise: Literal["auto", "none"] = Field(
        "auto",
        description="auto standardises images per channel and the numbers of a table; none leaves pixels / 255 and numbers as they are",
    )
    partition: str = Field(
        "dirichlet:0.5",
        description="how training data is split: iid, biased:B:U, capped:BETA, column:NAME, dirichlet:BETA, drawn:SIZE:BETA, file:FILE.json, labels:K, lda:ALPHA, mixed:ALPHA,ALPHA,..., quantity:BETA, shards:CLASSES; longtail:RHO, may precede; private: every client of a deployment has data of its own",
    )
    target: str = Field(
        "uniform",
        description="what the server evaluates on and SSA/FedDF see unlabelled: uniform, skew:CLIENT, imbalanced:RHO, npz:FILE",
    )
    model: str = Field(
        "auto",
        description="the model, e.g. lenet, cnn64, mlp:200,200, linear; auto takes the papers' model for the data set",
    )
    clients: int = Field(10, ge=1, description="number of clients in the federation")
    fraction: float = Field(1.0, gt=0, le=1, description="share of the clients that train in a round")
    sampler: Literal["fixed", "bernoulli"] = Field(
        "fixed",
        description="fixed draws max(1, fraction x clients) of them; bernoulli draws each with probability fraction",
    )
    rounds: int = Field(10, ge=1, description="number of rounds")
    epochs: int = Field(1, ge=1, description="local passes over a client's data in a round")
    batch_size: int = Field(50, ge=0, description="samples in a minibatch; 0 is the full batch")
    lr: float = Field(0.05, gt=0, description="clients' learning rate")
    lr_decay: float = Field(1.0, gt=0, le=1, description="the learning rate is multiplied by this after each round")
    momentum: float = Field(0.0, ge=0, lt=1, description="clients' momentum")
    weight_decay: float = Field(0.0, ge=0, description="clients' L2 weight decay, added after clipping")
    clip: float = Field(0.0, ge=0, description="largest global norm of a local gradient; 0 is no clipping")
    augment: Literal["none", "crop-flip", "reflect-crop-flip"] = Field(
        "none",
        description="augmentation of training batches; reflect-crop-flip pads with the image's reflection instead of black",
    )
    held_out: Annotated[float, Field(ge=0, lt=1)] | Literal["auto"] = Field(
        "auto",
        description="share of each client's training data kept for its personalised accuracy; auto is 0.2 where the strategy has personalised models, else 0",
    )
    personal_epochs: Annotated[int, Field(ge=0)] | Literal["auto"] = Field(
        "auto",
        description="local epochs of fine-tuning before a client's personalised accuracy is measured; auto is 5 for fedbabu and with cuau, else 0",
    )
    min_samples: int = Field(2, ge=1, description="fewest training samples a client may have")
    seed: int = Field(0, ge=0, description="everything random follows from it")
    engine: Literal["ray", "flower", "inline"] = Field(
        "ray",
        description="ray runs on our pool of workers, inline in this process, flower on Flower's simulation runtime",
    )
    workers: int = Field(0, ge=0, description="client processes of a simulation; 0 is one a core")
    ray_address: str = Field(
        "",
        description="a running Ray cluster for the ray engine; its nodes need fedloom, the data and the run folder on a shared disk. Empty starts one here",
    )
    device: Literal["auto", "cpu", "cuda", "mps"] = Field(
        "auto", description="where clients train; auto takes a GPU if there is one"
    )
    gpus_per_client: float = Field(0.0, ge=0, description="share of a GPU that a simulated client takes")
    mixed_precision: bool = Field(False, description="train in bfloat16 where the device has it")
    eval_every: int = Field(1, ge=1, description="evaluate the global model every so many rounds (and after the last)")
    save_every: int = Field(1, ge=1, description="write a checkpoint every so many rounds (and after the last)")
    round_timeout: float = Field(
        3600.0, gt=0, description="seconds after which a round goes on with the replies it has"
    )
    wait: float = Field(60.0, gt=0, description="seconds to wait for the clients before the first round")
    min_replies: int = Field(
        1, ge=1, description="fewest usable replies that a round needs; with fewer the model stays as it is"
    )
    over_sample: float = Field(
        0.0,
        ge=0,
        description="share of clients asked beyond the round's own, in case some are slow; the first replies win and the rest are not used, so bits then depend on timing",
    )
    max_update_norm: float = Field(
        0.0, ge=0, description="a client's model update of a larger norm is scaled down to it; 0 is no limit"
    )
    dp_clip: float = Field(
        0.0,
        ge=0,
        description="local differential privacy: clients clip their model update to this norm and add noise before it leaves; 0 is off",
    )
    dp_epsilon: float = Field(
        8.0, gt=0, description="with --dp-clip, the privacy budget of a client's one reply; smaller is more noise"
    )
    dp_delta: float = Field(
        1e-5, gt=0, lt=1, description="with --dp-clip, the probability with which that budget may be exceeded"
    )
    init: str = Field("", description="a .safetensors file to start from instead of a random model")
    out: str = Field("", description="the run folder; empty is runs/<time>-<strategy>")
    state_folder: str = Field("", description="where simulated clients keep what they remember; empty is <out>/state")
    resume: str = Field("", description="a run folder to continue from its checkpoint")
    parts: dict[str, StrictBool | StrictInt | StrictFloat | StrictStr] = Field(
        default_factory=dict, description="part parameters by dotted key, e.g. disco.a"
    )

    @field_validator("strategy", "dataset", "partition", "target", "model")
    @classmethod
    def _not_empty(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("expected a value")
        return value.strip()


FLAGS: dict[str, Any] = {_dashed(name): info for name, info in Options.model_fields.items() if name != "parts"}


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
