"""Of the files that a recording names only those of the user's own are read."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perfscope import own_files
from perfscope.filesystem import FileSystem
from perfscope.own_files import is_below, read_own

WRITTEN_NS = 1_600_000_000 * 10**9


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "work" / "pkg" / "train.py"
    place.parent.mkdir(parents=True)
    write(place)
    return place


def write(path: Path) -> None:
    path.write_bytes(b"x = 1\n")
    os.utime(path, ns=(WRITTEN_NS, WRITTEN_NS))


def read(path: Path, **changes: Any) -> bytes:
    given = {"most_bytes": 6, "written_by_ns": WRITTEN_NS, **changes}
    directory = given.pop("directory", path.parent.parent)
    return read_own(path, directory, **given)


def test_a_file_below_the_directory_is_read(path: Path) -> None:
    assert read(path) == b"x = 1\n"
    assert read(path, directory=Path("/")) == b"x = 1\n"


@pytest.mark.parametrize("changes", [{"most_bytes": 5}, {"written_by_ns": WRITTEN_NS - 1}])
def test_large_and_younger_files_are_not_read(path: Path, changes: dict[str, int]) -> None:
    with pytest.raises(OSError, match="too large, or too young"):
        read(path, **changes)


def test_a_path_is_below_a_directory_by_its_text() -> None:
    assert is_below(Path("/a/b/c.py"), Path("/a"))
    for path, directory in (
        ("/a/b/c.py", "/a/b/c.py"),
        ("/ab/c.py", "/a"),
        ("/a/../b/c.py", "/a"),
        ("a/c.py", "a"),
        ("c.py", ""),
        ("//a/c.py", "//a"),
    ):
        assert not is_below(Path(path), Path(directory))


def test_nothing_elsewhere_is_looked_at(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "open", lambda *_, **__: pytest.fail("looked"))
    with pytest.raises(OSError, match="not looked at"):
        read(path, directory=path.parent / "other")


@pytest.mark.parametrize("kind", ["autofs", "unknown"])
def test_nothing_is_mounted(path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(own_files, "mounted_at", lambda _: FileSystem(kind, "/net"))
    monkeypatch.setattr(os, "open", lambda *_, **__: pytest.fail("looked"))
    with pytest.raises(OSError, match="not looked at"):
        read(path)


def link_of_a_file(path: Path) -> Path:
    link = path.with_name("link.py")
    link.symlink_to(path.name)
    return link


def link_of_a_directory(path: Path) -> Path:
    link = path.parent.with_name("link")
    link.symlink_to(path.parent.name)
    return link / path.name


def linked_directory(path: Path) -> Path:
    link = path.parent.parent.with_name("link")
    link.symlink_to(path.parent.parent.name)
    return link / path.parent.name / path.name


def fifo(path: Path) -> Path:
    place = path.with_name("fifo.py")
    os.mkfifo(place)
    os.utime(place, ns=(WRITTEN_NS, WRITTEN_NS))
    return place


def directory(path: Path) -> Path:
    place = path.with_name("directory.py")
    place.mkdir()
    return place


@pytest.mark.parametrize(
    "made", [link_of_a_file, link_of_a_directory, linked_directory, fifo, directory]
)
def test_only_regular_files_on_paths_without_links_are_read(
    path: Path, made: Callable[[Path], Path]
) -> None:
    with pytest.raises(OSError):  # noqa: PT011 - the system's own words
        read(made(path))


@pytest.mark.parametrize("whose", ["train.py", "work"])
def test_what_is_somebody_elses_is_not_read(
    path: Path, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    others = (path if whose == "train.py" else path.parent.parent).stat().st_ino

    def is_not_others(found: os.stat_result) -> bool:
        return found.st_ino != others

    monkeypatch.setattr(own_files, "is_own", is_not_others)
    with pytest.raises(OSError, match=r"user's|somebody else's"):
        read(path)


@pytest.mark.parametrize(("owner", "is_users"), [(0, True), (1000, True), (1001, False)])
def test_what_is_the_users_and_roots_is_own(
    monkeypatch: pytest.MonkeyPatch, owner: int, is_users: bool
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = os.stat_result((0, 0, 0, 0, owner, 0, 0, 0, 0, 0))
    assert own_files.is_own(found) is is_users
