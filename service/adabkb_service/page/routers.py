"""All routes of the web interface except the documentation, which ``site`` mounts."""

from __future__ import annotations

from adabkb_service.page import (
    account,
    assets,
    charts,
    feed,
    forms,
    login,
    pasting,
    report,
    results,
    single_sign_on,
    studies,
    study,
    trial,
)

ROUTERS = [
    studies.data,
    studies.pages,
    forms.pages,
    forms.data,
    forms.bodies,
    study.pages,
    feed.router,
    results.pages,
    results.data,
    pasting.data,
    pasting.bodies,
    trial.pages,
    report.pages,
    charts.data,
    account.router,
    login.router,
    single_sign_on.router,
    assets.router,
]
