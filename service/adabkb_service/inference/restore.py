"""Models as they begin: that of a study in which nothing has happened, and one from the rows that were stored of it."""

from __future__ import annotations

from collections.abc import Sequence

from adabkb_service.contract.stored import definition_of
from adabkb_service.engine.cells import NEW_TREE
from adabkb_service.engine.systems import policy_of
from adabkb_service.inference.dataset import COUNTS_MOVED_SINCE, Dataset
from adabkb_service.inference.model import Model
from adabkb_service.storage.rows import EventRow, StudyRow


def start(study: StudyRow, created: EventRow | None = None) -> Model:
    """The model of a study in which nothing has happened.

    Args:
        study: the row.
        created: the event of its creation, which has its space as it was then; None where it was not edited.
    """
    definition = definition_of(study.definition if created is None else created.payload["definition"])
    space, config = definition.space(), definition.config(study.engine_revision)
    policy = policy_of(config)
    state = policy.start(space, config, study.seed)
    counts_moved = study.engine_revision >= COUNTS_MOVED_SINCE
    metrics, several = definition.metrics_with_bounds, bool(definition.objectives)
    dataset = Dataset(
        space,
        definition.sign,
        counts_moved=counts_moved,
        metrics=metrics[1:] if several else metrics,
        objective=metrics[0] if several else None,
    )
    model = Model(
        definition, policy, study.incarnation, 0, 0, state, dataset, dict(NEW_TREE), saved_dictionary=frozenset()
    )
    model.has_moved = study.model is None
    return model


def restore(study: StudyRow, log: Sequence[EventRow], cells: dict[str, str], dictionary: tuple[int, ...]) -> Model:
    """The model as of ``studies.folded``, from its rows.

    Args:
        study: the row.
        log: its events up to ``folded``, but at least the first.
        cells, dictionary: the rows, as of ``folded``.
    """
    model = start(study, log[0])
    model.accept(log[: study.folded])
    model.cells = cells
    space, config = model.dataset.space, model.definition.config(study.engine_revision)
    record = model.dataset.record()
    model.state = model.policy.restore(space, config, study.seed, record, cells, dictionary, study.checkpoint)
    model.saved_seq, model.saved_dictionary = study.folded, frozenset(dictionary)
    # Figures of older versions do not say which event they are as of: it is the one of the rows.
    model.has_moved = study.model is None or study.model.get("position", model.position) != model.position
    model.prepared = False
    return model
