/* What the main thread's Python code works on: kinds and shapes of variables, for the agent.
 *
 * All of it happens while the calling thread keeps the interpreter's lock. The main thread cannot go on with Python
 * code meanwhile, so that what is borrowed from its frames stays, and nothing of the program ends later than it would,
 * or in another thread. No code of the program runs: attributes are taken from where an object keeps its own, and of
 * objects only those are asked, by functions of C, whose type is exactly one that the agent names. */
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "perfscope_recorder.h"
#include "python/python_functions.h"
#include "python/python_stack.h"
#include "state.h"

#define MOST_FRAMES 64     /* of one stack, innermost first */
#define MOST_ATTRIBUTES 4
#define MOST_ITEMS 3 /* of a list */
#define MOST_HELD 64 /* objects that one is asked of: what it holds, and what that holds */

typedef struct {
    object places;  /* a tuple of tuples: code, instruction, paths */
    object kinds;   /* a tuple of tuples: a type, and a tuple of readers of its values */
    object holders; /* a tuple of names of dictionaries, which hold attributes as well */
    object held;    /* tells what an object holds, where that is asked; else NULL */
    uint32_t inner, variables; /* where a frame keeps its variables */
} ps_question;

static struct {
    bool is_looked_for, is_found;
    object (*frame)(object), (*back)(object), (*code)(object), (*item)(object, const char *);
    object (*attribute)(object, object), (*of_type)(object, object), (*in_dict)(object, object), (*in_cell)(object);
    object (*list)(ssize_t), (*build)(const char *, ...), (*call)(object, ...);
    object (*in_tuple)(object, ssize_t), (*in_list)(object, ssize_t);
    ssize_t (*tuple_size)(object), (*list_size)(object);
    int (*append)(object, object), (*collector_off)(void), (*collector_on)(void), (*is_subtype)(object, object);
    long (*integer)(object);
    void (*keep)(object), (*drop)(object), (*clear_error)(void);
    object none, member, cell, dict, number, list_type, tuple_type, type;
} python;

static bool find(void *function, const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    *(void **)function = found;
    return found != NULL;
}

static bool find_functions(void)
{
    return find(&python.keep, "Py_IncRef") && find(&python.drop, "Py_DecRef") && find(&python.list, "PyList_New") &&
           find(&python.frame, "PyThreadState_GetFrame") && find(&python.back, "PyFrame_GetBack") &&
           find(&python.code, "PyFrame_GetCode") && find(&python.item, "PyObject_GetAttrString") &&
           find(&python.attribute, "PyObject_GenericGetAttr") && find(&python.of_type, "_PyType_Lookup") &&
           find(&python.in_dict, "PyDict_GetItem") && find(&python.in_cell, "PyCell_Get") &&
           find(&python.build, "Py_BuildValue") && find(&python.call, "PyObject_CallFunctionObjArgs") &&
           find(&python.in_tuple, "PyTuple_GetItem") && find(&python.in_list, "PyList_GetItem") &&
           find(&python.tuple_size, "PyTuple_Size") && find(&python.list_size, "PyList_Size") &&
           find(&python.append, "PyList_Append") && find(&python.is_subtype, "PyType_IsSubtype") &&
           find(&python.collector_off, "PyGC_Disable") && find(&python.collector_on, "PyGC_Enable") &&
           find(&python.integer, "PyLong_AsLong") && find(&python.clear_error, "PyErr_Clear");
}

static bool find_types(void)
{
    return find(&python.none, "_Py_NoneStruct") && find(&python.member, "PyMemberDescr_Type") && find(&python.cell, "PyCell_Type") &&
           find(&python.dict, "PyDict_Type") && find(&python.number, "PyLong_Type") &&
           find(&python.list_type, "PyList_Type") && find(&python.tuple_type, "PyTuple_Type") &&
           find(&python.type, "PyType_Type");
}

/* The main thread, where its frames may be looked at; NULL elsewhere, where no function of Python may be called either:
 * there may be another Python, and the functions found by their names are that one's. */
static object thread_to_look_at(void)
{
    object thread = ps_noted_thread();
    if (thread && !python.is_looked_for) {
        python.is_looked_for = true;
        python.is_found = find_functions() && find_types();
    }
    return python.is_found ? thread : NULL;
}

static object pointer_at(const char *address)
{
    object pointer;
    memcpy(&pointer, address, sizeof pointer);
    return pointer;
}

static object type_of(object value)
{
    return pointer_at((const char *)value + sizeof(object));
}

/* Takes over the reference to what is appended, which may be NULL. */
static void append(object list, object made)
{
    if (!made)
        return;
    python.append(list, made);
    python.drop(made);
}

static long last_of(object frame)
{
    object value = python.item(frame, "f_lasti");
    long last = value ? python.integer(value) : -1;
    if (value)
        python.drop(value);
    return last;
}

/* What an object itself keeps under a name, as a new reference: neither a property nor a method of its class. */
static object own_attribute(object owner, object name)
{
    object in_class = python.of_type(type_of(owner), name);
    if (in_class && type_of(in_class) != python.member)
        return NULL;
    object found = python.attribute(owner, name);
    if (!found)
        python.clear_error();
    return found;
}

/* The same, where the object keeps it in one of its dictionaries of these names, as modules of PyTorch do. */
static object kept_attribute(object owner, object name, object holders)
{
    object found = own_attribute(owner, name);
    for (ssize_t at = 0; !found && at < python.tuple_size(holders); at++) {
        object holder = own_attribute(owner, python.in_tuple(holders, at));
        if (!holder)
            continue;
        if (python.is_subtype(type_of(holder), python.dict) && (found = python.in_dict(holder, name)) != NULL)
            python.keep(found);
        python.drop(holder);
    }
    return found;
}

/* The value of a frame that a path begins with, as a new reference. */
static object root_of(object frame, object root, const ps_question *asked)
{
    object found = NULL;
    if (type_of(root) == python.number) {
        const char *variables = asked->inner ? pointer_at((const char *)frame + asked->inner) : frame;
        size_t offset = asked->variables + sizeof(object) * (size_t)python.integer(root);
        found = variables ? pointer_at(variables + offset) : NULL;
        if (found && type_of(found) == python.cell)
            return python.in_cell(found);
        if (found)
            python.keep(found);
        return found;
    }
    object globals = python.item(frame, "f_globals");
    if (globals && python.is_subtype(type_of(globals), python.dict) && (found = python.in_dict(globals, root)))
        python.keep(found);
    if (globals)
        python.drop(globals);
    return found;
}

static object readers_for(object value, object kinds)
{
    for (ssize_t at = 0; at < python.tuple_size(kinds); at++) {
        object kind = python.in_tuple(kinds, at);
        if (python.in_tuple(kind, 0) == type_of(value))
            return python.in_tuple(kind, 1);
    }
    return NULL;
}

/* What one reader tells of a value: a function; several, each asked of what the one before it told; or where in the
 * object a pointer is. */
static object reading_of(object value, object reader)
{
    if (type_of(reader) == python.number)
        return python.build("K", (unsigned long long)(uintptr_t)pointer_at((char *)value + python.integer(reader)));
    if (type_of(reader) != python.tuple_type)
        return python.call(reader, value, NULL);
    object told = python.call(python.in_tuple(reader, 0), value, NULL);
    for (ssize_t at = 1; told && at < python.tuple_size(reader); at++) {
        object next = python.call(python.in_tuple(reader, at), told, NULL);
        python.drop(told);
        told = next;
    }
    return told;
}

/* What the readers for its kind tell of a value; NULL where one of them fails. */
static object readings_of(object value, object readers)
{
    object found = python.list(0);
    for (ssize_t at = 0; found && at < python.tuple_size(readers); at++) {
        object told = reading_of(value, python.in_tuple(readers, at));
        if (!told) {
            python.clear_error();
            python.drop(found);
            return NULL;
        }
        append(found, told);
    }
    return found;
}

static object described(object value, object kinds, unsigned depth);

static object items_of(object value, object kinds)
{
    bool is_list = type_of(value) == python.list_type;
    ssize_t size = is_list ? python.list_size(value) : python.tuple_size(value);
    object found = python.list(0);
    for (ssize_t at = 0; found && at < size && at < MOST_ITEMS; at++)
        append(found, described(is_list ? python.in_list(value, at) : python.in_tuple(value, at), kinds, 0));
    return found;
}

/* (attributes followed, identity, type or None, what is told of it): of an unknown type None, and the type itself. */
static object described(object value, object kinds, unsigned depth)
{
    object readers = readers_for(value, kinds), told = NULL;
    bool is_sequence = type_of(value) == python.list_type || type_of(value) == python.tuple_type;
    if (readers)
        told = readings_of(value, readers);
    else if (is_sequence && depth)
        told = items_of(value, kinds);
    if (!told)
        return python.build("(IKOO)", depth, (unsigned long long)(uintptr_t)value, python.none, type_of(value));
    return python.build("(IKON)", depth, (unsigned long long)(uintptr_t)value, type_of(value), told);
}

static bool is_among(object value, const object *known, size_t count)
{
    while (count > 0 && known[count - 1] != value)
        count--;
    return count > 0;
}

/* Appends what an object holds to what is to be looked at, but types, and those that are there. */
static void append_held(object held_by, object *known, size_t *count, object held)
{
    object found = python.call(held, held_by, NULL);
    for (ssize_t at = 0; found && *count < MOST_HELD && at < python.list_size(found); at++) {
        object one = python.in_list(found, at);
        if (python.is_subtype(type_of(one), python.type) || is_among(one, known, *count))
            continue;
        python.keep(one);
        known[(*count)++] = one;
    }
    if (found)
        python.drop(found);
    else
        python.clear_error();
}

static int is_container(object value)
{
    object kind = type_of(value);
    return python.is_subtype(kind, python.dict) || python.is_subtype(kind, python.list_type) ||
           python.is_subtype(kind, python.tuple_type);
}

/* How many values an object holds, and its identity: those of what the readers tell the size of, as far as that is
 * reached. A kind without readers holds none; what a container of such a kind holds may be too much to be listed. */
static object values_held(object value, const ps_question *asked)
{
    object known[MOST_HELD] = {value};
    size_t count = 1;
    unsigned long long values = 0;
    python.keep(value);
    for (size_t at = 0; at < count; at++) {
        object readers = readers_for(known[at], asked->kinds);
        object told = readers && python.tuple_size(readers) ? readings_of(known[at], readers) : NULL;
        long own = told ? python.integer(python.in_list(told, 0)) : 0;
        if (told)
            python.drop(told);
        values += own > 0 ? (unsigned long long)own : 0;
        if (readers ? told && own <= MOST_HELD : !is_container(known[at]))
            append_held(known[at], known, &count, asked->held);
    }
    for (size_t at = 0; at < count; at++)
        python.drop(known[at]);
    python.clear_error();
    return python.build("(KK)", values, (unsigned long long)(uintptr_t)value);
}

/* A name and the attributes behind it, as far as they lead to what is kept. */
static object answer(object frame, object path, const ps_question *asked)
{
    object value = root_of(frame, python.in_tuple(path, 0), asked);
    unsigned depth = 1;
    while (value && depth < MOST_ATTRIBUTES && depth < (unsigned)python.tuple_size(path)) {
        object inner = readers_for(value, asked->kinds)
                           ? NULL
                           : kept_attribute(value, python.in_tuple(path, (ssize_t)depth), asked->holders);
        if (!inner)
            break;
        python.drop(value); /* not the last one: the frame or what it leads to holds it */
        value = inner;
        depth++;
    }
    object found = NULL;
    if (value && asked->held)
        found = depth == (unsigned)python.tuple_size(path) ? values_held(value, asked) : python.build("()");
    else
        found = value ? described(value, asked->kinds, depth) : python.build("()");
    if (value)
        python.drop(value);
    return found;
}

/* Appends the answers of a frame, with the place of what was asked. */
static void answer_all(object found, object frame, ssize_t place, const ps_question *asked)
{
    object answers = python.list(0), paths = python.in_tuple(python.in_tuple(asked->places, place), 2);
    for (ssize_t at = 0; answers && at < python.tuple_size(paths); at++)
        append(answers, answer(frame, python.in_tuple(paths, at), asked));
    if (answers)
        append(found, python.build("(nN)", place, answers));
}

static void look_at_frame(object found, object frame, ssize_t *next, const ps_question *asked)
{
    object code = python.code(frame);
    for (ssize_t at = *next; at < python.tuple_size(asked->places); at++) {
        object one = python.in_tuple(asked->places, at);
        if (python.in_tuple(one, 0) != code || python.integer(python.in_tuple(one, 1)) != last_of(frame))
            continue;
        answer_all(found, frame, at, asked);
        *next = at + 1;
        break;
    }
    python.drop(code);
}

static void walk(object found, object thread, uint32_t most, const ps_question *asked)
{
    ssize_t next = 0;
    object frame = python.frame(thread);
    while (frame) {
        object outer = NULL;
        if (asked)
            look_at_frame(found, frame, &next, asked);
        else
            append(found, python.build("(Nl)", python.code(frame), last_of(frame)));
        if (--most > 0)
            outer = python.back(frame);
        python.drop(frame);
        frame = outer;
    }
    python.clear_error();
}

static void *looked(uint32_t most, const ps_question *asked)
{
    object thread = thread_to_look_at();
    object found = python.is_found ? python.list(0) : NULL;
    if (found && thread) {
        bool is_held = python.collector_off();
        walk(found, thread, most, asked);
        if (is_held)
            python.collector_on();
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

PS_EXPORT void *ps_operands(void *places, void *kinds, void *holders, uint32_t inner_offset, uint32_t offset)
{
    ps_question asked = {places, kinds, holders, NULL, inner_offset, offset};
    return looked(MOST_FRAMES, &asked);
}

PS_EXPORT void *ps_values_held(void *places, void *kinds, void *holders, void *held, uint32_t inner_offset,
                               uint32_t offset)
{
    ps_question asked = {places, kinds, holders, held, inner_offset, offset};
    return looked(MOST_FRAMES, &asked);
}
