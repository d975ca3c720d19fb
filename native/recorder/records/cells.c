#include "records/cells.h"

#include "guard.h"

#define MOST_PROBES 64u

static ps_lock blocks_lock = ATOMIC_FLAG_INIT;

/* Where one thread alone adds to a sum, the addition need not be atomic. */
static void add(uint64_t *sum, uint64_t more, bool is_alone)
{
    if (is_alone)
        __atomic_store_n(sum, __atomic_load_n(sum, __ATOMIC_RELAXED) + more, __ATOMIC_RELAXED);
    else
        __atomic_fetch_add(sum, more, __ATOMIC_RELAXED);
}

static inline void add_all(ps_total *sums, const ps_total *more, bool is_alone)
{
    add(&sums->count, more->count, is_alone);
    add(&sums->ns, more->ns, is_alone);
    if (more->sent)
        add(&sums->sent, more->sent, is_alone);
    if (more->received)
        add(&sums->received, more->received, is_alone);
}

/* Where a key is looked for first. */
static uint32_t home(uint64_t key)
{
    return (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32);
}

static PS_RARE ps_cell *find_beyond(uint64_t key)
{
    ps_cell *cells = ps_recorder.header->cells;
    uint32_t at = home(key);
    for (uint32_t probe = 0; probe < MOST_PROBES; probe++, at++) {
        ps_cell *cell = &cells[at % PS_MAX_CELLS];
        uint64_t known = __atomic_load_n(&cell->key, __ATOMIC_RELAXED);
        if (known == key)
            return cell;
        if (known == 0 && (__atomic_compare_exchange_n(&cell->key, &known, key, false, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED) ||
                           known == key))
            return cell;
    }
    return NULL;
}

static ps_cell *find(uint64_t key)
{
    ps_cell *cell = &ps_recorder.header->cells[home(key) % PS_MAX_CELLS];
    return __atomic_load_n(&cell->key, __ATOMIC_RELAXED) == key ? cell : find_beyond(key);
}

static uint8_t thread_flags(void)
{
    return PS_CELL_USED | (ps_tid() == ps_recorder.header->main_tid ? PS_CELL_MAIN : 0);
}

static uint8_t current_phase(void)
{
    return ps_self.phases ? ps_self.phase_kinds[(ps_self.phases - 1) % PS_NESTED_PHASES] : 0;
}

static PS_RARE void add_by_operation(uint16_t op, const ps_total *more)
{
    ps_header *header = ps_recorder.header;
    add_all(&header->totals[op], more, false);
    add(&header->thinning.lost_calls, more->count, false);
}

void ps_totals_add(uint16_t op, uint32_t comm, const ps_total *more)
{
    PS_STORES;
    uint8_t flags = thread_flags();
    ps_cell *cell = find(ps_cell_key(comm, op, current_phase(), flags));
    if (PS_UNLIKELY(!cell)) {
        add_by_operation(op, more);
        return;
    }
    /* Of several threads that call MPI at once, one is the main thread, and has cells of its own. */
    bool is_shared = atomic_load_explicit(&ps_recorder.is_shared, memory_order_relaxed);
    add_all(&cell->total, more, !is_shared || flags & PS_CELL_MAIN);
}

void ps_totals_phase(uint16_t phase, uint32_t name, uint64_t ns)
{
    ps_cell *cell = find(ps_cell_key(name, phase, current_phase(), thread_flags() | PS_CELL_PHASE));
    if (!cell)
        return;
    const ps_total one = {.count = 1, .ns = ns};
    add_all(&cell->total, &one, false);
}

static void join(ps_block *into, const ps_block *next)
{
    into->t1_ns = next->t1_ns;
    into->count += next->count;
    into->ns += next->ns;
    into->samples += next->samples;
    into->shortest_ns = next->shortest_ns < into->shortest_ns ? next->shortest_ns : into->shortest_ns;
    if (next->longest_ns > into->longest_ns) {
        into->longest_ns = next->longest_ns;
        into->longest = next->longest;
    }
}

/* Makes room: two blocks become one. */
static void merge(ps_header *header)
{
    static const ps_block none;
    __atomic_store_n(&header->thinning.merging, 1, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < PS_MAX_BLOCKS / 2; i++) {
        header->blocks[i] = header->blocks[2 * i];
        join(&header->blocks[i], &header->blocks[2 * i + 1]);
    }
    for (uint32_t i = PS_MAX_BLOCKS / 2; i < PS_MAX_BLOCKS; i++)
        header->blocks[i] = none;
    header->thinning.blocks = PS_MAX_BLOCKS / 2;
    header->thinning.block_steps *= 2;
    __atomic_store_n(&header->thinning.merging, 0, __ATOMIC_SEQ_CST);
}

void ps_totals_step(const ps_record *step)
{
    ps_header *header = ps_recorder.header;
    ps_thinning *state = &header->thinning;
    uint64_t ns = step->t1_ns - step->t0_ns;
    ps_block one = {.t0_ns = step->t0_ns, .t1_ns = step->t1_ns, .count = 1, .ns = ns, .samples = step->sent,
                    .shortest_ns = ns, .longest_ns = ns, .first = step->seq, .longest = step->seq};
    ps_acquire(&blocks_lock);
    if (state->block_steps == 0)
        state->block_steps = 1;
    if (state->blocks && header->blocks[state->blocks - 1].count < state->block_steps) {
        join(&header->blocks[state->blocks - 1], &one);
    } else {
        if (state->blocks == PS_MAX_BLOCKS)
            merge(header);
        header->blocks[state->blocks] = one;
        __atomic_store_n(&state->blocks, state->blocks + 1, __ATOMIC_RELEASE);
    }
    ps_release(&blocks_lock);
}

void ps_phase_enter(uint64_t token, uint16_t phase)
{
    uint32_t at = ps_self.phases++ % PS_NESTED_PHASES;
    ps_self.phase_tokens[at] = token;
    ps_self.phase_kinds[at] = (uint8_t)phase;
}

/* Phases may end in another order than they began; one that another thread opened is not on this one's list. */
void ps_phase_leave(uint64_t token)
{
    uint32_t kept = ps_self.phases > PS_NESTED_PHASES ? PS_NESTED_PHASES : ps_self.phases;
    for (uint32_t back = 1; back <= kept; back++)
        if (ps_self.phase_tokens[(ps_self.phases - back) % PS_NESTED_PHASES] == token) {
            ps_self.phases -= back;
            return;
        }
}

void ps_totals_forget(void)
{
    atomic_flag_clear(&blocks_lock);
}
