"""Property tests draw the same examples in CI, whatever has run in the same process before."""

import importlib
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers

from tests.support import examples, requirements


def drawn() -> list[object]:
    """The examples of a property test with the settings of CI."""
    found: list[object] = []

    @settings(settings.get_profile("ci"), max_examples=150)
    @given(st.tuples(st.integers(), st.floats(allow_nan=False), st.text(), st.binary()))
    def test(example: object) -> None:
        found.append(example)

    test()
    return found


@pytest.fixture
def import_constants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], ModuleType]]:
    """Imports a module of the project in which there are numbers and words to draw."""
    chance = random.Random(1)
    numbers = [chance.randrange(10**6, 10**9) for _ in range(300)]
    text = f"VALUES = {[*numbers, *(one / 7 for one in numbers), *map(str, numbers)]!r}\n"
    (tmp_path / "local_constants.py").write_text(text, encoding="ascii")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield lambda: importlib.import_module("local_constants")
    sys.modules.pop("local_constants", None)


def test_modules_imported_meanwhile_change_no_example(
    import_constants: Callable[[], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(providers, examples.LOCAL_CONSTANTS, examples.none)
    before = drawn()
    import_constants()
    assert drawn() == before


def test_all_tests_draw_so_in_ci_and_none_elsewhere() -> None:
    source = getattr(providers, examples.LOCAL_CONSTANTS)
    assert (source is examples.none) == requirements.in_ci()
