/* Has the main thread of Python note its own stack at a given moment.
 *
 * Who asks for the interpreter's lock gets it where the main thread gives it back: in C code that works without it,
 * hardly in Python code. So the sampler thread, still without the lock, adds a pending call, which the main thread
 * runs the next time its evaluation loop looks up. It runs no Python code there, only looks at frames. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "events.h"
#include "perfscope_recorder.h"

#define MOST_FRAMES 1000
#define NS_PER_SECOND 1000000000ull

typedef void *object;

static struct {
    int (*add)(int (*)(void *), void *);
    int (*is_started)(void), (*is_ending)(void);
    object (*thread)(void), (*holder)(void), (*error)(void);
    void (*clear_error)(void);
    object (*innermost)(void), (*back)(object), (*code)(object), (*item)(object, const char *);
    int (*last)(object);
    long (*integer)(object);
    int (*collector_off)(void), (*collector_on)(void);
    void (*keep)(object), (*drop)(object);
    object (*list)(ssize_t);
    int (*append)(object, object);
    object (*build)(const char *, ...);
} python;

static struct {
    object thread; /* of the main thread */
    int pid;
    bool has_one_holder, may_collect;
    atomic_int *look_up; /* tells the evaluation loop to look for pending calls; NULL where to add one is enough */
    atomic_bool is_usable, is_wanted, is_queued;
    atomic_uint is_stopped;
    pthread_mutex_t asking; /* held while Python is asked, and by who forks or stops meanwhile */
} watch = {.asking = PTHREAD_MUTEX_INITIALIZER};

/* Used under the interpreter's lock. Of a frame that may be over by then only its code is kept, innermost frame first:
 * what else belongs to it would end later than the program expects, and elsewhere. */
static struct {
    uint64_t at_ns, cost_ns;
    uint32_t count;
    struct {
        object code;
        int last;
    } frames[MOST_FRAMES];
} noted;

static int last_of(object frame)
{
    if (python.last)
        return python.last(frame);
    object value = python.item(frame, "f_lasti");
    long last = value ? python.integer(value) : -1;
    if (value)
        python.drop(value);
    return (int)last;
}

static void note_frames(void)
{
    object frame = python.innermost();
    if (!frame)
        return;
    python.keep(frame);
    while (frame) {
        object outer = NULL;
        if (noted.count < MOST_FRAMES) {
            noted.frames[noted.count].code = python.code(frame);
            noted.frames[noted.count++].last = last_of(frame);
            outer = python.back(frame);
        }
        python.drop(frame);
        frame = outer;
    }
}

static void forget(void)
{
    for (uint32_t place = 0; place < noted.count; place++)
        python.drop(noted.frames[place].code);
    noted.count = 0;
}

/* The pending call. Where frames become objects as they are looked at, that must not begin a collection. */
static int note(void *unused)
{
    (void)unused;
    int error = errno;
    atomic_store(&watch.is_queued, false);
    if (!atomic_load(&watch.is_wanted) || noted.count || getpid() != watch.pid || python.thread() != watch.thread ||
        python.error())
        return 0;
    atomic_store(&watch.is_wanted, false);
    noted.at_ns = ps_now();
    bool is_held = watch.may_collect && python.collector_off();
    note_frames();
    if (is_held)
        python.collector_on();
    if (python.error()) {
        python.clear_error();
        forget();
    }
    noted.cost_ns = ps_now() - noted.at_ns;
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
    noted.count = 0; /* the references stay: a child frees nothing of its parent's */
    pthread_mutex_unlock(&watch.asking);
}

/* Finds a function of the Python that `none` belongs to: a process may hold several. */
static bool find(void *function, const char *name)
{
    static void *base;
    Dl_info place;
    void *found = dlsym(RTLD_DEFAULT, name);
    if (!found || !dladdr(found, &place) || (base && place.dli_fbase != base))
        return false;
    base = place.dli_fbase;
    *(void **)function = found;
    return true;
}

static bool find_all(const void *none)
{
    if (!dlsym || !dladdr || dlsym(RTLD_DEFAULT, "_Py_NoneStruct") != none)
        return false;
    find(&python.last, "PyFrame_GetLasti");
    bool has_ending = find(&python.is_ending, "Py_IsFinalizing") || find(&python.is_ending, "_Py_IsFinalizing");
    return has_ending && find(&python.is_started, "Py_IsInitialized") && find(&python.add, "Py_AddPendingCall") &&
           find(&python.thread, "PyThreadState_Get") &&
           find(&python.error, "PyErr_Occurred") && find(&python.clear_error, "PyErr_Clear") &&
           find(&python.innermost, "PyEval_GetFrame") && find(&python.back, "PyFrame_GetBack") &&
           find(&python.code, "PyFrame_GetCode") && find(&python.item, "PyObject_GetAttrString") &&
           find(&python.integer, "PyLong_AsLong") && find(&python.keep, "Py_IncRef") &&
           find(&python.drop, "Py_DecRef") && find(&python.list, "PyList_New") &&
           find(&python.append, "PyList_Append") && find(&python.build, "Py_BuildValue") &&
           (!watch.has_one_holder || find(&python.holder, "_PyThreadState_UncheckedGet")) &&
           (!watch.may_collect ||
            (find(&python.collector_off, "PyGC_Disable") && find(&python.collector_on, "PyGC_Enable")));
}

/* The word of an interpreter that makes its evaluation loop look up, if adding a call sets it as it should. */
static void confirm_word(uint32_t offset)
{
    object (*interpreter)(void) = NULL, (*first)(void) = NULL;
    if (!find(&interpreter, "PyInterpreterState_Get") || !find(&first, "PyInterpreterState_Main"))
        return;
    if (interpreter() != first())
        return;
    watch.look_up = (atomic_int *)((char *)interpreter() + offset);
    if (atomic_load(watch.look_up) != 0 || python.add(confirm, NULL) != 0)
        return;
    if (atomic_load(watch.look_up) != 1)
        watch.pid = 0; /* so that nothing is confirmed */
}

PS_EXPORT void ps_stack_notes_start(const void *none, uint32_t word_offset, uint32_t has_one_holder,
                                    uint32_t may_collect)
{
    static bool has_handlers;
    watch.has_one_holder = has_one_holder;
    watch.may_collect = may_collect;
    atomic_store(&watch.is_stopped, 0);
    atomic_store(&watch.is_usable, false);
    atomic_store(&watch.is_queued, false);
    if (!find_all(none))
        return;
    watch.thread = python.thread();
    watch.pid = getpid();
    if (!has_handlers && pthread_atfork(before_fork, after_fork, in_forked_child) != 0)
        return;
    has_handlers = true;
    watch.look_up = NULL;
    if (word_offset)
        confirm_word(word_offset);
    else
        atomic_store(&watch.is_usable, true);
}

/* Where one thread at a time is known to hold the lock, and it is not the main thread, the sampler will find the main
 * thread's stack as it is now. */
static void ask(void)
{
    if (!python.is_started() || python.is_ending() || (python.holder && python.holder() != watch.thread))
        return;
    atomic_store(&watch.is_wanted, true);
    if (!atomic_exchange(&watch.is_queued, true) && python.add(note, NULL) != 0) {
        atomic_store(&watch.is_queued, false);
        atomic_store(&watch.is_wanted, false);
        return;
    }
    if (watch.look_up)
        atomic_store(watch.look_up, 1);
}

PS_EXPORT int ps_stack_notes_wait(uint64_t ns)
{
    uint64_t end_ns = ps_now() + ns;
    for (uint64_t now_ns = ps_now(); !atomic_load(&watch.is_stopped) && now_ns < end_ns; now_ns = ps_now()) {
        uint64_t left_ns = end_ns - now_ns;
        struct timespec left = {.tv_sec = (time_t)(left_ns / NS_PER_SECOND),
                                .tv_nsec = (long)(left_ns % NS_PER_SECOND)};
        syscall(SYS_futex, &watch.is_stopped, FUTEX_WAIT_PRIVATE, 0, &left, NULL, 0);
    }
    pthread_mutex_lock(&watch.asking);
    bool is_stopped = atomic_load(&watch.is_stopped);
    if (!is_stopped && atomic_load(&watch.is_usable))
        ask();
    pthread_mutex_unlock(&watch.asking);
    return is_stopped;
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
    return noted.count > 0;
}

PS_EXPORT void *ps_stack_note(void)
{
    object frames = python.list(0);
    for (uint32_t place = 0; frames && place < noted.count; place++) {
        object one = python.build("(Oi)", noted.frames[place].code, noted.frames[place].last);
        if (one) {
            python.append(frames, one);
            python.drop(one);
        }
    }
    object found =
        python.build("(KKN)", (unsigned long long)noted.at_ns, (unsigned long long)noted.cost_ns, frames);
    forget();
    return found;
}
