"""Gates as a JUnit report, which every CI system shows."""

from collections.abc import Sequence

from perfscope.output import visible
from perfscope.structures import dataclass


@dataclass(frozen=True)
class Case:
    """One thing that was judged."""

    name: str  # what it is called
    failure: str | None = None  # why it fails, None where it does not
    text: str = ""  # what else is to be said of it


def junit(suite: str, cases: Sequence[Case]) -> str:
    """The report, in the form that Jenkins, GitLab and GitHub's viewers agree on."""
    failed = sum(case.failure is not None for case in cases)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    counts = f'tests="{len(cases)}" failures="{failed}" errors="0"'
    lines.append(f"<testsuites {counts}>")
    lines.append(f"<testsuite name={_attribute(suite)} {counts}>")
    for case in cases:
        lines.append(f'<testcase classname="perfscope" name={_attribute(case.name)}>')
        if case.failure is not None:
            shown = _text(case.failure)
            lines.append(f"<failure message={_attribute(case.failure)}>{shown}</failure>")
        if case.text:
            lines.append(f"<system-out>{_text(case.text)}</system-out>")
        lines.append("</testcase>")
    return "\n".join([*lines, "</testsuite>", "</testsuites>", ""])


# What escapes loads urllib, and an analysis that writes no report makes cases, too.
def _text(text: str) -> str:
    from xml.sax.saxutils import escape  # noqa: PLC0415

    return escape(visible(text))


def _attribute(text: str) -> str:
    from xml.sax.saxutils import quoteattr  # noqa: PLC0415

    return quoteattr(visible(text))
