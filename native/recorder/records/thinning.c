#include "records/thinning.h"

#include "mix.h"
#include "operations.h"
#include "records/drain.h"

#define MAX_WINDOWS (1u << 20) /* 24 bytes each, and none before it is needed */
#define SPARE_WINDOWS 1024u /* for those that end while others are taken out */
#define SECOND_NS 1000000000u
#define FIRST_WINDOWS 8u
#define AHEAD_NS (8 * (uint64_t)SECOND_NS) /* for which windows of the clock are kept in front of these, while a program starts */
#define LAST_WINDOWS 8u
#define UNUSUAL_WINDOWS 16u /* the longest ones, kept beside those of chance */
#define UNUSUAL_PART 16u /* of all windows: where few find room, these leave it to those of chance */
#define FEWEST_WINDOWS 32u
#define HIGHEST_LEVEL 30u
#define WANTED_PART 4u /* of all slots, that are free afterwards */
#define SAMPLES_PART 8u /* of all slots, that samples outside kept windows may take */
#define OFTEN_NS 100000000u /* samples come once in this time, or once a second */
/* Somebody may be about to write once more into a record of calls that are counted together. */
#define JOINING_NS 250000000u

typedef struct {
    uint64_t t0_ns, t1_ns;
    uint32_t number;
    uint32_t slot; /* of its record */
} window;

static struct {
    window windows[MAX_WINDOWS]; /* in order of time */
    uint32_t count;
    uint64_t last_end_ns;
    uint64_t last_loss_ns;
    ps_lock lock;
} thinning = {.lock = ATOMIC_FLAG_INIT};

/* Of each two neighbors at a level one is kept, the first or the second as if by chance: what happens every so many
 * steps is kept as often as all else. */
bool ps_is_selected(uint32_t number, uint32_t level)
{
    for (uint32_t bit = 0; bit < level; bit++) {
        uint64_t pair = (uint64_t)number >> (bit + 1);
        if ((number >> bit & 1) != (ps_mix((pair << 5 | bit) + 0x9e3779b97f4a7c15u) & 1))
            return false;
    }
    return true;
}

void ps_thinning_add(uint32_t number, uint64_t t1_ns, enum ps_window source, ps_record *record)
{
    ps_thinning *state = &ps_recorder.header->thinning;
    ps_acquire(&thinning.lock);
    uint64_t begin_ns = thinning.last_end_ns;
    bool is_whole = thinning.last_loss_ns < begin_ns || thinning.last_loss_ns == 0;
    if (source >= state->source && t1_ns > begin_ns) {
        state->source = source;
        state->windows[source]++;
        state->broken += !is_whole;
        thinning.last_end_ns = t1_ns;
        if (record && is_whole && record->seq == number && thinning.count < MAX_WINDOWS) {
            /* A begin of 0 says that it is no window: what is before the first one belongs to it. */
            record->request = begin_ns ? begin_ns : 1;
            thinning.windows[thinning.count++] =
                (window){begin_ns, t1_ns, number, (uint32_t)(record - ps_recorder.slots)};
        }
    }
    ps_release(&thinning.lock);
}

static uint32_t known_windows(void)
{
    ps_acquire(&thinning.lock);
    uint32_t count = thinning.count;
    ps_release(&thinning.lock);
    return count;
}

bool ps_thinning_is_possible(void)
{
    return known_windows() >= FEWEST_WINDOWS;
}

bool ps_thinning_is_due(void)
{
    return known_windows() >= MAX_WINDOWS - SPARE_WINDOWS;
}

void ps_thinning_lost(uint64_t now_ns)
{
    thinning.last_loss_ns = now_ns;
}

uint64_t ps_thinning_resident(void)
{
    return thinning.count * sizeof(window);
}

static bool take_out(ps_record *record, uint16_t kind)
{
    bool is_done = __atomic_compare_exchange_n(&record->kind, &kind, PS_KIND_THINNED, false, __ATOMIC_SEQ_CST,
                                               __ATOMIC_SEQ_CST);
    ps_recorder.header->thinning.records += is_done;
    if (is_done)
        ps_drain_changed((uint64_t)(record - ps_recorder.slots));
    return is_done;
}

/* Lengths, the longest first; one more than are kept, so that equal ones never are too many. */
typedef struct {
    uint64_t ns[UNUSUAL_WINDOWS + 1];
} lengths;

static bool is_of_clock(const window *at)
{
    const ps_record *record = &ps_recorder.slots[at->slot];
    return record->kind != PS_KIND_STEP && record->op == PS_WINDOW_TIME;
}

/* How many of the first windows are always kept. */
static uint32_t first_windows(void)
{
    uint32_t ahead = 0;
    while (ps_recorder.header->thinning.source != PS_WINDOW_TIME && ahead < thinning.count &&
           is_of_clock(&thinning.windows[ahead]) &&
           thinning.windows[ahead].t1_ns - thinning.windows[0].t1_ns < AHEAD_NS)
        ahead++;
    return ahead + FIRST_WINDOWS;
}

/* What a window is unusual by: its step, and what passed before that. A window of the clock is never. */
typedef struct {
    uint64_t step_ns, before_ns;
} extent;

static extent extent_of(const window *at)
{
    const ps_record *record = &ps_recorder.slots[at->slot];
    uint64_t all_ns = at->t1_ns - at->t0_ns;
    if (record->kind != PS_KIND_STEP)
        return (extent){is_of_clock(at) ? 0 : all_ns, 0};
    uint64_t step_ns = record->t1_ns - record->t0_ns;
    return (extent){step_ns, all_ns > step_ns ? all_ns - step_ns : 0};
}

static void note_length(lengths *known, uint64_t ns)
{
    uint32_t at = UNUSUAL_WINDOWS;
    if (ns <= known->ns[at])
        return;
    for (; at > 0 && known->ns[at - 1] < ns; at--)
        known->ns[at] = known->ns[at - 1];
    known->ns[at] = ns;
}

/* Takes windows out that are not kept at the level. The longest of the run are among those that are there: what was kept
 * as such stays until longer ones come, or fewer find room. The level goes first, then their own records: whenever the
 * process is killed, all windows of the level are there, and one that has a record is whole. */
static void choose_windows(uint32_t level)
{
    ps_acquire(&thinning.lock);
    __atomic_store_n(&ps_recorder.header->thinning.level, level, __ATOMIC_SEQ_CST);
    uint32_t first = first_windows(), last = thinning.count > LAST_WINDOWS ? thinning.count - LAST_WINDOWS : 0;
    lengths steps = {{0}}, before = {{0}};
    for (uint32_t i = first; i < thinning.count; i++) {
        extent length = extent_of(&thinning.windows[i]);
        note_length(&steps, length.step_ns);
        note_length(&before, length.before_ns);
    }
    uint32_t wanted = thinning.count / UNUSUAL_PART < UNUSUAL_WINDOWS ? thinning.count / UNUSUAL_PART : UNUSUAL_WINDOWS;
    uint64_t step_ns = steps.ns[wanted], before_ns = before.ns[wanted];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < thinning.count; i++) {
        window *at = &thinning.windows[i];
        extent length = extent_of(at);
        bool is_unusual = length.step_ns > step_ns || length.before_ns > before_ns;
        if (i < first || i >= last || is_unusual || ps_is_selected(at->number, level))
            thinning.windows[kept++] = *at;
        else if (!take_out(&ps_recorder.slots[at->slot], PS_KIND_STEP))
            take_out(&ps_recorder.slots[at->slot], PS_KIND_WINDOW);
    }
    thinning.count = kept;
    ps_release(&thinning.lock);
}

/* The first window that ends after a moment; neighbors mostly ask for the same. */
static uint32_t window_after(uint64_t at_ns, uint32_t count, uint32_t guess)
{
    const window *all = thinning.windows;
    if (guess < count && at_ns < all[guess].t1_ns && (guess == 0 || at_ns >= all[guess - 1].t1_ns))
        return guess;
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (at_ns < all[middle].t1_ns)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Calls of which several may be one record. */
static bool is_joined(const ps_record *record)
{
    switch (record->op) {
    case PS_OP_MPI_Test:
    case PS_OP_MPI_Testall:
    case PS_OP_MPI_Testany:
    case PS_OP_MPI_Testsome:
    case PS_OP_MPI_Iprobe:
    case PS_OP_MPI_Improbe:
    case PS_OP_Horovod_control:
        return true;
    default:
        return false;
    }
}

typedef struct {
    uint64_t slots;
    uint64_t end_ns;     /* of the last window: what begins later is kept */
    uint64_t joining_ns; /* what ended later may be written to */
    uint32_t windows, sample_level;
    uint32_t place; /* of the last record among the windows */
    uint64_t samples; /* kept outside windows */
} sweep;

/* What the clock of a call tells is of use where the call is kept. */
static bool is_sample_kept(sweep *all, const ps_record *record)
{
    if (record->op == PS_SAMPLE_CLOCK)
        return false;
    bool is_often = record->op == PS_SAMPLE_PROCESS || record->op == PS_SAMPLE_MAIN ||
                    record->op == PS_SAMPLE_COLLECTION;
    uint64_t number = record->t0_ns / (is_often ? OFTEN_NS : SECOND_NS);
    bool is_kept = ps_is_selected((uint32_t)number, all->sample_level);
    all->samples += is_kept;
    return is_kept;
}

/* A record belongs to the window in which it begins, that of a window to the one that ends with it, a phase to all that
 * it reaches into. */
static bool is_kept(sweep *all, const ps_record *record, uint16_t kind)
{
    uint64_t t1_ns = __atomic_load_n(&record->t1_ns, __ATOMIC_ACQUIRE);
    bool is_interval = kind == PS_KIND_OPERATION || kind == PS_KIND_PHASE;
    bool is_of_window = kind == PS_KIND_STEP || kind == PS_KIND_WINDOW;
    if (record->t0_ns >= all->end_ns || (is_interval && (t1_ns == 0 || t1_ns >= all->end_ns)))
        return true;
    if (is_of_window && t1_ns > all->end_ns)
        return true; /* it is about to end its window, which is not known yet */
    if (kind == PS_KIND_OPERATION && t1_ns > all->joining_ns && is_joined(record))
        return true;
    uint64_t at_ns = is_of_window ? t1_ns - 1 : record->t0_ns;
    all->place = window_after(at_ns, all->windows, all->place);
    if (all->place < all->windows) {
        uint64_t begin_ns = thinning.windows[all->place].t0_ns;
        if (at_ns >= begin_ns || (kind == PS_KIND_PHASE && t1_ns > begin_ns))
            return true;
    }
    return kind == PS_KIND_SAMPLE && is_sample_kept(all, record);
}

/* How many of the slots are free when what is not kept has been taken out. */
static uint64_t sweep_slots(sweep *all)
{
    uint64_t free_slots = 0;
    for (uint64_t slot = 0; slot < all->slots; slot++) {
        ps_record *record = &ps_recorder.slots[slot];
        uint16_t kind = __atomic_load_n(&record->kind, __ATOMIC_ACQUIRE);
        if (kind == PS_KIND_THINNED)
            free_slots++;
        else if (kind != PS_KIND_NONE && !is_kept(all, record, kind))
            free_slots += take_out(record, kind);
    }
    return free_slots;
}

static sweep begin_sweep(uint64_t slots)
{
    uint64_t now_ns = ps_monotonic();
    sweep all = {.slots = slots, .joining_ns = now_ns - JOINING_NS};
    ps_acquire(&thinning.lock);
    all.windows = thinning.count;
    all.end_ns = thinning.last_end_ns;
    ps_release(&thinning.lock);
    all.sample_level = ps_recorder.header->thinning.sample_level;
    return all;
}

uint64_t ps_thin(uint64_t slots)
{
    ps_thinning *state = &ps_recorder.header->thinning;
    uint64_t free_slots = 0, samples = 0;
    uint32_t level = state->level + (state->level == 0);
    for (;;) {
        choose_windows(level);
        sweep all = begin_sweep(slots);
        free_slots = sweep_slots(&all);
        samples = all.samples;
        bool is_enough = free_slots >= slots / WANTED_PART && !ps_thinning_is_due();
        if (is_enough || (level >= HIGHEST_LEVEL && state->sample_level >= HIGHEST_LEVEL))
            return free_slots;
        if (samples > slots / SAMPLES_PART && state->sample_level < HIGHEST_LEVEL)
            state->sample_level++;
        else if (level < HIGHEST_LEVEL)
            level++;
        else
            return free_slots;
    }
}

void ps_thinning_forget(void)
{
    thinning.count = 0;
    thinning.last_end_ns = thinning.last_loss_ns = 0;
    atomic_flag_clear(&thinning.lock);
}
