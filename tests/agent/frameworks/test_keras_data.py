"""What is read from the arguments of fit()."""

from types import SimpleNamespace

import numpy as np
import pytest

from perfscope.agent.perfscope_agent.frameworks import keras_data


class Odd:
    """A data set of the program's own, one of whose properties raises."""

    def __init__(self, name: str) -> None:
        self._odd = name

    def __getattr__(self, name: str) -> object:
        if name == self._odd:
            raise NotImplementedError(name)
        raise AttributeError(name)


@pytest.mark.parametrize("name", ["shape", "batch_size", "_batch_size", "_input_dataset"])
def test_what_a_data_set_raises_does_not_reach_the_program(name: str) -> None:
    found = keras_data.batches(object(), {"x": Odd(name)})
    assert (found.size, found.samples(0)) == (0, 0)


def test_what_a_model_raises_does_not_reach_the_program() -> None:
    assert keras_data.batches(Odd("steps_per_execution"), {"x": None}).size == 0


@pytest.mark.parametrize(("devices", "samples"), [(1, 33), (2, 65), (4, 129)])
def test_of_a_batch_of_all_workers_those_of_this_one_count(devices: int, samples: int) -> None:
    """Four replicas share 129: the sizes go around, so that this worker's come first."""
    dataset = SimpleNamespace(_batch_sizes=np.array([33, 32, 32, 32]), _input_dataset=None)
    inner = SimpleNamespace(_dataset=dataset, _devices=tuple(range(devices)))
    given = type("DistributedIterator", (), {"_iterators": [inner]})()
    assert keras_data.IteratorBatch().samples((given,)) == samples
