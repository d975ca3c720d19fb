"""A plain PyTorch loop: input wait, forward, backward, optimizer, evaluation, steps, epochs.

No module hooks: they make torch.compile recompile and cost each layer a Python call.
"""

from __future__ import annotations

import sys

from .. import notes, recorder, steps
from ..kinds import Any, AnyFunction, Callable, ModuleType
from . import (
    debug_settings,
    torch_batches,
    torch_compile,
    torch_devices,
    torch_doubtful,
    torch_loaders,
    torch_own_updates,
    torch_parts,
    torch_places,
    torch_profiler,
    torch_traces,
    torch_unused,
    torch_workers,
    wrap,
)

_SOURCE = "torch"


class _Loop:
    """What the hooks have seen of the training loop so far; the program's only one."""

    def __init__(self) -> None:
        self.cycle = steps.Cycle(sums_samples=True)
        self.own = torch_own_updates.OwnUpdates(_SOURCE)
        self.has_backward = False
        self.unit_start_ns = 0  # where the next part of a step begins, 0 with the next batch
        self.unit_samples = 0
        self.unit_guesses = 0  # backward passes whose samples were taken from the model's input
        self.has_loader = False  # that tells its samples
        self.forward_start_ns = 0  # 0: no batch was delivered for it
        self.optimizer_start_ns = 0
        self.epoch_start_ns = 0
        self.epoch_units = 0
        self.last_unit_end_ns = 0
        self.evaluation_start_ns = 0
        self.evaluation_end_ns = 0  # latest evidence that it was an evaluation
        self.evaluation_place = ""
        self.set_first: dict[int, tuple[int, str]] = {}  # before any training: when, where
        self.has_batches = False  # that are evaluated
        self.has_evaluated = False  # all of them
        self.interrupted = (0, 0)  # start of the step, and of its forward pass, when it began
        self.profiled = torch_profiler.requested()
        self.evaluation_root = 0  # identity of the module that was set to evaluation
        self.doubtful = torch_doubtful.Doubtful()  # in an evaluation
        self.turn: set[int] = set()  # optimizers since a model began to train; 0: one came twice

    def emit(
        self, kind: int, name: str, start_ns: int, end_ns: int, epoch: int = recorder.NO_EPOCH
    ) -> None:
        """Writes a phase that is over."""
        rec = recorder.current
        if rec is not None and start_ns and end_ns > start_ns:
            rec.phase(kind, rec.name(name), recorder.NO_STEP, epoch, start_ns, end_ns)

    def asks_for_batch(self, is_first: bool, is_grad_enabled: bool, now_ns: int) -> None:
        """A batch is requested; an iterator's first begins an epoch or an evaluation."""
        if self.evaluation_start_ns:
            if is_grad_enabled:
                self.doubtful.asks(is_first, now_ns)
        elif is_first:
            if is_grad_enabled:
                self._begin_epoch(now_ns)
            else:
                self.begin_evaluation(0, now_ns)
        if not self.unit_start_ns and not self.evaluation_start_ns:
            self.unit_start_ns = now_ns

    def takes_batch(self, samples: int, is_grad_enabled: bool, now_ns: int) -> None:
        """A batch was delivered."""
        if self.evaluation_start_ns:
            self.has_evaluated = False
            if is_grad_enabled:
                self.doubtful.takes(samples, now_ns)
            else:
                self.leave_training()
                self.evaluation_end_ns, self.has_batches = now_ns, True
                self.doubtful.clear()
            return
        self.unit_samples += samples
        self.has_loader = self.has_loader or samples > 0
        self.forward_start_ns = now_ns

    def exhausts_loader(self, now_ns: int) -> None:
        """An iterator has no more batches: the end of an epoch, or of an evaluation."""
        self.forward_start_ns = 0
        if self.evaluation_start_ns:
            self.leave_training()
            self.evaluation_end_ns = now_ns
            self.doubtful.clear()
            self.has_evaluated = True
            if not self.evaluation_root:
                self.end_evaluation(now_ns)
            return
        self.cycle.cut()
        self.own.cut(now_ns)
        self.unit_start_ns = 0
        self._end_epoch(now_ns)

    def _begin_epoch(self, now_ns: int) -> None:
        self._end_epoch(self.last_unit_end_ns)
        self.epoch_start_ns, self.epoch_units = now_ns, 0
        steps.epoch = max(steps.epoch, 0)

    def _end_epoch(self, end_ns: int) -> None:
        if self.epoch_start_ns and self.epoch_units:
            self.emit(recorder.Phase.TRAIN, "epoch", self.epoch_start_ns, end_ns, steps.epoch)
            steps.epoch += 1
        self.epoch_start_ns = 0

    def begin_evaluation(self, root: int, now_ns: int) -> None:
        """The model was set to evaluation, or batches are read without gradients."""
        is_another = self.evaluation_start_ns and root != self.evaluation_root
        if is_another and not self.has_backward and root not in self.set_first:
            self.set_first[root] = now_ns, torch_places.outside()
        # inside a call of Keras it is Keras that tells its evaluations
        if not self.evaluation_start_ns and not wrap.Depth.value:
            self.interrupted = self.unit_start_ns, self.forward_start_ns
            self.unit_start_ns = self.forward_start_ns = 0
            self.evaluation_start_ns, self.evaluation_end_ns = now_ns, 0
            self.has_batches = self.has_evaluated = False
            self.evaluation_root, self.evaluation_place = root, torch_places.outside()
            self.doubtful.clear()

    def leave_training(self) -> None:
        """There is evidence that the running evaluation is one: the step before it was the last."""
        self.interrupted = 0, 0
        self.cycle.cut()
        self.own.cut(self.evaluation_start_ns)

    def trains_another(self, now_ns: int) -> None:
        """Another module is set to training than the one that is evaluated.

        It is so in each iteration, with nothing left, where no optimizer stepped twice meanwhile.
        """
        if 0 in self.turn or self.evaluation_end_ns:
            self.leave_training()
            self.interrupted = now_ns, 0
        self.turn.clear()

    def end_evaluation(self, end_ns: int) -> None:
        """Writes the evaluation, if there was evidence of one (end_ns is not 0)."""
        if end_ns:
            self.leave_training()
        name = torch_places.BY_BATCHES if self.has_batches else torch_places.BY_MODE
        name += self.evaluation_place
        self.emit(recorder.Phase.EVALUATE, name, self.evaluation_start_ns, end_ns)
        self.evaluation_start_ns = 0
        self.set_first.clear()

    def begins_backward(self, now_ns: int, given: tuple[Any, ...] = ()) -> None:
        """Gradients are wanted: an evaluation is over, and so is the forward pass."""
        if self.evaluation_start_ns:
            # A frozen model stays in evaluation mode for good: nothing is written without evidence.
            self.end_evaluation(self.evaluation_end_ns)
            # Nor has the step been left where a part of the model stays as it is in training.
            self.unit_start_ns, self.forward_start_ns = self.interrupted
            self._train_on_doubtful()
        if not self.has_backward:
            # What steps before there are gradients only sets the optimizer's state up.
            self.has_backward = True
            self.cycle.drop()
            self.unit_start_ns = self.epoch_start_ns
        if not steps.is_told:
            if not self.has_loader:
                tell(self._count_without_loader)
            if not self.own.is_over:
                self.own.begins_backward(now_ns, self.unit_samples, given)
        # An optimizer that was given a closure calls it, forward pass and all, inside its step.
        start_ns = self.forward_start_ns or self.optimizer_start_ns
        self.emit(recorder.Phase.FORWARD, "forward", start_ns, now_ns)
        self.forward_start_ns = 0
        if not self.unit_start_ns:
            self.unit_start_ns = self.optimizer_start_ns or now_ns

    def _train_on_doubtful(self) -> None:
        """What was fetched last in an evaluation is trained on: the step began with that."""
        if self.doubtful.taken_ns:
            if self.doubtful.is_epoch:
                self._begin_epoch(self.doubtful.start_ns)
            self.unit_start_ns = self.doubtful.start_ns
            self.takes_batch(self.doubtful.samples, True, self.doubtful.taken_ns)

    def _count_without_loader(self) -> None:
        """Adds the samples of a backward pass where no loader tells them."""
        self.unit_samples += torch_batches.await_next()
        self.unit_guesses += 1

    def ends_backward(self, now_ns: int) -> None:
        """What is left of an optimizer's step that called it is the optimizer's own work."""
        self.own.end_ns = now_ns
        if self.optimizer_start_ns:
            self.optimizer_start_ns = now_ns

    def ends_optimizer(self, key: int, now_ns: int) -> None:
        """An optimizer step is over: a step, or a part of one where an iteration has several."""
        if self.has_backward and not self.own.is_over:
            self.own.end()
        self.emit(recorder.Phase.OPTIMIZER, "optimizer", self.optimizer_start_ns, now_ns)
        start_ns, self.optimizer_start_ns = self.unit_start_ns or self.optimizer_start_ns, 0
        if not steps.is_told:
            unit = steps.Unit(
                _SOURCE,
                key,
                start_ns=start_ns,
                end_ns=now_ns,
                samples=torch_parts.ends_step(self.unit_samples),
                guesses=self.unit_guesses,
            )
            self.cycle.add(unit)
        self.unit_start_ns = self.last_unit_end_ns = now_ns
        self.unit_samples = self.unit_guesses = 0
        self.epoch_units += 1
        self.turn.add(0 if key in self.turn else key)

    def finish(self) -> None:
        """Writes what was kept back."""
        if self.profiled is not None:
            self.profiled.close()
        self.cycle.cut()
        self.own.finish()
        self._end_epoch(self.last_unit_end_ns)
        if self.evaluation_start_ns:
            self.end_evaluation(self.evaluation_end_ns)


def tell(action: Callable[..., None], *arguments: Any) -> None:
    """Tells what was seen of the loop, to which several threads of the program may come at once."""
    # as `wrap.guarded` does, without a further call: in small models this is done every 100 us
    try:
        action(*arguments)
    except Exception as error:
        notes.failure("the loop of PyTorch", error)


_loop = _Loop()
backward_depth = 0
"""Backward passes that are running: checkpointed models nest them."""
before_backward: list[Callable[[], None]] = []
after_backward: list[Callable[[int], None]] = []
"""What else wants to know of the outermost backward pass; the end is given in ns."""


def install_loader(module: ModuleType) -> None:
    """Input wait: the time in which a DataLoader's iterator produces the next batch."""
    import torch

    is_grad_enabled = torch.is_grad_enabled
    torch_module = torch_compile.module()

    def make_next(original: AnyFunction) -> AnyFunction:
        def following(self: Any) -> Any:
            if torch_module.compiler.is_compiling():
                return original(self)
            rec = recorder.current
            if rec is None:
                return original(self)
            is_ready = torch_workers.is_ready(self)
            is_first = wrap.asked(False, torch_workers.is_first, self)
            begin_ns = rec.now()
            tell(_loop.asks_for_batch, is_first, is_grad_enabled(), begin_ns)
            if _loop.profiled is not None:
                tell(_loop.profiled.begins_step)
            try:
                with wrap.Inside(rec, recorder.Phase.INPUT, "DataLoader"):
                    data = original(self)
            except StopIteration:
                end_ns = rec.now()
                tell(_loop.exhausts_loader, end_ns)
                torch_workers.ended(self, is_ready, is_grad_enabled(), end_ns - begin_ns)
                raise
            end_ns = rec.now()
            tell(_loop.takes_batch, torch_parts.loaded(data), is_grad_enabled(), end_ns)
            if is_ready is not None:
                torch_workers.count(self, is_ready, is_grad_enabled(), end_ns - begin_ns, is_first)
            return data

        return following

    torch_compile.replace(module._BaseDataLoaderIter, "__next__", make_next)
    torch_compile.replace(module.DataLoader, "__iter__", torch_loaders.iterating(_SOURCE))


def install_backward(module: ModuleType) -> None:
    """Backward: Tensor.backward looks this function up each time, so it is covered."""
    torch_module = torch_compile.module()

    def make(original: AnyFunction) -> AnyFunction:
        def backward(*args: Any, **kwargs: Any) -> Any:
            global backward_depth
            if torch_module.compiler.is_compiling():
                return original(*args, **kwargs)
            rec = recorder.current or recorder.of_training()
            if rec is None or backward_depth:
                return original(*args, **kwargs)
            # What is seldom due is asked for without a call: passes of small models take 100 us.
            if not _loop.has_backward:
                recorder.trains_here(rec)
                tell(debug_settings.at_backward)
            tell(_loop.begins_backward, rec.now(), args)
            torch_workers.passes[0] += 1
            if torch_workers.passes[0] >= torch_places.due:
                tell(torch_places.trains, torch_workers.passes[0])
            if _loop.profiled is not None:
                tell(_loop.profiled.begins_step)
            for action in before_backward:
                tell(action)
            watch, phase, begin_ns, backward_depth = None, None, rec.now(), 1
            try:  # a signal may end each of them
                watch = torch_unused.watch(args, kwargs)
                phase = wrap.begin(rec, recorder.Phase.BACKWARD, "backward")
                begin_ns = rec.now()
                result = original(*args, **kwargs)
            finally:
                backward_depth, end_ns = 0, rec.now()
                wrap.end(rec, phase)
                torch_unused.end(watch, end_ns - begin_ns)
            _loop.ends_backward(rec.now())  # behind the end of the phase
            for ending in after_backward:
                tell(ending, end_ns)
            return result

        return backward

    torch_compile.replace(module, "backward", make)


def before_optimizer(_optimizer: Any, _args: Any, _kwargs: Any) -> None:
    """An optimizer begins its step."""
    rec = recorder.current
    if rec is not None:
        _loop.optimizer_start_ns = rec.now()


def after_optimizer(optimizer: Any, now_ns: int) -> bool:
    """An optimizer's step is over; False where one that it called has ended the step before."""
    # Horovod's optimizers call the step that they are built on: of the two, the inner one counts.
    if not _loop.optimizer_start_ns:
        return False
    tell(_loop.ends_optimizer, id(optimizer), now_ns)
    if _loop.profiled is not None:
        tell(_loop.profiled.ends_step, id(optimizer))
    return True


def sets_mode(root: int, mode: Any, now_ns: int) -> None:
    """Evaluation: from eval() to train() of the same module; eval() calls train(False)."""
    if mode is False:
        _loop.begin_evaluation(root, now_ns)
    elif mode is True and _loop.evaluation_start_ns:
        if root in _loop.set_first:  # the one before it stays in evaluation, as a target's copy
            _loop.evaluation_root = root
            _loop.evaluation_start_ns, _loop.evaluation_place = _loop.set_first[root]
        if root == _loop.evaluation_root:
            _loop.end_evaluation(now_ns)
        else:
            _loop.trains_another(now_ns)


def begins_checkpoint() -> None:
    """An evaluation whose loader has no more batches is over: what follows it is no part of it."""
    if _loop.evaluation_start_ns and _loop.has_evaluated:
        _loop.end_evaluation(_loop.evaluation_end_ns)


def end_steps() -> None:
    """Nothing more is trained: a process that somebody kills now loses no step that it made."""
    _loop.cycle.cut()


def forget() -> None:
    """Drops what belongs to the parent, in a forked child."""
    global _loop, backward_depth
    _loop, backward_depth = _Loop(), 0
    torch_workers.forget()
    torch_places.forget()


def finish() -> None:
    """At exit: the last step, epoch and evaluation, the threads in effect, the devices used."""
    _loop.finish()
    torch_workers.finish()
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "get_num_threads"):
        torch_devices.finish(torch)
        torch_traces.collect()
