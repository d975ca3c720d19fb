"""Scaling series whose laws are known in closed form."""

from collections.abc import Callable, Sequence
from typing import Any

from perfscope.studies.common.run import StudyRun
from tests.support.study_runs import made_phase, made_run

Law = Callable[[int], float]
SAMPLES = 64_000
BATCH = 32


def nothing(_: int) -> float:
    """A part that takes no time."""
    return 0.0


def trained(
    sizes: Sequence[int] = (1, 2, 4),
    *,
    step: Law = lambda p: 80.0 / p,
    evaluation: Law = nothing,
    evaluations: Law = lambda _: 10,
    shared: bool = False,
    transfer: Law = nothing,
    weak: bool = False,
    more_work: Law = lambda _: 1.0,
    **more: Any,
) -> list[StudyRun]:
    """Runs that train, then evaluate on rank 0 (or on all, `shared`) and exchange gradients.

    Args:
        sizes: ranks.
        step: seconds of training work of each rank, all steps together.
        evaluation: seconds of all evaluations of a rank that does them.
        evaluations: how many.
        shared: every rank evaluates.
        transfer: seconds in which data moves.
        weak: the samples grow with the ranks.
        more_work: times the samples at each size.
        **more: passed to `made_run`.
    """
    runs = []
    for p in sizes:
        work, judged, moved = step(p), evaluation(p), transfer(p)
        whole = work + judged + moved
        evaluating = [judged] * p if shared else [judged] + [0.0] * (p - 1)
        waiting = [judged - own for own in evaluating]
        samples = SAMPLES * (p if weak else 1) * more_work(p)
        steps = round(samples / (BATCH * p))
        runs.append(
            made_run(
                f"{p}-ranks",
                focus_s=whole,
                work_s=[work + own for own in evaluating],
                ledger_s={
                    "training": [work] * p,
                    "evaluation": evaluating,
                    "communication_wait": waiting,
                    "communication_transfer": [moved] * p,
                },
                phases=[
                    made_phase(
                        "train",
                        [work + moved + own for own in waiting],
                        count=steps * p,
                        communication_s_by_rank=[moved + own for own in waiting],
                    ),
                    *(
                        [
                            made_phase(
                                "evaluate",
                                evaluating,
                                count=round(evaluations(p) * (p if shared else 1)),
                            )
                        ]
                        if judged
                        else []
                    ),
                ],
                samples_per_s=samples / whole,
                step_s=(work + moved) / steps,
                steps=steps,
                batch_size=BATCH,
                ideal_s=whole - moved,
                **more,
            )
        )
    return runs
