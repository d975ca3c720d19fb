"""The wheel holds everything that recording and reporting need on another machine."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from scripts.environments import DEVELOPERS_BUILD
from tests.support.environments import REPOSITORY, environment

NEEDED = (
    "perfscope/record/lib/libperfscope_recorder.so",
    "perfscope/agent/sitecustomize.py",
    "perfscope/agent/perfscope_agent/marker.py",
    "perfscope/report/templates/page.html",
    "perfscope/py.typed",
)


@pytest.fixture(scope="module")
def contents(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The names in a wheel built from this checkout."""
    python = environment("mpich").python
    place = tmp_path_factory.mktemp("wheel")
    options = ["--quiet", "--no-deps", "--no-build-isolation", *DEVELOPERS_BUILD]
    path = f"{python.parent}:{Path(sys.executable).parent}:/usr/bin:/bin"
    subprocess.run(
        [str(python), "-m", "pip", "wheel", *options, f"--wheel-dir={place}", str(REPOSITORY)],
        check=True,
        env={"PATH": path, "HOME": str(place)},
    )
    (wheel,) = place.glob("perfscope_hpc-*-cp3*-linux_*.whl")
    return zipfile.ZipFile(wheel).namelist()


@pytest.mark.parametrize("name", NEEDED)
def test_wheel_holds(contents: list[str], name: str) -> None:
    assert name in contents


def test_wheel_holds_every_file_of_the_package(contents: list[str]) -> None:
    package = REPOSITORY / "perfscope"
    files = {
        str(path.relative_to(REPOSITORY))
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so"
    }
    assert files - set(contents) == set()


def test_wheel_holds_nothing_else(contents: list[str]) -> None:
    tops = {name.split("/")[0] for name in contents}
    assert {top for top in tops if not top.startswith("perfscope_hpc-")} == {"perfscope"}


def test_wheel_holds_the_engine(contents: list[str]) -> None:
    engine = [name for name in contents if name.startswith("perfscope/_core.")]
    assert sorted(Path(name).suffix for name in engine) == [".pyi", ".so"]
