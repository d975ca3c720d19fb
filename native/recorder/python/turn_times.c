/* How long it takes the main thread to come back to where it was noted: a turn of the innermost loop around that place.
 *
 * The evaluation loop looks up behind calls and at the ends of loops. A pending call sees where the thread is at a few of
 * these moments in a row, without another thread's help: on a busy host no other one runs beside it. Each call adds the
 * next one. As Python goes on with what such calls add, and stops where it finds no function, one without a function goes
 * before it: so it is made the next time that the loop looks up. The time that the calls take themselves is left out. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <time.h>

#include "perfscope_recorder.h"
#include "python/current_place.h"
#include "python/turn_times.h"
#include "state.h"

#define FIRST_LOOK_UPS 24u /* what interrupted the program has left its caches cold: these are not timed */
#define MOST_LOOK_UPS 256u
#define ENOUGH_RETURNS 16u
#define MOST_TIMED 32u
#define MOST_OF_CALL_NS 10000u
#define AT_ONCE_NS 4000000u
#define SHARE_AT_ONCE 500u /* of the time of the program one part in so many may go into this, until it is that */
#define SHARE 5000u        /* and later */

typedef struct {
    uint64_t noted_ns, code, last;
    uint32_t returns;
    double sum_ns, squares; /* of the times between returns */
} turn_times;

static struct {
    const ps_python_functions *python;
    object thread;
    bool is_on;
    ps_current_place first;
    uint32_t look_ups;
    long switches;
    uint64_t left_ns, since_ns; /* the end of the last call; what the program has gone on since it was there last */
    uint64_t began_ns, spent_ns; /* in these calls */
    turn_times now;
    turn_times timed[MOST_TIMED]; /* used under the interpreter's lock */
    uint32_t count;
} turns;

/* How often the calling thread has had to wait for a CPU, or has waited for something itself. */
static long switches(void)
{
    struct rusage used = {0};
    getrusage(RUSAGE_THREAD, &used);
    return used.ru_nivcsw + used.ru_nvcsw;
}

static void end(void)
{
    turns.is_on = false;
    if (turns.count < MOST_TIMED && turns.now.returns && switches() == turns.switches)
        turns.timed[turns.count++] = turns.now;
}

/* From now on it is timed how long the thread takes to come back to a place. */
static void begin_at(const ps_current_place *place)
{
    turns.first = *place;
    turns.since_ns = 0;
    turns.now.code = place->code;
    turns.now.last = (uint64_t)ps_offset_of(place);
}

static void come_back(void)
{
    turns.now.returns++;
    turns.now.sum_ns += (double)turns.since_ns;
    turns.now.squares += (double)turns.since_ns * (double)turns.since_ns;
    turns.since_ns = 0;
}

/* What is seen as the evaluation loop looks up again. */
static void look_up(uint64_t now_ns)
{
    ps_current_place place = {0};
    turns.since_ns += now_ns - turns.left_ns;
    turns.look_ups++;
    bool is_read = ps_read_own_place(&place);
    if (turns.look_ups == FIRST_LOOK_UPS)
        begin_at(&place);
    else if (turns.first.code && place.code == turns.first.code && place.instruction == turns.first.instruction)
        come_back();
    turns.is_on = is_read && turns.look_ups < MOST_LOOK_UPS && turns.now.returns < ENOUGH_RETURNS;
}

static int follow(void *unused);

/* Has that be called the next time that the evaluation loop looks up. */
static bool goes_on(void)
{
    return turns.python->add(NULL, NULL) == 0 && turns.python->add(follow, NULL) == 0;
}

static int follow(void *unused)
{
    (void)unused;
    if (!turns.is_on || turns.python->thread() != turns.thread || turns.python->error()) {
        turns.is_on = false;
        return 0;
    }
    int error = errno; /* between two lines of the program */
    uint64_t entered_ns = ps_now();
    look_up(entered_ns);
    if (!turns.is_on || !goes_on())
        end();
    turns.left_ns = ps_now();
    uint64_t spent_ns = turns.left_ns - entered_ns;
    turns.spent_ns += spent_ns < MOST_OF_CALL_NS ? spent_ns : MOST_OF_CALL_NS; /* without a wait for a CPU */
    errno = error;
    return 0;
}

void ps_time_turns(const ps_python_functions *python, uint64_t noted_ns)
{
    uint64_t now_ns = ps_now();
    if (!turns.began_ns)
        turns.began_ns = now_ns;
    uint64_t age_ns = now_ns - turns.began_ns, at_once_ns = age_ns / SHARE_AT_ONCE;
    bool is_due = turns.spent_ns <= (at_once_ns < AT_ONCE_NS ? at_once_ns : AT_ONCE_NS) + age_ns / SHARE;
    if (turns.is_on || !is_due || turns.count == MOST_TIMED)
        return;
    turns.python = python;
    turns.thread = python->thread();
    turns.look_ups = 0;
    turns.first = (ps_current_place){0};
    turns.switches = switches();
    turns.now = (turn_times){.noted_ns = noted_ns};
    turns.is_on = goes_on();
    turns.left_ns = ps_now();
}

void ps_forget_turns(void)
{
    turns.is_on = false;
    turns.count = 0;
    turns.began_ns = turns.spent_ns = 0;
}

PS_EXPORT void *ps_turn_times(void)
{
    const ps_python_functions *python = turns.python;
    object all = python ? python->list(0) : NULL;
    for (uint32_t at = 0; all && at < turns.count; at++) {
        const turn_times *one = &turns.timed[at];
        object made = python->build("(KKKIdd)", (unsigned long long)one->noted_ns, (unsigned long long)one->code,
                                    (unsigned long long)one->last, one->returns, one->sum_ns, one->squares);
        if (made) {
            python->append(all, made);
            python->drop(made);
        }
    }
    turns.count = 0;
    return all;
}

PS_EXPORT int ps_turns_are_timed(void)
{
    return turns.count > 0;
}
