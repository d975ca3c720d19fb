"""Which runs count in a study: a run that died early is not faster, so it is excluded."""

from perfscope.studies.common.run import StudyRun

ENDED_WELL = (0, None)


def left_out(run: StudyRun) -> str:
    """Why a run does not count; "" when it does."""
    if run.result.run.exit_code not in ENDED_WELL:
        return f"it ended with exit code {run.result.run.exit_code}"
    if run.ending:
        return f"it did not end by itself: {run.ending}"
    return ""
