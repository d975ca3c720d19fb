"""Checks of the outsider's day (`scripts/outsider.sh`)."""

import re

from tests.support.environments import REPOSITORY

CHECK = re.compile(r"^(?:cmp|grep|\[) .*", re.MULTILINE)


def test_a_check_that_fails_ends_the_story() -> None:
    """`set -e` passes over a command that fails before `&&`: the story would end with 0."""
    script = (REPOSITORY / "scripts" / "outsider.sh").read_text(encoding="utf-8")
    story = script.split("<<STORY\n")[1].split("\nSTORY\n")[0]
    assert story.startswith("set -eu\n")
    checks = CHECK.findall(story)
    assert len(checks) >= 13
    assert [check for check in checks if "&&" in check] == []
