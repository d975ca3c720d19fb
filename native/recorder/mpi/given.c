/* A sum over ranks that all hold the same brings nothing that each of them could not compute by itself.
 *
 * Of large calls, by operation, size and the instruction of Python that makes them, the same ones are looked at on all
 * ranks, as all count them alike. What each was given is told by the ordinal that the call has on all members of its
 * communicator, with an even digest where it holds one value throughout. */
#include "mpi/given.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mpi/datatype.h"
#include "mpi/lines.h"
#include "mix.h"
#include "perfscope_recorder.h"
#include "python/current_place.h"
#include "state.h"

#define ROWS 32u
#define LOOKS (ROWS * PS_LINES_MOST_LOOKS)
#define COUNT_EVERY 16u

typedef struct {
    uint64_t bytes;
    ps_current_place place; /* of code 0 where it is not known */
    uint64_t calls; /* about, once only some are counted */
    uint32_t counted, looks, passed;
    uint16_t op;
} given_row;

typedef struct {
    uint64_t identity, digest;
    uint32_t row, members, ordinal;
} given_look;

static given_row rows[ROWS];
static given_look looks[LOOKS];
static uint32_t count;
static ps_lock changing = ATOMIC_FLAG_INIT;

/* Whether there is such a row, whose calls have the operation and the size of this one. */
static bool is_alike(const given_row *row, const ps_call *call)
{
    return row->counted && row->op == call->op && row->bytes == call->sent;
}

/* For how many calls this one is counted, 0 where it is passed over. Once all lines with its operation and size have
 * been looked at, one of some still tells who calls on, as to read where a thread is costs more than to count. */
static uint32_t weight_of(const ps_call *call)
{
    given_row *first = NULL;
    bool is_enough = true;
    for (given_row *row = rows; row < rows + ROWS; row++) {
        if (!is_alike(row, call))
            continue;
        first = first ? first : row;
        is_enough = is_enough && row->looks >= PS_LINES_MOST_LOOKS;
    }
    if (!first)
        return rows[ROWS - 1].counted ? 0 : 1;
    if (!is_enough)
        return 1;
    return ps_mix(first->passed++) % COUNT_EVERY ? 0 : COUNT_EVERY;
}

/* The row of calls like this one; ROWS where there is no room. */
static uint32_t row_of(const ps_call *call, const ps_current_place *place)
{
    uint32_t row = 0;
    while (row < ROWS && rows[row].counted &&
           !(is_alike(&rows[row], call) && rows[row].place.instruction == place->instruction))
        row++;
    return row;
}

/* Counts the call; whether it is to be looked at. */
static bool is_due(const ps_call *call, uint32_t *row)
{
    ps_current_place place;
    bool found = false;
    uint32_t weight = weight_of(call); /* rows are changed by this thread alone */
    if (!weight)
        return false;
    if (!ps_read_place(&place))
        place = (ps_current_place){0};
    ps_acquire(&changing);
    *row = row_of(call, &place);
    if (*row < ROWS) {
        given_row *own = &rows[*row];
        own->op = call->op;
        own->bytes = call->sent;
        own->place = place;
        own->calls += weight;
        found = ps_lines_are_due(own->counted++) && own->looks < PS_LINES_MOST_LOOKS;
        own->looks += found;
    }
    ps_release(&changing);
    return found;
}

void ps_before_giving(const ps_call *call, ps_word send, ps_word receive, ps_word type)
{
    given_look look = {0};
    bool varies;
    ps_word buffer = send == ps_abi.in_place ? receive : send;
    bool is_large = call->sent >= PS_LINES_LEAST_BYTES && buffer && ps_is_predefined(ps_handle(type));
    if (!is_large || !call->comm || call->comm->is_inter || call->comm->size < 2)
        return;
    if (syscall(SYS_gettid) != getpid()) /* the instruction is that of the main thread */
        return;
    if (!is_due(call, &look.row) || !ps_lines_digest(buffer, call->sent, call->seq, &look.digest, &varies))
        return;
    look.digest = varies ? look.digest | 1 : look.digest & ~(uint64_t)1;
    look.identity = call->comm->identity;
    look.members = call->comm->size;
    look.ordinal = call->seq;
    ps_acquire(&changing);
    if (count < LOOKS)
        looks[count++] = look;
    ps_release(&changing);
}

PS_EXPORT int ps_given(uint32_t look, uint64_t *told)
{
    ps_acquire(&changing);
    bool is_there = look < count;
    if (is_there) {
        const given_look *own = &looks[look];
        const given_row *row = &rows[own->row];
        const ps_current_place *place = &row->place;
        uint64_t last = place->code ? (uint64_t)ps_offset_of(place) : 0;
        const uint64_t all[] = {own->row, row->op,        row->bytes,   row->calls,   place->code,
                                last,     own->identity, own->members, own->ordinal, own->digest};
        memcpy(told, all, sizeof all);
    }
    ps_release(&changing);
    return is_there;
}
