"""The environment with Horovod says why it cannot be, and builds its wheel once."""

import sys
import tarfile
from collections import namedtuple
from collections.abc import Mapping
from pathlib import Path

import pytest

from scripts import environments, horovod_build

Version = namedtuple("Version", "major minor micro releaselevel serial")  # noqa: PYI024


@pytest.fixture
def newer_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with Python 3.13 alone; its only other programs are those put into the path."""
    monkeypatch.setattr(sys, "version_info", Version(3, 13, 1, "final", 0))
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def program(path: Path) -> None:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


@pytest.mark.usefixtures("newer_python")
def test_another_python_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["environments.py", "horovod"])
    assert environments.main() == 1
    told = capsys.readouterr().err
    assert told.startswith("environment horovod: left out. It needs Python 3.10 or 3.11")


def test_another_python_in_the_path_will_do(newer_python: Path) -> None:
    for tool in (*horovod_build.TOOLS, "python3.10"):
        program(newer_python / tool)
    assert horovod_build.python() == str(newer_python / "python3.10")
    assert horovod_build.obstacle() is None


def test_missing_tools_are_named(newer_python: Path) -> None:
    program(newer_python / "python3.11")
    assert "apt-get install g++ make" in str(horovod_build.obstacle())


def write_source(path: Path, *, without: str = "") -> None:
    """A source distribution that holds what is changed in it."""
    tree = path.parent / "made" / path.name.removesuffix(".tar.gz")
    for name, changes in horovod_build.PATCHES.items():
        file = tree / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(old for old, _ in changes if old != without))
    with tarfile.open(path, "w:gz") as archive:
        archive.add(tree, tree.name)


def test_sources_are_changed_and_others_refused(tmp_path: Path) -> None:
    name = f"horovod-{horovod_build.VERSION}"
    write_source(tmp_path / f"{name}.tar.gz")
    changed = horovod_build.patched_source(("pip",), tmp_path, lambda *_, **__: None, {})
    assert "STANDARD 20" in (changed / "horovod" / "torch" / "CMakeLists.txt").read_text()
    (text, _), *_ = horovod_build.PATCHES["CMakeLists.txt"]
    write_source(tmp_path / f"{name}.tar.gz", without=text)
    with pytest.raises(ValueError, match="holds no"):
        horovod_build.patched_source(("pip",), tmp_path, lambda *_, **__: None, {})


def test_a_wheel_is_built_once(tmp_path: Path) -> None:
    calls: list[list[str]] = []

    def run(*command: str | Path, variables: Mapping[str, str] | None = None) -> None:
        words = [str(word) for word in command]
        calls.append(words)
        assert (variables is not None) == bool({"wheel", "download"} & set(words))
        if "wheel" in words:
            place = Path(words[words.index("--wheel-dir") + 1])
            place.mkdir(parents=True)
            (place / "horovod.whl").touch()
        if "download" in words:
            source = Path(words[words.index("--dest") + 1])
            write_source(source / f"horovod-{horovod_build.VERSION}.tar.gz")

    requirements = tmp_path / "horovod.txt"
    requirements.write_text("numpy==1\nscikit-learn==1\n")
    places = tmp_path / "environment", tmp_path / "wheels"
    for text, kinds in (
        ("numpy==1\nscikit-learn==1\n", ["download", "wheel", "install"]),
        ("numpy==1\nscikit-learn==2\n", ["install"]),
        ("numpy==2\nscikit-learn==2\n", ["download", "wheel", "install"]),
    ):
        requirements.write_text(text)
        calls.clear()
        horovod_build.install(places[0], requirements, cache=places[1], run=run)
        assert [words[3] for words in calls] == kinds
