"""A person with a real browser behind a proxy."""

from selenium.webdriver import Chrome

from proxies import DOCS, DOMAIN
from visitor import Visitor, start_browser


def start(address: str) -> Chrome:
    """One that finds every name of the domain at this address."""
    return start_browser(arguments=(
        f"--host-resolver-rules=MAP *.{DOMAIN} {address}", "--ignore-certificate-errors", "--window-size=900,900"))


def visitor(place, driver: Chrome) -> Visitor:
    driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
    visitor = Visitor(driver, place.site)
    # The simulated Apple speaks http, the pages here https.
    visitor.allow_complaint(r"Mixed Content: .* requested an insecure element 'http://127\.0\.0\.1:")
    return visitor


def picture(driver: Chrome, name: str) -> None:
    pictures = DOCS.parents[1] / ".build/screenshots"
    pictures.mkdir(parents=True, exist_ok=True)
    (pictures / f"{name}.png").write_bytes(driver.get_screenshot_as_png())
