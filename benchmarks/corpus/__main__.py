"""Runs the programs of the corpus and prints the table: `python -m benchmarks.corpus [NAME...]`."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.corpus.judged import judged
from benchmarks.corpus.runs import Outcome, Program, measure
from benchmarks.jobs import ROOT, prefix

TORCHRUN = ("torchrun", "--nproc-per-node", "2")
NUMBERED = 'for i in 0 1; do "$@" $i 2 & done; wait'
RESTARTED = (
    'TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 "$1" -m torch.distributed.run '
    '--standalone --nproc-per-node 2 --max-restarts 1 "$2"'
)
"""Without the variable gloo may find the addresses of the workers that have failed."""

MPIEXEC = ("mpiexec", "-n", "2")
PROGRAMS = (
    Program("language_model", "word_language_model of pytorch/examples", "torch"),
    Program("hogwild", "mnist_hogwild of pytorch/examples", "torch", ranks=2),
    Program("gpt_data_parallel", "nanoGPT with DDP", "torch", TORCHRUN, 2),
    Program("averaged_gradients", "the tutorial on distributed PyTorch", "torch", TORCHRUN, 2),
    Program("sharded", "FSDP2 of pytorch/examples", "torch", TORCHRUN, 2),
    Program("tensor_parallel", "tensor parallel of pytorch/examples", "torch", TORCHRUN, 2),
    Program(
        "pipeline_stages", "the tutorial on pipeline parallel of PyTorch", "torch", TORCHRUN, 2
    ),
    Program(
        "restarted_workers",
        "the DDP tutorial's snapshots under torchrun",
        "torch",
        ranks=2,
        shell=RESTARTED,
    ),
    Program("horovod_classifier", "pytorch_mnist of Horovod", "horovod", MPIEXEC, 2),
    Program("horovod_throughput", "pytorch_synthetic_benchmark of Horovod", "horovod", MPIEXEC, 2),
    Program("keras_classifier", "mnist_convnet of keras-io", "tensorflow"),
    Program(
        "transformers_trainer", "text classification with HF's Trainer", "ecosystem", TORCHRUN, 2
    ),
    Program("zero_redundancy", "the CIFAR-10 tutorial of DeepSpeed", "ecosystem", TORCHRUN, 2),
    Program("accelerate_loop", "cv_example of Accelerate", "ecosystem", TORCHRUN, 2),
    Program("lightning_classifier", "the autoencoder of Lightning, DDP", "ecosystem", ranks=2),
    Program("keras_torch", "mnist_convnet of keras-io on PyTorch", "ecosystem"),
    Program("keras_jax", "mnist_convnet of keras-io on JAX", "ecosystem"),
    Program("jax_processes", "multi-process JAX", "ecosystem", ranks=2, shell=NUMBERED),
    Program("boosted_trees", "distributed XGBoost", "ecosystem", MPIEXEC, 2),
    Program("boosted_trees_lightgbm", "the simple example of LightGBM", "ecosystem"),
    Program("task_pool", "a pool of mpi4py.futures", "ecosystem", MPIEXEC, 2),
    Program("adversarial", "dcgan of pytorch/examples", "torch"),
    Program("image_classifier", "mnist of pytorch/examples", "torch"),
    Program("autoencoder", "vae of pytorch/examples", "torch"),
    Program("returned_history", "the training of LLMs-from-scratch", "torch"),
    Program("fitted_polynomial", "regression of pytorch/examples", "torch"),
    Program("policy_gradient", "actor_critic of pytorch/examples", "torch"),
    Program("sine_prediction", "time_sequence_prediction of pytorch/examples", "torch"),
    Program("horovod_tape", "tensorflow2_mnist of Horovod", "horovod", MPIEXEC, 2),
    Program("horovod_callbacks", "tensorflow2_keras_mnist of Horovod", "horovod", MPIEXEC, 2),
    Program("tape_loop", "a training loop from scratch of keras-io", "tensorflow"),
    Program(
        "mirrored_workers",
        "the multi-worker loop of TensorFlow's tutorials",
        "tensorflow",
        ranks=2,
        shell=NUMBERED,
    ),
    Program(
        "parameter_servers", "parameter servers of TensorFlow's tutorials", "tensorflow", ranks=4
    ),
    Program("mandelbrot_rows", "mandelbrot of mpi4py", "mpich", MPIEXEC, 2),
    Program("digits_forest", "a grid search of scikit-learn", "daal4py"),
    Program("heat_equation", "two-dimensional heat equations with mpi4py", "mpich", MPIEXEC, 2),
)
DOCUMENT = ROOT / "docs" / "corpus.md"
BEGIN, END = "<!-- table -->", "<!-- end of the table -->"
CLOSE = 0.1
"""Samples a second are right within this share: the program's clock starts and ends elsewhere."""


def main(words: Sequence[str] | None = None) -> int:
    """Runs what is asked for; 1 when a program's result was not the same recorded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="programs; all without")
    parser.add_argument("--pairs", type=int, default=1, help="runs of each kind; 1 without")
    parser.add_argument("--document", action="store_true", help="write it to docs/corpus.md")
    asked = parser.parse_args(words)
    chosen = [one for one in PROGRAMS if not asked.names or one.name in asked.names]
    found = []
    for program in chosen:
        if not (prefix(program.environment) / "bin" / "python").exists():
            print(f"{program.name}: environment {program.environment} is missing")
            continue
        outcome = measure(program, pairs=asked.pairs)
        print(_row(outcome), flush=True)
        print(f"    {outcome.verdict}", flush=True)
        found.append(outcome)
    if asked.document:
        _write(found, DOCUMENT)
    return int(not all(outcome.is_same for outcome in found))


def table(outcomes: Sequence[Outcome], kept: Mapping[str, str] | None = None) -> str:
    """The outcomes as Markdown, and the rows kept of programs that were not run, by name."""
    rows = {**(kept or {}), **{one.program.name: _row(one) for one in outcomes}}
    order = [program.name for program in PROGRAMS]
    head = (
        "| program | in the style of | same result | CPU time added | ranks | steps, of those that "
        "the program counts | samples/s, printed by the program | unlabeled | loud findings, "
        "whether true |"
    )
    shown = [rows[name] for name in sorted(rows, key=order.index)]
    return "\n".join([head, "|---|---|---|---:|---:|---:|---:|---:|---|", *shown])


def _row(outcome: Outcome) -> str:
    program = outcome.program
    cells = (
        f"`{program.name}`",
        program.style,
        "yes" if outcome.is_same else "**no**",
        f"{outcome.overhead:+.1%}",
        _of(outcome.ranks, program.ranks),
        _of(*outcome.steps),
        _rate(*outcome.samples_per_s),
        "unknown" if outcome.unlabeled is None else f"{outcome.unlabeled:.1%}",
        ", ".join(judged(program.name, name) for name in outcome.loud) or "none",
    )
    return f"| {' | '.join(cells)} |"


def _of(measured: int, told: float | None) -> str:
    if told is None:
        return f"{measured}, not told"
    text = f"{measured} of {told:.0f}"
    return text if measured == told else f"**{text}**"


def _rate(measured: float | None, told: float | None) -> str:
    if told is None:
        return "not printed"
    if measured is None:
        return f"**not known**, {told:,.0f}"
    text = f"{measured:,.0f}, {told:,.0f}"
    return text if abs(measured / told - 1) <= CLOSE else f"**{text}**"


def _write(outcomes: Sequence[Outcome], document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    old, _, after = rest.partition(END)
    known = {program.name for program in PROGRAMS}
    lines = [line for line in old.splitlines() if line.startswith("| `")]
    kept = {name: line for line in lines if (name := line.split("`")[1]) in known}
    written = table(outcomes, kept)
    document.write_text(f"{before}{BEGIN}\n{written}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
