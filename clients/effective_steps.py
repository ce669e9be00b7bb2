"""How far a client's K local steps carry a gradient: the norm ||a_i||_1 of FedNova (Wang et al., NeurIPS 2020).

With plain SGD every gradient counts once, so it is K. With heavy-ball momentum rho a gradient is applied again in every
later step, and ||a||_1 = sum_{k=1..K} (1 - rho^k) / (1 - rho) = [K - rho (1 - rho^K) / (1 - rho)] / (1 - rho).
SCAFFOLD divides a displacement by it for the same reason.
"""

from __future__ import annotations


def effective_steps(steps: int, momentum: float) -> float:
    """[K - rho (1 - rho^K) / (1 - rho)] / (1 - rho); K where the momentum rho is 0."""
    if steps < 0:
        raise ValueError(f"The number of local steps must be 0 or more, but it is {steps}.")
    if not 0.0 <= momentum < 1.0:
        raise ValueError(f"The momentum must be in [0, 1), but it is {momentum}: choose a smaller one.")
    rest = 1.0 - momentum
    return (steps - momentum * (1.0 - momentum**steps) / rest) / rest
