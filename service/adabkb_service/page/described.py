"""Help beside the fields of forms: the descriptions in the schema of the API."""

from __future__ import annotations

from adabkb_service.contract.cost import CostBudget
from adabkb_service.contract.early_stopping import AshaRule, MedianRule, PatienceRule
from adabkb_service.contract.metrics import OutcomeConstraint
from adabkb_service.contract.mixtures import Mixture
from adabkb_service.contract.objectives import Objective
from adabkb_service.contract.parameters import (
    Body,
    CatalogueParameter,
    CategoricalParameter,
    FloatParameter,
    IntParameter,
)
from adabkb_service.contract.plates import Plates
from adabkb_service.contract.prior import Belief
from adabkb_service.contract.quantities import Quantity
from adabkb_service.contract.stop import Stop
from adabkb_service.contract.study import StudyDefinition

MODELS: dict[str, type[Body]] = {
    each.__name__: each
    for each in (
        AshaRule,
        Belief,
        CatalogueParameter,
        CategoricalParameter,
        CostBudget,
        FloatParameter,
        IntParameter,
        MedianRule,
        Mixture,
        Objective,
        OutcomeConstraint,
        PatienceRule,
        Plates,
        Quantity,
        Stop,
        StudyDefinition,
    )
}


def described(field: str) -> str:
    """Return the description of a field, such as ``Mixture.total``.

    Raises:
        KeyError: there is no such field, or it has no description.
    """
    model, _, name = field.partition(".")
    text = MODELS[model].model_fields[name].description
    if text is None:
        raise KeyError(f"{field} has no description")
    return text
