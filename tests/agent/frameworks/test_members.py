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
    members.forget()


def test_a_process_that_has_all_servers_of_a_cluster_is_the_only_one() -> None:
    """As in a tutorial: each server is made in the process that coordinates them."""
    counts = {"worker": 2, "ps": 1}
    tasks = [(job, index) for job, count in counts.items() for index in range(count)]

    def defined(job: str, index: int, **more: int) -> SimpleNamespace:
        jobs = [SimpleNamespace(name=k, tasks=range(n)) for k, n in {**counts, **more}.items()]
        cluster = SimpleNamespace(job=jobs)
        return SimpleNamespace(cluster=cluster, job_name=job, task_index=index)

    (of_server,) = members.DECLARED["tensorflow.python.training.server_lib"]
    of_context, *_ = members.DECLARED["tensorflow.python.eager.context"]
    try:
        places = [of_server.place(SimpleNamespace(server_def=defined(*one))) for one in tasks]
        assert places == [(0, 3), (1, 3), (0, 1)]
        assert of_context.place(None, defined("chief", 0, chief=1)) == (0, 1)
        assert of_context.place(None, defined("chief", 0, chief=1, evaluator=1)) == (0, 5)
    finally:
        members.forget()
