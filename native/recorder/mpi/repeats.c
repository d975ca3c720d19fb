/* A broadcast of parameters that have not changed since the last one costs as much as one that is needed.
 *
 * Of large calls, by operation and size, some are looked at until that is enough, before and after. What holds nothing
 * but zeros tells nothing. */
#include "mpi/repeats.h"

#include "mpi/datatype.h"
#include "mpi/lines.h"
#include "perfscope_recorder.h"
#include "state.h"

#define ROWS 16u

typedef struct {
    uint64_t bytes;
    uint32_t calls, looks, same;
    uint16_t op;
} repeat_row;

static repeat_row rows[ROWS];
static ps_lock changing = ATOMIC_FLAG_INIT;

/* The row of calls like this one; ROWS where there is no room. */
static uint32_t row_of(const ps_call *call)
{
    uint32_t row = 0;
    while (row < ROWS && rows[row].calls && (rows[row].op != call->op || rows[row].bytes != call->received))
        row++;
    return row;
}

ps_repeat ps_before_receiving(const ps_call *call, ps_word buffer, ps_word type)
{
    ps_repeat repeat = {.row = ROWS};
    if (call->received < PS_LINES_LEAST_BYTES || !buffer || !ps_is_predefined(ps_handle(type)))
        return repeat;
    ps_acquire(&changing);
    uint32_t row = row_of(call), number = 0;
    bool varies;
    bool is_enough = row == ROWS;
    if (row < ROWS) {
        rows[row].op = call->op;
        rows[row].bytes = call->received;
        number = rows[row].calls++;
        is_enough = rows[row].looks >= PS_LINES_MOST_LOOKS;
    }
    ps_release(&changing);
    if (!is_enough && ps_lines_are_due(number) && ps_lines_digest(buffer, call->received, number, &repeat.held, &varies)) {
        repeat.row = row;
        repeat.number = number;
    }
    return repeat;
}

void ps_after_receiving(const ps_repeat *repeat, const ps_call *call, ps_word buffer, int result)
{
    uint64_t now;
    bool varies;
    if (repeat->row == ROWS || result != 0)
        return;
    if (!ps_lines_digest(buffer, call->received, repeat->number, &now, &varies) || !now)
        return;
    ps_acquire(&changing);
    rows[repeat->row].looks++;
    rows[repeat->row].same += now == repeat->held;
    ps_release(&changing);
}

PS_EXPORT int ps_received_again(uint32_t row, uint64_t *told)
{
    if (row >= ROWS || !rows[row].calls)
        return 0;
    told[0] = rows[row].op;
    told[1] = rows[row].bytes;
    told[2] = rows[row].looks;
    told[3] = rows[row].same;
    told[4] = rows[row].calls;
    return 1;
}
