#include "records/claim.h"

#include "records/reuse.h"
#include "records/thinning.h"

#define PREFETCHED_SLOTS 4u

static atomic_bool is_detail_stopped;
static atomic_bool is_detail_paused; /* the user wants other steps than this one */

static PS_RARE void count_drop(enum ps_priority priority)
{
    ps_header *header = ps_recorder.header;
    ps_thinning_lost(ps_monotonic());
    if (__atomic_fetch_add(&header->dropped, 1, __ATOMIC_RELAXED) == 0)
        header->first_drop_ns = ps_monotonic();
    if (priority == PS_DETAIL && !atomic_exchange(&is_detail_stopped, true) && !ps_buffer_is_disk_full())
        ps_set_header_flag(PS_FLAG_SIZE_LIMIT);
}

static PS_RARE ps_record *claim_again(enum ps_priority priority)
{
    ps_record *record = ps_reuse_claim();
    if (!record && !atomic_load(&ps_recorder.is_closed))
        count_drop(priority);
    return record;
}

static PS_RARE ps_record *claim_beyond_limit(uint64_t index, enum ps_priority priority)
{
    if (atomic_load(&ps_recorder.is_closed)) {
        /* No record: a reader must not miss one. */
        __atomic_fetch_sub(&ps_recorder.header->claimed, 1, __ATOMIC_SEQ_CST);
        return NULL;
    }
    ps_buffer_grow(index + 1 + (priority == PS_DETAIL ? PS_CONTEXT_RESERVE : 0));
    if (index < atomic_load(&ps_buffer_limits[priority]))
        return &ps_recorder.slots[index];
    return claim_again(priority);
}

ps_record *ps_claim(enum ps_priority priority)
{
    if (priority == PS_DETAIL && PS_UNLIKELY(atomic_load_explicit(&is_detail_paused, memory_order_relaxed))) {
        ps_self.poll = NULL;
        return NULL;
    }
    if (priority == PS_DETAIL && PS_UNLIKELY(atomic_load_explicit(&is_detail_stopped, memory_order_relaxed))) {
        count_drop(priority);
        return NULL;
    }
    ps_self.poll = NULL;
    if (PS_UNLIKELY(atomic_load_explicit(&ps_recorder.is_reusing, memory_order_relaxed)))
        return claim_again(priority);
    uint64_t index = __atomic_fetch_add(&ps_recorder.header->claimed, 1, __ATOMIC_SEQ_CST);
    if (PS_UNLIKELY(index >= atomic_load(&ps_buffer_limits[priority])))
        return claim_beyond_limit(index, priority);
    /* A record that nobody has touched is not in the cache: the next claim would wait until this one's stores are. */
    __builtin_prefetch(&ps_recorder.slots[index + PREFETCHED_SLOTS], 1);
    return &ps_recorder.slots[index];
}

void ps_claims_pause_detail(bool is_paused)
{
    atomic_store_explicit(&is_detail_paused, is_paused, memory_order_relaxed);
}

void ps_claims_maintain(void)
{
    if (!ps_buffer_keep() || atomic_load(&is_detail_stopped))
        return;
    if (atomic_load(&ps_recorder.is_reusing)) {
        ps_buffer_release(ps_reuse_maintain());
        return;
    }
    if (ps_buffer_is_scarce() || ps_thinning_is_due())
        ps_reuse_begin();
    ps_buffer_grow_ahead();
    ps_buffer_release(ps_buffer_used());
}

uint64_t ps_claims_resident(void)
{
    return ps_recorder.header ? ps_buffer_resident() + ps_thinning_resident() : 0;
}

void ps_claims_forget(void)
{
    atomic_store(&is_detail_stopped, false);
    atomic_store(&is_detail_paused, false);
}
