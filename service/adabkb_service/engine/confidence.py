"""The confidence width beta_t of the posterior, in four forms.

The Ada-BKB paper contradicts itself about the first term: it is 2 lambda^2 sqrt(.) in the theorem, and 2 lambda sqrt(.)
in the proof. In the paper on BKB, from which the theorem is derived, it is 2 xi sqrt(.) with lambda = xi^2. The form
``theory`` uses BKB's factor. The form ``authors`` reproduces the code of Ada-BKB's authors. The form ``igp`` is the
width of GP-ThreDS for the exact posterior. The fourth form is a constant.
"""

from __future__ import annotations

import math
from typing import Literal

Beta = Literal["theory", "authors", "igp"] | float


def width(
    form: Beta,
    *,
    effective_dimension: float,
    observations: int,
    ridge: float,
    noise_std: float,
    norm_bound: float,
    delta: float,
    epsilon: float,
) -> float:
    """beta_t, in model output units. It multiplies the standard deviation divided by sqrt(lambda).

    theory   2 xi sqrt(a ln(t) D + ln(1/delta)) + (1 + 1/sqrt(1 - eps)) sqrt(lambda) F,  a = (1 + eps)/(1 - eps)
             (paper, Theorem 1, with BKB's factor 2 xi, for a kernel with k(x, x) = 1)
    authors  lambda sqrt(D ln(t) + ln(1/delta)) + sqrt(lambda) F (their code: no a, factor 1 for F)
    igp      sqrt(lambda) (F + xi sqrt(2 (ln(t) + 1 + ln(1/delta)))) (IGP-UCB with ln(t) for the information gain, as in
             the code of GP-ThreDS's authors)

    Args:
        form: "theory", "authors", "igp" or the constant itself.
        effective_dimension: D = d_eff(t), the sum of the current variance over the observations (paper, eq. 6).
        observations: t; 0 counts as 1.
        ridge: lambda.
        noise_std: xi, in model output units.
        norm_bound: F, a bound on the norm of the objective in the RKHS.
        delta: failure probability in (0, 1).
        epsilon: sketch accuracy in [0, 1); 0 for an exact posterior.
    """
    logarithm = math.log(max(observations, 1))
    if form == "theory":
        inflation = (1.0 + epsilon) / (1.0 - epsilon)
        root = math.sqrt(inflation * logarithm * effective_dimension + math.log(1.0 / delta))
        return 2.0 * noise_std * root + (1.0 + 1.0 / math.sqrt(1.0 - epsilon)) * math.sqrt(ridge) * norm_bound
    if form == "authors":
        root = math.sqrt(logarithm * effective_dimension + math.log(1.0 / delta))
        return ridge * root + math.sqrt(ridge) * norm_bound
    if form == "igp":
        root = math.sqrt(2.0 * (logarithm + 1.0 + math.log(1.0 / delta)))
        return math.sqrt(ridge) * (norm_bound + noise_std * root)
    return float(form)
