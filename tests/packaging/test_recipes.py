"""Recipes for installing: that they can be read, and say of themselves what the package says."""

import ast
import inspect
import re
from pathlib import Path

import pytest
import yaml

from perfscope.dask import scheduler
from tests.support.environments import REPOSITORY

tomllib = pytest.importorskip("tomllib", reason="it came with Python 3.11")
PACKAGING = REPOSITORY / "packaging"
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPES = [path for path in sorted(PACKAGING.rglob("*")) if path.is_file() and path.suffix != ".md"]


def needs(text: str) -> dict[str, str]:
    """The packages that are needed and their least versions, however a recipe writes them."""
    found = re.findall(r"(?:py-)?([a-z0-9]+)(?: ?>=|@)([0-9.]+)", text)
    return {name: version.strip(".") for name, version in found}


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.name)
def test_a_recipe_says_what_was_tried(path: Path) -> None:
    assert re.search(r"[Tt]ried", "".join(path.read_text(encoding="utf-8").splitlines()[:4]))


@pytest.mark.parametrize("name", ["spack/package.py", "conda/recipe.yaml"])
def test_a_recipe_needs_what_the_package_needs(name: str) -> None:
    expected = needs("\n".join(PROJECT["dependencies"]))
    found = needs((PACKAGING / name).read_text(encoding="utf-8"))
    assert len(expected) == 5
    assert {package: found.get(package) for package in expected} == expected
    assert found["python"] == PROJECT["requires-python"].removeprefix(">=")


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.name)
def test_a_recipe_is_of_this_version(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    told = re.findall(r"(?i)version\W+(\d+\.\d+\.\d+)", text.partition("toolchain")[0])
    assert set(told) <= {PROJECT["version"]}
    if path.suffix in (".eb", ".lua") or path.name in ("package.py", "recipe.yaml"):
        assert told


def test_the_extra_for_clusters_has_all_that_the_command_asks_for_with_it() -> None:
    source = inspect.getsource(scheduler)
    asked = set(re.findall(r'_package\("\w+", "([\w-]+)"\)', source))
    brought = needs("\n".join(PROJECT["optional-dependencies"][scheduler.EXTRA]).replace("-", ""))
    assert len(asked) == 2
    assert {name.replace("-", "") for name in asked} <= set(brought)


def test_recipes_in_python_and_yaml_can_be_read() -> None:
    ast.parse((PACKAGING / "spack" / "package.py").read_text(encoding="utf-8"))
    [easy] = PACKAGING.glob("easybuild/*.eb")
    assert easy.name.startswith(f"perfscope-{PROJECT['version']}-")
    ast.parse(easy.read_text(encoding="utf-8"))
    for path in PACKAGING.rglob("*.y*ml"):
        assert yaml.safe_load(path.read_text(encoding="utf-8"))


def pinned(name: str) -> set[str]:
    """The packages of a list with their versions, as Python 3.11 and newer gets them."""
    text = (REPOSITORY / "requirements" / name).read_text(encoding="utf-8")
    newest = re.sub(r'.*; python_version < "3.11"', "", text)
    return set(re.findall(r"^([a-z0-9-]+==[\w.]+)", newest, re.MULTILINE))


def hashed(name: str) -> set[str]:
    """The packages of a list that have hashes."""
    text = (REPOSITORY / "requirements" / name).read_text(encoding="utf-8")
    hashes = r"(?:\n    --hash=sha256:[0-9a-f]{64}[ \\]*)+"
    return set(re.findall(rf"^([a-z0-9-]+==[\w.]+)[^\n]*{hashes}", text, re.MULTILINE))


def test_every_pinned_requirement_of_the_runtime_has_a_hash() -> None:
    wanted = pinned("runtime.txt")
    assert len(wanted) >= 9
    assert hashed("runtime.hashed.txt") >= wanted


def test_every_requirement_of_the_extra_for_clusters_has_a_hash() -> None:
    """In the version of the tests, and of what both lists have, in that of the runtime."""
    asked = needs("\n".join(PROJECT["optional-dependencies"][scheduler.EXTRA]).replace("-", ""))
    tried = {
        one for one in pinned("integrations.txt") if one.split("=")[0].replace("-", "") in asked
    }
    found = hashed("cluster.hashed.txt")
    assert len(tried) == len(asked) == 3
    assert found >= tried
    assert found == pinned("cluster.hashed.txt")
    versions = dict(one.split("==") for one in hashed("runtime.hashed.txt"))
    both = {
        name: version for name, version in (one.split("==") for one in found) if name in versions
    }
    assert both == {name: versions[name] for name in both}
