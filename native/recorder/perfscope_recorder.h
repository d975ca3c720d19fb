/* What the Python agent calls in libperfscope_recorder.so (through ctypes). Every function is safe to call at any
 * time from any thread, returns at once when nothing is recorded, and never fails the job. */
#ifndef PERFSCOPE_RECORDER_H
#define PERFSCOPE_RECORDER_H

#include <stdint.h>

/* Opens this process's files below $PERFSCOPE_DIR/<host>/. 0: recording; 1: not (no directory, or a forked child). */
int ps_open(void);
/* The same in a forked child, in which nothing is recorded otherwise: forgets what the parent had recorded. 1 also where
 * the parent had initialized MPI. The child must not have further threads that record yet. */
int ps_open_forked(void);
/* The same in a process, forked or not, that works for another one: of the node, the GPUs and the memory of its tree that
 * one tells, and its own records may take a small part of the space. */
int ps_open_worker(void);
/* What was opened so is that of a rank from now on. */
void ps_is_no_worker(void);
int ps_is_recording(void);
/* Path of this process's files without their ending, "" when nothing is recorded. */
const char *ps_base_path(void);
/* CLOCK_MONOTONIC in ns: the clock of every record. */
uint64_t ps_now(void);
/* Interns UTF-8 text (equal text, equal id); 0 when nothing is recorded. */
uint32_t ps_name(const char *text, uint32_t bytes);
/* Interns a stack of name ids, outermost first. */
uint32_t ps_stack(const uint32_t *frames, uint32_t count);
/* Opens a phase on the calling thread; the token closes it (0: not recorded, closing it does nothing). */
uint64_t ps_phase_begin(uint32_t phase, uint32_t name, uint32_t step, int32_t epoch);
void ps_phase_end(uint64_t token);
/* A phase or step that is already over. */
void ps_phase(uint32_t phase, uint32_t name, uint32_t step, int32_t epoch, uint64_t t0_ns, uint64_t t1_ns);
void ps_step(uint32_t step, int32_t epoch, uint64_t samples, uint64_t global_batch, uint64_t t0_ns, uint64_t t1_ns);
void ps_metric(uint32_t name, uint32_t step, int32_t epoch, double value);
/* What a thread was seen doing at a moment that is not later than now. */
void ps_stack_sample(uint32_t tid, uint32_t stack, uint64_t at_ns);
/* What the calls of one function of a framework kept and spent so far: PS_SAMPLE_CALLS. */
void ps_calls(uint32_t name, uint32_t calls, uint32_t measured, uint32_t compiled, int64_t kept, uint64_t private_now,
              uint64_t set_up_ns);
void ps_python_blocks(uint64_t blocks);
/* What Python's collector calls at the begin and the end of a collection: "start" or "stop", and a dictionary. */
void ps_collector_calls(void *phase, void *details);
/* Of the collections so far: 0 how many, 1 their ns. */
uint64_t ps_collections(uint32_t which);
/* The type of a variable of a Python frame, as a new reference, or `none` where it has no value. The caller holds the
 * interpreter's lock. The variables lie `offset` bytes behind the frame or, where `inner_offset` is not 0, behind what
 * the pointer there points to. Returns NULL where there is no Python. */
void *ps_type_of_variable(const void *frame, uint32_t inner_offset, uint32_t offset, void *none);
/* What a function of Python without arguments returns, as a new reference, or `none` where the process has more than
 * one interpreter: another one may have a lock of its own, and change what the function looks at. The caller holds the
 * lock of the first one, without which there will be no second. */
void *ps_call_alone(void *function, void *none);
/* One of now, phase_begin, phase_end, phase and step as a function that Python calls without ctypes, as a new reference;
 * `none` where that cannot be. The caller holds the interpreter's lock. */
void *ps_builtin(const char *name, void *none);
/* Has the stack of the calling thread, the main one of the Python that `none` belongs to, noted at the moments that a
 * wait is given. The word at that offset of Python's interpreter makes it look for pending calls (0: nothing more is
 * needed); there may be one current thread for the whole process; looking at frames may begin a garbage collection.
 * Where anything is not as it should be, nothing is ever noted. The caller holds the interpreter's lock, except that of
 * the wait. That ends after the last moment, or at one for which Python has to look: it returns which one that is,
 * counted from 1, or 0 when told to stop. */
void ps_stack_notes_start(const void *none, uint32_t word_offset, uint32_t has_one_holder, uint32_t may_collect);
uint32_t ps_stack_notes_wait(const uint64_t *due_ns, uint32_t count);
void ps_stack_notes_stop(void);
/* Whether any stack has been noted; after that, a late one is not. */
int ps_stack_is_noted(void);
/* Of collectives that received into buffers that were looked at before and after, row by row: operation, bytes, looks,
 * those in which nothing had changed, and all calls. 0 behind the last row. */
int ps_received_again(uint32_t row, uint64_t *told);
/* Of collectives whose calls were looked at before they began, look by look: which row of calls alike it is of, their
 * operation, bytes given by this rank, and number (about, of many); the code object of Python that makes them, 0 where that
 * is not known, and the offset of the instruction in it; the identity of the communicator, its members, the ordinal of the
 * call there, and a digest of what was given. 0 behind the last look. */
int ps_given(uint32_t look, uint64_t *told);
/* In how many of a hundred looks of the main thread at itself Python was to call a function for it at calls (hook 0,
 * a profiler) or at lines (hook 1, a debugger). */
uint32_t ps_hooked(uint32_t hook);
/* All that have been, as a new list. Of each: when, when it was due, in how many ns, the system call that it waited in
 * as the kernel tells it, code and instruction of each frame, innermost first, and since when it has surely been there:
 * when it was asked for it, or when it was noted. */
void *ps_stack_notes(void);
/* How long the main thread took to come back to a place soon after its stack was noted, as a new list of what was timed
 * since the last call. Of each: when it was noted; the place, by the identity of its code and the instruction; how often
 * it came back; and of the times between, in ns, the sum and the sum of squares. NULL, which ctypes must not be given,
 * where none were: asked before. */
void *ps_turn_times(void);
int ps_turns_are_timed(void);
/* Has no wait end for stacks whose innermost place is this one. */
void ps_stack_knows(void *code, int32_t last);
/* Whether there is a thread whose stack is noted, so that its operands can be looked at: asked before the first look.
 * The caller holds the interpreter's lock, as for all that follows of operands. */
int ps_can_look_at_operands(void);
/* Code and instruction of the innermost frames of that thread, innermost first, as a new list: those of now. NULL, which
 * ctypes must not be given, where none could be looked at so far. */
void *ps_operand_places(uint32_t most);
/* What the values are that places of that thread work on, without running code of the program, and without a reference
 * that stays. `places` is a tuple, innermost first, of tuples: code, instruction, and a tuple of paths. A path is a
 * tuple: the number of a variable or a global name, and attributes. `kinds` is a tuple of tuples: a type, and a tuple of
 * readers of its values: functions of C, tuples of such, each asked of what the one before it returned, or the offset of a
 * pointer in the object. Attributes are also looked for in dictionaries that an object keeps under the
 * names in `holders`. The variables of a frame lie where they do for ps_type_of_variable.
 *
 * Returns a new list of tuples, one for each place that the thread is at now: the number of the place, and a list of
 * what each path leads to: () nothing, or how far it was followed, the identity of the value, its type and a list of what
 * the readers returned; for a list or tuple a list of the same for its first items; None and its
 * type for what is neither, and where `is_whole` is not 0, a list, empty where it holds too much: a number that tells how it
 * is built, and of the value and of each that it holds its identity, its type, and what the readers returned, or None. */
void *ps_operands(void *places, void *kinds, void *holders, uint32_t is_whole, uint32_t inner_offset, uint32_t offset);

/* The same, but of each path how many values it holds: a tuple of that number and the identity, empty where the path leads
 * nowhere. `kinds` are those that tell their size, by the first of their readers, and with a third item also of types that
 * are made from them; those without readers are not looked into. Lists, tuples and dictionaries are known. */
void *ps_values_held(void *places, void *kinds, void *holders, uint32_t inner_offset, uint32_t offset);
/* Copies pieces of the process's memory one behind the other; 0 where one is not there, or not in memory. */
int ps_read_pieces(const uint64_t *addresses, const uint64_t *bytes, uint32_t count, void *into);
/* How many times as long sums and products of subnormal numbers take here as those of others, in hundredths, for values
 * of 4 or 8 bytes; 0 not known. It takes a fraction of a millisecond. */
uint32_t ps_subnormal_times(uint32_t value_bytes);
/* Resident memory of the process's own: without libraries, shared memory and this recording. */
uint64_t ps_private_bytes(void);
/* Bytes that the process may still map, UINT64_MAX without a limit. */
uint64_t ps_address_space_left(void);
/* For processes that do not use MPI; MPI's own answer wins. */
void ps_set_rank(int32_t rank, int32_t size);
/* The calling thread runs the program, and not the process's first one; 0: the thread that initialized MPI does. */
int ps_run_here(void);
void ps_set_flag(uint32_t flag);
/* 0 leaves the records of MPI calls out until it is called with 1; totals, phases, steps and samples go on. */
void ps_set_detail(uint32_t is_wanted);
/* Starts the sampler thread once ($PERFSCOPE_SAMPLE_HZ, default 10, 0 off). The tid of a helper thread of the agent
 * is left out of the thread counts when told. */
void ps_sampler_start(void);
void ps_ignore_thread(uint32_t tid);

#endif
