"""Run times with the noise that real ones have: alike neighbors, heavy tails, luck of the run."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Noise:
    """How a simulated machine disturbs its runs."""

    # standard deviation of the luck of a run, relative; Student's t with 5 degrees
    between_runs: float
    # scale of the innovations of the steps, relative; Student's t with 3 degrees
    within_run: float = 0.02
    correlation: float = 0.7  # of a step with the one before (AR(1))
    spikes: float = 0.02  # share of steps that take 2 to 5 times as long
    steps: int = 200  # of a run


QUIET = Noise(between_runs=0.01)  # a node of one's own
USUAL = Noise(between_runs=0.02)  # a shared fabric and file system
LOUD = Noise(between_runs=0.05)  # a shared or virtual machine


def step_times(
    random: np.random.Generator, runs: int, noise: Noise, *, slower: float = 1.0
) -> npt.NDArray[np.float64]:
    """Seconds of each step of some runs, shape (steps, runs)."""
    luck = random.standard_t(5, runs) / np.sqrt(5 / 3) * noise.between_runs
    steps = random.standard_t(3, (noise.steps, runs)) * noise.within_run
    for number in range(1, noise.steps):
        steps[number] += noise.correlation * steps[number - 1]
    seconds: npt.NDArray[np.float64] = 0.1 * slower * np.exp(steps + luck)
    hit = random.random(seconds.shape) < noise.spikes
    seconds[hit] *= random.uniform(2, 5, int(hit.sum()))
    return seconds


def run_values(
    random: np.random.Generator, runs: int, noise: Noise, *, slower: float = 1.0
) -> list[float]:
    """The median step time of each of some runs, in seconds."""
    found: list[float] = np.median(step_times(random, runs, noise, slower=slower), axis=0).tolist()
    return found
