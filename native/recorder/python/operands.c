/* What the main thread's Python code works on: kinds and shapes of variables, for the agent.
 *
 * All of it happens while the calling thread keeps the interpreter's lock. The main thread cannot go on with Python
 * code meanwhile, so that what is borrowed from its frames stays, and nothing of the program ends later than it would,
 * or in another thread. No code of the program runs: attributes are taken from where an object keeps its own, and of
 * objects only those are asked, by functions of C, whose type is one that the agent names, or made from one whose functions
 * call nothing else. */
#include <stdbool.h>

#include "perfscope_recorder.h"
#include "python/python_stack.h"
#include "python/values.h"
#include "state.h"

#define MOST_FRAMES 64     /* of one stack, innermost first */
#define MOST_ATTRIBUTES 4
#define MOST_ITEMS 3 /* of a list */

typedef struct {
    object places;  /* a tuple of tuples: code, instruction, paths */
    object kinds;   /* a tuple of tuples: a type, and a tuple of readers of its values */
    object holders; /* a tuple of names of dictionaries, which hold attributes as well */
    bool is_whole;  /* what objects hold is asked as well */
    bool counts;    /* how many values it holds is asked, and nothing else */
    uint32_t inner, variables; /* where a frame keeps its variables */
} ps_question;

/* The main thread, where its frames may be looked at; NULL elsewhere, where no function of Python may be called either:
 * there may be another Python, and the functions found by their names are that one's. */
static object thread_to_look_at(void)
{
    object thread = ps_noted_thread();
    if (thread)
        ps_find_value_functions();
    return ps_values.is_found ? thread : NULL;
}

/* What an object itself keeps under a name, as a new reference: neither a property nor a method of its class. */
static object own_attribute(object owner, object name)
{
    object in_class = ps_values.of_type(ps_type_of(owner), name);
    if (in_class && ps_type_of(in_class) != ps_values.member)
        return NULL;
    object found = ps_values.attribute(owner, name);
    if (!found)
        ps_values.clear_error();
    return found;
}

/* The same, where the object keeps it in one of its dictionaries of these names, as modules of PyTorch do. */
static object kept_attribute(object owner, object name, object holders)
{
    object found = own_attribute(owner, name);
    for (ssize_t at = 0; !found && at < ps_values.tuple_size(holders); at++) {
        object holder = own_attribute(owner, ps_values.in_tuple(holders, at));
        if (!holder)
            continue;
        if (ps_values.is_subtype(ps_type_of(holder), ps_values.dict) && (found = ps_values.in_dict(holder, name)) != NULL)
            ps_values.keep(found);
        ps_values.drop(holder);
    }
    return found;
}

/* The value of a frame that a path begins with, as a new reference. */
static object root_of(object frame, object root, const ps_question *asked)
{
    object found = NULL;
    if (ps_type_of(root) == ps_values.number) {
        const char *variables = asked->inner ? ps_pointer_at((const char *)frame + asked->inner) : frame;
        size_t offset = asked->variables + sizeof(object) * (size_t)ps_values.integer(root);
        found = variables ? ps_pointer_at(variables + offset) : NULL;
        if (found && ps_type_of(found) == ps_values.cell)
            return ps_values.in_cell(found);
        if (found)
            ps_values.keep(found);
        return found;
    }
    object globals = ps_values.item(frame, "f_globals");
    if (globals && ps_values.is_subtype(ps_type_of(globals), ps_values.dict) && (found = ps_values.in_dict(globals, root)))
        ps_values.keep(found);
    if (globals)
        ps_values.drop(globals);
    return found;
}

static object described(object value, object kinds, unsigned depth);

static object items_of(object value, object kinds)
{
    bool is_list = ps_type_of(value) == ps_values.list_type;
    ssize_t size = is_list ? ps_values.list_size(value) : ps_values.tuple_size(value);
    object found = ps_values.list(0);
    for (ssize_t at = 0; found && at < size && at < MOST_ITEMS; at++)
        ps_append(found, described(is_list ? ps_values.in_list(value, at) : ps_values.in_tuple(value, at), kinds, 0));
    return found;
}

/* (attributes followed, identity, type or None, what is told of it): of an unknown type None, and the type itself. */
static object described(object value, object kinds, unsigned depth)
{
    object readers = ps_readers_for(value, kinds), told = NULL;
    bool is_sequence = ps_type_of(value) == ps_values.list_type || ps_type_of(value) == ps_values.tuple_type;
    if (readers)
        told = ps_readings_of(value, readers);
    else if (is_sequence && depth)
        told = items_of(value, kinds);
    if (!told)
        return ps_values.build("(IKOO)", depth, (unsigned long long)(uintptr_t)value, ps_values.none, ps_type_of(value));
    return ps_values.build("(IKON)", depth, (unsigned long long)(uintptr_t)value, ps_type_of(value), told);
}

/* The same of an object of another type, with what it holds. */
static object described_as_whole(object value, const ps_question *asked, unsigned depth)
{
    object held = ps_held_in(value, asked->kinds), type = ps_type_of(value);
    unsigned long long identity = (unsigned long long)(uintptr_t)value;
    return held ? ps_values.build("(IKOON)", depth, identity, ps_values.none, type, held) : NULL;
}

static object asked_of(object value, const ps_question *asked, unsigned depth, bool is_end)
{
    bool is_known = ps_type_of(value) == ps_values.list_type || ps_type_of(value) == ps_values.tuple_type ||
                    ps_readers_for(value, asked->kinds);
    if (asked->counts)
        return is_end ? ps_values_in(value, asked->kinds) : ps_values.build("()");
    if (is_known || !asked->is_whole)
        return described(value, asked->kinds, depth);
    return described_as_whole(value, asked, depth);
}

/* A name and the attributes behind it, as far as they lead to what is kept. */
static object answer(object frame, object path, const ps_question *asked)
{
    object value = root_of(frame, ps_values.in_tuple(path, 0), asked);
    unsigned depth = 1;
    while (value && depth < MOST_ATTRIBUTES && depth < (unsigned)ps_values.tuple_size(path)) {
        object inner = !asked->counts && ps_readers_for(value, asked->kinds)
                           ? NULL
                           : kept_attribute(value, ps_values.in_tuple(path, (ssize_t)depth), asked->holders);
        if (!inner)
            break;
        ps_values.drop(value); /* not the last one: the frame or what it leads to holds it */
        value = inner;
        depth++;
    }
    if (!value)
        return ps_values.build("()");
    object found = asked_of(value, asked, depth, depth == (unsigned)ps_values.tuple_size(path));
    ps_values.drop(value);
    return found;
}

/* Appends the answers of a frame, with the place of what was asked. */
static void answer_all(object found, object frame, ssize_t place, const ps_question *asked)
{
    object answers = ps_values.list(0), paths = ps_values.in_tuple(ps_values.in_tuple(asked->places, place), 2);
    for (ssize_t at = 0; answers && at < ps_values.tuple_size(paths); at++)
        ps_append(answers, answer(frame, ps_values.in_tuple(paths, at), asked));
    if (answers)
        ps_append(found, ps_values.build("(nN)", place, answers));
}

static long last_of(object frame)
{
    object value = ps_values.item(frame, "f_lasti");
    long last = value ? ps_values.integer(value) : -1;
    if (value)
        ps_values.drop(value);
    return last;
}

static void look_at_frame(object found, object frame, ssize_t *next, const ps_question *asked)
{
    object code = ps_values.code(frame);
    for (ssize_t at = *next; at < ps_values.tuple_size(asked->places); at++) {
        object one = ps_values.in_tuple(asked->places, at);
        if (ps_values.in_tuple(one, 0) != code || ps_values.integer(ps_values.in_tuple(one, 1)) != last_of(frame))
            continue;
        answer_all(found, frame, at, asked);
        *next = at + 1;
        break;
    }
    ps_values.drop(code);
}

static void walk(object found, object thread, uint32_t most, const ps_question *asked)
{
    ssize_t next = 0;
    object frame = ps_values.frame(thread);
    while (frame) {
        object outer = NULL;
        if (asked)
            look_at_frame(found, frame, &next, asked);
        else
            ps_append(found, ps_values.build("(Nl)", ps_values.code(frame), last_of(frame)));
        if (--most > 0)
            outer = ps_values.back(frame);
        ps_values.drop(frame);
        frame = outer;
    }
    ps_values.clear_error();
}

static void *looked(uint32_t most, const ps_question *asked)
{
    object thread = thread_to_look_at();
    object found = ps_values.is_found ? ps_values.list(0) : NULL;
    if (found && thread) {
        bool is_held = ps_values.collector_off();
        walk(found, thread, most, asked);
        if (is_held)
            ps_values.collector_on();
    }
    return found;
}

PS_EXPORT int ps_can_look_at_operands(void)
{
    return thread_to_look_at() != NULL;
}

PS_EXPORT void *ps_operand_places(uint32_t most)
{
    return looked(most, NULL);
}

PS_EXPORT void *ps_operands(void *places, void *kinds, void *holders, uint32_t is_whole, uint32_t inner_offset,
                            uint32_t offset)
{
    ps_question asked = {places, kinds, holders, is_whole != 0, false, inner_offset, offset};
    return looked(MOST_FRAMES, &asked);
}

PS_EXPORT void *ps_values_held(void *places, void *kinds, void *holders, uint32_t inner_offset, uint32_t offset)
{
    ps_question asked = {places, kinds, holders, false, true, inner_offset, offset};
    return looked(MOST_FRAMES, &asked);
}
