"""Which number a process of a TensorFlow cluster has among all its tasks."""

from types import SimpleNamespace

import pytest

from perfscope.agent.perfscope_agent.frameworks import members


@pytest.mark.parametrize(
    ("task", "index", "number"),
    [("worker", 0, 1), ("worker", 1, 2), ("chief", 0, 0), ("ps", 1, 4)],
)
def test_tasks_are_numbered_as_tensorflow_numbers_them(task: str, index: int, number: int) -> None:
    jobs = [("ps", 2), ("worker", 2), ("chief", 1)]
    server = SimpleNamespace(
        cluster=SimpleNamespace(
            job=[SimpleNamespace(name=name, tasks=dict.fromkeys(range(n))) for name, n in jobs]
        ),
        job_name=task,
        task_index=index,
    )
    (declared,) = members.DECLARED["tensorflow.python.training.server_lib"]
    assert declared.place(SimpleNamespace(server_def=server)) == (number, 5)
