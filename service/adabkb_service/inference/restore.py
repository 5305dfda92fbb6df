"""Create models: for a new study, or from the stored rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adabkb_service.contract.stored import StoredDefinition, definition_of, first_stored
from adabkb_service.contract.transfer import snapshots_of
from adabkb_service.engine.auto import config as auto
from adabkb_service.engine.cells import NEW_TREE
from adabkb_service.engine.older import Older
from adabkb_service.engine.systems import policy_of
from adabkb_service.inference.dataset import Dataset
from adabkb_service.inference.model import Model
from adabkb_service.storage.catalogues import tables_of
from adabkb_service.storage.rows import CreatedRow, EventRow, StudyRow, created_row


def start(study: StudyRow, created: CreatedRow | None = None) -> Model:
    """The model of a study before its first result.

    Args:
        study: the row.
        created: the event of the study's creation, which holds its original space and the snapshots of older studies.
            None where neither is needed.
    """
    stored = study.definition if created is None else first_stored(created.payload["definition"])
    definition = definition_of(stored)
    space, older = definition.space(), _older(definition, created)
    config = definition.config()
    if older:
        assert isinstance(config, auto.Config), "the contract refuses older studies with other algorithms"
        config = replace(config, older=older)
    policy = policy_of(config)
    state = policy.start(space, config, study.seed)
    metrics, several = definition.metrics_with_bounds, bool(definition.objectives)
    dataset = Dataset(
        space,
        definition.sign,
        metrics=metrics[1:] if several else metrics,
        objective=metrics[0] if several else None,
        plates=None if definition.plates is None else {},
    )
    model = Model(definition, policy, study.incarnation, 0, 0, state, dataset, dict(NEW_TREE))
    model.tables = tables_of(stored)
    model.older, model.first_space = older, space if older else None
    return model


def restore(study: StudyRow, log: Sequence[EventRow], cells: dict[str, str], dictionary: tuple[int, ...]) -> Model:
    """The model as of event ``study.model_seq``, rebuilt from the stored rows.

    Args:
        study: the row.
        log: the events of the study up to ``model_seq``, at least the first event.
        cells, dictionary: the stored rows.
    """
    model = start(study, created_row(log))
    for event in log[: study.model_seq]:
        model.count(event)
    model.cells = cells
    space, record = model.dataset.space, model.dataset.record()
    model.state = model.policy.restore(space, model.config(), study.seed, record, cells, dictionary, study.checkpoint)
    model.prepared = False
    return model


def _older(definition: StoredDefinition, created: CreatedRow | None) -> tuple[Older, ...]:
    """The snapshots of older studies, from the event of the study's creation."""
    names = [axis.name for axis in definition.space().axes]
    return tuple(each.older(names) for each in ([] if created is None else snapshots_of(created.payload)))
