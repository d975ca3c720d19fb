"""Which commit of the program ran: read from git's files, without starting git.

Nothing here may disturb a job: a few small files are read, and whatever is odd means that the
commit is not known. Whether files were changed since the commit is not asked, as that would mean
reading all of them.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from perfscope.files import head_of
from perfscope.record.redact import redact_value

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MOST_PARENTS = 40
_MOST_BYTES = 4 << 20  # of packed-refs, which grows with the branches
_LONGEST_NAME = 200
# Set by continuous integration, which often has no checkout with a .git in it.
_VARIABLES = ("GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT", "BUILDKITE_COMMIT", "CIRCLE_SHA1")


def commit(directory: Path, environment: Mapping[str, str]) -> dict[str, str | None] | None:
    """The commit that a directory has checked out: `id`, and `branch` or None; None if unknown.

    In `environment` continuous integration tells the commit when there is no checkout.
    """
    try:
        found = _checked_out(directory)
    except (OSError, ValueError):
        found = None
    if found is None:
        for name in _VARIABLES:
            if _COMMIT.fullmatch(environment.get(name, "")):
                return {"id": environment[name], "branch": None}
    return found


def _checked_out(directory: Path) -> dict[str, str | None] | None:
    git = _git_directory(directory)
    if git is None:
        return None
    head = _read(git / "HEAD")
    if not head.startswith("ref:"):
        return {"id": head, "branch": None} if _COMMIT.fullmatch(head) else None
    reference = head[4:].strip()
    if not reference.startswith("refs/") or ".." in reference:
        return None
    common = git
    if (git / "commondir").is_file():  # a worktree: branches lie with the main one
        common = git / _read(git / "commondir")
    identity = _resolved(git, reference) or _resolved(common, reference)
    if identity is None:
        return None
    branch = redact_value(reference.removeprefix("refs/heads/")[:_LONGEST_NAME])
    return {"id": identity, "branch": branch}


def _git_directory(directory: Path) -> Path | None:
    """The .git of the checkout that holds a directory, on its own file system as git looks for it.

    Looking further up may wake an automounter.
    """
    device = directory.stat().st_dev
    for parent in [directory, *directory.parents][:_MOST_PARENTS]:
        if parent.stat().st_dev != device:
            return None
        place = parent / ".git"
        if place.is_dir():
            return place
        if place.is_file():
            told = _read(place)
            return parent / told[7:].strip() if told.startswith("gitdir:") else None
    return None


def _resolved(git: Path, reference: str) -> str | None:
    loose = git / reference
    if loose.is_file():
        text = _read(loose)
        return text if _COMMIT.fullmatch(text) else None
    packed = git / "packed-refs"
    if not packed.is_file():
        return None
    for line in _read(packed).splitlines():
        identity, _, name = line.partition(" ")
        if name == reference and _COMMIT.fullmatch(identity):
            return identity
    return None


def _read(path: Path) -> str:
    """The text of a small file, without the line end; a pipe in its place would hold up the job."""
    return head_of(path, _MOST_BYTES).decode("utf-8", "replace").strip()
