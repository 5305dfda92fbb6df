"""The Hydra plugin of the sweeper, for ``hydra/sweeper: adabkb``.

Hydra imports this module at the start of every program, so dependencies are imported only when a sweep begins. Hydra
executes it without an entry in ``sys.modules``, where a dataclass would look up postponed annotations.
"""

from dataclasses import dataclass, field

from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


@dataclass
class AdaBKBSweeperConf:
    """The options of ``hydra.sweeper``: see docs/integrations.md."""

    _target_: str = "hydra_plugins.adabkb_sweeper.AdaBKBSweeper"
    study: str = "${hydra.job.name}"
    url: str | None = None
    local: str | None = None
    budget: int | None = 20
    direction: str = "minimize"
    workers: int = 1
    max_failures: int = 5
    params: dict[str, str] = field(default_factory=dict)


ConfigStore.instance().store(group="hydra/sweeper", name="adabkb", node=AdaBKBSweeperConf, provider="adabkb")


class AdaBKBSweeper(Sweeper):
    """Evaluates the trials of a study as jobs of Hydra.

    Args:
        study: the id of the study.
        url: the URL of the server; ADABKB_URL or http://127.0.0.1:8000 if not given.
        local: a database file, such as ``study.db``, whose own server is used instead of ``url``.
        budget: the budget of the study; None for no limit.
        direction: whether to "minimize" or "maximize" the return value of the task.
        workers: the number of jobs that the launcher receives at once.
        max_failures: the number of failed jobs in a row after which the sweep ends with the last error.
        params: overrides in Hydra's grammar by key; those on the command line take precedence.
    """

    def __init__(
        self,
        study: str,
        url: str | None,
        local: str | None,
        budget: int | None,
        direction: str,
        workers: int,
        max_failures: int,
        params: dict[str, str],
    ) -> None:
        self.study = study
        self.url = url
        self.local = local
        self.budget = budget
        self.direction = direction
        self.workers = workers
        self.max_failures = max_failures
        self.params = params
        self.hydra_context: HydraContext | None = None
        self.config: DictConfig | None = None
        self.launcher: Launcher | None = None

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Store Hydra's description of the program."""
        self.hydra_context = hydra_context
        self.config = config
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> None:
        """Evaluate trials until the study is complete, and write the best one to ``optimization_results.yaml``."""
        from adabkb_integrations.hydra.sweep import Sweep  # noqa: PLC0415 (see above)

        Sweep(self, arguments).run()
