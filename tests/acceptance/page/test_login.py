"""Login in a real browser, and protection against pages of other sites."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.page.conftest import on_both
from tests.acceptance.page.tabs import REFUSALS, accessible, tab
from tests.integration.api.conftest import DEFINITION
from tests.servers import server_on
from tests.waiting import wait_for

PAGE = """<script>
const send = (path, options) => fetch("SERVER" + path, {credentials: "include", ...options}).catch(() => {});
Promise.all([
  send("/v1/studies/s/suggest", {method: "POST", mode: "no-cors"}),
  send("/v1/studies/s/suggest", {method: "POST", mode: "no-cors", body: "{}"}),
  send("/v1/studies/s/suggest", {method: "POST", body: "{}", headers: {"Content-Type": "application/json"}}),
  send("/v1/studies/s", {method: "DELETE"}),
]).then(() => send("/v1/studies")).then(async answer => {document.title = answer ? await answer.text() : "nothing"});
</script>"""


@pytest.fixture
def evil(site: str) -> Iterator[str]:
    """The address of another site, whose page tries to use the server."""

    class Evil(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(PAGE.replace("SERVER", site).encode())

        def log_message(self, *_: object) -> None:
            """Do not log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Evil) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://localhost:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def site(database: str) -> Iterator[str]:
    with server_on(database) as address:
        assert httpx.post(f"{address}/v1/studies", json=DEFINITION).status_code == 201
        yield address


def test_no_page_of_another_site_uses_the_server_nor_a_name_of_its_own(site: str, evil: str, browser: Browser) -> None:
    before = httpx.get(f"{site}/v1/studies/s").json()
    for page_of in (evil, evil.replace("localhost", "127.0.0.1")):
        with browser.new_page() as page:
            page.goto(page_of)
            wait_for(lambda: page.evaluate("document.title !== ''"))
            assert page.title() == "nothing"
    assert httpx.get(f"{site}/v1/studies/s").json() == before


@pytest.mark.long
def test_the_page_to_try_the_api_works_under_its_policy(site: str, browser: Browser) -> None:
    with tab(browser, site) as page:
        page.goto("/api")
        expect(page.get_by_text("/v1/studies/{study_id}/suggest").first).to_be_visible()


@on_both
def test_people_log_in_by_a_token_or_by_a_link_share_and_log_out(site: str, browser: Browser) -> None:
    """The last test of this server, which requires tokens from now on."""
    admin = httpx.post(f"{site}/v1/tokens", json={"name": "root", "scopes": ["admin"]}).json()["token"]
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/login")
        expect(page.get_by_role("link", name="New study")).to_have_count(0)
        field, button = (page.locator(each).bounding_box() for each in ("#login input", "#login button"))
        assert field is not None
        assert button is not None
        assert abs(field["x"] + field["width"] / 2 - button["x"] - button["width"] / 2) < 2, "both are centred"
        page.get_by_label("Token").fill(f"{admin[:-1]}{'0' if admin[-1] != '0' else '1'}")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert").filter(has_text="no such token")).to_be_visible()
        page.get_by_label("Token").fill(admin)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", name="Studies")).to_be_visible()
        assert page.evaluate("document.cookie") == ""
        page.goto("/studies/s/sharing")
        expect(page.get_by_role("button", name="Give it to this user")).to_be_hidden()
        page.get_by_role("button", name="Give the study to a user").click()
        page.get_by_label("Owner", exact=True).fill("root")
        page.get_by_role("button", name="Give it to this user").click()
        expect(page.get_by_text("The study belongs to root now.")).to_be_visible()
        expect(page.get_by_role("row", name="s root")).to_be_visible()
        link = shared(page, site)
        with tab(browser, site, refused=REFUSALS) as reader:  # before the browser has the link's token
            reader.goto(link)
            expect(reader.get_by_role("heading", name="Events")).to_be_visible()
            assert "#" not in reader.url
            for label in ("Next trial", "Share", "Delete"):
                expect(reader.get_by_text(label, exact=True)).to_have_count(0)
        foreign_link(page, site, admin)
        page.get_by_role("button", name="Log out").click()
        page.wait_for_url("**/login")
        page.goto("/studies/s")
        expect(page.get_by_label("Token")).to_be_visible()


@pytest.mark.long
def test_a_study_is_deleted_and_restored(server: str, browser: Browser) -> None:
    admin = httpx.post(f"{server}/v1/tokens", json={"name": "root", "scopes": ["admin"]}).json()["token"]
    headers = {"Authorization": f"Bearer {admin}"}
    assert httpx.post(f"{server}/v1/studies", json=DEFINITION, headers=headers).status_code == 201
    with tab(browser, server, refused=(*REFUSALS, 404)) as page:  # the page still requests parts of the deleted study
        page.goto("/login")
        page.get_by_label("Token").fill(admin)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", name="Studies")).to_be_visible()
        deleted_and_restored(page)


@pytest.mark.long
def test_who_reported_a_result_is_shown_to_those_who_may_read_it(server: str, browser: Browser) -> None:
    """In the table, on the page of the trial and in the report; only if the server knows its users."""

    def post(path: str, token: str | None = None, **body: object) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.post(f"{server}/v1/{path}", json=body, headers=headers).raise_for_status()

    post("studies", **DEFINITION)
    post("studies/s/suggest")
    post("studies/s/observe", trial=1, value=1.0)
    pages = ("studies/s/results", "studies/s/trials/1", "studies/s/report")
    with tab(browser, server) as page:
        for path in pages:
            page.goto(path)
            expect(page.get_by_role("main")).to_contain_text("1")
            expect(page.get_by_text("Reported by")).to_have_count(0)
    root = post("tokens", name="root", scopes=["admin"]).json()["token"]
    tokens = {name: post("tokens", root, name=name, scopes=["work"]).json()["token"] for name in ("ada", "eve")}
    post("studies/s/suggest", root)
    post("studies/s/observe", root, trial=2, value=2.0)
    with tab(browser, server, refused=(*REFUSALS, 404)) as page:
        for name in ("root", "eve"):
            page.goto(f"/login#token={root if name == 'root' else tokens[name]}")
            page.get_by_role("button", name="Log in with the link").click()
            expect(page.get_by_role("heading", name="Studies", exact=True)).to_be_visible()
            for path in (pages[0], "studies/s/trials/2", pages[2]):
                page.goto(path)
                told = page.get_by_text("Reported by")
                if name == "eve":
                    expect(page.get_by_role("main")).to_contain_text("There is no study")
                    expect(told).to_have_count(0)
                else:
                    expect(told.first).to_be_visible()
                    expect(page.get_by_role("main")).to_contain_text("root")


@pytest.mark.long
def test_a_login_without_an_answer_is_told_and_one_without_a_script_is_not_sent(server: str, browser: Browser) -> None:
    admin = httpx.post(f"{server}/v1/tokens", json={"name": "root", "scopes": ["admin"]}).json()["token"]
    without_an_answer(browser, server, admin)
    before_the_script_is_loaded(browser, server, admin)


def without_an_answer(browser: Browser, site: str, token: str) -> None:
    """With a typed token, and with the token of a link."""
    with browser.new_page(base_url=site) as page:
        page.goto("/login")
        page.route("**/*", lambda route: route.abort())
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Log in").click()
        refusal = page.get_by_role("alert").filter(has_text="The server does not answer. Try again.")
        expect(refusal).to_be_visible()
        page.unroute("**/*")
        page.route("**/v1/tokens/self", lambda route: route.abort())
        page.goto(f"/studies/s#token={token}")
        expect(refusal).to_be_visible()
        page.unroute("**/v1/tokens/self")
        page.route("**/login", lambda route: route.fulfill(status=502, body="<h1>Bad gateway</h1>"))
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert").filter(has_text="The server answered 502.")).to_be_visible()


def before_the_script_is_loaded(browser: Browser, site: str, admin: str) -> None:
    """The browser itself does not send the form: the token would be in the address, and the input would be lost."""
    with browser.new_page() as page:
        page.route(re.compile(r"\.js(\?|$)"), lambda route: route.abort())
        page.goto(f"{site}/login")
        page.get_by_label("Token").fill(admin)
        page.get_by_role("button", name="Log in").click()
        assert admin not in page.url
        expect(page.get_by_label("Token")).to_have_value(admin)


def foreign_link(page: Page, site: str, admin: str) -> None:
    """Another site opens a share link with its own token: a logged-in user must confirm first."""
    headers = {"Authorization": f"Bearer {admin}"}
    eve = httpx.post(f"{site}/v1/tokens", json={"name": "eve", "scopes": ["work"]}, headers=headers).json()["token"]
    who = "fetch('/v1/tokens/self').then(answer => answer.json()).then(found => found.user)"
    page.goto(f"data:text/html,<script>location = '{site}/studies/s%23token={eve}'</script>")
    expect(page.get_by_text("You are logged in as root. This link logs you in as eve.")).to_be_visible()
    assert page.evaluate(who) == "root"
    assert accessible(page) == []
    page.get_by_role("button", name="Stay root").click()
    expect(page.get_by_role("heading", name="Events")).to_be_visible()
    assert page.evaluate(who) == "root"


def shared(page: Page, site: str) -> str:
    """Share the study with a user, revoke that and share it again; return a read-only link."""
    page.goto("/studies/s")
    page.get_by_role("link", name="Share").click()
    page.wait_for_url("**/sharing")  # and for its scripts
    page.get_by_label("User").fill("b b")
    page.get_by_role("button", name="Share").click()
    expect(page.get_by_role("alert").filter(has_text="1 field needs a correction: User")).to_be_visible()
    page.get_by_label("User").fill("ben")
    page.get_by_label("May").select_option("work")
    page.get_by_role("button", name="Share").click()
    row = page.get_by_role("row", name="ben")
    expect(row).to_contain_text("ask for points and store results")
    row.get_by_role("button", name="Take back").click()
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(row).to_have_count(1)
    page.get_by_role("button", name="Make a link").click()
    made = page.get_by_label("The link, shown only once")
    expect(made).not_to_have_value("")
    expect(page.locator(".toast")).to_have_count(0)  # nothing covers it
    expect(made).to_have_value(re.compile(f"^{site}/studies/s#token="))
    assert accessible(page) == []
    link = made.input_value()
    page.get_by_role("button", name="Make a link").click()
    expect(made).not_to_have_value(link)
    page.reload()
    page.get_by_role("button", name=re.compile("^Revoke link")).first.click()
    page.get_by_role("button", name="Revoke the link").click()
    expect(page.get_by_text("The link is revoked.")).to_be_visible()
    expect(page.get_by_role("cell", name="revoked")).to_have_count(1)
    return link


def deleted_and_restored(page: Page) -> None:
    page.goto("/studies/s")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete the study").click()
    expect(page.get_by_text("The study is in the trash.")).to_be_visible()
    page.get_by_role("link", name="Trash", exact=True).click()
    expect(page.get_by_role("row", name="s root 0")).to_contain_text("root")
    assert accessible(page) == []
    page.get_by_role("button", name="Restore s").click()
    page.wait_for_url("**/studies/s")
    expect(page.get_by_text("Study s is restored.")).to_be_visible()
