"""The tools that change nothing, named like the methods of the client."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from adabkb_client import _client_calls as client_calls
from adabkb_client._decoding import decode
from adabkb_client._http.async_transport import AsyncTransport
from adabkb_client._models import Trial
from adabkb_client._study_calls import StudyCalls
from adabkb_client.mcp import _answers as answers
from adabkb_client.mcp._pages import page
from adabkb_client.mcp._values import Cursor, Limit, Point, StudyId, TrialNumber

Points = Annotated[list[Point], Field(min_length=1, max_length=100, description="each with a value of every parameter")]
Probability = Annotated[
    Annotated[float, Field(gt=0, lt=1)] | None,
    Field(description="for outcome constraints: required probability of the model's point; 0.95 if absent"),
]
State = Literal["active", "completed", "failed", "expired", "released", "queued", "stopped", "withdrawn"]


class Reading:
    """Tools that read studies. Each call names its study; there is no state between calls."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def studies(self, limit: Limit = 20, cursor: Cursor = None) -> answers.StudiesAnswer:
        """List the studies that you may read, with how far each is. Use it to find the id of a study."""
        found, following = await self._transport.perform(page(client_calls.studies(), limit, cursor))
        answer: answers.StudiesAnswer = {"studies": [answers.status(each) for each in found]}
        if following is not None:
            answer["next_cursor"] = following
        return answer

    async def info(self, study: StudyId) -> answers.InfoAnswer:
        """Describe a study: its parameters and settings, its best result, what it waits for, and the gap. Going on will
        probably gain less than the gap, in the units of the objective. Use it before you work on a study that you did
        not create, and to decide whether to stop."""
        return answers.info(await self._transport.perform(StudyCalls(study).info()))

    async def recommendation(
        self,
        study: StudyId,
        feasible_probability: Probability = None,
        context: Annotated[
            Point | None, Field(description="values of all context parameters, in a study that has some")
        ] = None,
    ) -> answers.RecommendationAnswer:
        """Return the best point: by the model (mean and std in the units of the objective), and the best one observed.
        Use it for the final answer. With noise prefer the model's. Of several objectives it is the front. In a study
        with context parameters it is the best point of one context."""
        steps = StudyCalls(study).recommendation(feasible_probability=feasible_probability, context=context)
        return answers.recommendation(await self._transport.perform(steps))

    async def trials(
        self,
        study: StudyId,
        state: Annotated[State | None, Field(description="only trials in this state")] = None,
        limit: Limit = 20,
        cursor: Cursor = None,
    ) -> answers.TrialsAnswer:
        """List trials by number, with results and reasons of failures. Use it to find active trials, which wait for a
        result, and failed ones."""
        found, following = await self._transport.perform(page(StudyCalls(study).trials(state), limit, cursor))
        answer: answers.TrialsAnswer = {"trials": [answers.trial(each) for each in found]}
        if following is not None:
            answer["next_cursor"] = following
        return answer

    async def predict(self, study: StudyId, points: Points) -> answers.PredictionsAnswer:
        """Predict the objective at points, evaluating nothing: mean, std and confidence bounds in its units. Use it to
        compare points of your own with the recommendation."""
        found = await self._transport.perform(StudyCalls(study).predict(points))
        return {"predictions": [answers.prediction(each) for each in found]}

    async def why(self, study: StudyId, trial: TrialNumber) -> answers.WhyAnswer:
        """Explain why a trial was suggested, in a sentence or two. Use it when a user asks."""
        document = await self._transport.perform(StudyCalls(study).why(trial))
        return answers.why(decode(Trial, document["trial"], study_id=study), document["decision"])

    async def importance(
        self,
        study: StudyId,
        metric: Annotated[
            str | None, Field(description="to explain in place of the objective; required with several objectives")
        ] = None,
    ) -> answers.ImportanceAnswer:
        """Return which parameters matter: shares between 0 and 1 of the variation that the model sees, alone and
        together with others (total). Use it to report what was learned, or to drop parameters from the next study."""
        return answers.importance(await self._transport.perform(StudyCalls(study).importance(metric)))
