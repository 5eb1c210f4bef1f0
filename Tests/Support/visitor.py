"""A person at a browser: what they open, press and read."""

import json
import re
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException, WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from patience import PATIENCE
from web import call, cookie_field

# A page that answers with an error status is not a mistake of the page.
STATUS_MESSAGE = re.compile(r"Failed to load resource: the server responded with a status of [45]\d\d")


# Chromium without windows: the same engine, network and cookies, for half the processor time. It knows no preferences,
# nor what they set, so that whoever wants some is given the whole of it.
# The program itself: what lies in /usr/bin is a shell script that waits for it, so that a driver which ends a browser
# that is slow to close would end the script, and leave the browser.
WINDOWLESS = "/usr/lib/chromium/chromium-headless-shell"
WHOLE = "/usr/bin/chromium"
NO_SCRIPTS = {"profile.managed_default_content_settings.javascript": 2}


def start_browser(preferences: dict | None = None, page_load_strategy: str = "normal",
                  arguments: tuple[str, ...] = (), blocks_popups: bool = False) -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.page_load_strategy = page_load_strategy
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--lang=en-GB",
                     *arguments):
        options.add_argument(argument)
    is_whole = bool(preferences) or blocks_popups
    options.binary_location = WHOLE if is_whole else WINDOWLESS
    # Where there are preferences, it would win over theirs.
    if not is_whole:
        options.add_argument("--accept-lang=en-GB,en")
    options.add_experimental_option("prefs", {"intl.accept_languages": "en-GB,en"} | (preferences or {}))
    if blocks_popups:
        # What the driver switches off, so that tests are not in its way.
        options.add_experimental_option("excludeSwitches", ["disable-popup-blocking"])
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def use_fresh_tab(driver: webdriver.Chrome) -> None:
    """Closes what is open, forgets every cookie, every file and what the browser complained about."""
    old = driver.window_handles
    driver.switch_to.new_window("tab")
    fresh = driver.current_window_handle
    for handle in old:
        driver.switch_to.window(handle)
        driver.close()
    driver.switch_to.window(fresh)
    driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
    # Two tests one after the other may have a server at the same address.
    driver.execute_cdp_cmd("Network.clearBrowserCache", {})
    for log in ("browser", "performance"):
        driver.get_log(log)


class Visitor:
    """Drives one tab against one site; what the browser complained about meanwhile is kept for `check`."""

    def __init__(self, driver: webdriver.Chrome, site):
        self.driver, self.site = driver, site
        self.allowed_complaints: list[str] = []

    # What is there

    def wait(self, condition, what: str = ""):
        def holds(driver):
            try:
                return condition(driver)
            except WebDriverException as error:
                # The page changed under the question: ask again.
                if isinstance(error, (NoSuchElementException, StaleElementReferenceException)) or re.search(
                        "execution context|inspected target|does not belong to the document", str(error)):
                    return False
                raise

        try:
            return WebDriverWait(self.driver, PATIENCE, poll_frequency=0.03).until(holds)
        except WebDriverException as error:
            text = self.text()[:600]
            raise AssertionError(f"waited in vain for {what or 'it'}; at {self.driver.current_url}: {text}") from error

    def find(self, selector: str):
        return self.wait(lambda driver: driver.find_element(By.CSS_SELECTOR, selector), selector)

    def all(self, selector: str):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self) -> str:
        return self.driver.find_element(By.TAG_NAME, "body").text

    def heading(self) -> str:
        return self.find("h1").text

    def path(self) -> str:
        return urlsplit(self.driver.current_url).path

    def cookies(self) -> dict[str, dict]:
        """What the browser's own jar holds for the site, HttpOnly ones included."""
        jar = self.driver.execute_cdp_cmd("Network.getCookies", {"urls": [self.site.url("/")]})["cookies"]
        return {cookie["name"]: cookie for cookie in jar}

    def delete_cookie(self, name: str) -> None:
        self.driver.execute_cdp_cmd("Network.deleteCookies", {"name": name, "url": self.site.url("/")})

    def keep_cookie(self, name: str, value: str, same_site: str) -> None:
        self.driver.execute_cdp_cmd("Network.setCookie", {
            "url": self.site.url("/"), "path": "/", "name": name, "value": value, "secure": True, "httpOnly": True,
            "sameSite": same_site})

    def script(self, source: str, *arguments):
        return self.driver.execute_script(source, *arguments)

    def state(self) -> str:
        """Of the attempt that the login page has now."""
        return self.find("meta[name=appleid-signin-state]").get_attribute("content")

    # Going about

    def open(self, path: str) -> None:
        self.driver.get(path if path.startswith("http") else self.site.url(path))

    def arrives(self, path: str) -> None:
        def there(driver):
            parts = urlsplit(driver.current_url)
            return (f"{parts.scheme}://{parts.netloc}" == self.site.origin and parts.path == path
                    and driver.execute_script("return document.readyState") == "complete")

        self.wait(there, path)

    def reads(self, heading: str) -> None:
        self.wait(lambda driver: driver.find_element(By.TAG_NAME, "h1").text == heading, f"the heading “{heading}”")

    def press(self, selector: str, until: str | None = None) -> None:
        self.leaves_by(lambda: self.find(selector).click(), until)

    def leaves_by(self, act, until: str | None = None) -> None:
        """Acts, and waits until the browser has left the page, and is at that path."""
        page = self.find("html")
        act()
        self.left(page)
        if until:
            self.arrives(until)

    def left(self, page) -> None:
        """Waits until the browser shows another document than the one this element is of."""
        def gone(driver):
            try:
                page.is_enabled()
                return False
            except WebDriverException:
                return True

        WebDriverWait(self.driver, PATIENCE, poll_frequency=0.03).until(gone)

    # Signing in

    def opens_login(self, path: str = "/login") -> None:
        """With Apple's own button, drawn by Apple's script."""
        self.open(path)
        self.find(".apple.ready")

    def goes_to_apple(self, path: str = "/login") -> None:
        self.open(path)
        self.presses_apple_button()

    def presses_apple_button(self) -> None:
        self.find(".apple.ready")
        self.press("#appleid-signin [role=button]")
        self.find("button[value=ada]")

    def chooses(self, person: str) -> None:
        self.press(f"button[value={person}]")
        self.find("button[value=continue]")

    def consents(self, until: str | None = None) -> None:
        self.press("button[value=continue]", until)

    def agrees(self, person: str, until: str | None = None) -> None:
        self.chooses(person)
        self.consents(until)

    def goes_through_apple(self, person: str, until: str | None = None) -> None:
        self.presses_apple_button()
        self.agrees(person, until)

    def goes_by_the_link(self) -> None:
        """From the login page on, without scripts: to the button that posts Apple's answer."""
        for selector in ("#apple-link", "button[value=ada]", "button[value=continue]"):
            self.press(selector)

    def signs_in(self, person: str, path: str = "/login", until: str | None = "/account") -> None:
        self.open(path)
        self.goes_through_apple(person, until)

    def is_signed_in(self) -> bool:
        cookies = {name: cookie["value"] for name, cookie in self.cookies().items()}
        answer = call(self.site, "GET", "/api/v1/session", cookie_field(cookies))
        assert answer.status in (200, 401), answer.text
        return answer.status == 200

    def facts(self) -> dict[str, str]:
        return {fact.find_element(By.TAG_NAME, "dt").text: fact.find_element(By.TAG_NAME, "dd").text
                for fact in self.all(".facts > div")}

    def posts_from_apple(self, fields: dict[str, str], path: str = "/apple/callback") -> None:
        """A form from a page of Apple's site, as any other site could send it too."""
        self.open(self.site.apple.origin + "/auth/authorize")
        self.leaves_by(lambda: self.script("""
            const form = document.createElement("form");
            form.method = "post";
            form.action = arguments[0];
            for (const [name, value] of Object.entries(arguments[1])) {
              const input = document.createElement("input");
              input.type = "hidden";
              input.name = name;
              input.value = value;
              form.append(input);
            }
            document.body.append(form);
            setTimeout(() => HTMLFormElement.prototype.submit.call(form));
            """, self.site.url(path), fields))

    # Conditions

    def blocks(self, *patterns: str) -> None:
        """No request to these addresses leaves the browser any more."""
        self.driver.execute_cdp_cmd("Network.enable", {})
        self.driver.execute_cdp_cmd("Network.setBlockedURLs", {"urls": list(patterns)})

    # What the browser noticed

    def allow_complaint(self, pattern: str) -> None:
        self.allowed_complaints.append(pattern)

    def check(self) -> None:
        """No complaint in the console, no violated policy, nothing secret in an address or a referrer."""
        complaints = [
            entry["message"] for entry in self.driver.get_log("browser")
            if entry["level"] != "INFO" and not STATUS_MESSAGE.search(entry["message"])
            and not any(re.search(pattern, entry["message"]) for pattern in self.allowed_complaints)
        ]
        addresses = set(addresses_in(self.driver.get_log("performance"), self.site.origin))
        assert not complaints, complaints
        for address in addresses:
            # A program's own state and nonce come in its request.
            # A state of people is one to choose them by.
            has_state = any(path in address for path in ("/oidc/authorize?", "/operator/users?"))
            names = "code|id_token|user" if has_state else "code|state|id_token|nonce|user"
            assert not re.search(rf"[?&#]({names})=", address), address


def addresses_in(log: list[dict], origin: str):
    """Every address of ours that was asked for, or named as the referrer of whatever was."""
    for entry in log:
        message = json.loads(entry["message"])["message"]
        parameters = message.get("params", {})
        if message["method"] == "Network.requestWillBeSent":
            request = parameters["request"]
            if request["url"].startswith(origin):
                yield request["url"] + request.get("urlFragment", "")
        if message["method"] == "Network.requestWillBeSentExtraInfo":
            for name, value in parameters["headers"].items():
                if name.lower() == "referer" and value.startswith(origin):
                    yield value
