"""One run of a sweep: `perfscope run` as a process of its own, with a bound on its time."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import perfscope
from perfscope.files import replace_file
from perfscope.sweep import outcome
from perfscope.sweep.capacity import effective
from perfscope.sweep.outcome import ERRORS_FILE, OUTPUT_FILE, RECORDING, TIME_LIMIT_FILE
from perfscope.sweep.plan import Plan, Run
from perfscope.sweep.store import Claim, end_processes

LOOK_EVERY_S = 0.5
GRACE_S = 10.0
# `python -m perfscope`, but a module of the user's in the working directory must not stand in for
# one that perfscope needs.
_OWN_MODULES_ONLY = (
    "import sys; sys.path[:1] = []; sys.path.append({place!r}); "
    "from perfscope.cli.main import main; sys.exit(main())"
)


def make(
    plan: Plan, run: Run, claim: Claim, *, while_running: Callable[[float], None]
) -> outcome.Outcome:
    """Runs a configuration once and says how it ended.

    `while_running` is called again and again with the seconds since the start.

    Raises:
        KeyboardInterrupt: the user wants to stop; the job has been ended.
        OSError: the files of the run cannot be written, or perfscope itself cannot be started.
    """
    start_unix_s, start_s = time.time(), time.monotonic()
    with (
        (claim.directory / OUTPUT_FILE).open("wb") as output,
        (claim.directory / ERRORS_FILE).open("wb") as errors,
    ):
        process = subprocess.Popen(
            command_line(plan, run, claim.directory),
            cwd=plan.directory or None,
            env=effective(run.configuration.environment, os.environ),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            pass_fds=(claim.lock,),
            # Ctrl-C reaches the sweep alone, which ends the job in order. When the sweep is killed,
            # the run goes on to its end and is brought in later.
            start_new_session=True,
        )
        try:
            _attend(process, plan, claim, start_s, while_running)
        except BaseException:
            _end(process, claim)
            raise
    wall_s = time.monotonic() - start_s
    end_processes(claim.directory / RECORDING)  # what it left would disturb the next run
    code = process.returncode
    return outcome.judge(
        claim.directory,
        exit_code=code if code >= 0 else 128 - code,
        wall_s=wall_s,
        start_unix_s=start_unix_s,
    )


def command_line(plan: Plan, run: Run, directory: Path) -> list[str]:
    """The words that record one run."""
    return [
        sys.executable,
        "-c",
        _OWN_MODULES_ONLY.format(place=str(Path(perfscope.__file__).parent.parent)),
        "run",
        "--quiet",
        "--output",
        str(directory / RECORDING),
        *plan.recording,
        "--",
        *run.configuration.command,
    ]


def _attend(
    process: subprocess.Popen[bytes],
    plan: Plan,
    claim: Claim,
    start_s: float,
    while_running: Callable[[float], None],
) -> None:
    """Waits for the end of a run, and ends it when it is longer than allowed."""
    limit_s = plan.time_limit_s
    while True:
        elapsed_s = time.monotonic() - start_s
        rest_s = LOOK_EVERY_S if limit_s is None else min(LOOK_EVERY_S, limit_s - elapsed_s)
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, rest_s))
            return
        while_running(time.monotonic() - start_s)
        if limit_s is not None and time.monotonic() - start_s >= limit_s:
            replace_file(
                claim.directory / TIME_LIMIT_FILE, f"{limit_s:g} s\n".encode("ascii"), durable=True
            )
            _end(process, claim)
            return


def _end(process: subprocess.Popen[bytes], claim: Claim) -> None:
    """Ends a run: SIGTERM, which `perfscope run` passes on to the job, then SIGKILL to all."""
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_S)
    end_processes(claim.directory / RECORDING, until=lambda: False)
    if process.poll() is None:
        with suppress(ProcessLookupError):
            process.kill()
        process.wait()
