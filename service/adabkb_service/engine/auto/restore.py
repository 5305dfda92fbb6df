"""Build the state of a new study, of a stored study, or of a study after a correction or an edit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from adabkb_service.engine import record as records
from adabkb_service.engine.auto.config import Config, Problem
from adabkb_service.engine.auto.domain.tree import PRUNED, Tree, grown, root
from adabkb_service.engine.auto.learning import relearned
from adabkb_service.engine.auto.model import likelihood
from adabkb_service.engine.auto.search.constrained import without_infeasible
from adabkb_service.engine.auto.state.checkpoint import Checkpoint, from_json
from adabkb_service.engine.auto.state.state import State, fitted
from adabkb_service.engine.cells import NEW_TREE
from adabkb_service.engine.moves import Cells, Update
from adabkb_service.engine.record import Record
from adabkb_service.engine.space import Space


def start(space: Space, config: Config, seed: int) -> State:
    """Return the state of a new study, whose tree is a single leaf."""
    return _blank(Problem(space, config, seed), root())


def restore(
    space: Space,
    config: Config,
    seed: int,
    record: Record,
    cells: Mapping[str, str],
    dictionary: Sequence[int],  # noqa: ARG001
    learned: Mapping[str, object] | None = None,
) -> State:
    """Return the state, from stored data. It equals, bit for bit, the state after processing the log. If an earlier
    revision of the engine stored the data, everything is learned again from the same results and cells.

    Args:
        space, config, seed: those of the study.
        record: all results, in log order.
        cells: key -> "leaf" | "expanded" | "pruned" of all cells, in order of creation; empty for a study without
            suggestions.
        dictionary: unused; ``learned`` contains it.
        learned: the output of ``learned`` in the last report; None for a study without one.
    """
    problem, tree = Problem(space, config, seed), grown(cells)
    if space.is_restricted:
        pruned = [key for key, status in cells.items() if status == "pruned"]
        tree, _ = without_infeasible(problem.domain, tree, pruned)
    blank = _blank(problem, tree)
    if learned is None:
        return blank
    checkpoint = from_json(learned)
    if checkpoint is None:  # pruned cells stay marked until the next checkpoint; suggestions ignore marks
        return replace(rebuild(blank, record, cells).state, tree=tree)
    cells_learned_from = learned["cells_learned_from"]
    assert isinstance(cells_learned_from, int)
    metrics = []
    for own, measured, kept in zip(problem.of_metrics, record.metrics, _of_metrics(learned), strict=True):
        of_metric = from_json(kept)
        assert of_metric is not None, "the objective and the metrics have checkpoints of the same revision"
        metrics.append(fitted(own, measured.known(), root(), of_metric))
    return fitted(problem, record.known(), tree, checkpoint, cells_learned_from, tuple(metrics))


def rebuild(state: State, record: Record, cells: Mapping[str, str]) -> Update[State]:  # noqa: ARG001
    """Return the state with another record of results, after a correction. The hyperparameters are learned again,
    starting from the prior, and the tree is pruned again. Its cuts stay, since points were issued for its cells. The
    objective, and each metric, are learned from the results in which they are known.

    Args:
        state: the state of the study.
        record: the results after the correction, in log order.
        cells: unused; the state contains them.

    Raises:
        FloatingPointError: numbers of the model overflow.
    """
    blank = _blank(state.problem, state.tree)
    metrics = tuple(_given(*each) for each in zip(blank.metrics, record.metrics, strict=True))
    anew = _given(replace(blank, metrics=metrics), record)
    return Update(anew, changed_marks(state.tree, anew.tree))


def _given(blank: State, record: Record) -> State:
    """Return a state with the results of a record that have a value, given the state without results."""
    known = record.known()
    return relearned(blank, known) if known.size else blank


def edited(state: State, space: Space, config: Config, record: Record) -> Update[State]:
    """Return the state in an edited space, with a new tree and everything learned again.

    Args:
        state: the state of the study.
        space, config: the edited ones; the prior on the optimum refers to positions in the new space.
        record: the results in the new space, in log order.

    Raises:
        FloatingPointError: numbers of the model overflow.
    """
    update = rebuild(_blank(replace(state.problem, space=space, config=config), root()), record, {})
    return Update(update.state, {**NEW_TREE, **update.cells})


def changed_marks(before: Tree, after: Tree) -> Cells:
    """Return cells whose pruning differs between two markings of the same tree."""
    changed = np.flatnonzero(before.axis != after.axis)
    return {after.key(int(cell)): "pruned" if after.axis[cell] == PRUNED else "leaf" for cell in changed}


def _blank(problem: Problem, tree: Tree) -> State:
    has_plates = problem.config.has_plates
    nothing = records.empty(problem.space.dimension, has_plates=has_plates)
    checkpoint = Checkpoint(0, likelihood.prior_of(problem.domain, has_plates=has_plates))
    metrics = tuple(fitted(own, nothing, root(), checkpoint) for own in problem.of_metrics)
    record = nothing.with_metrics((nothing.values, nothing.errors) for _ in metrics)
    return fitted(problem, record, tree, checkpoint, metrics=metrics)


def _of_metrics(learned: Mapping[str, object]) -> list[Mapping[str, object]]:
    found = learned.get("metrics", [])
    assert isinstance(found, list)
    return found
