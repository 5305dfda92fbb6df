"""Create states: of a new study, from stored data, and after a correction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from adabkb_service.engine.cells import child_keys, own_centroids, split
from adabkb_service.engine.moves import Update
from adabkb_service.engine.paper.config import Config, Problem
from adabkb_service.engine.paper.gp import sketched_gp
from adabkb_service.engine.paper.leaves import cells_of_one_depth, joined, listed, root
from adabkb_service.engine.paper.points import none_yet
from adabkb_service.engine.paper.state import State, add_points, draw, prune, refactorize, summarize
from adabkb_service.engine.record import Record
from adabkb_service.engine.space import Space

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


def start(space: Space, config: Config, seed: int) -> State:
    """The initial state: the leaf set is L_0 = {x_{0,1}}, without observations.

    Raises:
        ValueError: the coordinates are raw, and some parameters of the space have no order.
    """
    return blank(Problem(space, config, seed))


def restore(
    space: Space,
    config: Config,
    seed: int,
    record: Record,
    cells: Mapping[str, str],
    dictionary: Sequence[int],
    learned: Mapping[str, object] | None = None,
) -> State:
    """The state of a study, restored from stored data. See ``Policy.restore``.

    Args:
        space, config, seed: those of the study.
        record: the results that the model uses, in log order.
        cells: key -> "leaf" | "expanded" | "pruned" of every cell ever created, in order of creation; empty before the
            first suggestion.
        dictionary: ordinals of the points in the dictionary.
        learned: with batches, ``drawn_at``: the number of results when the dictionary was drawn.
    """
    drawn_at = (learned or {}).get("drawn_at", 0)
    assert isinstance(drawn_at, int)
    return restored(Problem(space, config, seed), record, cells, dictionary, drawn_at)


def rebuild(state: State, record: Record, cells: Mapping[str, str]) -> Update[State]:
    """The state after a correction, with another record of results. Pruned cells become leaves, the model is
    recomputed, and the leaves excluded by the corrected bounds are pruned.

    The ordinals of points may change, so the dictionary of the new state replaces the stored one entirely.

    Args:
        state: the state before the correction.
        record: the results after the correction, in log order.
        cells: key -> status of every cell ever created. Expanded cells stay expanded, since their children's points
            were issued.
    """
    problem = state.problem
    unpruned = {key: "leaf" if status == "pruned" else status for key, status in cells.items()}
    state = restored(problem, record, unpruned, dictionary=None)
    state, pruned = prune(state)
    dropped = set(pruned)
    changed = {
        key: "pruned" if key in dropped else "leaf"
        for key, status in cells.items()
        if status != "expanded" and (status == "pruned") != (key in dropped)
    }
    return Update(state, changed)


def dictionary(state: State) -> tuple[int, ...]:
    """The dictionary as ordinals of evaluated points, ascending."""
    return tuple(np.flatnonzero(np.isin(state.points.evaluated, state.gp.sketch.dictionary)).tolist())


def blank(problem: Problem) -> State:
    """The state of a new study. The leaves are the root, or all fixed points."""
    dimension = problem.space.dimension
    center = problem.space.snap(np.full((1, dimension), 0.5))
    known = center if problem.fixed is None else problem.fixed
    points = none_yet(dimension).add(known, problem.scaled(known))
    if problem.fixed is None:
        corner = np.zeros((1, dimension))
        tree = root(dimension, 0, problem.variation(corner, corner + 1.0, center, 0))
    else:
        tree = listed(problem.fixed)
    gp = sketched_gp(problem, points, np.zeros(0, dtype=np.int64))
    state = State(problem, tree, points, gp, summarize(problem, points, gp))
    return state if problem.config.batch_drift is None else refactorize(state, gp.sketch.dictionary, 0)


def restored(
    problem: Problem,
    record: Record,
    cells: Mapping[str, str],
    dictionary: Sequence[int] | None,
    drawn_at: int = 0,
) -> State:
    """The state with this record, tree and dictionary.

    Args:
        problem: space, constants and seed.
        record: the results, in log order.
        cells: key -> status, parents before children.
        dictionary: ordinals of the points in the dictionary; None to draw it by the variances under the full one.
        drawn_at: number of results when the dictionary was drawn.
    """
    state = _with_results(blank(problem), record.positions, record.values)
    if problem.fixed is None:
        state = _with_tree(state, cells)
    evaluated = state.points.evaluated
    if dictionary is not None:
        return refactorize(state, evaluated[np.array(dictionary, dtype=np.int64)], drawn_at)
    state = refactorize(state, evaluated, record.size)
    return _redrawn(state) if len(evaluated) else state


def _with_results(state: State, positions: Array, values: Array) -> State:
    """A blank state with the points and results of a record. Its model is not valid until ``refactorize``."""
    if not len(values):
        return state
    unique, first, inverse = np.unique(positions, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    state, ids = add_points(state, unique[order])
    observed = rank[inverse.ravel()]
    evaluated = np.array(ids, dtype=np.int64)
    counts = np.zeros(state.points.size)
    counts[evaluated] = np.bincount(observed)
    points = replace(state.points, counts=counts, evaluated=evaluated, observed=observed, values=values)
    return replace(state, points=points)


def _with_tree(state: State, cells: Mapping[str, str]) -> State:
    """The state with a tree, built level by level. Its model is not valid until ``refactorize``."""
    problem, branching = state.problem, state.problem.config.branching
    known = {position.tobytes(): i for i, position in enumerate(state.points.positions.array)}
    level, levels, first = state.tree, [state.tree], 0
    while len(split_now := np.flatnonzero([cells.get(key) == "expanded" for key in level.keys])):
        corners = split(level.low.array[split_now], level.high.array[split_now], branching, problem.side_scale)
        lows, highs = (corner.reshape(-1, problem.space.dimension) for corner in corners)
        own = np.tile(own_centroids(branching), len(split_now))
        point = np.repeat(level.point[split_now], branching)
        middles = problem.space.snap((lows + highs)[own] / 2)
        point[own] = [known.setdefault(middle.tobytes(), len(known)) for middle in middles]
        centroids = _positions(known)[point]
        names = [name for key in level.keys[split_now] for name in child_keys(key, branching)]
        parent = first + np.repeat(split_now, branching)
        first += len(level.keys)
        depth = int(level.depth[0]) + 1
        variation = problem.variation(lows, highs, centroids, depth)
        level = cells_of_one_depth(names, lows, highs, depth, parent, point, variation)
        levels.append(level)
    positions = _positions(known)[state.points.size :]
    tree = joined(levels)
    leaves = np.flatnonzero([cells.get(key, "leaf") == "leaf" for key in tree.keys])
    points = state.points.add(positions, problem.scaled(positions))
    return replace(state, tree=replace(tree, leaves=leaves), points=points)


def _positions(known: Mapping[bytes, int]) -> Array:
    """Positions (P, d) from their bytes, which are in the order of the ids."""
    return np.frombuffer(b"".join(known)).reshape(len(known), -1)


def _redrawn(state: State) -> State:
    """The state with a dictionary drawn by the variances under the present one."""
    points = state.points
    ids = points.evaluated
    variance = state.summary.deviation[ids] ** 2
    drawn = draw(state.problem, len(points.values), points.counts[ids], variance)
    return state if drawn.all() else refactorize(state, ids[drawn], len(points.values))
