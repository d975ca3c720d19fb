#include "records/event.h"

#include "records/claim.h"

bool ps_is_open(void)
{
    return ps_recorder.header && !atomic_load_explicit(&ps_recorder.is_closed, memory_order_relaxed);
}

ps_record *ps_write_event(uint16_t kind, const ps_record *content)
{
    PS_STORES;
    ps_record *record = ps_is_open() ? ps_claim(PS_CONTEXT) : NULL;
    if (!record)
        return NULL;
    *record = *content;
    record->tid = content->tid ? content->tid : ps_tid();
    record->peer = kind == PS_KIND_SAMPLE ? content->peer : PS_PEER_NONE;
    ps_publish(record, kind);
    return record;
}
