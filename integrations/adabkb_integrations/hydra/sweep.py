"""Run a sweep: lease trials in batches, launch them as jobs, and report their results."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.utils import JobReturn
from omegaconf import OmegaConf

from adabkb_client import Client, Conflict, LeasedTrial, NoTrialAvailable, Study, StudyComplete
from adabkb_client._run.evaluation import Expected, as_result
from adabkb_client._trial import LEASE_SECONDS
from adabkb_client._trial_calls import in_words, is_mistake
from adabkb_integrations.hydra.space import space_of

if TYPE_CHECKING:
    from hydra_plugins.adabkb_sweeper import AdaBKBSweeper

log = logging.getLogger("adabkb_integrations")

PAUSE = 1.0
"""Default number of seconds until the next request for trials."""
WAIT_SECONDS = 30.0
"""Seconds for which the server waits for trials before it answers that there are none."""
RESULTS = "optimization_results.yaml"


class Sweep:
    """One sweep.

    Args:
        sweeper: the configuration.
        arguments: the overrides of the command line.

    Raises:
        ValueError: the overrides are not a search space, or the configuration is inconsistent.
    """

    def __init__(self, sweeper: AdaBKBSweeper, arguments: Sequence[str]) -> None:
        if sweeper.url and sweeper.local:
            raise ValueError("hydra.sweeper.url and hydra.sweeper.local cannot be combined; leave one of them out")
        if sweeper.direction not in ("minimize", "maximize"):
            raise ValueError(f"hydra.sweeper.direction must be minimize or maximize, not {sweeper.direction!r}")
        if sweeper.workers < 1:
            raise ValueError(f"hydra.sweeper.workers must be at least 1, not {sweeper.workers}")
        assert sweeper.hydra_context is not None
        self._sweeper = sweeper
        self._parser = OverridesParser.create(config_loader=sweeper.hydra_context.config_loader)
        configured = [f"{key}={value}" for key, value in sweeper.params.items()]
        self._space = space_of(self._parser.parse_overrides([*configured, *arguments]))
        self._jobs = 0
        self._failures_in_a_row = 0
        self._has_succeeded = False
        self._expected = Expected(f"study {sweeper.study!r}")

    def run(self) -> None:
        """Evaluate trials until the study is complete.

        Raises:
            NoTrialAvailable: failures have paused the study.
            Exception: the error of the last of ``max_failures`` failed jobs in a row; or a programming error.
        """
        sweeper = self._sweeper
        assert sweeper.config is not None
        folder = Path(sweeper.config.hydra.sweep.dir)
        folder.mkdir(parents=True, exist_ok=True)
        OmegaConf.save(sweeper.config, folder / "multirun.yaml")
        with Client.local(sweeper.local) if sweeper.local else Client(sweeper.url) as client:
            study = client.create_study(
                sweeper.study,
                self._space.parameters,
                direction="minimize" if sweeper.direction == "minimize" else "maximize",
                budget=sweeper.budget,
                update=True,  # a sweep repeated with a larger budget continues
            )
            while trials := self._lease_batch(study):
                self._evaluate(trials)
            self._write_results(study, folder / RESULTS)

    def _lease_batch(self, study: Study) -> list[LeasedTrial]:
        """Lease a batch of trials; none if the study is complete."""
        while True:
            try:
                trials = study.suggest(self._sweeper.workers, lease_seconds=LEASE_SECONDS, wait=WAIT_SECONDS)
            except StudyComplete:
                return []
            except NoTrialAvailable as none:
                if none.reason == "failures":
                    raise
                time.sleep(PAUSE if none.retry_after is None else none.retry_after)
            else:
                return [LeasedTrial(study, trial).start() for trial in trials]

    def _evaluate(self, trials: Sequence[LeasedTrial]) -> None:
        """Launch a batch and report its results. If anything ends the sweep meanwhile, release the trials."""
        try:
            for trial, job in zip(trials, self._launch(trials), strict=True):
                self._report(trial, job)
        finally:
            for trial in trials:
                trial.close(SystemExit())  # releases trials without a result, as at the end of a program

    def _launch(self, trials: Sequence[LeasedTrial]) -> Sequence[JobReturn]:
        batch = [self._space.job(trial.parameters) for trial in trials]
        self._sweeper.validate_batch_is_legal(batch)
        assert self._sweeper.launcher is not None
        jobs = self._sweeper.launcher.launch(batch, initial_job_idx=self._jobs)
        self._jobs += len(batch)
        return jobs

    def _report(self, trial: LeasedTrial, job: JobReturn) -> None:
        try:
            result = as_result(job.return_value, self._expected)
        except Exception as error:
            if is_mistake(error, has_succeeded=self._has_succeeded):
                raise
            log.warning("trial %d failed", trial.number, exc_info=error)
            trial.fail(in_words(error))
            self._failures_in_a_row += 1
            if self._failures_in_a_row >= self._sweeper.max_failures:
                error.add_note(f"stopped after {self._failures_in_a_row} failed jobs in a row; this is the last one")
                raise
        else:
            self._failures_in_a_row, self._has_succeeded = 0, True
            try:
                trial.observe(
                    result.value, std_error=result.std_error, metrics=result.metrics, std_errors=result.std_errors
                )
            except Conflict as refusal:  # another worker holds the trial
                log.warning("trial %d of study %r: %s", trial.number, self._sweeper.study, refusal)

    def _write_results(self, study: Study, file: Path) -> None:
        best = study.recommendation().observed
        overrides = [] if best is None else [f"{key}={value}" for key, value in best.parameters.items()]
        found = {
            "name": "adabkb",
            "study": study.id,
            "best_params": {each.get_key_element(): each.value() for each in self._parser.parse_overrides(overrides)},
            "best_value": None if best is None else best.value,
        }
        OmegaConf.save(OmegaConf.create(found), file)
        log.info("best of study %r: %s at %s", study.id, found["best_value"], found["best_params"])
