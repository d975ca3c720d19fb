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


def left_out_of_sizes(run: StudyRun) -> str:
    """Why a run does not count where runs are told apart by their size; "" when it does."""
    if why := left_out(run):
        return why
    if run.unknown_size:
        return f"how large it was is not known ({run.unknown_size})"
    return ""
