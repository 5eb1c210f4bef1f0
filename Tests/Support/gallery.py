"""Pictures of every page for people to look at, and what every page must have for those who cannot."""

import base64
import os
from pathlib import Path

# Everything here is read from the page as it is shown; each problem is one line.
INSPECTION = """
const problems = [];
// Names of keys and codes stand in <code>.
const prose = () => {
  const body = document.body.cloneNode(true);
  for (const element of body.querySelectorAll("code, script")) element.remove();
  return body.textContent;
};
const say = (text, element) => problems.push(element ? text + ": " + element.outerHTML.slice(0, 120) : text);
if (!document.documentElement.lang) say("no language");
if (!document.title.trim() || document.title.startsWith("·") || document.title.startsWith(" ·")) say("no title");
if (document.querySelectorAll("h1").length !== 1) say(document.querySelectorAll("h1").length + " h1");
if (document.querySelectorAll("main").length !== 1) say("no single main landmark");
if (!document.querySelector("main h1")) say("the h1 is outside main");
let level = 0;
for (const heading of document.querySelectorAll("h1, h2, h3, h4")) {
  const next = Number(heading.tagName[1]);
  if (next > level + 1) say("a heading level is skipped", heading);
  level = next;
}
const words = (element) => (element.getAttribute("aria-label") || element.innerText || "").trim()
  || [...element.querySelectorAll("img[alt]")].map((image) => image.alt).join(" ").trim();
for (const element of document.querySelectorAll("a[href], button, [role=button]")) {
  if (getComputedStyle(element).visibility === "visible" && !words(element)) say("no words", element);
}
for (const element of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
  if (!element.labels.length && !element.getAttribute("aria-label")) say("no label", element);
}
for (const image of document.images) if (!image.hasAttribute("alt")) say("no alternative text", image);
const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
for (const id of ids.filter((id, index) => ids.indexOf(id) !== index)) say("id twice: " + id);
if (/\\{\\{|\\{[a-z]+\\}|undefined|(errors|pages|account|login|deletion|forbidden)\\.[a-z]+/.test(prose())) say("a hole in the text");
return problems;
"""
OVERFLOW = "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Text against what is painted behind it (WCAG 2.1 §1.4.3, AA); only plain colours, which is all we have.
CONTRAST = """
const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
const luminance = (rgb) => rgb.slice(0, 3).map((value) => value / 255)
  .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
  .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
const ground = (element) => {
  for (let node = element; node; node = node.parentElement) {
    const colour = parse(getComputedStyle(node).backgroundColor);
    if (colour.length && colour[3] !== 0) return colour;
  }
  return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
};
const problems = [];
for (const element of document.querySelectorAll("body *")) {
  const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  const style = getComputedStyle(element);
  if (!own || style.visibility !== "visible" || !element.getClientRects().length) continue;
  const [a, b] = [luminance(parse(style.color)), luminance(ground(element))].sort((a, b) => b - a);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) problems.push("contrast " + ratio.toFixed(2) + ": " + element.textContent.trim().slice(0, 60));
}
return problems;
"""


class Gallery:
    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def shoot(self, visitor, name: str) -> None:
        """Inspects the page on two screens in two colour schemes; with `PICTURES` in the environment, draws it too."""
        driver = visitor.driver
        problems = visitor.script(INSPECTION)
        for size, (width, height) in {"phone": (390, 844), "desktop": (1280, 800)}.items():
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                "width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"})
            for scheme in ("light", "dark"):
                driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
                    "features": [{"name": "prefers-color-scheme", "value": scheme}]})
                problems += visitor.script(CONTRAST)
                if visitor.script(OVERFLOW) > 0:
                    problems.append(f"wider than a screen of {width}")
                if "PICTURES" not in os.environ:
                    continue
                # The whole page, not only what fits the screen.
                page = driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
                picture = driver.execute_cdp_cmd("Page.captureScreenshot", {
                    "format": "png", "captureBeyondViewport": True,
                    "clip": {"x": 0, "y": 0, "width": width, "height": max(height, page["height"]), "scale": 1}})["data"]
                (self.folder / f"{name}-{size}-{scheme}.png").write_bytes(base64.b64decode(picture))
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        assert not problems, (name, problems)
