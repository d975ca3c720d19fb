/* Notes the stack of Python's main thread at given moments, without running Python code.
 *
 * Who asks for the interpreter's lock gets it where the main thread gives it back: in C code that works without it,
 * hardly in Python code. So the sampler thread, still without the lock, adds a pending call, which the main thread
 * runs the next time its evaluation loop looks up. It only looks at frames there, and at which instruction the sampler
 * thread has read beforehand: the loop looks up behind calls. While the main thread works without the lock, the sampler
 * thread takes it for a moment and notes the stack itself.
 *
 * To hand the lock to a thread that runs Python code costs several times what that thread does: notes are kept until
 * there are some, and Python is woken at once only by a stack whose innermost place it does not know yet. */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "perfscope_recorder.h"
#include "python/current_place.h"
#include "python/hooks.h"
#include "python/known_places.h"
#include "python/python_functions.h"
#include "python/python_stack.h"
#include "python/turn_times.h"
#include "records/event.h"
#include "sampling/numbers.h"
#include "text.h"

#define MOST_FRAMES 1000 /* of one stack */
#define MOST_NOTES 16
#define MOST_KEPT_FRAMES 4000
#define GRACE_NS 1000000ull /* the evaluation loop looks up much sooner, unless C code is running */
#define ENOUGH_IN_A_ROW 8u /* after so many known places no new one is expected, and none waited for */
#define CALL_BYTES 128
#define NS_PER_SECOND 1000000000ull

static ps_python_functions python;

static struct {
    object thread; /* of the main thread */
    int pid;
    uint32_t known_in_a_row; /* looks whose innermost place Python knew */
    bool may_collect;
    atomic_int *look_up; /* tells the evaluation loop to look for pending calls; NULL where to add one is enough */
    atomic_bool is_usable, is_wanted, is_queued;
    _Atomic uint64_t due_ns; /* when the stack that is wanted was to be noted */
    _Atomic uint64_t asked_ns; /* since when the main thread has not left what it will be seen in */
    ps_current_place asked_at; /* where it was then, before it was asked; of no frame where that is not known */
    atomic_uint is_stopped;
    pthread_mutex_t asking; /* held while Python is asked, and by who forks or stops meanwhile */
} watch = {.asking = PTHREAD_MUTEX_INITIALIZER};

/* Used under the interpreter's lock. Of a frame that may be over by then only its code is kept, innermost frame first:
 * what else belongs to it would end later than the program expects, and elsewhere. */
typedef struct {
    uint64_t at_ns, due_ns, asked_ns, cost_ns;
    uint32_t first, count;  /* of the frames */
    char call[CALL_BYTES]; /* the system call that the thread waits in, as the kernel tells it; "" where it ran */
} stack_note;

static struct {
    atomic_uint count;
    uint32_t frames_used;
    stack_note notes[MOST_NOTES];
    ps_code_place frames[MOST_KEPT_FRAMES];
} noted;

static void drop_frames(uint32_t first)
{
    for (uint32_t at = first; at < noted.frames_used; at++)
        python.drop(noted.frames[at].code);
    noted.frames_used = first;
}

/* Notes a frame. What the frame of a place has called since then is not what it was at. */
static void note_frame(object frame, uint32_t first, const ps_current_place *place)
{
    ps_code_place one = {.code = python.code(frame), .last = ps_last_of(&python, frame)};
    if (place && noted.frames_used == first)
        ps_check_frame(frame, one.code, one.last);
    int last = place ? ps_offset_in(place, frame, one.code) : -1;
    if (last >= 0) {
        drop_frames(first);
        one.last = last;
    }
    noted.frames[noted.frames_used++] = one;
}

static void note_frames(const ps_current_place *place)
{
    object frame = python.innermost(watch.thread);
    uint32_t first = noted.frames_used, end = first + MOST_FRAMES;
    while (frame) {
        object outer = NULL;
        if (noted.frames_used < end) {
            note_frame(frame, first, place);
            outer = python.back(frame);
        }
        python.drop(frame);
        frame = outer;
    }
}

static bool has_room(void)
{
    return atomic_load(&noted.count) < MOST_NOTES && noted.frames_used + MOST_FRAMES <= MOST_KEPT_FRAMES;
}

/* Where frames become objects as they are looked at, that must not begin a collection. */
static void note_stack(uint64_t asked_ns, const char *call, bool is_asked)
{
    uint32_t first = noted.frames_used;
    stack_note *note = &noted.notes[atomic_load(&noted.count)];
    /* of this thread alone: on a busy host it may wait for a CPU in between */
    uint64_t before_ns = ps_clock(CLOCK_THREAD_CPUTIME_ID);
    *note = (stack_note){
        .at_ns = ps_now(), .due_ns = atomic_load(&watch.due_ns), .asked_ns = asked_ns, .first = first};
    memcpy(note->call, call, strnlen(call, CALL_BYTES - 1));
    bool is_held = watch.may_collect && python.collector_off();
    note_frames(is_asked && watch.asked_at.frame ? &watch.asked_at : NULL);
    if (is_held)
        python.collector_on();
    if (python.error()) {
        python.clear_error();
        drop_frames(first);
    }
    note->count = noted.frames_used - first;
    note->cost_ns = ps_clock(CLOCK_THREAD_CPUTIME_ID) - before_ns;
    if (note->count)
        atomic_fetch_add(&noted.count, 1);
}

/* The pending call. */
static int note(void *unused)
{
    (void)unused;
    int error = errno;
    atomic_store(&watch.is_queued, false);
    if (!atomic_load(&watch.is_wanted) || getpid() != watch.pid || python.thread() != watch.thread || python.error())
        return 0;
    uint32_t before = atomic_load(&noted.count);
    if (has_room())
        note_stack(atomic_load(&watch.asked_ns), "", true);
    atomic_store(&watch.is_wanted, false);
    ps_look_for_hooks(&python);
    if (atomic_load(&noted.count) > before)
        ps_time_turns(&python, noted.notes[before].at_ns);
    errno = error;
    return 0;
}

/* A first pending call, added by the main thread itself: the word is the right one only if that has set it, and
 * Python has cleared it again before it made the call. */
static int confirm(void *unused)
{
    (void)unused;
    if (getpid() == watch.pid && python.thread() == watch.thread && atomic_load(watch.look_up) == 0)
        atomic_store(&watch.is_usable, true);
    return 0;
}

static void before_fork(void)
{
    pthread_mutex_lock(&watch.asking);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&watch.asking);
}

static void in_forked_child(void)
{
    atomic_store(&watch.is_usable, false);
    atomic_store(&watch.is_wanted, false);
    atomic_store(&noted.count, 0); /* the references stay: a child frees nothing of its parent's */
    noted.frames_used = 0;
    ps_forget_turns();
    pthread_mutex_unlock(&watch.asking);
}

/* The word of an interpreter that makes its evaluation loop look up, if adding a call sets it as it should. */
static void confirm_word(uint32_t offset)
{
    if (python.interpreter() != python.first_interpreter())
        return;
    watch.look_up = (atomic_int *)((char *)python.interpreter() + offset);
    if (atomic_load(watch.look_up) != 0 || python.add(confirm, NULL) != 0)
        return;
    if (atomic_load(watch.look_up) != 1)
        watch.pid = 0; /* so that nothing is confirmed */
}

PS_EXPORT void ps_stack_notes_start(const void *none, uint32_t word_offset, uint32_t has_one_holder,
                                    uint32_t may_collect)
{
    static bool has_handlers;
    watch.may_collect = may_collect;
    atomic_store(&watch.is_stopped, 0);
    atomic_store(&watch.is_usable, false);
    atomic_store(&watch.is_queued, false);
    if (!ps_find_python(&python, none, has_one_holder, may_collect))
        return;
    watch.thread = python.thread();
    watch.pid = getpid();
    ps_learn_frames(&python);
    if (!has_handlers && pthread_atfork(before_fork, after_fork, in_forked_child) != 0)
        return;
    has_handlers = true;
    watch.look_up = NULL;
    if (word_offset)
        confirm_word(word_offset);
    else
        atomic_store(&watch.is_usable, true);
}

static bool is_running(void)
{
    return python.is_started() && !python.is_ending();
}

void *ps_noted_thread(void)
{
    return atomic_load(&watch.is_usable) && getpid() == watch.pid && is_running() ? watch.thread : NULL;
}

/* The thread that holds the lock; the main thread where that is not to be known. */
static object holder(void)
{
    return python.holder ? python.holder() : watch.thread;
}

/* Has the main thread note its stack. Who forks meanwhile waits for that. */
static bool ask(uint64_t due_ns)
{
    pthread_mutex_lock(&watch.asking);
    bool is_asked = is_running() && !atomic_load(&watch.is_stopped);
    if (is_asked) {
        atomic_store(&watch.due_ns, due_ns);
        atomic_store(&watch.asked_ns, ps_now());
        if (!atomic_load(&watch.is_wanted) && !ps_read_place(&watch.asked_at))
            watch.asked_at.frame = 0;
        atomic_store(&watch.is_wanted, true);
        if (!atomic_exchange(&watch.is_queued, true) && python.add(note, NULL) != 0) {
            atomic_store(&watch.is_queued, false);
            atomic_store(&watch.is_wanted, false);
            is_asked = false;
        } else if (watch.look_up) {
            atomic_store(watch.look_up, 1);
        }
    }
    pthread_mutex_unlock(&watch.asking);
    return is_asked;
}

/* Notes the stack from the calling thread, unless the main thread has done so by the time that the lock is free.
 * A stack that was wanted before is that of now: the evaluation loop has not looked up in between. */
static void look(uint64_t due_ns)
{
    char path[64], call[CALL_BYTES];
    uint64_t asked_ns = atomic_load(&watch.is_wanted) ? atomic_load(&watch.asked_ns) : 0;
    uint32_t before = atomic_load(&noted.count);
    if (!is_running())
        return;
    int state = python.lock();
    atomic_store(&watch.is_wanted, false);
    if (getpid() == watch.pid && atomic_load(&noted.count) == before && has_room()) {
        atomic_store(&watch.due_ns, due_ns);
        snprintf(path, sizeof path, "/proc/self/task/%u/syscall", ps_listed_process());
        ps_read_file(path, call, sizeof call);
        note_stack(asked_ns ? asked_ns : ps_now(), call, false);
    }
    python.unlock(state);
}

/* Waits; false when told to stop. */
static bool sleep_until(uint64_t end_ns)
{
    for (uint64_t now_ns = ps_now(); !atomic_load(&watch.is_stopped) && now_ns < end_ns; now_ns = ps_now()) {
        uint64_t left_ns = end_ns - now_ns;
        struct timespec left = {.tv_sec = (time_t)(left_ns / NS_PER_SECOND),
                                .tv_nsec = (long)(left_ns % NS_PER_SECOND)};
        syscall(SYS_futex, &watch.is_stopped, FUTEX_WAIT_PRIVATE, 0, &left, NULL, 0);
    }
    return !atomic_load(&watch.is_stopped);
}

/* Whether the stack has been noted, or will be before the main thread runs more Python code. */
static bool note_at(uint64_t due_ns)
{
    uint32_t before = atomic_load(&noted.count);
    if (holder() == watch.thread)
        return ask(due_ns);
    if (holder() == NULL)
        look(due_ns);
    return atomic_load(&noted.count) != before;
}

/* Whether Python should come for its notes now: the next one may find no room, or it has not seen such a place. */
static bool is_awaited(void)
{
    uint32_t count = atomic_load(&noted.count);
    if (count == 0 || atomic_load(&watch.is_wanted))
        return false;
    if (count + 2 >= MOST_NOTES || noted.frames_used + 3 * MOST_FRAMES > MOST_KEPT_FRAMES)
        return true;
    const ps_code_place *innermost = &noted.frames[noted.notes[count - 1].first];
    return !ps_is_known(innermost);
}

/* Notes what was due at one moment. The main thread may not have come to it by the next one: then it was in C code,
 * and where it has given the lock away there, this thread looks for both moments. */
static bool note_next(uint64_t due_ns)
{
    if (atomic_load(&watch.is_wanted))
        look(atomic_load(&watch.due_ns));
    if (!note_at(due_ns))
        return false;
    if (atomic_load(&watch.is_wanted) && watch.known_in_a_row < ENOUGH_IN_A_ROW)
        sleep_until(ps_now() + GRACE_NS); /* what a new place calls is to be seen before it is over */
    return true;
}

PS_EXPORT uint32_t ps_stack_notes_wait(const uint64_t *due_ns, uint32_t count)
{
    uint32_t seen = 1;
    for (uint32_t at = 0; at < count; at++) {
        if (at && due_ns[at] < ps_now())
            continue; /* what came late stands for the looks that it has delayed */
        if (!sleep_until(due_ns[at]))
            return 0;
        bool is_late = at && atomic_load(&watch.is_wanted);
        if (is_late && python.holder && holder() == watch.thread)
            continue;
        bool was_awaited = is_awaited();
        seen = at + 1;
        if (!atomic_load(&watch.is_usable) || !note_next(due_ns[at]) || was_awaited || is_awaited())
            break;
    }
    return seen;
}

PS_EXPORT void ps_stack_notes_stop(void)
{
    pthread_mutex_lock(&watch.asking);
    atomic_store(&watch.is_stopped, 1);
    atomic_store(&watch.is_wanted, false);
    pthread_mutex_unlock(&watch.asking);
    syscall(SYS_futex, &watch.is_stopped, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

PS_EXPORT int ps_stack_is_noted(void)
{
    atomic_store(&watch.is_wanted, false);
    return atomic_load(&noted.count) > 0;
}

PS_EXPORT void *ps_stack_notes(void)
{
    object all = python.list(0);
    for (uint32_t at = 0; all && at < atomic_load(&noted.count); at++) {
        const stack_note *one = &noted.notes[at];
        const ps_code_place *innermost = &noted.frames[one->first];
        watch.known_in_a_row = ps_is_known(innermost) ? watch.known_in_a_row + 1 : 0;
        object frames = python.list(0);
        for (uint32_t frame = one->first; frames && frame < one->first + one->count; frame++) {
            object made = python.build("(Oi)", noted.frames[frame].code, noted.frames[frame].last);
            if (made) {
                python.append(frames, made);
                python.drop(made);
            }
        }
        object made = python.build("(KKKsNK)", (unsigned long long)one->at_ns, (unsigned long long)one->due_ns,
                                   (unsigned long long)one->cost_ns, one->call, frames,
                                   (unsigned long long)one->asked_ns);
        if (made) {
            python.append(all, made);
            python.drop(made);
        }
    }
    atomic_store(&noted.count, 0);
    drop_frames(0);
    return all;
}
