"""A study whose space is defined by running the objective."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from adabkb_client import _client_calls as client_calls
from adabkb_client._http.transport import Transport
from adabkb_client._models import Direction, RunReport
from adabkb_client._run.asked import Objective, first_parameter
from adabkb_client._study import Study
from adabkb_client.errors import Conflict, NotFound


class DefinedByRun(Study):
    """A study from ``Client.define_by_run``. The first ``optimize`` creates it on the server.

    Before that, all other methods raise NotFound.
    """

    def __init__(
        self, transport: Transport, study_id: str, direction: Direction | None, settings: Mapping[str, Any]
    ) -> None:
        super().__init__(transport, study_id)
        self._definition = {"direction": direction, **settings}

    def optimize(self, objective: Objective, **options: Any) -> RunReport:
        """Create the study, if it does not exist, and evaluate trials: see ``Study.optimize``.

        To find the first parameter, the objective is called once before the study is created. This call is interrupted
        when it requests a parameter.

        Raises:
            Conflict: the study exists with another definition.
        """
        self._create(objective)
        return super().optimize(objective, **options)

    def _create(self, objective: Objective) -> None:
        try:
            known = self.info().parameters
        except NotFound:
            parameters = first_parameter(objective)
            with suppress(Conflict):  # another process has created it meanwhile
                self._transport.perform(client_calls.create_study(self.id, parameters, **self._definition))
                return
            known = self.info().parameters
        self._transport.perform(client_calls.open_study(self.id, known, **self._definition))
