"""Commands that show what the model has learned: importance of parameters, slices of the posterior, the partition."""

from __future__ import annotations

import json
from itertools import product
from typing import Annotated, Any, Literal

import typer

from adabkb_client._study_calls import StudyCalls
from adabkb_client._values import figure
from adabkb_service.cli.described import point
from adabkb_service.cli.output import AsJson, show, table
from adabkb_service.cli.server_calls import Server, StudyId
from adabkb_service.cli.values import parse_point

REASONS = {
    "too_few_results": "the model needs more; adabkb study assessment STUDY says how many",
    "constant": "the model's prediction is the same everywhere",
}
SENTENCES = ("progress", "latest", "findings", "outlook")

OfMetric = Annotated[
    str | None,
    typer.Option(
        help="metric to use instead of the objective; required if there are several objectives", show_default=False
    ),
]


def importance(server: Server, study: StudyId, metric: OfMetric = None, as_json: AsJson = False) -> None:
    """Show which parameters the objective depends on.

    The numbers are Sobol' indices with their standard errors: the share of the variance over the space that a parameter
    explains by itself (first order), and including its interactions with others (total).
    """
    found = server.document(StudyCalls(study).importance(metric))
    if found["reason"] is not None:
        text = f"Study {study} has {found['results']} results: {REASONS[found['reason']].replace('STUDY', study)}."
    else:
        ranked = sorted(found["parameters"], key=lambda each: -each["total"])
        text = table(
            ["parameter", "first order", "total"],
            [
                [
                    each["name"],
                    _with_error(each["first_order"], each["first_order_error"]),
                    _with_error(each["total"], each["total_error"]),
                ]
                for each in ranked
            ],
        )
    show(found, text, as_json=as_json)


def assessment(server: Server, study: StudyId, as_json: AsJson = False) -> None:
    """Summarize a study in a few sentences, with warnings.

    They describe the progress, the latest trial, the findings, whether you can stop, and whether you can trust the
    model. The study's page shows them, too.
    """
    found = server.document(StudyCalls(study).assessment())
    sentences = [found["standing"], *(found[name]["text"] for name in SENTENCES if found[name] is not None)]
    sentences += [each["text"] for each in found["verdicts"].values()]
    show(found, "\n".join([*sentences, *(f"! {check['text']}" for check in found["checks"])]), as_json=as_json)


def validation(server: Server, study: StudyId, metric: OfMetric = None, as_json: AsJson = False) -> None:
    """Show each result beside its prediction from the others.

    The prediction leaves out the result itself (leave-one-out). Nine results in ten should lie within their 90%
    intervals.
    """
    found = server.document(StudyCalls(study).validation(metric))
    text = found["verdict"]["text"]
    if found["reason"] is None:
        rows = [
            [
                str(each["observation"]),
                *(figure(each[name]) for name in ("value", "mean", "lcb", "ucb")),
                "" if each["lcb"] <= each["value"] <= each["ucb"] else "outside",
            ]
            for each in found["items"]
        ]
        text = f"{table(['result', 'value', 'predicted', 'lower', 'upper', ''], rows)}\n{text}"
    show(found, text, as_json=as_json)


def slice_(
    server: Server,
    study: StudyId,
    parameters: Annotated[
        list[str], typer.Argument(metavar="PARAMETER...", help="one or two parameters to vary", show_default=False)
    ],
    points: Annotated[
        int | None,
        typer.Option(
            help="maximum number of values per parameter (default: 50 for one parameter, 25 for two)",
            show_default=False,
        ),
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="value of another parameter; may be repeated", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the prediction along one or two parameters.

    The other parameters have their values in the recommended point, unless --at gives others.

    \b
    adabkb model slice svm C --points 10 --at gamma=0.1
    """
    others = parse_point(at) if at else None
    found = server.document(StudyCalls(study).slice(*parameters, points=points, at=others))
    names = [axis["name"] for axis in found["axes"]]
    rows = [
        [*map(_value, where), *map(figure, _columns(it).values())]
        for where, it in zip(product(*(axis["values"] for axis in found["axes"])), found["predictions"], strict=True)
    ]
    lines = [table([*names, *_columns(found["predictions"][0])], rows)]
    if found["at"]:
        lines.insert(0, f"at {point(found['at'])}")
    show(found, "\n".join(lines), as_json=as_json)


def partition(
    server: Server,
    study: StudyId,
    status: Annotated[
        Literal["leaf", "expanded", "pruned"] | None,
        typer.Option(help="list only cells with this status", show_default=False),
    ] = None,
    metric: OfMetric = None,
    as_json: AsJson = False,
) -> None:
    """List the cells of the partition with their predictions. They are in order of creation."""
    found = server.items(StudyCalls(study).partition(status, metric))
    rows = [
        [cell["key"], str(cell["depth"]), cell["status"], figure(cell["mean"]), f"{cell['std']:.2g}", _index(cell)]
        + [_range(cell["low"][name], cell["high"][name]) for name in cell["low"]]
        for cell in found
    ]
    names = list(found[0]["low"]) if found else []
    text = table(["cell", "depth", "status", "mean", "std", "index", *names], rows)
    none = f"Study {study} has no cells yet." if status is None else f"Study {study} has no {status} cells."
    show(found, text if found else none, as_json=as_json)


def _columns(prediction: dict[str, Any]) -> dict[str, float]:
    """Return the numbers of a prediction by column; with several objectives, those of each metric."""
    words = {"mean": "mean", "std": "std", "lcb": "lower", "ucb": "upper"}
    if "mean" in prediction:
        return {word: prediction[name] for name, word in words.items()}
    return {
        f"{metric} {word}": each[name] for metric, each in prediction["metrics"].items() for name, word in words.items()
    }


def _with_error(value: float, error: float) -> str:
    return f"{value:.3f} ± {error:.3f}"


def _index(cell: dict[str, Any]) -> str:
    return "" if cell["index"] is None else figure(cell["index"])


def _range(low: object, high: object) -> str:
    return _value(low) if low == high else f"{_value(low)}..{_value(high)}"


def _value(value: object) -> str:
    return figure(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)
