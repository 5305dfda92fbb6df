"""The calls of a client that concern all studies, one procedure each; see ``_study_calls.py``.

``python -m tools.client_methods`` writes ``create_study`` of both clients.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Unpack

from adabkb_client._calls import Call, Listing, Param, Steps, study_path
from adabkb_client._parameters import Parameter, to_wire, warn_of_unreachable_bound
from adabkb_client._records import Deletion, ListedStudy, StudyInfo, decode
from adabkb_client._settings import Direction, check_settings
from adabkb_client._study_calls import StudyCalls
from adabkb_client._study_settings import StudyChanges, StudySettings
from adabkb_client._values import plain
from adabkb_client.errors import AdaBKBError, Conflict, NotFound, Unavailable, from_problem


def create_study(
    id: str | None,
    parameters: Mapping[str, Parameter],
    direction: Direction | None = None,
    *,
    update: bool = False,
    **settings: Unpack[StudySettings],
) -> Steps[StudyInfo]:
    """Create a study, or open it if it exists with the same definition::

        space = {"lr": Float(1e-5, 0.1, log=True), "units": Int(16, 512), "optimizer": Categorical(["sgd", "adam"])}
        space["momentum"] = Float(0, 0.99, when={"optimizer": ["sgd"]})
        study = client.create_study(
            "net", space, direction="maximize", budget=50, seed=1,
            constraints=["lr * units <= 10"], early_stopping=MedianRule(max_steps=27),
        )
        report = study.run(function, workers=2)

    A study needs a ``direction`` or ``objectives``; other settings are optional. For a limit, None means no limit.
    If the study exists, settings that ``Study.update`` can change are compared with their current values, and only
    if you give them.

    Args:
        id: the study's id, such as ``"svm"``; with None, the server chooses one.
        parameters: the search space.
        direction: "minimize" or "maximize"; required unless there are ``objectives``, which have their own.
        update: if the study exists and differs only in settings that ``Study.update`` can change, change them.
        settings: each of ``StudySettings``.

    Returns:
        The study.

    Raises:
        Invalid: the definition is invalid; its ``pointers`` say where.
        TypeError, ValueError: a parameter has an unknown kind, or a bound is not finite.
        Conflict: a study with this id exists and has another definition, or other settings without ``update``.
    """
    body = {} if id is None else {"id": id}
    body |= _body(to_wire(parameters), direction, settings)
    for name, parameter in parameters.items():
        warn_of_unreachable_bound(name, parameter)
    return (yield from create_or_open(body, update=update))


def define_by_run(id: str, direction: Direction | None = None, **settings: Unpack[StudySettings]) -> dict[str, Any]:
    """Return a study whose search space comes from the objective (define-by-run), as in Optuna.

    ``client.define_by_run("tuned", direction="minimize").optimize(objective, n_trials=100)`` creates the
    study, if there is none, and calls ``objective(trial)``, which requests its parameters with
    ``trial.suggest_float`` and similar methods: see ``AskingTrial``. An existing study with this id continues.

    The study is created with the first parameter that the objective requests; edits of its space add further
    parameters. So ``constraints``, a ``prior`` and a ``baseline`` can name only the first parameter, and older
    studies (``transfer_from``) provide information only about it. ``mixtures`` and algorithms with a fixed space,
    such as ``{"profile": "paper"}``, need declared parameters: see ``create_study``.

    Args:
        id: the study's id.
        direction: "minimize" or "maximize"; required unless there are ``objectives``, which have their own.
        settings: each of ``StudySettings``.
    """
    check_settings(settings)
    return {"id": id, "direction": direction, **settings}


def create(definition: Mapping[str, Any]) -> Steps[StudyInfo]:
    """Create a study from its definition, which is JSON as in docs/http.md."""
    return decode(StudyInfo, (yield Call("POST", "/studies", definition)))


def create_or_open(definition: Mapping[str, Any], *, update: bool) -> Steps[StudyInfo]:
    """Create a study from its definition, as in ``create``, or open it if it exists with the same definition. With
    ``update``, change those of its settings that ``Study.update`` can change.

    Raises:
        Conflict: a study with this id exists and has another definition, or other settings without ``update``.
    """
    try:
        return (yield from create(definition))
    except Conflict as error:
        if "id" not in definition or error.code != "study_exists":
            raise
        conflict = error
    return (yield from _open_changed(StudyCalls(definition["id"]), definition, conflict, update=update))


def open_study(
    id: str,
    parameters: Sequence[Mapping[str, Any]],
    *,
    direction: Direction | None,
    **settings: Unpack[StudySettings],
) -> Steps[StudyInfo]:
    """Open an existing study if it has these parameters (as JSON) and the rest of this definition.

    Raises:
        Conflict: the definition differs.
    """
    body = {"id": id, **_body(parameters, direction, settings)}
    try:
        return (yield from create(body))
    except Conflict as error:
        conflict = error
    return (yield from _open_changed(StudyCalls(id), body, conflict, update=False))


def _body(
    parameters: Sequence[Mapping[str, Any]], direction: Direction | None, settings: Mapping[str, Any]
) -> dict[str, Any]:
    check_settings(settings)
    return {
        **({} if direction is None else {"direction": direction}),
        "parameters": list(parameters),
        **{name: plain(value) for name, value in settings.items()},
    }


def _open_changed(study: StudyCalls, body: Mapping[str, Any], conflict: Conflict, *, update: bool) -> Steps[StudyInfo]:
    """Open a study that differs from the definition only in settings that can be changed. With ``update``, change
    these. To compare everything else, send the definition again, with the current values of these settings."""
    now = yield from study.info()
    given = {name: body[name] for name in StudyChanges.__annotations__ if name in body}
    changes = {name: value for name, value in given.items() if value != getattr(now, name)}
    if not changes:
        raise conflict
    yield Call("POST", "/studies", {**body, **{name: getattr(now, name) for name in changes}})
    if not update:
        differing = ", ".join(f"{name} {getattr(now, name)!r}, not {given!r}" for name, given in changes.items())
        arguments = ", ".join(f"{name}={given!r}" for name, given in changes.items())
        raise Conflict(
            conflict.status,
            conflict.code,
            f"study {study.id!r} exists with {differing}; change it with study.update({arguments}) or "
            "create_study(..., update=True), or leave these arguments out.",
            request_id=conflict.request_id,
        )
    return (yield from study.update(**changes))


def find_study(id: str) -> Steps[StudyInfo]:
    """Return the study with an id.

    Raises:
        NotFound: there is none. The error names a study in the trash, or one with a similar id.
    """
    try:
        return (yield from StudyCalls(id).info())
    except NotFound as error:
        if error.code != "study_not_found":
            raise
        missing = error
    detail = f"{missing.detail}{(yield from _instead_of(id))}"
    raise from_problem(missing.status, {**missing.problem, "detail": detail})


def _instead_of(id: str) -> Steps[str]:
    """Return a sentence about the study that may be meant by an id that no study has; empty if there is none among the
    first ones of the lists."""
    try:
        deleted, _ = yield from trash().page_after(None)
        if any(each.study == id for each in deleted):
            return f" It is in the trash: client.restore_study({id!r}) restores it."
        found, _ = yield from studies().page_after(None)
    except AdaBKBError:
        return ""
    near = get_close_matches(id, [each.id for each in found], n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def whoami() -> Steps[dict[str, Any]]:
    """Return the user, the scope and the quotas of the client's token, as JSON: see docs/http.md."""
    document: dict[str, Any] = yield Call("GET", "/tokens/self")
    return document


def server_version() -> Steps[dict[str, Any]]:
    """Return the versions of the server, of its API and of its schema, as JSON."""
    document: dict[str, Any] = yield Call("GET", "/version", in_api=False)
    return document


def readiness() -> Steps[list[dict[str, str]]]:
    """Return the parts of the server that do not work, each with its ``pointer`` and the ``detail``; empty if all
    work."""
    try:
        yield Call("GET", "/readyz", in_api=False, retry_for=0.0)
    except Unavailable as error:
        if not (errors := error.problem.get("errors")):
            raise
        return list(errors)
    return []


def server_metrics() -> Steps[str]:
    """Return the metrics of the server as text in Prometheus' format."""
    text: str = yield Call("GET", "/metrics", in_api=False, as_text=True)
    return text


def studies(tags: Mapping[str, str] | None = None, owner: str | None = None) -> Listing[ListedStudy]:
    """List all studies, or those with all of the given tags, or those of one user."""
    params: dict[str, Param] = {
        "tag": [f"{name}:{text}" for name, text in (tags or {}).items()] or None,
        "owner": owner,
    }
    return Listing("/studies", lambda study: decode(ListedStudy, study), params)


def trash(owner: str | None = None) -> Listing[Deletion]:
    """List the studies in the trash, or those of one user."""
    return Listing("/trash", lambda deletion: decode(Deletion, deletion), {"owner": owner})


def restore_study(id: str, deletion: int | None) -> Steps[StudyInfo]:
    """Restore a deleted study: see ``Client.restore_study``."""
    body = {} if deletion is None else {"deletion": deletion}
    return decode(StudyInfo, (yield Call("POST", f"{study_path(id)}/restore", body)))


def purge_study(deletion: int) -> Steps[None]:
    """Permanently delete a study in the trash."""
    yield Call("DELETE", f"/trash/{deletion}")


def usage() -> Listing[dict[str, Any]]:
    """List the storage that each user uses, with the user's quotas, as JSON; for administrators."""
    return Listing("/usage", dict)
