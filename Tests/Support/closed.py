"""docs/openapi.yaml without the room it leaves for later versions: what this server answers must all be described."""

import yaml

from programs import ROOT

DOCUMENT = ROOT / "docs/openapi.yaml"


def close(text: str) -> dict:
    """The description with no member but those named, and no value but those listed, in what the server answers."""
    document = yaml.load(text, yaml.CSafeLoader)
    components = document["components"]
    for part in [*components["schemas"].values(), *components["responses"].values()]:
        close_schema(part)
    for path in document["paths"].values():
        for method, operation in path.items():
            if method != "parameters":
                close_schema(operation["responses"])
    return document


def close_schema(node) -> None:
    if isinstance(node, list):
        for item in node:
            close_schema(item)
    if not isinstance(node, dict):
        return
    for child in list(node.values()):
        close_schema(child)
    if node.get("type") == "object" and isinstance(node.get("properties"), dict):
        node.setdefault("additionalProperties", False)
    if known := node.pop("x-extensible-enum", None):
        node["enum"] = known + ([None] if "null" in node["type"] else [])


def closed() -> dict:
    return close(DOCUMENT.read_text())
