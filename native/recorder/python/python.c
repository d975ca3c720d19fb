/* What is asked of Python itself. The names are looked up, as a process need not be one of Python. */
#include <string.h>

#include "perfscope_recorder.h"
#include "python/python_functions.h"
#include "records/buffer.h"
#include "records/event.h"

#define LONG_NS 1000000ull      /* a collection that is told as one */
#define APART_NS 5000000ull     /* of these records on an average, so that hours of them can be kept */
#define MOST_AT_ONCE 1000       /* records that may come closer to each other */
#define PERIOD_NS 1000000000ull /* what is shorter is told once in this time */

/* All of this is used under the interpreter's lock. */
static struct {
    void (*keep)(void *);
    const char *(*text)(void *);
    void *(*item)(void *, const char *);
    long (*integer)(void *);
    void *(*newest)(void), *(*first)(void), *(*call)(void *);
    void *cell;
} python;

static struct {
    uint64_t begin_ns, told_ns;
    uint64_t count, ns;
    uint64_t shorter_count, shorter_ns;
    uint64_t allowed_ns; /* APART_NS for each record that may be written now */
} collections = {.allowed_ns = MOST_AT_ONCE * APART_NS};

enum { CELL_HEADER = 2 * sizeof(void *) }; /* what a variable that functions share holds lies behind it */

static char *pointer_at(const char *address)
{
    char *pointer;
    memcpy(&pointer, address, sizeof pointer);
    return pointer;
}

PS_EXPORT void *ps_type_of_variable(const void *frame, uint32_t inner_offset, uint32_t offset, void *none)
{
    ps_find_by_name(&python.keep, "Py_IncRef");
    if (!python.keep)
        return NULL;
    const char *variables = inner_offset ? pointer_at((const char *)frame + inner_offset) : frame;
    const char *value = variables ? pointer_at(variables + offset) : NULL;
    ps_find_by_name(&python.cell, "PyCell_Type");
    if (value && python.cell && pointer_at(value + sizeof(void *)) == python.cell)
        value = pointer_at(value + CELL_HEADER);
    void *type = value ? pointer_at(value + sizeof(void *)) : none;
    python.keep(type);
    return type;
}

PS_EXPORT void *ps_call_alone(void *function, void *none)
{
    ps_find_by_name(&python.keep, "Py_IncRef");
    ps_find_by_name(&python.newest, "PyInterpreterState_Head");
    ps_find_by_name(&python.first, "PyInterpreterState_Main");
    ps_find_by_name(&python.call, "PyObject_CallNoArgs");
    if (python.newest && python.first && python.call && python.newest() == python.first())
        return python.call(function);
    if (!python.keep)
        return NULL;
    python.keep(none);
    return none;
}

static uint32_t generation_of(void *details)
{
    ps_find_by_name(&python.item, "PyDict_GetItemString");
    ps_find_by_name(&python.integer, "PyLong_AsLong");
    void *generation = python.item ? python.item(details, "generation") : NULL;
    return generation && python.integer ? (uint32_t)python.integer(generation) : PS_NO_INDEX;
}

static void tell(uint64_t begin_ns, uint64_t end_ns, uint32_t generation)
{
    ps_record content = {.t0_ns = begin_ns, .t1_ns = end_ns, .op = PS_SAMPLE_COLLECTION, .comm = PS_NO_INDEX,
                         .seq = generation, .peer = PS_PEER_NONE, .tag = -1, .sent = collections.shorter_ns,
                         .received = collections.shorter_count};
    ps_write_event(PS_KIND_SAMPLE, &content);
    collections.told_ns = end_ns;
    collections.shorter_ns = collections.shorter_count = 0;
}

PS_EXPORT void ps_collector_calls(void *phase, void *details)
{
    ps_find_by_name(&python.text, "PyUnicode_AsUTF8");
    const char *text = python.text ? python.text(phase) : NULL;
    uint64_t now = ps_now(), begin = collections.begin_ns;
    collections.begin_ns = text && strcmp(text, "start") == 0 ? now : 0;
    if (collections.begin_ns || !begin)
        return;
    uint64_t spent = now - begin, apart = now - collections.told_ns;
    collections.count++;
    collections.ns += spent;
    if (apart >= PERIOD_NS || (spent >= LONG_NS && collections.allowed_ns + apart >= APART_NS)) {
        uint64_t allowed = collections.allowed_ns + apart - APART_NS;
        collections.allowed_ns = allowed < MOST_AT_ONCE * APART_NS ? allowed : MOST_AT_ONCE * APART_NS;
        tell(begin, now, generation_of(details));
    } else {
        collections.shorter_ns += spent;
        collections.shorter_count++;
    }
}

PS_EXPORT uint64_t ps_collections(uint32_t which)
{
    return which == 0 ? collections.count : collections.ns;
}
