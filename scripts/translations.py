#!/usr/bin/env python3
"""Lists the translations that do not follow the English text.

    scripts/translations.py                              list what is stale, missing or left over; 1 if anything is
    scripts/translations.py --follow LANGUAGE KEY…       record that these translations follow the English text
    scripts/translations.py --follow LANGUAGE --all      record that all translations of a language do

Public/strings/en.json has the English texts. translations.json, beside this script, has a digest of the English text
that each translation follows.
"""

import hashlib
import json
import sys
from pathlib import Path

DIGESTS = Path(__file__).with_name("translations.json")
STRINGS = Path(__file__).parents[1] / "Public/strings"


def texts(language: str) -> dict[str, str]:
    """The texts of a language, by dotted key."""
    def flat(members: dict, prefix: str):
        for name, value in members.items():
            if isinstance(value, dict):
                yield from flat(value, f"{prefix}{name}.")
            else:
                yield prefix + name, value

    return dict(flat(json.loads((STRINGS / f"{language}.json").read_text()), ""))


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def faults(language: str, english: dict[str, str], followed: dict[str, str]):
    """What is wrong with a language: the fault, the key, and the two texts."""
    translated = texts(language)
    for key in english | translated | followed:
        if key not in english:
            yield "not in en.json", key, "", translated.get(key, "")
        elif key not in translated:
            yield "missing", key, english[key], ""
        elif followed.get(key) != digest(english[key]):
            yield "stale", key, english[key], translated[key]


def follow(language: str, keys: list[str], english: dict[str, str], digests: dict[str, dict[str, str]]) -> None:
    translated = texts(language)
    followed = digests.setdefault(language, {})
    if keys == ["--all"]:
        keys = list(english | followed)
    for key in keys:
        if key in english and key in translated:
            followed[key] = digest(english[key])
        elif followed.pop(key, None) is None:
            sys.exit(f"{language}: no translation of {key}")
    digests[language] = {key: followed[key] for key in english | followed if key in followed}
    DIGESTS.write_text(json.dumps(digests, indent=2) + "\n")


def main(arguments: list[str]) -> int:
    english, digests = texts("en"), json.loads(DIGESTS.read_text())
    languages = sorted({path.stem for path in STRINGS.glob("*.json")} - {"en"})
    match arguments:
        case []:
            found = [(language, *fault) for language in languages
                     for fault in faults(language, english, digests.get(language, {}))]
            for language, fault, key, text, translation in found:
                print(f"{language} {fault}: {key}\n  en: {text}\n  {language}: {translation}")
            return 1 if found else 0
        case ["--follow", language, *keys] if language in languages and keys:
            follow(language, keys, english, digests)
            return 0
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
