"""A module put into a package is found, in the order stated."""

import sys
from pathlib import Path

import pytest

from perfscope import registry


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package with three members, a helper and a private module."""
    place = tmp_path / "some_findings"
    place.mkdir()
    for name in ("beta", "alpha", "gamma"):
        (place / f"{name}.py").write_text(f"FINDING = {name!r}\n", encoding="utf-8")
    (place / "helper.py").write_text("", encoding="utf-8")
    (place / "_private.py").write_text("raise AssertionError\n", encoding="utf-8")
    (place / "__init__.py").write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.startswith("some_findings")]:
        monkeypatch.delitem(sys.modules, name)
    registry._loaded.cache_clear()
    return place.name


def test_members_come_by_name(package: str) -> None:
    assert registry.members(package, "FINDING") == ["alpha", "beta", "gamma"]


def test_members_come_in_the_order_stated(package: str) -> None:
    assert registry.members(package, "FINDING", order=("gamma",)) == ["gamma", "alpha", "beta"]


def test_members_in_folders_come_with_the_others(package: str, tmp_path: Path) -> None:
    folder = tmp_path / package / "subject"
    folder.mkdir()
    (folder / "__init__.py").write_text("", encoding="utf-8")
    (folder / "beneath.py").write_text("FINDING = 'beneath'\n", encoding="utf-8")
    expected = ["gamma", "alpha", "beneath", "beta"]
    assert registry.members(package, "FINDING", order=("gamma",)) == expected


def test_a_name_that_does_not_exist_is_an_error(package: str) -> None:
    with pytest.raises(ModuleNotFoundError):
        registry.members(package, "FINDING", order=("delta",))
