"""What the agent notes of PyTorch's devices, from a stand-in for PyTorch: there is no GPU here."""

import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from perfscope.agent.perfscope_agent import metadata
from perfscope.agent.perfscope_agent.frameworks import torch_devices


@pytest.fixture(autouse=True)
def facts() -> Iterator[dict[str, Any]]:
    metadata.facts.clear()
    metadata.facts["frameworks"] = {}
    yield metadata.facts
    metadata.facts.clear()


def torch(*reserved: int, is_initialized: bool = True) -> Any:
    """PyTorch with one device for each number of bytes, which asks for nothing else before."""

    def initialized(value: Any) -> Any:
        assert is_initialized, "this would have initialized CUDA"
        return value

    def precision() -> str:
        warnings.warn("deprecated", stacklevel=1)
        return str(initialized("highest"))

    cuda = SimpleNamespace(
        is_initialized=lambda: is_initialized,
        device_count=lambda: initialized(len(reserved)),
        max_memory_reserved=lambda number: initialized(reserved[number]),
        max_memory_allocated=lambda number: initialized(reserved[number] // 2),
        get_device_properties=lambda number: initialized(
            SimpleNamespace(name="A GPU", uuid=f"uuid-{number}", total_memory=100)
        ),
    )
    return SimpleNamespace(cuda=cuda, get_float32_matmul_precision=precision)


def test_devices_with_memory_are_noted(facts: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch_devices.collect(torch(0, 40))
    assert facts["frameworks"]["torch"] == {
        "devices": [
            {
                "number": 1,
                "uuid": "uuid-1",
                "name": "A GPU",
                "reserved_bytes": 40,
                "allocated_bytes": 20,
                "total_bytes": 100,
            }
        ],
        "float32_matmul_precision": "highest",
    }


def test_cuda_is_never_initialized(facts: dict[str, Any]) -> None:
    torch_devices.collect(torch(40, is_initialized=False))
    torch_devices.collect(SimpleNamespace())
    assert facts["frameworks"] == {}
