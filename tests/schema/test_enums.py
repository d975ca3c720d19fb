"""The closed sets of analysis.json and its efficiency tree are declared in one place."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from perfscope.schema import enums
from perfscope.schema.efficiency import EFFICIENCIES, METRICS, PRODUCTS
from perfscope.schema.enums import Account, IdleCause, Named, Status, WaitKind, member
from tests.architecture.test_arrows import AGENT, PACKAGE

OWN = {
    one.__name__ for one in vars(enums).values() if getattr(one, "__module__", "") == enums.__name__
}
SETS: tuple[type[Named], ...] = (Account, WaitKind, IdleCause)
MOST_REPEATED = 0.5  # of a set: a few members may be chosen, most of them are a copy


@cache
def collections_of_texts() -> tuple[tuple[Path, int, set[str]], ...]:
    """Every literal collection of texts in the package outside schema."""
    return tuple(row for row in _literal_collections() if row[2])


def _literal_collections() -> Iterator[tuple[Path, int, set[str]]]:
    """Every literal collection in the package outside schema: its file, line and texts."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if AGENT in path.parents or path.parent.name == "schema":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Dict):
                items: list[ast.expr | None] = list(node.keys)
            elif isinstance(node, ast.Tuple | ast.List | ast.Set):
                rows = [item.elts if isinstance(item, ast.Tuple) else [item] for item in node.elts]
                items = [item for row in rows for item in row]
            else:
                continue
            texts = {
                item.value
                for item in items
                if isinstance(item, ast.Constant) and isinstance(item.value, str)
            }
            yield path, node.lineno, texts


@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind.__name__)
def test_no_part_spells_a_closed_set_again(kind: type[Named]) -> None:
    ids = {one.value for one in kind}
    copies = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path, line, texts in collections_of_texts()
        if len(texts & ids) > MOST_REPEATED * len(ids)
    ]
    assert not copies


def test_no_part_spells_the_efficiency_tree_again() -> None:
    copies = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path, line, texts in collections_of_texts()
        if len(texts & {*METRICS}) > len(METRICS) - 2
    ]
    assert not copies


@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind.__name__)
def test_members_are_found_by_their_ids(kind: type[Named]) -> None:
    for one in kind:
        assert member(kind, one.value) is one
        assert one.label
    assert member(kind, None) is None
    assert member(kind, "of another version") is None
    assert member(kind, ["no", "text"]) is None


def test_the_tree_holds_each_metric_once_and_its_levels_follow_its_products() -> None:
    assert sorted(METRICS) == sorted(EFFICIENCIES)
    for whole, factors in PRODUCTS.items():
        assert {EFFICIENCIES[name].level for name in factors} == {EFFICIENCIES[whole].level + 1}


def test_faults_come_before_what_is_none() -> None:
    assert [one for one in Status if one.is_fault] == sorted(Status, key=lambda s: s.order)[:2]


def test_every_part_has_the_closed_sets_from_their_declaration() -> None:
    detours = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Attribute | ast.Name)
            and ast.unparse(node.value).rpartition(".")[2] in OWN
        )
        or (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").startswith("perfscope.")
            and node.module != enums.__name__
            and {one.name for one in node.names} & OWN
        )
    ]
    assert not detours
