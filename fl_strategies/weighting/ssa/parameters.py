"""The parameters of FedSSA: by which criterion weights are learned, when, and how. Each criterion has some of its own."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from fl_config.params import Params

OF_VIEWS = (
    "scale",
    "lambda_var",
    "lr",
    "epochs",
    "batch",
    "warm_start",
    "var_unbiased",
    "n_view_banks",
    "steps_min",
    "max_samples",
)
OF_SHARES = (
    "shares_samples",
    "shares_prior",
    "shares_fit",
    "shares_trust",
    "shares_average",
    "starts",
    "shares_lr",
    "shares_steps",
    "shares_batch",
    "shares_target",
)


class SsaParams(Params):
    mode: Literal["customise", "every_round", "post_hoc", "sample_wise"] = Field(
        default="customise",
        description="customise: the learned model is the server's own, the size-weighted average goes out; "
        "every_round: the learned model goes out (the paper); post_hoc: learn on the last round; "
        "sample_wise: learn when predicting.",
    )
    warmup_rounds: int = Field(default=0, ge=0, description="Rounds weighted by size before weights are learned.")
    scale: Literal["none", "std"] = Field(
        default="none",
        description="std divides each client's logits by their standard deviation before they are mixed.",
    )
    average: float = Field(
        default=0.0, ge=0, lt=1, description="Decay of a running average of w over rounds; 0 is off."
    )
    lambda_var: float = Field(default=1.0, ge=0, description="Weight of the confidence (variance) term.")
    lambda_we: float = Field(default=1e-3, ge=0, description="Weight of the entropy term, which keeps weights equal.")
    lr: float = Field(default=0.1, gt=0, description="Learning rate of v, w = softmax(v).")
    momentum: float = Field(default=0.9, ge=0, lt=1, description="Momentum of v's SGD.")
    nesterov: bool = Field(default=True, description="Nesterov's form of the momentum.")
    weight_decay: float = Field(
        default=0.0, ge=0, description="L2 decay of v; pulls to equal weights, as lambda_we does."
    )
    epochs: int = Field(default=10, ge=1, description="Passes over the target samples.")
    batch: int = Field(default=128, ge=0, description="Target samples per step; 0 is all of them.")
    init: Literal["uniform", "size", "disco"] = Field(
        default="uniform", description="Weights that learning starts from."
    )
    warm_start: bool = Field(default=False, description="Start from the last round's w when every client has replied.")
    var_unbiased: bool = Field(default=True, description="Variance over C - 1 (true) or C classes (false).")
    n_view_banks: int = Field(
        default=4, ge=0, description="View pairs per sample whose logits are kept; 0: new each epoch."
    )
    steps_min: int = Field(default=0, ge=0, description="At least so many steps of v, by whole further epochs.")
    max_samples: int = Field(
        default=2000, ge=0, description="Target samples used per round, drawn by seed and round; 0: all."
    )
    criterion: Literal["views", "shares"] = Field(
        default="views",
        description="views: sure and consistent about two views of a sample (the paper); "
        "shares: the mixed model predicts the target's class shares, estimated from class means of features.",
    )
    shares_samples: int = Field(
        default=2000, ge=1, description="Training samples of which a client sums its features; by a secure sum."
    )
    shares_prior: float = Field(
        default=0.03, gt=0, description="Pull of the target's shares to those of the clients' data."
    )
    shares_fit: int = Field(
        default=20_000,
        ge=0,
        description="Target samples whose mean features tell the shares, drawn by seed and round; 0: all.",
    )
    shares_trust: float = Field(
        default=1.0,
        ge=0,
        description="How far the target's mean features may be from what the shares predict, beyond chance, in its standard "
        "deviations; rounds above it are weighted by size; 0: none is.",
    )
    shares_average: float = Field(
        default=0.8,
        ge=0,
        lt=1,
        description="Decay of the running average of the shares over rounds, in the mode every_round; 0 is off.",
    )
    starts: Literal["auto", "init", "best"] = Field(
        default="auto",
        description="Where learning by shares starts: from init, or the best of sizes, every single client and the last w; "
        "auto: best in the mode every_round.",
    )
    shares_lr: float = Field(default=0.3, gt=0, description="Learning rate of v by shares.")
    shares_steps: int = Field(default=60, ge=1, description="Steps of v by shares.")
    shares_batch: int = Field(default=256, ge=0, description="Target samples per step by shares; 0 is all of them.")
    shares_target: int = Field(
        default=1000, ge=0, description="Target samples that the mixed model is asked about; 0: all."
    )

    @model_validator(mode="after")
    def _each_criterion_has_its_own(self) -> SsaParams:
        if self.criterion == "shares" and self.mode == "sample_wise":
            raise ValueError(
                "criterion=shares needs a whole target set and mode=sample_wise has one sample at a time: choose another mode"
            )
        foreign = OF_VIEWS if self.criterion == "shares" else OF_SHARES
        for name in foreign:
            if getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f"{name} has no meaning with criterion={self.criterion}: leave it out")
        return self
