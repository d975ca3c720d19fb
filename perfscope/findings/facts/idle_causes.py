"""Each reason for an idle device: in words, with what to do and which finding shares its time."""

from perfscope.schema.enums import IdleCause
from perfscope.structures import dataclass

EDGES = (IdleCause.BEFORE_FIRST, IdleCause.AFTER_LAST)
"""What is before and after all work of a device: start-up and end have findings of their own."""


@dataclass(frozen=True)
class Words:
    """A cause as the end of a sentence about idle devices, actions, and related findings.

    `otherwise` is what to do where the job is not PyTorch's and `actions` name what is; `unnamed`
    where nothing names what the host did.
    """

    what: str
    actions: tuple[str, ...]
    overlaps: tuple[str, ...] = ()
    otherwise: tuple[str, ...] = ()
    unnamed: tuple[str, ...] = ()

    def advice(self, *, is_torch: bool, is_named: bool = True) -> tuple[str, ...]:
        """What to do, in words of the framework of the job."""
        if self.unnamed and not is_named:
            return self.unnamed
        return self.actions if is_torch or not self.otherwise else self.otherwise


WORDS: dict[IdleCause, Words] = {
    IdleCause.INPUT: Words(
        "while the host waits for input",
        (
            (
                "Prepare batches ahead in more worker processes (DataLoader: num_workers, "
                "prefetch_factor, persistent_workers=True, pin_memory=True), or store the data so "
                "that a sample needs less work."
            ),
        ),
        ("data_stall",),
        (
            (
                "Prepare batches ahead in more threads or processes, or store the data so that a "
                "sample needs less work."
            ),
        ),
    ),
    IdleCause.RANKS: Words(
        "while the host waits for other ranks",
        ("Give less work to the rank that arrives last, which Communication names.",),
        ("load_imbalance", "straggler", "transient_imbalance", "rank_zero_evaluation"),
    ),
    IdleCause.COMMUNICATION: Words(
        "while the host communicates",
        ("Let the devices communicate (backend nccl) while they compute.",),
        (
            *("network_bound", "exposed_exchange", "wrong_transport", "small_allreduces"),
            *("communication_per_step", "horovod_control", "slow_host_pair"),
        ),
        ("Let the devices communicate while they compute.",),
    ),
    IdleCause.EVALUATION: Words(
        "while the host evaluates",
        ("Evaluate on all ranks and on the devices, or less often.",),
        ("rank_zero_evaluation", "frequent_evaluation"),
    ),
    IdleCause.CHECKPOINT: Words(
        "while a checkpoint is written",
        (
            (
                "Write checkpoints in the background (torch.distributed.checkpoint.async_save), or "
                "less often."
            ),
        ),
        ("checkpoint_stall",),
        ("Write checkpoints in the background, or less often.",),
    ),
    IdleCause.FILES: Words(
        "while the host reads or writes files",
        ("Read and write files in a thread or process of their own.",),
        ("data_stall",),
    ),
    IdleCause.SYNCHRONIZATION: Words(
        "because the host waited for the device before it launched more work",
        (
            (
                "Take out of the step what waits for the device: .item(), .cpu(), print(loss), "
                "torch.cuda.synchronize(). Keep losses on the device and read them every 50 steps."
            ),
            "torch.cuda.set_sync_debug_mode('warn') names the lines that wait.",
        ),
        otherwise=(
            (
                "Take out of the step what waits for the device: printing or converting a result. "
                "Keep losses on the device and read them every 50 steps."
            ),
        ),
    ),
    IdleCause.LAUNCH: Words(
        "because it is launch bound: the host cannot launch short kernels fast enough",
        (
            (
                "Launch fewer kernels: torch.compile(model, mode='reduce-overhead') records them "
                "as CUDA graphs; optimizers with fused=True."
            ),
            "Give each kernel more work: larger batches.",
        ),
        otherwise=(
            "Launch fewer kernels: compile the whole step, or record its kernels as a graph.",
            "Give each kernel more work: larger batches.",
        ),
    ),
    IdleCause.HOST: Words(
        "while the host does other work before it launches the next kernel",
        (
            (
                "Move the work of the functions that Phases names to the device, to the loader's "
                "workers, or behind the launch of the next step."
            ),
            "Without names there, record with --stack-hz 50 and mark phases.",
        ),
        unnamed=(
            (
                "Record the job with perfscope run, which names the functions that the host is in; "
                "move their work to the device, to the loader's workers, or behind the launch of "
                "the next step."
            ),
        ),
    ),
    IdleCause.KERNEL: Words(
        "between kernels that were launched in time: there are many short ones",
        (
            (
                "Fuse kernels (torch.compile) or replay them as a CUDA graph "
                "(torch.compile(mode='reduce-overhead'), torch.cuda.graphs)."
            ),
            "Give each kernel more work: larger batches.",
        ),
        otherwise=(
            "Fuse kernels: compile the whole step, or record its kernels as a graph.",
            "Give each kernel more work: larger batches.",
        ),
    ),
    IdleCause.DEVICE: Words(
        "while work that was launched in time waits for another stream or an event",
        (
            "Issue the copies and events that the next kernel waits for earlier, or on its stream.",
            (
                "Where the trace holds nothing to wait for, it lacks work: of other processes on "
                "the device, or from before it began."
            ),
        ),
        ("exposed_device_communication",),
    ),
    IdleCause.BEFORE_FIRST: Words(
        "before their first work",
        ("Shorten what ranks do before they train, which Phases names.",),
        ("start_up",),
    ),
    IdleCause.AFTER_LAST: Words(
        "after their last work", ("Shorten what ranks do after training, which Phases names.",)
    ),
    IdleCause.UNKNOWN: Words(
        "for a reason that the trace does not tell: launches are missing, or do not fit",
        ("Record host and device together (ProfilerActivity.CPU beside that of the device).",),
        otherwise=("Record host and device together.",),
    ),
}
