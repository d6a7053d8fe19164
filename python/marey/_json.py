"""JSON as profilers write it: with NaN, with strings that nobody escaped, with bytes that are no UTF-8."""

from __future__ import annotations

import json
import re
from typing import Any

NON_FINITE = re.compile(r"[-+]?(?:nan|inf(?:inity)?)", re.IGNORECASE)
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s,:\[\]{}"]+', re.DOTALL)
SURROGATE = re.compile("[\ud800-\udfff]")


def parse_json(text: str | bytes) -> Any:
    """The value of JSON text. What JSON does not have is read as the ledger says: NaN and infinities
    are None, a number that is none stays text, a string with a wrong escape keeps its back-slashes, and
    what is no UTF-8 or half of a surrogate pair is U+FFFD.

    Raises ValueError where brackets, commas or colons are wrong.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    try:
        value = json.loads(text, strict=False, parse_constant=lambda _: None)
    except ValueError:
        value = json.loads(TOKEN.sub(_mended, text), strict=False)
    return _without_surrogates(value) if "\\ud" in text.lower() else value


def _mended(match: re.Match[str]) -> str:
    token = match.group()
    try:
        json.loads(token, strict=False, parse_constant=_refuse)
    except ValueError:
        pass
    else:
        return token
    if token[0] == '"':
        return json.dumps(token[1:-1].replace('\\"', '"'))
    return "null" if NON_FINITE.fullmatch(token) else json.dumps(token)


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _without_surrogates(value: Any) -> Any:
    """Pairs have become one character by now."""
    if isinstance(value, str):
        return SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {SURROGATE.sub("\ufffd", key): _without_surrogates(item) for key, item in value.items()}
    return value
