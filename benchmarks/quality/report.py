"""The tables of docs/quality.md."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.functions import Array
from benchmarks.output import RESULTS
from benchmarks.quality import bbob, store, workers
from benchmarks.quality.families import DEVELOPMENT_PROBLEMS, FINAL_PROBLEMS, MANY_PROBLEMS
from benchmarks.quality.methods import METHODS
from benchmarks.quality.nature import NATURE_CHOOSING, NATURE_FINAL, NATURE_FURTHER
from benchmarks.quality.problems import FUNCTION_PROBLEMS, NOISE_STD
from benchmarks.quality.scores import (
    Read,
    Scores,
    Standing,
    collect,
    observed,
    paired,
    recommended,
    seconds,
    standings,
    validation,
)
from benchmarks.quality.store import Results
from benchmarks.quality.tables import TABLE_PROBLEMS
from benchmarks.quality.tasks import TASK_PROBLEMS

DOCUMENT = Path(__file__).parents[2] / "docs" / "quality.md"
FUNCTION_BUDGETS = (25, 50, 100, 200, 400)
FINAL_BUDGETS = (*FUNCTION_BUDGETS, 1000)
TASK_BUDGETS = (10, 25, 50)
DEVELOPMENT = RESULTS / "quality-development.json"
"""Made by ``run --problems development --out``; see the Makefile."""
DEVELOPMENT_BUDGETS = (25, 50, 100, 200)
FINAL = RESULTS / "quality-final.json"
"""Made by ``run --problems final,tables --out``; see the Makefile."""
TABLE_BUDGETS = (25, 50, 100)
MANY = RESULTS / "quality-many.json"
"""Made by ``run --problems many --out``; see the Makefile."""
MANY_BUDGETS = (50, 100, 200, 300)
BBOB = RESULTS / "quality-bbob.json"
"""Made by ``run --problems bbob --out``; see the Makefile."""
NATURE = RESULTS / "quality-nature.json"
"""Made by ``run --problems nature,nature-further,nature-final --out``; see the Makefile."""
NATURE_BUDGETS = (10, 20, 30, 50, 100)
FEW_SEEDS = 5
"""Number of seeds of slow methods."""
FURTHER_SEEDS = 4
"""Maximum number of seeds on the further set."""
SHOWN_BUDGET = 100
"""Number of evaluations in the table per function."""

RANK = ("Mean rank", lambda s: f"{s.rank:.2f}")
LOWEST = ("Lowest or tied", lambda s: str(s.lowest))
MUCH_WORSE = ("More than 3 times the best other peer", lambda s: str(s.much_worse))
RATIO = ("Ratio to the best other peer", lambda s: f"{s.ratio:.2f}")
MEASURES = (RANK, LOWEST, MUCH_WORSE, RATIO)
Measure = tuple[str, Callable[[Standing], str]]

LABELS = {
    "random": "random search",
    "directl": "DIRECT-L (SciPy)",
    "cma": "CMA-ES (Optuna)",
    "tpe": "TPE (Optuna)",
    "gpsampler": "GPSampler (Optuna)",
    "auto": "Ada-BKB (`auto`)",
}
"""Names of the methods in ``comparison`` and ``against``."""


def sections(results: Results, budget: int = SHOWN_BUDGET) -> dict[str, str]:
    """Every generated section of the document."""
    development, final, measured = store.load(DEVELOPMENT), store.load(FINAL), store.load(NATURE)
    return {
        "nature": nature(measured, NATURE_CHOOSING),
        "nature-further": further(measured),
        "nature-final": nature(measured, NATURE_FINAL),
        "runs": runs(results),
        "functions": functions(results, budget),
        "tasks": tasks(results),
        "workers": workers.section(results, development, final),
        "development": families(development, DEVELOPMENT_PROBLEMS, DEVELOPMENT_BUDGETS),
        "final": families(final, FINAL_PROBLEMS, FINAL_BUDGETS),
        "tables": tables(final),
        "many": many(store.load(MANY)),
        "bbob": public(store.load(BBOB)),
    }


def write(results: Results) -> None:
    """Write the sections to the document."""
    text = DOCUMENT.read_text()
    for name, section in sections(results).items():
        begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
        head, _, rest = text.partition(begin)
        text = f"{head}{begin}\n{section}\n\n{end}{rest.partition(end)[2]}"
    DOCUMENT.write_text(text)


def runs(results: Results) -> str:
    """The runs behind the tables: the numbers of completed and expected runs, and versions."""
    rows = []
    for name in order({method for _, method, _ in results.runs}):
        entry, made = METHODS.get(name), results.methods[name]
        problems = [p for p in (*FUNCTION_PROBLEMS.values(), *TASK_PROBLEMS.values()) if not entry or entry.runs_on(p)]
        wanted = sum(min(p.seeds, entry.seeds) if entry else p.seeds for p in problems)
        done = sum(method == name for _, method, _ in results.runs)
        versions = {**made["packages"]} or {"": revisions(results, name) if name in ours([name]) else "numpy, scipy"}
        rows.append([name, f"{done} of {wanted}", ", ".join(f"{k} {v}".strip() for k, v in versions.items())])
    return table(["method", "runs", "made with"], rows)


def revisions(results: Results, name: str) -> str:
    """The revision of the engine in the newest runs of one of our methods, and the number of runs with it."""
    known = [run.get("revision", 0) for (_, method, _), run in results.runs.items() if method == name]
    newest = max(known)
    if not newest:
        return "this repository"
    made = known.count(newest)
    return f"this repository, revision {newest}" + ("" if made == len(known) else f" in {made} runs, older in others")


def functions(results: Results, budget: int) -> str:
    """Standings on the functions, regrets per function, times."""
    names, floor = list(FUNCTION_PROBLEMS), NOISE_STD
    parts = [compared(results, names, FUNCTION_BUDGETS, measure, floor=floor) for measure in MEASURES]
    medians = per_problem(collect(results, names, budget))
    times = timed(results, names, FUNCTION_BUDGETS)
    parts += [f"Median regret after {budget} evaluations:\n\n{medians}", f"Seconds spent in the method:\n\n{times}"]
    return "\n\n".join([*parts, *limited(results)])


def limited(results: Results) -> list[str]:
    """A table for each method with only some functions or seeds, which compares all methods on these."""
    parts = []
    for name, entry in METHODS.items():
        problems = [p.name for p in FUNCTION_PROBLEMS.values() if entry.runs_on(p)]
        if len(problems) < len(FUNCTION_PROBLEMS) and name in {method for _, method, _ in results.runs}:
            budgets = [b for b in FUNCTION_BUDGETS if b <= entry.budget]
            title = f"on the {len(problems)} functions and {entry.seeds} seeds of {name}"
            parts += [
                compared(results, problems, budgets, (f"{label}, {title}", show), floor=NOISE_STD, seeds=entry.seeds)
                for label, show in (RANK, RATIO)
            ]
    return parts


def tasks(results: Results) -> str:
    """Standings on the tuning tasks, test losses per task, times."""
    names = list(TASK_PROBLEMS)
    parts = [compared(results, names, TASK_BUDGETS, measure) for measure in (RANK, LOWEST, RATIO)]
    parts.append(compared(results, names, TASK_BUDGETS, (f"{RANK[0]} by validation loss", RANK[1]), validation))
    medians = per_problem(collect(results, names, TASK_BUDGETS[-1]))
    times = timed(results, names, TASK_BUDGETS)
    parts += [
        f"Median test loss after {TASK_BUDGETS[-1]} evaluations:\n\n{medians}",
        f"Seconds spent in the method:\n\n{times}",
    ]
    return "\n\n".join(parts)


def families(results: Results, problems: Iterable[str], budgets: Sequence[int]) -> str:
    """Standings on families of functions, and scores per family."""
    names = list(problems)
    parts = [compared(results, names, budgets, measure) for measure in MEASURES]
    return "\n\n".join([*parts, last_medians(results, names, budgets[-1])])


def many(results: Results) -> str:
    """Standings on functions of many parameters, with too few seeds for a test."""
    names = list(MANY_PROBLEMS)
    parts = [compared(results, names, MANY_BUDGETS, measure) for measure in (RANK, MUCH_WORSE, RATIO)]
    return "\n\n".join([*parts, last_medians(results, names, MANY_BUDGETS[-1])])


def public(results: Results) -> str:
    """Shares of the targets that are reached on the public functions, methods by dimensions."""
    parts = []
    for factor in bbob.EVALUATIONS:
        shares = {d: reached(results, d, factor * d) for d in bbob.DIMENSIONS}
        rows = [
            [name, *(f"{np.mean(list(shares[d][name].values())):.2f}" for d in bbob.DIMENSIONS)]
            for name in order(set.intersection(*(set(of_method) for of_method in shares.values())))
        ]
        header = ["method", *(f"{d} parameters" for d in bbob.DIMENSIONS)]
        parts.append(f"Share of targets after {factor} evaluations per parameter:\n\n{table(header, rows)}")
    return "\n\n".join(parts)


def reached(results: Results, dimension: int, budget: int) -> dict[str, dict[str, float]]:
    """The mean share of the targets that each method has reached on each public function of a dimension."""
    names = [name for name, problem in bbob.BBOB_PROBLEMS.items() if problem.dimension == dimension]
    return {
        method: {name: float(np.mean([bbob.reached(regret) for regret in of[name]])) for name in names}
        for method, of in collect(results, names, budget).items()
    }


def tables(results: Results) -> str:
    """Standings on the tables of trained networks, by the mean of all trainings and by the one that methods see."""
    names = list(TABLE_PROBLEMS)
    parts = [compared(results, names, TABLE_BUDGETS, measure) for measure in MEASURES]
    parts.append(compared(results, names, TABLE_BUDGETS, (f"{RANK[0]} by the observed loss", RANK[1]), validation))
    return "\n\n".join([*parts, last_medians(results, names, TABLE_BUDGETS[-1])])


def nature(results: Results, problems: Iterable[str]) -> str:
    """Standings on tables and emulators of experiments; methods with few runs are compared on their seeds."""
    names = list(problems)
    seeds = {name: {seed for _, method, seed in results.runs if method == name} for name in results.methods}
    many = Results({key: run for key, run in results.runs.items() if len(seeds[key[1]]) > FEW_SEEDS}, results.methods)
    parts = [compared(many, names, NATURE_BUDGETS, measure) for measure in (RANK, LOWEST, RATIO)]
    few = (f"{RANK[0]} on seeds 0 to {FEW_SEEDS - 1}", RANK[1])
    parts.append(compared(results, names, NATURE_BUDGETS[:-1], few, seeds=FEW_SEEDS))
    medians = per_problem(collect(results, names, 30, seeds=FEW_SEEDS))
    return "\n\n".join([*parts, f"Median score of these seeds after 30 evaluations:\n\n{medians}"])


def further(results: Results) -> str:
    """Standings on the further set, on which all methods have the same few seeds and evaluations."""
    names, budgets = list(NATURE_FURTHER), NATURE_BUDGETS[:-1]
    parts = [compared(results, names, budgets, measure, seeds=FURTHER_SEEDS) for measure in (RANK, LOWEST, RATIO)]
    return "\n\n".join([*parts, beside(results, names, budgets)])


def beside(results: Results, problems: Sequence[str], budgets: Sequence[int]) -> str:
    """Regrets of ``auto`` divided by those of each other method on the same problems with the same seeds."""
    rows = []
    for name in order(set(results.methods) - ours(results.methods)):
        logs = [paired(results, problems, "auto", name, budget) for budget in budgets]
        rows.append([name, str(len(logs[0])), *map(ratio, logs)])
    title = "Regret of `auto` divided by that of others with the same seeds"
    explained = "geometric mean with its standard error, numbers of runs in which `auto` is better and worse"
    return f"{title} ({explained}):\n\n{table(['method', 'runs', *map(str, budgets)], rows)}"


def ratio(logs: Array) -> str:
    """The geometric mean with its standard error, and the numbers of values below and above 1."""
    mean = np.exp(logs.mean())
    error = mean * logs.std() / np.sqrt(len(logs))
    return f"{mean:.2f} ± {error:.2f}, {(logs < 0).sum()}:{(logs > 0).sum()}"


def last_medians(results: Results, problems: Sequence[str], budget: int) -> str:
    """Median scores per problem after all evaluations."""
    return f"Median score after {budget} evaluations:\n\n{per_problem(collect(results, problems, budget))}"


def compared(
    results: Results,
    problems: Sequence[str],
    budgets: Sequence[int],
    measure: Measure,
    read: Read = observed,
    *,
    floor: float = -np.inf,
    seeds: int | None = None,
) -> str:
    """A table of one measure, methods by budgets. Separate rows use the recommendations of our methods."""
    label, show = measure
    cells: dict[str, dict[int, str]] = {}
    for budget in budgets:
        scores = collect(results, problems, budget, read, floor=floor, seeds=seeds)
        for name, standing in standings(scores, ours(scores)).items():
            cells.setdefault(name, {})[budget] = show(standing)
        if read is observed:
            for name, own in collect(results, problems, budget, recommended, floor=floor, seeds=seeds).items():
                standing = standings({**scores, name: own}, ours(scores))[name]
                cells.setdefault(f"{name} (recommended)", {})[budget] = show(standing)
    rows = [[name, *(cells[name].get(budget, "") for budget in budgets)] for name in order(cells)]
    return f"{label}:\n\n{table(['method', *map(str, budgets)], rows)}"


def comparison(results: Results) -> str:
    """A summary of the tables for the README."""
    of_functions, of_tasks = list(FUNCTION_PROBLEMS), list(TASK_PROBLEMS)
    ranked = {
        "functions, 50 evaluations": collect(results, of_functions, 50, floor=NOISE_STD),
        "functions, 100 evaluations": collect(results, of_functions, SHOWN_BUDGET, floor=NOISE_STD),
        "tasks, 50, validation loss": collect(results, of_tasks, 50, validation),
        "tasks, 50, test loss": collect(results, of_tasks, 50),
    }
    ranks = [{name: found.rank for name, found in standings(each, ours(each)).items()} for each in ranked.values()]
    times = collect(results, of_functions, SHOWN_BUDGET, seconds)
    rows = []
    for name in order(times):
        of_problem = [np.median(of_seed) for of_seed in times[name].values()]
        cells = [f"**{of[name]:.2f}**" if of[name] == min(of.values()) else f"{of[name]:.2f}" for of in ranks]
        rows.append([LABELS[name], *cells, f"{np.median(of_problem):.2g} s"])
    return table(["", *ranked, "CPU time"], rows)


def against(results: Results, peer: str) -> str:
    """Numbers of problems on which ``auto`` or another method has the lower median over seeds."""
    functions = [(f"functions, {budget}", list(FUNCTION_PROBLEMS), budget, NOISE_STD) for budget in (50, 100, 200, 400)]
    tasks = ("tasks, 50, test loss", list(TASK_PROBLEMS), 50, -np.inf)
    rows = []
    for title, problems, budget, floor in (*functions, tasks):
        scores = collect(results, problems, budget, floor=floor)
        own, other = (np.array([np.median(scores[name][each]) for each in problems]) for name in ("auto", peer))
        ratio = np.exp(np.log(own / other).mean())
        counts = ((own < other).sum(), (own == other).sum(), (own > other).sum())
        rows.append([title, *map(str, counts), f"{ratio:.2f}"])
    return table(
        ["problems, evaluations", f"{LABELS['auto']} is lower", "equal", f"{LABELS[peer]} is lower", "ratio"], rows
    )


def per_problem(scores: Scores) -> str:
    """A table of median scores, problems by methods, with the lowest in bold."""
    names = order(scores)
    rows = []
    for problem in scores[names[0]] if names else ():
        medians = [float(np.median(scores[name][problem])) for name in names]
        rows.append([problem, *(f"**{m:.3g}**" if m == min(medians) else f"{m:.3g}" for m in medians)])
    return table(["problem", *names], rows)


def timed(results: Results, problems: Sequence[str], budgets: Sequence[int]) -> str:
    """A table of times: the median over problems of the median over seeds."""
    cells: dict[str, dict[int, str]] = {}
    for budget in budgets:
        for name, of_problem in collect(results, problems, budget, seconds).items():
            median = np.median([np.median(of_seed) for of_seed in of_problem.values()])
            cells.setdefault(name, {})[budget] = f"{median:.2g}"
    rows = [[name, *(cells[name].get(budget, "") for budget in budgets)] for name in order(cells)]
    return table(["method", *map(str, budgets)], rows)


def ours(names: Iterable[str]) -> set[str]:
    """Our policies and their variants."""
    return {name for name in names if name not in METHODS or not METHODS[name].is_peer}


def order(names: Iterable[str]) -> list[str]:
    """Peers in the order of ``METHODS``, then ours."""
    known = list(METHODS)
    return sorted(names, key=lambda name: (known.index(name) if name in known else len(known), name))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows))
