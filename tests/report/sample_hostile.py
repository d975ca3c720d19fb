"""Texts that attack whoever shows them, and a document that is full of them."""

from enum import Enum
from typing import Any

from perfscope.schema import enums

Json = dict[str, Any]

HOSTILE_TEXTS = (
    "<script>window.pwned=1;console.log('pwned')</script>",
    '"\'><img src=x onerror="window.pwned=1">',
    "</style><style>*{display:none}</style>",
    "</svg><svg onload=window.pwned=1>",
    "javascript:window.pwned=1",
    "{{ 7 * 7 }}{% raw %}",
    "$\\frac{1}{0}$ _^ \\",
    "evil\u202egnp.exe\u2066\u200f",
    "nul\x00bell\x07esc\x1b[31mred",
    "lone \ud800 surrogate",
    "&lt;b&gt;already escaped&amp;",
    "x" * 100_000,
    "日本語の関数名 مثال עברית",
    "]]><!-- --><![CDATA[",
    "url(https://example.invalid/x.png)",
)
CLOSED = {
    one.value
    for kind in vars(enums).values()
    if isinstance(kind, type) and issubclass(kind, Enum)
    for one in kind
}
"""The values of the closed sets of a document: perfscope writes them, no trace does."""


def attacked(document: Json) -> Json:
    """A document in which every text that a trace can carry is an attack."""
    counter = iter(range(10**9))

    def attack(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            changed = {k: attack(v, k) for k, v in value.items()}
            if key in ("versions", "environment", "series", "unmatched"):
                kept = {"series": changed.get("loss"), "unmatched": 3}
                return {**changed, **{text: kept.get(key, text) for text in HOSTILE_TEXTS}}
            return changed
        if isinstance(value, list):
            return [attack(v, key) for v in value]
        if isinstance(value, str) and key != "id" and value not in CLOSED:
            return HOSTILE_TEXTS[next(counter) % len(HOSTILE_TEXTS)]
        return value

    doc: Json = attack(document)
    doc["ledger_functions"] = [
        doc["ledger_functions"][0] | {"function": text, "file": text} for text in HOSTILE_TEXTS
    ]
    doc["findings"][0]["references"] = [
        "javascript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "https://user:secret@example.org/",
        'https://docs.example.org/a?b=<c>&d="e"',
        "https://docs.example.org/fine",
        "//example.org/x",
    ]
    return doc
