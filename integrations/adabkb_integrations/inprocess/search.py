"""The search loop: request a point from the engine, call the function, and report the result to the engine."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, SupportsFloat, SupportsIndex, TypedDict, Unpack

from adabkb_client import Mixture, Parameter
from adabkb_client._leased import in_words, is_mistake
from adabkb_client._parameters import to_wire
from adabkb_client._plain import finite
from adabkb_client._run.evaluation import Evaluation, Objective
from adabkb_client._run.frames import own_frames, shortened
from adabkb_client._run.options import Context, check_catch
from adabkb_client._run.progress import Progress, Standing
from adabkb_client._run.result import Expected
from adabkb_integrations.beliefs import Belief, prior_of
from adabkb_integrations.domain import Domain, domain_of
from adabkb_integrations.inprocess.numbers import at_least
from adabkb_integrations.inprocess.plates import Plates, filling
from adabkb_integrations.inprocess.trials import Evaluated, Found, Reason
from adabkb_integrations.model import Array, Model, Result, one_thread
from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.prior import Prior
from adabkb_service.engine.sampling import config as sampling
from adabkb_service.engine.slices import Slice

log = logging.getLogger("adabkb_integrations")

SEEDS = 2**31
AUTO = {"profile": "auto"}

Callback = Callable[["Search", Evaluated], object]
"""Takes the search and the trial that was just finished."""


class Options(TypedDict, total=False):
    """The options of ``minimize`` and ``maximize``."""

    algorithm: Mapping[str, Any]
    """The algorithm: ``{"profile": "auto"}``, the default, or as a baseline without a model ``{"kind": "random"}`` or
    ``{"kind": "sobol"}``."""
    seed: SupportsIndex | None
    """Searches with the same seed and results evaluate the same points. With None, the default, a random seed is
    used."""
    noise_std: SupportsFloat | None
    """Standard deviation of one value, in the objective's units. With None, the default, it is learned."""
    constraints: Sequence[str]
    """Constraints that every point satisfies, such as ``["x + y <= 1", "not (kind == 'a' and x > 0.5)"]``, in the
    grammar of studies. Choices in constraints are strings, numbers, booleans, None or lists of these."""
    mixtures: Sequence[Mixture]
    """Shares of a whole, such as ``[Mixture(parameters=["water", "ethanol", "glycerol"], at_most=2)]``, which sum to
    1 or another ``total``."""
    prior: Mapping[str, Belief] | None
    """Beliefs about the position of the optimum, by parameter: ``{"lr": {"around": 0.001, "factor": 10}}`` on a log
    scale, ``{"around": 128, "width": 64}`` on a linear scale, ``{"weights": {"adam": 3}}`` for choices. The search
    starts with points that are probably good, but excludes none."""
    plates: Plates | None
    """Plates, which the trials fill one by one, such as ``{"size": 24, "shared": ["temperature"]}``: the trials of a
    plate have equal values of the ``shared`` parameters, and their results share an offset that the model learns."""
    context: Context
    """The values of the context parameters, or a function that returns them, called before each trial."""
    callbacks: Sequence[Callback]
    """Called as ``callback(search, trial)`` after each trial; ``search.stop()`` ends the search after it."""
    catch: type[Exception] | tuple[type[Exception], ...]
    """Exceptions of these classes fail their trial, but never end the search."""
    max_failures: int
    """The search ends with the last error after this many failures in a row; by default 5."""
    progress: bool
    """Whether to show a progress bar or, without a terminal, a line per result; by default True."""


def minimize(
    function: Objective, space: Mapping[str, Parameter], budget: SupportsIndex, **options: Unpack[Options]
) -> Found:
    """Minimize a function by Ada-BKB under the ``auto`` profile, in this process.

    A study on a server with the same seed and one worker evaluates the same points. Nothing is stored; for long or
    parallel evaluations, use ``adabkb_client.Client.local``.

    Args:
        function: called with the active parameters by name; returns the value, or a dict such as
            ``{"value": 0.1, "std_error": 0.01}``. An exception fails the trial and is logged. A programming error ends
            the search: ImportError, NameError, SyntaxError; before the first result also AttributeError, KeyError,
            TypeError, and an invalid result.
        space: the parameters by name: ``Float``, ``Int``, ``Ordinal``, ``Categorical``, ``Bool`` and ``Fixed`` of
            ``adabkb_client``. Choices may be any objects here.
        budget: the number of trials, including failed ones. The search ends earlier if a finite space has no more
        points.
        options: see ``Options``.

    Returns:
        The trials and the best one. Ctrl-C ends the search, which then returns the trials so far.

    Raises:
        TypeError: a parameter has an unknown kind, or the function does not accept the parameters or returns something
            other than a number.
        ValueError: an argument is out of its range, a parameter's bounds are inconsistent, a constraint cannot be
            parsed or satisfied, a mixture has no points, a condition is invalid, a belief does not fit its parameter,
            or plates share a parameter that cannot be shared.
        Exception: the last error, after ``max_failures`` failures in a row; a programming error; or the error of a
            callback.
    """
    return Search("minimize", function, space, budget, sign=-1.0, **options).run()


def maximize(
    function: Objective, space: Mapping[str, Parameter], budget: SupportsIndex, **options: Unpack[Options]
) -> Found:
    """Maximize a function: see ``minimize``."""
    return Search("maximize", function, space, budget, sign=1.0, **options).run()


class Search:
    """A search of ``minimize`` or ``maximize``. ``trials`` are its finished trials."""

    def __init__(
        self,
        name: str,
        function: Objective,
        space: Mapping[str, Parameter],
        budget: SupportsIndex,
        *,
        sign: float,
        algorithm: Mapping[str, Any] = AUTO,
        seed: SupportsIndex | None = None,
        noise_std: SupportsFloat | None = None,
        constraints: Sequence[str] = (),
        mixtures: Sequence[Mixture] = (),
        prior: Mapping[str, Belief] | None = None,
        plates: Plates | None = None,
        context: Context = None,
        callbacks: Sequence[Callback] = (),
        catch: type[Exception] | tuple[type[Exception], ...] = (),
        max_failures: int = 5,
        progress: bool = True,
    ) -> None:
        self.trials: list[Evaluated] = []
        self.best: Evaluated | None = None
        """The trial with the best value, the first one in a tie."""
        self.seed = secrets.randbelow(SEEDS) if seed is None else at_least("seed", seed, 0)
        self._name = name
        self._function = function
        self._budget = at_least("budget", budget, 1)
        self._sign = sign
        self._callbacks = callbacks
        self._catch = catch
        self._max_failures = max_failures
        self._progress = progress
        self._failures_in_a_row = 0
        self._stopped = False
        check_catch(catch)
        self._domain = _domain(space, constraints, mixtures)
        self._plates = filling(plates, self._domain, space, mixtures)
        self._context = context
        if context is None and self._domain.space.context:
            names = ", ".join(sorted(self._domain.space.context))
            raise ValueError(f"context must have the values of {names}, or be a function that returns them")
        conditional = [name for name, each in space.items() if each.when]
        self._evaluation = Evaluation(function, pass_trial=False, expected=Expected(f"{name}()"))
        self._evaluation.check(list(space), conditional, has_trials=False)
        beliefs = prior_of(prior, self._domain)
        config = _config(algorithm, _noise(noise_std), beliefs, self._domain, has_plates=self._plates is not None)
        self._model = Model(self._domain.space, self.seed, config)

    def stop(self) -> None:
        """End the search after this trial."""
        self._stopped = True

    def run(self) -> Found:
        """Evaluate trials until the search ends."""
        with Progress(self._name, self._budget, self._standing, visible=self._progress) as shown:
            try:
                reason = self._search(shown)
            except KeyboardInterrupt:
                reason = "interrupted"
            except Exception as error:
                raise shortened(error)  # noqa: B904 - it is the same error
        return Found(self.best, tuple(self.trials), reason, self.seed)

    def _search(self, shown: Progress) -> Reason:
        while len(self.trials) < self._budget:
            context = self._context() if callable(self._context) else self._context
            within = None if context is None else self._domain.within(context)
            with one_thread():  # the function may use more threads
                points, held = self._suggested(within)
            if not points:
                return "exhausted"
            parameters = {**self._domain.decode(points[0], held), **(context or {})}
            plate = None if self._plates is None else self._plates.add(points[0], held)
            trial = replace(self._evaluated(parameters), plate=plate)
            self._take_in(trial, points[0])
            if trial.value is None:
                shown.show(self._standing)
            else:
                shown.result(trial.number, trial.value, self._standing)
            for callback in self._callbacks:
                callback(self, trial)
            if self._stopped:
                return "stopped"
        return "budget"

    def _suggested(self, within: Slice | None) -> tuple[list[Array], dict[str, Any]]:
        """Return the next point, and the values that its plate or the context fixes; no point if none is left."""
        if self._plates is None:
            return self._model.suggest(within=within), {}
        return self._plates.suggest(self._model, within)

    def _evaluated(self, parameters: Mapping[str, Any]) -> Evaluated:
        number = len(self.trials) + 1
        try:
            result = self._evaluation.result_of(self._function(**parameters))
        except self._catch as error:
            return self._failed(number, parameters, error)
        except Exception as error:
            if is_mistake(error, has_succeeded=self.best is not None):
                raise
            self._failures_in_a_row += 1
            if self._failures_in_a_row >= self._max_failures:
                error.add_note(
                    f"{self._name}(): ended after {self._failures_in_a_row} failures in a row; this is the last one"
                )
                raise
            return self._failed(number, parameters, error)
        self._failures_in_a_row = 0
        return Evaluated(number, parameters, "completed", result.value, result.std_error)

    def _failed(self, number: int, parameters: Mapping[str, Any], error: Exception) -> Evaluated:
        log.warning("trial %d of %s() failed", number, self._name, exc_info=(type(error), error, own_frames(error)))
        return Evaluated(number, parameters, "failed", reason=in_words(error))

    def _take_in(self, trial: Evaluated, point: Array) -> None:
        value = None if trial.value is None else self._sign * trial.value
        with one_thread():
            result = Result(tuple(point.tolist()), value, trial.std_error or 0.0, plate=trial.plate)
            self._model.learn({trial.number: result})
        self.trials.append(trial)
        if trial.value is not None and (self.best is None or self._is_better(trial.value, self.best.value)):
            self.best = trial

    def _is_better(self, value: float, than: float | None) -> bool:
        return than is None or self._sign * value > self._sign * than

    @property
    def _standing(self) -> Standing:
        failed = sum(trial.state == "failed" for trial in self.trials)
        return Standing(len(self.trials), failed, self.best.value if self.best else None)


def _domain(space: Mapping[str, Parameter], constraints: Sequence[str], mixtures: Sequence[Mixture]) -> Domain:
    if not isinstance(space, Mapping):
        raise TypeError(f'space must be a dict of parameters, such as {{"x": Float(0, 1)}}, not {space!r}')
    to_wire(space)  # refuses other kinds, and values that are not finite
    return domain_of(space, "space", constraints, mixtures)


def _config(
    algorithm: Mapping[str, Any], noise_std: float | None, prior: Prior | None, domain: Domain, *, has_plates: bool
) -> Config | sampling.Config:
    if algorithm in (AUTO, {"kind": "ada-bkb", **AUTO}):
        return Config(noise_std=noise_std, prior=prior, has_plates=has_plates)
    kind = algorithm.get("kind") if isinstance(algorithm, Mapping) and len(algorithm) == 1 else None
    if kind not in ("random", "sobol"):
        raise ValueError(
            f'algorithm must be {{"profile": "auto"}}, {{"kind": "random"}} or {{"kind": "sobol"}}, not {algorithm!r}; '
            "studies on a server support more algorithms"
        )
    if prior is not None:
        raise ValueError('prior requires the algorithm {"profile": "auto"}; leave one of the two out')
    if kind == "sobol" and domain.space.mixtures:
        raise ValueError('mixtures cannot be combined with the algorithm {"kind": "sobol"}; use {"kind": "random"}')
    return sampling.Config(kind, repeats=noise_std is not None)


def _noise(noise_std: SupportsFloat | None) -> float | None:
    if noise_std is None:
        return None
    given = finite("noise_std", noise_std)
    if not given > 0:
        raise ValueError(f"noise_std must be positive, not {given}; leave it out to learn the noise")
    return given
