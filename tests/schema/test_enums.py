"""The closed sets of analysis.json and its efficiency tree are declared in one place."""

import ast
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
Literal = ast.Dict | ast.Tuple | ast.List | ast.Set
MOST_REPEATED = 0.5  # of a set: a few members may be chosen, most of them are a copy


@cache
def in_package() -> tuple[list[tuple[Path, int, set[str]]], list[str]]:
    """What a walk over the package finds that a declaration should have said.

    Returns:
        Every literal collection of texts outside schema: its file, line and texts; and where a
        closed set gets another name or comes by way of another module.
    """
    collections: list[tuple[Path, int, set[str]]] = []
    detours = []
    for path in sorted(PACKAGE.rglob("*.py")):
        is_asked = AGENT not in path.parents and path.parent.name != "schema"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assign | ast.ImportFrom):
                if _is_detour(node):
                    detours.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
            elif is_asked and isinstance(node, Literal) and (texts := _texts(node)):
                collections.append((path, node.lineno, texts))
    return collections, detours


def _is_detour(node: ast.Assign | ast.ImportFrom) -> bool:
    if isinstance(node, ast.Assign):
        is_name = isinstance(node.value, ast.Attribute | ast.Name)
        return is_name and ast.unparse(node.value).rpartition(".")[2] in OWN
    module = node.module or ""
    is_other = module.startswith("perfscope.") and module != enums.__name__
    return is_other and bool({one.name for one in node.names} & OWN)


def _texts(collection: Literal) -> set[str]:
    items: list[ast.expr | None]
    if isinstance(collection, ast.Dict):
        items = list(collection.keys)
    else:
        elements = collection.elts
        rows = [one.elts if isinstance(one, ast.Tuple) else [one] for one in elements]
        items = [item for row in rows for item in row]
    return {
        item.value
        for item in items
        if isinstance(item, ast.Constant) and isinstance(item.value, str)
    }


@pytest.mark.parametrize("kind", SETS, ids=lambda kind: kind.__name__)
def test_no_part_spells_a_closed_set_again(kind: type[Named]) -> None:
    ids = {one.value for one in kind}
    copies = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path, line, texts in in_package()[0]
        if len(texts & ids) > MOST_REPEATED * len(ids)
    ]
    assert not copies


def test_no_part_spells_the_efficiency_tree_again() -> None:
    copies = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path, line, texts in in_package()[0]
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
    _, detours = in_package()
    assert not detours
