"""The commit of the program, from git's files: real checkouts, and what merely looks like one."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from perfscope.record.commit import commit
from tests.support.requirements import missing

SHA = "0123456789abcdef0123456789abcdef01234567"


def git(directory: Path, *words: str) -> str:
    if shutil.which("git") is None:
        missing("git, to make a checkout")
    known = {"HOME": str(directory), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
    person = ("-c", "user.name=a", "-c", "user.email=a@example.invalid")
    done = subprocess.run(
        ["git", *person, *words],
        cwd=directory,
        env=known,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    place = tmp_path / "checkout"
    place.mkdir()
    git(place, "init", "-q", "-b", "main")
    git(place, "commit", "-q", "--allow-empty", "-m", "first")
    return place


def test_a_branch_below_its_top_packed_and_detached(checkout: Path) -> None:
    head = git(checkout, "rev-parse", "HEAD")
    below = checkout / "a" / "b"
    below.mkdir(parents=True)
    assert commit(below, {}) == {"id": head, "branch": "main"}
    git(checkout, "pack-refs", "--all")
    assert not (checkout / ".git" / "refs" / "heads" / "main").exists()
    assert commit(checkout, {}) == {"id": head, "branch": "main"}
    git(checkout, "checkout", "-q", "--detach")
    assert commit(checkout, {}) == {"id": head, "branch": None}


def test_a_worktree(checkout: Path, tmp_path: Path) -> None:
    git(checkout, "worktree", "add", "-q", "-b", "feature/x", str(tmp_path / "tree"))
    head = git(checkout, "rev-parse", "HEAD")
    assert commit(tmp_path / "tree", {}) == {"id": head, "branch": "feature/x"}


def test_continuous_integration_tells_where_there_is_no_checkout(tmp_path: Path) -> None:
    assert commit(tmp_path, {"GITHUB_SHA": SHA}) == {"id": SHA, "branch": None}
    assert commit(tmp_path, {"GITHUB_SHA": "main; rm -rf"}) is None
    assert commit(tmp_path, {}) is None


@pytest.mark.parametrize(
    "head",
    ["", "ref: refs/heads/main", "ref: ../../secret", "ref: refs/heads/../../secret", "x" * 40],
)
def test_what_merely_looks_like_a_checkout_is_none(tmp_path: Path, head: str) -> None:
    (tmp_path / "secret").write_text(SHA, encoding="utf-8")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(head, encoding="utf-8")
    assert commit(tmp_path, {}) is None


def test_a_pipe_in_the_place_of_a_file_holds_nothing_up(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git" / "HEAD")
    assert commit(tmp_path, {}) is None


def test_a_branch_that_looks_like_a_secret_is_redacted(checkout: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    git(checkout, "checkout", "-q", "-b", secret)
    found = commit(checkout, {})
    assert found is not None
    assert secret not in str(found)
