"""A person with a real browser behind each proxy."""

import json

import pytest

import real_browser
from proxies import DOMAIN


@pytest.fixture(scope="module")
def driver(place):
    browser = real_browser.start("127.0.0.1")
    yield browser
    browser.quit()


@pytest.fixture
def visitor(place, driver):
    visitor = real_browser.visitor(place, driver)
    yield visitor
    visitor.check()


def test_signing_in_from_a_link_and_signing_out(place, visitor):
    app = f"https://app.{DOMAIN}:{place.ports.secure}"
    page = f"{app}/a%20b/?q=1&r=%2Fx%3Fy%3Dz&u=%E6%9D%8E#part"
    visitor.open(page)
    visitor.arrives("/login")
    visitor.goes_through_apple("ada")
    visitor.wait(lambda driver: driver.current_url == page.split("#")[0], page)
    assert json.loads(visitor.find("pre").text)["target"] == "/a%20b/?q=1&r=%2Fx%3Fy%3Dz&u=%E6%9D%8E"
    assert "ada@example.com" in visitor.text()

    # What a page does: fetch, a form, a WebSocket.
    fetched = "const done = arguments[0]; fetch('/data').then((answer) => done(answer.status), () => done('failed'))"
    assert visitor.driver.execute_async_script(fetched) == 200
    assert visitor.driver.execute_async_script("""
        const done = arguments[0];
        const socket = new WebSocket(`wss://${location.host}/socket`);
        socket.onopen = () => socket.send("apple");
        socket.onmessage = (event) => done(event.data);
        socket.onerror = () => done("failed");
        """) == "apple"

    visitor.open("/logout")
    visitor.press("form button")
    visitor.reads("You are signed out")
    visitor.open(f"{app}/public/page")
    assert visitor.driver.execute_async_script(fetched) == 401


def test_a_forbidden_page_offers_another_account(place, visitor):
    app = f"https://app.{DOMAIN}:{place.ports.secure}"
    visitor.open(f"{app}/ada/notes?n=1")
    visitor.arrives("/login")
    visitor.goes_through_apple("boris")
    visitor.reads("You don’t have access to this page")
    assert visitor.driver.current_url == f"{app}/ada/notes?n=1"
    # The style inside the page holds: the policy lets it through, and nothing else is needed.
    assert visitor.script("return getComputedStyle(document.querySelector('.card')).borderTopLeftRadius") == "20px"
    real_browser.picture(visitor.driver, f"forbidden-behind-{place.proxy.name}")

    assert "You are signed in as Boris" in visitor.text()
    # One button: out, and to the login page for the very same page.
    visitor.press("button.primary", "/login")
    visitor.goes_through_apple("ada")
    visitor.wait(lambda driver: driver.current_url == f"{app}/ada/notes?n=1", "the page asked for at first")
    assert "ada@example.com" in visitor.text()
