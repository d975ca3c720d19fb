#include "records/run_windows.h"

#include "records/event.h"
#include "records/thinning.h"

#define SECOND_NS 1000000000u
#define PER_SECOND 8u /* so that there are enough of them where much is recorded in a short time */

static uint64_t next_tick_ns;

void ps_run_window_end(enum ps_window source, uint32_t number, uint64_t t1_ns)
{
    if (!ps_recorder.header || source < ps_recorder.header->thinning.source)
        return;
    ps_record content = {.t0_ns = t1_ns, .t1_ns = t1_ns, .op = (uint16_t)source, .comm = PS_NO_INDEX, .seq = number,
                         .tag = -1};
    ps_thinning_add(number, t1_ns, source, ps_write_event(PS_KIND_WINDOW, &content));
}

/* How long a window of the clock is: not shorter than what is between two samples, at which it ends. */
static uint64_t window_ns(const ps_header *header)
{
    return header->sampler_hz > PER_SECOND ? SECOND_NS / PER_SECOND : SECOND_NS;
}

void ps_run_window_tick(uint64_t now_ns)
{
    ps_header *header = ps_recorder.header;
    if (header->thinning.source > PS_WINDOW_TIME || now_ns < next_tick_ns)
        return;
    uint64_t real_ns = header->real0_ns + (now_ns - header->mono0_ns);
    uint64_t length_ns = window_ns(header), over_ns = real_ns % length_ns;
    if (next_tick_ns)
        ps_run_window_end(PS_WINDOW_TIME, (uint32_t)(real_ns / length_ns), now_ns - over_ns);
    next_tick_ns = now_ns - over_ns + length_ns;
}

void ps_run_windows_forget(void)
{
    next_tick_ns = 0;
}
