"""Login at an identity provider in a real browser: login, logout, logout everywhere, missing rights, and expired
sessions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from playwright.sync_api import Browser, Page, expect

from adabkb_service.storage.database import Database
from adabkb_service.storage.tables import tokens
from adabkb_service.study.clock import utc_now
from tests.acceptance.page.tabs import PHONE, accessible, tab
from tests.integration.identity.conftest import House, server_at
from tests.integration.identity.providers import Certified
from tests.servers import free_port

pytestmark = pytest.mark.long

BUTTON = "Log in with Lab account"


@pytest.fixture(scope="module")
def house(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    path, port = tmp_path_factory.mktemp("house") / "adabkb.db", free_port()
    path.write_bytes(sqlite_template.read_bytes())
    url, provider = f"sqlite:///{path}", Certified([f"http://127.0.0.1:{port}"])
    with (
        provider.running(),
        closing(Database(url)) as database,
        server_at(port, url, provider.issuer, oidc_label="Lab account") as address,
    ):
        yield House(address, url, database, provider)


@contextmanager
def visit(browser: Browser, house: House, **options: Any) -> Iterator[Page]:
    """A tab. The provider's form requests a font from the internet, which is replaced by an empty one."""
    with tab(browser, house.address, **options) as page:
        page.context.route(re.compile(r"^https://"), lambda route: route.fulfill(content_type="text/css", body=""))
        yield page


def log_in(page: Page, subject: str) -> None:
    """Log in from a page that requires it, at the provider and back."""
    page.get_by_role("link", name=BUTTON).click()
    page.get_by_placeholder("Enter any login").fill(subject)
    page.get_by_placeholder("and password").fill("any")
    page.get_by_role("button", name="Sign-in").click()


def test_people_log_in_where_they_were_and_log_out_at_the_provider_too(house: House, browser: Browser) -> None:
    with visit(browser, house, refused=(401,)) as page:
        page.goto("/new")
        assert accessible(page) == []
        log_in(page, "1001")
        page.wait_for_url("**/new")
        expect(page.get_by_role("heading", name="New study", exact=True)).to_be_visible()
        assert page.evaluate("document.cookie") == ""
        expect(page.get_by_role("link", name="Ann Lee")).to_be_visible()
        page.get_by_role("button", name="Log out").click()
        page.get_by_role("button", name=re.compile("sign me out|yes", re.IGNORECASE)).click()
        page.wait_for_url(f"{house.address}/login")
        page.goto("/account")
        expect(page.get_by_role("heading", name="Log in")).to_be_visible()
        page.get_by_role("link", name=BUTTON).click()
        expect(page.get_by_placeholder("Enter any login")).to_be_visible()


def test_who_has_no_rights_is_told_so_and_may_try_another_account(house: House, browser: Browser) -> None:
    with visit(browser, house, refused=(401, 403)) as page:
        page.goto("/")
        log_in(page, "1003")
        expect(page.get_by_role("heading", name="The login was refused")).to_be_visible()
        expect(page.get_by_text("your groups are guests, sales")).to_be_visible()
        assert accessible(page) == []
        page.get_by_role("link", name="Log in with a token").click()
        expect(page.get_by_label("Token")).to_be_visible()


def test_somebody_who_may_only_read_has_no_button_for_more(house: House, browser: Browser) -> None:
    with visit(browser, house, refused=(401,)) as page:
        page.goto("/")
        log_in(page, "1004")
        expect(page.get_by_role("heading", name="Studies", exact=True)).to_be_visible()
        expect(page.get_by_role("link", name="New study")).to_have_count(0)


def test_an_expired_session_is_noticed_on_the_open_page_and_renewed_in_place(house: House, browser: Browser) -> None:
    with visit(browser, house, refused=(401,)) as page:
        page.goto("/account")
        log_in(page, "1001")
        expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
        with house.database.writing() as connection:
            past = utc_now() - timedelta(seconds=1)
            connection.execute(sa.update(tokens).where(tokens.c.is_session), {"expires_at": past})
        told = page.get_by_role("alert").filter(has_text="You are no longer logged in.")
        while not told.is_visible():  # grants are cached for some seconds
            page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
            page.wait_for_timeout(200)
        page.get_by_role("link", name="Log in", exact=True).click()
        expect(page.get_by_text("Your session expired at")).to_be_visible()
        page.get_by_role("link", name=BUTTON).click()  # the session at the provider still exists
        page.wait_for_url("**/account")
        expect(page.get_by_role("heading", name="Sessions")).to_be_visible()


def test_logging_out_everywhere_ends_the_sessions_of_other_browsers(house: House, browser: Browser) -> None:
    with visit(browser, house, refused=(401,)) as page, visit(browser, house, refused=(401,)) as other:
        for each in (page, other):
            each.goto("/account")
            log_in(each, "1001")
            expect(each.get_by_role("heading", name="Sessions")).to_be_visible()
        page.reload()
        expect(page.get_by_role("cell", name="another one").first).to_be_visible()
        assert accessible(page) == []
        page.get_by_role("button", name="Log out everywhere").click()
        page.wait_for_url(f"{house.provider.issuer}/**")
        other.reload()
        expect(other.get_by_text("Your session was ended at")).to_be_visible()


def test_an_administrator_ends_the_sessions_of_somebody(house: House, browser: Browser) -> None:
    with (
        visit(browser, house, refused=(401,)) as ann,
        visit(browser, house, refused=(401,), size=PHONE) as ben,
    ):
        ann.goto("/account")
        log_in(ann, "1001")
        expect(ann.get_by_role("heading", name="Sessions")).to_be_visible()
        expect(ann.get_by_role("heading", name="People")).to_have_count(0)
        ben.goto("/account")
        log_in(ben, "1002")
        expect(ben.get_by_role("row", name="ann Ann Lee ann@lab.example work")).to_be_visible()
        assert accessible(ben) == []
        ben.get_by_role("button", name="End sessions of ann").click()
        expect(ben.get_by_text("The sessions are ended.")).to_be_visible()
        expect(ben.get_by_role("button", name="End sessions of ann")).to_have_count(0)
        ann.reload()
        expect(ann.get_by_text("Your session was ended at")).to_be_visible()


def test_a_second_person_who_logs_in_is_shown_in_the_other_tab(house: House, browser: Browser) -> None:
    with visit(browser, house, refused=(401, 404)) as page:
        page.goto("/account")
        log_in(page, "1001")
        expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
        with page.context.new_page() as second:
            second.goto(f"{house.address}/account")
            second.get_by_role("button", name="Log out", exact=True).click()
            second.get_by_role("button", name=re.compile("sign me out|yes", re.IGNORECASE)).click()
            second.wait_for_url(f"{house.address}/login")
            expect(page.get_by_role("alert").filter(has_text="You are no longer logged in.")).to_be_visible()
            log_in(second, "1002")
            expect(second.get_by_role("link", name="Ben Ott")).to_be_visible()
            expect(page.get_by_role("alert").filter(has_text="This browser is now logged in as ben.")).to_be_visible()
            page.get_by_role("link", name="Load the page again").click()
            expect(page.get_by_role("link", name="Ben Ott")).to_be_visible()
