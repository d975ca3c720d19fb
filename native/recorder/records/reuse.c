#include "records/reuse.h"

#include "guard.h"
#include "records/buffer.h"
#include "records/drain.h"
#include "records/thinning.h"

#define EARLY_PART 8u /* of all slots: when so few are left, the sampler makes room before a call has to */
#define LEAST_PART 16u /* of all slots, that must be free for going on */

static struct {
    _Atomic uint64_t cursor; /* the next slot that is looked at */
    _Atomic uint64_t left;   /* free slots, about */
    uint64_t end;            /* behind the last slot */
    bool is_exhausted;       /* nothing more can be taken out */
    ps_lock lock;
} reuse = {.lock = ATOMIC_FLAG_INIT};

/* Slots that were never handed out are free already: a claim adds first and reads the limit second. */
static void begin(void)
{
    ps_header *header = ps_recorder.header;
    uint64_t handed_out;
    ps_buffer_end_claims(&handed_out, &reuse.end);
    for (uint64_t slot = handed_out; slot < reuse.end; slot++)
        ps_publish(&ps_recorder.slots[slot], PS_KIND_THINNED);
    atomic_store(&reuse.cursor, reuse.end); /* nothing is handed out before the first thinning */
    header->thinning.is_reusing = 1;
    atomic_store(&ps_recorder.is_reusing, true);
}

/* Takes records out, and begins anew with the first slot. Called with the lock held. */
static bool make_room(void)
{
    if (reuse.is_exhausted || ps_guard_is_lost() || atomic_load(&ps_recorder.is_closed))
        return false;
    if (!atomic_load(&ps_recorder.is_reusing)) {
        if (!ps_thinning_is_possible())
            return false;
        begin();
    }
    uint64_t free_slots = ps_thin(reuse.end);
    reuse.is_exhausted = free_slots < reuse.end / LEAST_PART;
    atomic_store(&reuse.left, free_slots);
    atomic_store(&reuse.cursor, 0);
    return true;
}

static ps_record *claim_free(void)
{
    uint64_t slot;
    while ((slot = atomic_fetch_add(&reuse.cursor, 1)) < reuse.end) {
        ps_record *record = &ps_recorder.slots[slot];
        uint16_t kind = PS_KIND_THINNED;
        if (__atomic_load_n(&record->kind, __ATOMIC_RELAXED) != kind ||
            !__atomic_compare_exchange_n(&record->kind, &kind, PS_KIND_NONE, false, __ATOMIC_SEQ_CST,
                                         __ATOMIC_RELAXED))
            continue;
        *record = (ps_record){0};
        ps_recorder.header->thinning.cursor = slot + 1;
        atomic_fetch_sub_explicit(&reuse.left, 1, memory_order_relaxed);
        ps_drain_changed(slot);
        return record;
    }
    return NULL;
}

ps_record *ps_reuse_claim(void)
{
    if (atomic_load(&ps_recorder.is_closed))
        return NULL;
    ps_record *record = atomic_load(&ps_recorder.is_reusing) ? claim_free() : NULL;
    if (record)
        return record;
    ps_acquire(&reuse.lock);
    if (atomic_load(&ps_recorder.is_reusing))
        record = claim_free(); /* another thread may have made room */
    if (!record && make_room())
        record = claim_free();
    ps_release(&reuse.lock);
    return record;
}

void ps_reuse_begin(void)
{
    ps_acquire(&reuse.lock);
    if (!atomic_load(&ps_recorder.is_reusing))
        make_room();
    ps_release(&reuse.lock);
}

uint64_t ps_reuse_maintain(void)
{
    if (atomic_load(&reuse.left) < reuse.end / EARLY_PART || ps_thinning_is_due()) {
        ps_acquire(&reuse.lock);
        make_room();
        ps_release(&reuse.lock);
    }
    uint64_t cursor = atomic_load(&reuse.cursor);
    return cursor < reuse.end ? cursor : reuse.end;
}

void ps_reuse_forget(void)
{
    atomic_store(&ps_recorder.is_reusing, false);
    atomic_store(&reuse.cursor, 0);
    atomic_store(&reuse.left, 0);
    reuse.end = 0;
    reuse.is_exhausted = false;
    atomic_flag_clear(&reuse.lock);
}
