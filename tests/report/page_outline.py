"""Reads a page's structure for tests: ids, headings, tables, links and attributes."""

import re
from html.parser import HTMLParser
from typing import Any

from perfscope.report import build
from perfscope.schema.read import read_known

HELD = re.compile(r'<template id="held" data-file="\w+\.json">([\w+/=]*)</template>')
VOID = frozenset({"meta", "link", "br", "img", "input", "hr"})


class Outline(HTMLParser):
    """What a page is made of, collected while it is parsed.

    Attributes:
        ids: every id, in order.
        headings: the levels of the headings, in order.
        tables: for each table whether it has a caption and whether every header cell has a scope.
        targets: the fragments that links and labels point at.
        attributes: the names of all attributes.
        tags: the names of all elements.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.headings: list[int] = []
        self.tables: list[dict[str, bool]] = []
        self.targets: list[str] = []
        self.attributes: set[str] = set()
        self.tags: set[str] = set()
        self.unclosed: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.add(tag)
        self.attributes.update(values)
        if identity := values.get("id"):
            self.ids.append(identity)
        if tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self.headings.append(int(tag[1]))
        if tag == "table":
            self.tables.append({"caption": False, "scopes": True})
        if tag == "caption":
            self.tables[-1]["caption"] = True
        if tag == "th" and not values.get("scope"):
            self.tables[-1]["scopes"] = False
        href = values.get("href") or ""
        if href.startswith("#"):
            self.targets.append(href[1:])
        self.targets += (values.get("aria-labelledby") or "").split()
        if tag not in VOID:
            self.unclosed.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.unclosed or self.unclosed.pop() != tag:
            raise AssertionError(f"</{tag}> closes nothing")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.unclosed.pop()


def part(page: str, identity: str) -> str:
    """The part of a page that one section fills, with plain spaces."""
    start = page.index(f'<section id="{identity}"')
    return page[start : page.index("</section>", start)].replace("\xa0", " ")


def page_of(document: dict[str, Any], identity: str) -> str:
    """The page of a document with one section alone, as it is written on the whole one."""
    result = build._visible(read_known(document))
    sections = [section for section in build._sections() if section.id == identity]
    page = build.Page("report", "", "", result.tool, title="", style="", script=";")
    return build.render(result, sections, build._environment(), page)


def shown(document: dict[str, Any], identity: str) -> str:
    """What one section says, with plain spaces."""
    return part(page_of(document, identity), identity)


def without_own(page: str) -> str:
    """A page without what it brings itself: its script, to the letter, and its packed document."""
    for names in (build.SCRIPTS, (*build.SCRIPTS, *build.TIMELINE)):
        page = page.replace(f"<script>{''.join(map(build.asset, names))}</script>", "")
    return HELD.sub("", page)
