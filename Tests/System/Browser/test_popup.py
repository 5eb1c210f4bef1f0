"""login.mode = popup: Apple's page in a window beside the login page, and everything that can become of that window."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from selenium.webdriver.common.keys import Keys

from visitor import NO_SCRIPTS
from web import BINDING

POPUP = {"login.mode": "popup"}
BUTTON = "#appleid-signin [role=button]"
# Every event of Apple's script and what came of its promises, kept beyond the page.
RECORD = """
const note = (kind, detail) => {
  const notes = JSON.parse(sessionStorage.getItem("notes") || "[]");
  sessionStorage.setItem("notes", JSON.stringify([...notes, [kind, detail]]));
};
window.note = note;
for (const outcome of ["Success", "Failure"]) {
  document.addEventListener("AppleIDSignInOn" + outcome, (event) => note(outcome, event.detail), true);
}
"""
SAYS = {
    "opened": "Apple’s page is open in another window. Sign in there to continue.",
    "closed": "Apple’s window was closed before the sign-in was complete. You can try again.",
    "cancelled": "You cancelled the sign-in. Nothing was shared. You can try again whenever you like.",
    "failed": "That did not work. Please try again, or continue in this window.",
}


@pytest.fixture
def visitor(make_site, make_visitor):
    return make_visitor(make_site(POPUP))


def opens_login(visitor, path: str = "/login") -> str:
    """The login page with Apple's button on it; answers its window."""
    visitor.opens_login(path)
    visitor.script(RECORD)
    return visitor.driver.current_window_handle


def query(visitor) -> dict[str, list[str]]:
    return parse_qs(urlsplit(visitor.driver.current_url).query)


def notes(visitor) -> list:
    return json.loads(visitor.script("return sessionStorage.getItem('notes')") or "[]")


def apples_window(visitor, page: str) -> str:
    """Goes to the one window beside the page, once Apple shows people to choose from."""
    driver = visitor.driver
    visitor.wait(lambda _: len(driver.window_handles) == 2, "Apple's window")
    (window,) = set(driver.window_handles) - {page}
    driver.switch_to.window(window)
    visitor.find("button[value=ada]")
    return window


def back_to(visitor, page: str) -> None:
    visitor.driver.switch_to.window(page)
    visitor.wait(lambda driver: driver.window_handles == [page], "the window to close")


def taps(visitor) -> None:
    """Apple's script draws its button again when the colours of the page change: then there is another to tap."""
    visitor.wait(lambda driver: driver.find_element("css selector", BUTTON).click() is None, "the button")


def presses(visitor, page: str) -> None:
    taps(visitor)
    apples_window(visitor, page)


def opens_window(visitor, path: str = "/login") -> str:
    """The login page and Apple's window, at which the visitor is then; answers the page's."""
    page = opens_login(visitor, path)
    presses(visitor, page)
    return page


def decides(visitor, page: str, decision: str = "continue") -> None:
    visitor.find(f"button[value={decision}]").click()
    back_to(visitor, page)


def agrees(visitor, page: str) -> None:
    visitor.chooses("ada")
    decides(visitor, page)


def says(visitor, which: str) -> None:
    visitor.wait(lambda driver: driver.find_element("id", "status").text == SAYS[which], which)
    # Read out by a screen reader without being asked.
    assert visitor.find("#status").get_attribute("role") == "status"


def signs_in(visitor, page: str, until: str = "/account") -> None:
    presses(visitor, page)
    agrees(visitor, page)
    visitor.arrives(until)


def test_the_answer_of_the_window_is_posted_and_signs_in(visitor, gallery):
    page = opens_login(visitor, "/login?return_to=%2Flogout")
    began_with = visitor.state()
    gallery.shoot(visitor, "login-popup")
    presses(visitor, page)
    assert query(visitor).items() >= {
        "response_mode": ["web_message"], "redirect_uri": [visitor.site.url("/apple/callback")]}.items()
    visitor.driver.switch_to.window(page)
    says(visitor, "opened")
    assert visitor.find("#here a").is_displayed()
    gallery.shoot(visitor, "login-popup-open")
    apples_window(visitor, page)
    agrees(visitor, page)
    visitor.arrives("/logout")
    assert "You are signed in as Ada Byron" in visitor.text()
    [[kind, detail]] = notes(visitor)
    assert kind == "Success" and detail.keys() == {"authorization", "user"}
    assert detail["authorization"].keys() == {"code", "id_token", "state"}
    assert detail["authorization"]["state"] == began_with
    assert detail["user"] == {"email": "ada@example.com", "name": {"firstName": "Ada", "lastName": "Byron"}}
    post = post_to_the_callback(visitor)
    assert parse_qs(post["body"]).keys() == {"state", "code", "id_token", "user", "bramley_repost"}
    assert post["fields"].items() >= {
        "origin": visitor.site.origin, "sec-fetch-site": "same-origin",
        "content-type": "application/x-www-form-urlencoded"}.items()


def post_to_the_callback(visitor) -> dict:
    posts = {}
    for entry in visitor.driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        parameters = message.get("params", {})
        asked = parameters.get("request", {}) if message["method"] == "Network.requestWillBeSent" else {}
        if asked.get("method") == "POST" and urlsplit(asked["url"]).path == "/apple/callback":
            posts.setdefault(parameters["requestId"], {})["body"] = asked.get("postData", "")
        if message["method"] == "Network.requestWillBeSentExtraInfo":
            fields = {name.lower(): value for name, value in parameters["headers"].items()}
            posts.setdefault(parameters["requestId"], {}).setdefault("fields", fields)
    [post] = [post for post in posts.values() if "body" in post]
    return post


@pytest.mark.parametrize("name, says_what, step", [
    ("popup_closed_by_user", "closed", "choosing"), ("user_cancelled_authorize", "cancelled", "consent"),
])
def test_a_closed_window_is_reported_and_can_be_reopened(visitor, gallery, name, says_what, step):
    page = opens_window(visitor)
    if step == "consent":
        visitor.chooses("ada")
    if says_what == "closed":
        visitor.driver.close()
        back_to(visitor, page)
    else:
        decides(visitor, page, "cancel")
    says(visitor, says_what)
    assert notes(visitor) == [["Failure", {"error": name}]]
    assert visitor.path() == "/login" and not visitor.is_signed_in()
    # Whoever uses a keyboard is where they were.
    assert visitor.script(f"return document.activeElement === document.querySelector('{BUTTON}')")
    gallery.shoot(visitor, f"login-popup-{says_what}")
    signs_in(visitor, page)
    assert visitor.heading() == "Ada Byron"


def test_cancelling_returns_to_an_application_with_error_return(visitor):
    page = opens_window(visitor, "/login?return_to=%2Faccount&error_return=%2Flogout%3Ffrom%3Dapp%23top")
    visitor.chooses("ada")
    decides(visitor, page, "cancel")
    visitor.wait(lambda _: visitor.path() == "/logout", "the application's page")
    address = urlsplit(visitor.driver.current_url)
    assert (address.query, address.fragment) == ("from=app&error=user_cancelled_authorize", "top")
    assert not visitor.is_signed_in()


def test_a_second_press_replaces_the_window(visitor):
    page = opens_window(visitor)
    first = query(visitor)["frame_id"]
    visitor.driver.switch_to.window(page)
    taps(visitor)
    visitor.wait(lambda _: notes(visitor) == [["Failure", {"error": "user_trigger_new_signin_flow"}]], "the event")
    # The first window is gone; the second one is what the page speaks of.
    says(visitor, "opened")

    def is_second(driver) -> bool:
        others = set(driver.window_handles) - {page}
        if len(others) != 1:
            return False
        driver.switch_to.window(others.pop())
        return query(visitor).get("frame_id", first) != first

    visitor.wait(is_second, "the second window")
    agrees(visitor, page)
    visitor.arrives("/account")


def test_a_blocked_window_falls_back_to_the_redirect(visitor):
    opens_login(visitor, "/login?return_to=%2Flogout")
    # What window.open answers where a popup is blocked, as in browsers inside apps.
    visitor.script("window.open = () => null")
    visitor.press(BUTTON)
    assert notes_elsewhere(visitor) == [["Failure", {"error": "popup_blocked_by_browser"}]]
    visitor.agrees("ada", "/logout")
    assert "You are signed in as Ada Byron" in visitor.text()
    assert len(visitor.driver.window_handles) == 1


def notes_elsewhere(visitor) -> list:
    """The notes of the login page, which the browser has left: another page of the site has the same storage."""
    where = visitor.driver.current_url
    visitor.open("/logout")
    found = notes(visitor)
    visitor.open(where)
    return found


def test_chromiums_popup_blocker_falls_back_to_the_redirect(make_site, make_own_visitor):
    visitor = make_own_visitor(make_site(POPUP), blocks_popups=True)
    opens_login(visitor)
    # Later, and so by nobody's tap: Chromium opens nothing.
    visitor.leaves_by(lambda: visitor.driver.execute_cdp_cmd("Runtime.evaluate", {
        "expression": "setTimeout(() => AppleID.auth.signIn().catch(() => {}))", "userGesture": False}))
    visitor.agrees("ada", "/account")
    assert len(visitor.driver.window_handles) == 1


def test_without_apples_script_the_link_redirects(visitor):
    visitor.site.apple.call("PUT", "faults/script", {"status": 503})
    visitor.allow_complaint("appleid.auth.js")
    visitor.open("/login")
    visitor.wait(lambda driver: driver.execute_script("return document.readyState") == "complete")
    assert not visitor.all(".apple.ready")
    visitor.press("#apple-link")
    visitor.agrees("ada", "/account")
    assert len(visitor.driver.window_handles) == 1


def test_without_javascript_the_link_redirects(make_site, make_own_visitor):
    visitor = make_own_visitor(make_site(POPUP), NO_SCRIPTS)
    visitor.open("/login")
    assert not visitor.find("#here").is_displayed()
    assert visitor.find("#status").text == ""
    visitor.goes_by_the_link()
    visitor.press("#delivery button", "/account")


def test_the_popup_signs_in_by_keyboard(visitor):
    page = opens_login(visitor)
    for key in (Keys.ENTER, Keys.SPACE):
        visitor.find(BUTTON).send_keys(key)
        apples_window(visitor, page)
        visitor.driver.switch_to.window(page)
        says(visitor, "opened")
        apples_window(visitor, page)
        visitor.driver.close()
        back_to(visitor, page)
        says(visitor, "closed")


def test_a_window_that_cannot_answer_leaves_the_redirect(visitor):
    """Some browsers cut the tie between the two windows: the answer never comes."""
    visitor.driver.switch_to.window(opens_window(visitor, "/login?return_to=%2Flogout"))
    says(visitor, "opened")
    visitor.press("#here a")
    visitor.agrees("ada", "/logout")
    assert "You are signed in as Ada Byron" in visitor.text()


def test_going_back_shows_a_working_login_page(visitor):
    page = opens_login(visitor)
    signs_in(visitor, page)
    visitor.driver.back()
    visitor.arrives("/login")
    visitor.find(".apple.ready")
    assert visitor.find("#status").text == ""
    assert not visitor.find("#here").is_displayed()
    # No form with a code in it is left on the page.
    assert not visitor.all("form")
    signs_in(visitor, page)


LATER = """
const now = Date.now;
Date.now = () => now() + 300000;
document.dispatchEvent(new Event("visibilitychange"));
"""


@pytest.mark.parametrize("outcome", ["success", "closed"])
def test_renewal_does_not_affect_an_open_window(visitor, outcome):
    page = opens_login(visitor)
    first = visitor.state()
    presses(visitor, page)
    visitor.driver.switch_to.window(page)
    visitor.script(f"window.kept = document.querySelector('{BUTTON}')")
    visitor.script(LATER)
    visitor.wait(lambda _: visitor.state() != first, "a renewal")
    # Apple's script was not started again: its button is the same, and it still waits for its window.
    assert visitor.script(f"return window.kept === document.querySelector('{BUTTON}')")
    apples_window(visitor, page)
    if outcome == "success":
        agrees(visitor, page)
        visitor.arrives("/account")
        [[kind, detail]] = notes(visitor)
        assert (kind, detail["authorization"]["state"]) == ("Success", first)
        return
    visitor.driver.close()
    back_to(visitor, page)
    says(visitor, "closed")
    presses(visitor, page)
    asked = query(visitor)
    agrees(visitor, page)
    visitor.arrives("/account")
    assert asked["state"] == [notes(visitor)[-1][1]["authorization"]["state"]] != [first]


@pytest.mark.parametrize("cookie, heading", [
    (None, "A cookie is missing"), ("C" * 42 + "A", "Started in another browser")], ids=["none", "another attempt's"])
def test_without_its_binding_cookie_the_popup_signs_nobody_in(visitor, cookie, heading):
    page = opens_window(visitor)
    visitor.chooses("ada")
    if cookie:
        visitor.keep_cookie(BINDING, cookie, same_site="None")
    else:
        visitor.delete_cookie(BINDING)
    decides(visitor, page)
    visitor.reads(heading)
    assert not visitor.is_signed_in()
    assert "posting it again" not in visitor.site.server.text()


def test_the_same_form_from_another_site_is_refused(visitor):
    """The answer of a window, with the cookie it belongs to, posted by a page that is not ours."""
    page = opens_login(visitor)
    # Keeps the answer from our page.
    visitor.script("document.addEventListener('AppleIDSignInOnSuccess', (event) => event.stopImmediatePropagation(), true)")
    presses(visitor, page)
    agrees(visitor, page)
    visitor.wait(lambda _: notes(visitor), "the answer")
    authorization = notes(visitor)[0][1]["authorization"]
    visitor.posts_from_apple(authorization | {"bramley_repost": "1"})
    visitor.arrives("/apple/callback")
    assert not visitor.is_signed_in()
    # Without the flag it is what Apple posts, and bound by the same cookie.
    visitor.posts_from_apple(authorization)
    visitor.arrives("/account")


def test_messages_of_other_origins_or_shapes_are_ignored(visitor):
    page = opens_window(visitor)
    forged = json.dumps({"method": "oauthDone", "data": {"authorization": {"code": "c", "id_token": "t", "state": "s"}}})
    visitor.driver.switch_to.window(page)
    visitor.script("window.postMessage(arguments[0], '*')", forged)
    apples_window(visitor, page)
    # From the right origin: an object, no JSON, another method.
    for message in (json.loads(forged), "{", json.dumps({"method": "other", "data": {"error": "x"}})):
        visitor.script("window.opener.postMessage(arguments[0], '*')", message)
    agrees(visitor, page)
    visitor.arrives("/account")
    assert [kind for kind, _ in notes(visitor)] == ["Success"]


def test_an_empty_answer_is_a_failure(visitor):
    opens_login(visitor)
    for detail in ("{}", "{authorization: {}}", "{authorization: {code: 'c'}}", "null"):
        visitor.script(f"document.dispatchEvent(new CustomEvent('AppleIDSignInOnSuccess', {{detail: {detail}}}))")
        says(visitor, "failed")
        visitor.script("document.getElementById('status').textContent = ''")
    visitor.script("document.dispatchEvent(new CustomEvent('AppleIDSignInOnFailure', {detail: {error: 'new_name'}}))")
    says(visitor, "failed")
    assert visitor.path() == "/login"


def settles(visitor, call: str) -> list:
    """Calls Apple's script by a tap on the page, and answers what became of the promise and the events."""
    visitor.script(f"""
        const button = document.querySelector("h1");
        button.addEventListener("click", () => {{
          try {{
            {call}.then((detail) => note("resolved", detail), (detail) => note("rejected", detail));
          }} catch (error) {{ note("thrown", error.message); }}
        }}, {{once: true}});
    """)
    visitor.find("h1").click()
    return notes(visitor)


def test_sign_in_settles_its_promise_and_fires_the_event(visitor):
    page = opens_login(visitor)
    settles(visitor, "AppleID.auth.signIn()")
    apples_window(visitor, page)
    decides(visitor, page, "cancel")
    expected = {"error": "user_cancelled_authorize"}
    visitor.wait(lambda _: len(notes(visitor)) == 2, "both")
    assert sorted(notes(visitor)) == [["Failure", expected], ["rejected", expected]]


def test_wrong_types_throw(visitor):
    opens_login(visitor)
    for count, call in enumerate((
        "AppleID.auth.signIn({usePopup: 'true'})", "AppleID.auth.signIn({scope: 1})", "AppleID.auth.signIn({state: ''})",
        "AppleID.auth.init({clientId: 'a', redirectURI: 'b', usePopup: 1})", "AppleID.auth.init({clientId: ''})",
        "AppleID.auth.init({clientId: 'a', redirectURI: 'b', nonce: null})",
    )):
        kind, message = settles(visitor, call)[count]
        assert kind == "thrown" and message.startswith("AppleID.auth."), call
    assert len(visitor.driver.window_handles) == 1
