"""A generated program as source text. Both print one line a rank: its number and a sum of all
that it received."""

import sys
from collections.abc import Sequence

from tests.native.recorder.random_programs.calls import Call
from tests.native.recorder.random_programs.program import Program, generate

BUFFER = 20000

_C_HEAD = """
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
static MPI_Comm comms[8];
static __thread int out[%(buffer)d], into[%(buffer)d], flag;
static __thread MPI_Request requests[2];
static __thread MPI_Message message;
static __thread unsigned sum;
static unsigned sums[2];
static void fill(int *buffer, int value, int count) {
    for (int i = 0; i < count; i++) buffer[i] = value + i;
}
static void take(const int *buffer, int count) {
    for (int i = 0; i < count; i++) sum = sum * 31u + (unsigned)buffer[i];
}
static void together(void *(*first)(void *), void *(*second)(void *)) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, first, &sums[0]);
    pthread_create(&threads[1], NULL, second, &sums[1]);
    for (int i = 0; i < 2; i++) { pthread_join(threads[i], NULL); take((int *)&sums[i], 1); }
}
"""

_C_MAIN = """
int main(int argc, char **argv) {
    int rank, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    comms[0] = MPI_COMM_WORLD;
    (void)(%(ranks)s);
    printf("%%d %%u\\n", rank, sum);
    MPI_Finalize();
    return 0;
}
"""

_PYTHON_HEAD = """
import threading

import numpy as np
from mpi4py import MPI

assert MPI.Query_thread() == MPI.THREAD_MULTIPLE
comms = [MPI.COMM_WORLD] + [None] * 7


class State:
    def __init__(self):
        self.comms = comms
        self.out = np.zeros(%(buffer)d, np.int32)
        self.into = np.zeros(%(buffer)d, np.int32)
        self.requests = [None, None]
        self.message = None
        self.sum = 0


def fill(buffer, value, count):
    buffer[:count] = np.arange(value, value + count)


def take(s, buffer, count):
    for value in buffer[:count].tolist():
        s.sum = (s.sum * 31 + value) & 0xFFFFFFFF


def together(s, first, second):
    states = [State(), State()]
    threads = [
        threading.Thread(target=work, args=(state,))
        for work, state in zip((first, second), states)
    ]
    for thread in threads:
        thread.start()
    for thread, state in zip(threads, states):
        thread.join()
        take(s, np.array([state.sum]), 1)
"""

_PYTHON_MAIN = """
state = State()
RANKS[MPI.COMM_WORLD.rank](state)
print(MPI.COMM_WORLD.rank, state.sum, flush=True)
"""


def _with_pairs(calls: Sequence[Call | None], run: str) -> list[Call]:
    """The calls of a main thread, with the runs of pairs of threads as calls of `run`."""
    result, pair = [], 0
    for call in calls:
        if call is None:
            first, second = 2 * pair, 2 * pair + 1
            text = run.format(first=first, second=second)
            result.append(Call(f"{text};", text))
            pair += 1
        else:
            result.append(call)
    return result


def c_source(program: Program) -> str:
    """The program in C11."""
    parts = [_C_HEAD % {"buffer": BUFFER}]
    for rank, main in enumerate(program.main):
        for number, thread in enumerate(program.threads[rank]):
            lines = "\n    ".join(call.c for call in thread)
            parts.append(
                f"static void *thread_{rank}_{number}(void *result) {{\n    {lines}\n"
                "    *(unsigned *)result = sum;\n    return NULL;\n}"
            )
        run = f"together(thread_{rank}_{{first}}, thread_{rank}_{{second}})"
        lines = "\n    ".join(call.c for call in _with_pairs(main, run))
        parts.append(f"static int rank_{rank}(void) {{\n    {lines}\n    return 0;\n}}")
    choices = " : ".join(f"rank == {rank} ? rank_{rank}()" for rank in range(len(program.main)))
    return "\n".join([*parts, _C_MAIN % {"ranks": f"{choices} : 0"}])


def python_source(program: Program) -> str:
    """The program with mpi4py."""
    parts = [_PYTHON_HEAD % {"buffer": BUFFER}]
    for rank, main in enumerate(program.main):
        for number, thread in enumerate(program.threads[rank]):
            lines = "\n    ".join(call.python for call in thread)
            parts.append(f"def thread_{rank}_{number}(s):\n    {lines}\n")
        run = f"together(s, thread_{rank}_{{first}}, thread_{rank}_{{second}})"
        lines = "\n    ".join(call.python for call in _with_pairs(main, run))
        parts.append(f"def rank_{rank}(s):\n    {lines}\n")
    names = ", ".join(f"rank_{rank}" for rank in range(len(program.main)))
    return "\n".join([*parts, f"RANKS = [{names}]", _PYTHON_MAIN])


if __name__ == "__main__":
    print(c_source(generate(int(sys.argv[1]))))  # noqa: T201
