/* What Python values tell of themselves, and how much they hold. The caller keeps the interpreter's lock. */
#include "python/values.h"

#include <stdint.h>
#include <string.h>

#define MOST_HELD 64  /* objects that one is asked of: what it holds, and what that holds */
#define MOST_MET 1024 /* times that one object is seen to hold another */
#define TRAVERSE 71   /* Py_tp_traverse, of Python's stable ABI */

static const uint64_t first_form = 0xcbf29ce484222325, form_step = 0x100000001b3; /* FNV-1a */

ps_value_functions ps_values;

static bool find_functions(ps_value_functions *python)
{
    return ps_find_by_name(&python->keep, "Py_IncRef") && ps_find_by_name(&python->drop, "Py_DecRef") &&
           ps_find_by_name(&python->list, "PyList_New") &&
           ps_find_by_name(&python->frame, "PyThreadState_GetFrame") &&
           ps_find_by_name(&python->back, "PyFrame_GetBack") && ps_find_by_name(&python->code, "PyFrame_GetCode") &&
           ps_find_by_name(&python->item, "PyObject_GetAttrString") &&
           ps_find_by_name(&python->attribute, "PyObject_GenericGetAttr") &&
           ps_find_by_name(&python->of_type, "_PyType_Lookup") &&
           ps_find_by_name(&python->in_dict, "PyDict_GetItem") && ps_find_by_name(&python->in_cell, "PyCell_Get") &&
           ps_find_by_name(&python->build, "Py_BuildValue") &&
           ps_find_by_name(&python->call, "PyObject_CallFunctionObjArgs") &&
           ps_find_by_name(&python->in_tuple, "PyTuple_GetItem") &&
           ps_find_by_name(&python->in_list, "PyList_GetItem") &&
           ps_find_by_name(&python->tuple_size, "PyTuple_Size") &&
           ps_find_by_name(&python->list_size, "PyList_Size") &&
           ps_find_by_name(&python->dict_size, "PyDict_Size") &&
           ps_find_by_name(&python->next_in_dict, "PyDict_Next") &&
           ps_find_by_name(&python->append, "PyList_Append") &&
           ps_find_by_name(&python->is_subtype, "PyType_IsSubtype") &&
           ps_find_by_name(&python->is_collected, "PyObject_IS_GC") &&
           ps_find_by_name(&python->slot, "PyType_GetSlot") &&
           ps_find_by_name(&python->collector_off, "PyGC_Disable") &&
           ps_find_by_name(&python->collector_on, "PyGC_Enable") &&
           ps_find_by_name(&python->integer, "PyLong_AsLong") &&
           ps_find_by_name(&python->clear_error, "PyErr_Clear");
}

static bool find_types(ps_value_functions *python)
{
    return ps_find_by_name(&python->none, "_Py_NoneStruct") &&
           ps_find_by_name(&python->member, "PyMemberDescr_Type") && ps_find_by_name(&python->cell, "PyCell_Type") &&
           ps_find_by_name(&python->dict, "PyDict_Type") && ps_find_by_name(&python->number, "PyLong_Type") &&
           ps_find_by_name(&python->list_type, "PyList_Type") &&
           ps_find_by_name(&python->tuple_type, "PyTuple_Type");
}

void ps_find_value_functions(void)
{
    if (ps_values.is_looked_for)
        return;
    ps_values.is_looked_for = true;
    ps_values.is_found = find_functions(&ps_values) && find_types(&ps_values);
}

object ps_pointer_at(const char *address)
{
    object pointer;
    memcpy(&pointer, address, sizeof pointer);
    return pointer;
}

object ps_type_of(object value)
{
    return ps_pointer_at((const char *)value + sizeof(object));
}

void ps_append(object list, object made)
{
    if (!made)
        return;
    ps_values.append(list, made);
    ps_values.drop(made);
}

static bool is_a(object value, object type)
{
    return ps_values.is_subtype(ps_type_of(value), type);
}

object ps_readers_for(object value, object kinds)
{
    for (ssize_t at = 0; at < ps_values.tuple_size(kinds); at++) {
        object kind = ps_values.in_tuple(kinds, at), type = ps_values.in_tuple(kind, 0);
        if (type == ps_type_of(value) || (ps_values.tuple_size(kind) > 2 && is_a(value, type)))
            return ps_values.in_tuple(kind, 1);
    }
    return NULL;
}

/* What one reader tells of a value: a function; several, each asked of what the one before it told; or where in the
 * object a pointer is. */
static object reading_of(object value, object reader)
{
    if (ps_type_of(reader) == ps_values.number) {
        const char *place = (const char *)value + ps_values.integer(reader);
        return ps_values.build("K", (unsigned long long)(uintptr_t)ps_pointer_at(place));
    }
    if (ps_type_of(reader) != ps_values.tuple_type)
        return ps_values.call(reader, value, NULL);
    object told = ps_values.call(ps_values.in_tuple(reader, 0), value, NULL);
    for (ssize_t at = 1; told && at < ps_values.tuple_size(reader); at++) {
        object next = ps_values.call(ps_values.in_tuple(reader, at), told, NULL);
        ps_values.drop(told);
        told = next;
    }
    return told;
}

object ps_readings_of(object value, object readers)
{
    object found = ps_values.list(0);
    for (ssize_t at = 0; found && at < ps_values.tuple_size(readers); at++) {
        object told = reading_of(value, ps_values.in_tuple(readers, at));
        if (!told) {
            ps_values.clear_error();
            ps_values.drop(found);
            return NULL;
        }
        ps_append(found, told);
    }
    return found;
}

typedef struct {
    object known[MOST_HELD];
    double weights[MOST_HELD]; /* how many each one stands for: the first items of a long list for all of them */
    size_t count, met;
    bool has_keys, is_cut; /* whether keys of dictionaries are met as well; whether there is more than was reached */
    uint64_t form;         /* of which object holds which, in order: the same for what is built alike */
} reached;

/* Notes that something is held, and what is not known yet as to be looked at. */
static void reach(reached *all, object one, double weight)
{
    size_t at = 0;
    while (at < all->count && all->known[at] != one)
        at++;
    if (at == MOST_HELD || all->met == MOST_MET) {
        all->is_cut = true;
        return;
    }
    all->met++;
    all->form = (all->form ^ at) * form_step;
    if (at < all->count)
        return;
    ps_values.keep(one);
    all->known[at] = one;
    all->weights[at] = weight;
    all->count++;
}

/* Items of a container; of one that has more than there is room for the first ones, which stand for all. */
static void reach_items(reached *all, object container, ssize_t size, double weight)
{
    bool is_list = is_a(container, ps_values.list_type), is_dict = is_a(container, ps_values.dict);
    ssize_t room = (ssize_t)(MOST_HELD - all->count), wanted = size < room ? size : room, next = 0;
    object key = NULL, item = NULL;
    all->is_cut = all->is_cut || wanted < size;
    for (ssize_t at = 0; at < wanted; at++) {
        if (!is_dict)
            item = is_list ? ps_values.in_list(container, at) : ps_values.in_tuple(container, at);
        else if (!ps_values.next_in_dict(container, &next, &key, &item))
            return;
        if (is_dict && all->has_keys)
            reach(all, key, weight);
        reach(all, item, weight * (double)size / (double)wanted);
    }
}

typedef struct {
    reached *all;
    object owner;
    double weight;
} holder;

/* What Python's collector would be told of one thing that an object holds; not 0 where no more is asked. */
static int reach_referent(object one, void *place)
{
    const holder *from = place;
    if (one != ps_type_of(from->owner))
        reach(from->all, one, from->weight);
    return from->all->is_cut;
}

/* What an object refers to, where nothing is known of its kind: its type's own function of C tells. */
static void reach_referents(reached *all, object value, double weight)
{
    holder from = {all, value, weight};
    ps_traverse traverse = ps_values.is_collected(value) ? ps_values.slot(ps_type_of(value), TRAVERSE) : NULL;
    if (traverse)
        traverse(value, reach_referent, &from);
}

/* Of a list, tuple or dictionary, made from these or not, how many items it has; -1 of anything else. */
static ssize_t items_in(object value)
{
    if (is_a(value, ps_values.list_type))
        return ps_values.list_size(value);
    if (is_a(value, ps_values.tuple_type))
        return ps_values.tuple_size(value);
    return is_a(value, ps_values.dict) ? ps_values.dict_size(value) : -1;
}

/* What the first of the readers for its kind tells; 0 where nothing can be told. */
static double size_of(object value, object readers)
{
    object told = ps_values.tuple_size(readers) ? ps_readings_of(value, readers) : NULL;
    long size = told ? ps_values.integer(ps_values.in_list(told, 0)) : 0;
    if (told)
        ps_values.drop(told);
    return size > 0 ? (double)size : 0.0;
}

/* An object, what it holds, what that holds, and so on. */
static void reach_all(reached *all, object value, object kinds, bool has_keys)
{
    *all = (reached){.has_keys = has_keys, .form = first_form};
    reach(all, value, 1.0);
    for (size_t at = 0; at < all->count; at++) {
        object one = all->known[at];
        ssize_t items = items_in(one);
        all->form = (all->form ^ (MOST_HELD + at)) * form_step;
        if (items > 0)
            reach_items(all, one, items, all->weights[at]);
        else if (items < 0 && !ps_readers_for(one, kinds))
            reach_referents(all, one, all->weights[at]);
    }
}

static void leave(reached *all)
{
    for (size_t at = 0; at < all->count; at++)
        ps_values.drop(all->known[at]);
    ps_values.clear_error();
}

object ps_values_in(object value, object kinds)
{
    reached all;
    double values = 0.0;
    reach_all(&all, value, kinds, false);
    for (size_t at = 0; at < all.count; at++) {
        object readers = ps_readers_for(all.known[at], kinds);
        ssize_t items = items_in(all.known[at]);
        values += all.weights[at] * (items >= 0 ? (double)items : readers ? size_of(all.known[at], readers) : 0.0);
    }
    leave(&all);
    unsigned long long whole = (unsigned long long)(values + 0.5);
    return ps_values.build("(KK)", whole, (unsigned long long)(uintptr_t)value);
}

object ps_held_in(object value, object kinds)
{
    reached all;
    object found = ps_values.list(0);
    reach_all(&all, value, kinds, true);
    if (found && !all.is_cut)
        ps_append(found, ps_values.build("K", (unsigned long long)all.form));
    for (size_t at = 0; found && !all.is_cut && at < all.count; at++) {
        object one = all.known[at], readers = ps_readers_for(one, kinds);
        object told = readers ? ps_readings_of(one, readers) : NULL;
        unsigned long long identity = (unsigned long long)(uintptr_t)one;
        ps_append(found, told ? ps_values.build("(KON)", identity, ps_type_of(one), told)
                              : ps_values.build("(KOO)", identity, ps_type_of(one), ps_values.none));
    }
    leave(&all);
    return found;
}
