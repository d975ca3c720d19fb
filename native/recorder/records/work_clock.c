#include "records/work_clock.h"

#include "records/event.h"

PS_RARE void ps_work_clock_read(uint64_t now_ns)
{
    ps_self.clocked_ns = now_ns;
    if (!ps_is_open() || ps_tid() != ps_recorder.header->main_tid)
        return;
    ps_record content = {.t0_ns = now_ns, .t1_ns = now_ns, .op = PS_SAMPLE_CLOCK, .comm = PS_NO_INDEX,
                         .seq = PS_NO_INDEX, .peer = PS_PEER_NONE, .tag = -1,
                         .sent = ps_clock(CLOCK_THREAD_CPUTIME_ID)};
    ps_write_event(PS_KIND_SAMPLE, &content);
}
