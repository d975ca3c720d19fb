"""Fabrics and link speeds, read from a tree that looks like /sys/class."""

import json
from pathlib import Path

import pytest

from perfscope.agent.perfscope_agent import metadata, network, topology


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(network, "_CLASS", str(tmp_path))
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_fabrics_have_their_rate(tree: Path) -> None:
    write(tree / "infiniband" / "mlx5_0" / "ports" / "1" / "rate", "100 Gb/sec (4X EDR)\n")
    write(tree / "infiniband" / "mlx5_0" / "ports" / "1" / "link_layer", "InfiniBand\n")
    write(tree / "infiniband" / "hfi1_0" / "ports" / "1" / "rate", "")
    write(tree / "cxi" / "cxi0" / "device", "")
    assert network.fabrics() == ["hfi1_0", "mlx5_0 100 Gb/sec (4X EDR) InfiniBand", "cxi0"]


def test_the_fastest_link_counts(tree: Path) -> None:
    write(tree / "net" / "eth0" / "speed", "10000\n")
    write(tree / "net" / "eth1" / "speed", "25000\n")
    write(tree / "net" / "down" / "speed", "-1\n")
    write(tree / "net" / "lo" / "operstate", "unknown\n")
    assert network.link_mbit_s() == 25000


def test_nothing_is_there(tree: Path) -> None:  # noqa: ARG001 - empty
    assert network.network() == {"fabrics": [], "link_mbit_s": None}


def test_hostile_names_and_long_files_stay_harmless(tree: Path) -> None:
    write(tree / "infiniband" / 'a"\n<b>' / "ports" / "1" / "rate", "9" * 100_000)
    for number in range(40):
        write(tree / "infiniband" / f"many{number}" / "node_type", "")
    found = network.fabrics()
    assert len(found) <= 16
    assert max(map(len, found)) < 200
    assert json.loads(metadata.encode(found)) == found


def test_it_is_noted_with_the_topology() -> None:
    assert {"fabrics", "link_mbit_s"} <= set(topology.topology())
