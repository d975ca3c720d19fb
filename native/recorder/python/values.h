#ifndef PS_PYTHON_VALUES_H
#define PS_PYTHON_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "python/python_functions.h"

/* What an object tells the collector of: it calls the function with each object that it holds, until that returns not 0. */
typedef int (*ps_traverse)(object, int (*)(object, void *), void *);

typedef struct {
    bool is_looked_for, is_found;
    object (*frame)(object), (*back)(object), (*code)(object), (*item)(object, const char *);
    object (*attribute)(object, object), (*of_type)(object, object), (*in_dict)(object, object), (*in_cell)(object);
    object (*list)(ssize_t), (*build)(const char *, ...), (*call)(object, ...);
    object (*in_tuple)(object, ssize_t), (*in_list)(object, ssize_t);
    ssize_t (*tuple_size)(object), (*list_size)(object), (*dict_size)(object);
    int (*next_in_dict)(object, ssize_t *, object *, object *);
    int (*append)(object, object), (*collector_off)(void), (*collector_on)(void), (*is_subtype)(object, object);
    int (*is_collected)(object);
    ps_traverse (*slot)(object, int);
    long (*integer)(object);
    void (*keep)(object), (*drop)(object), (*clear_error)(void);
    object none, member, cell, dict, number, list_type, tuple_type;
} ps_value_functions;

/* What Python values are asked with; only where `is_found`. */
extern ps_value_functions ps_values;

/* Finds it once. */
void ps_find_value_functions(void);

object ps_pointer_at(const char *address);
object ps_type_of(object value);

/* Takes over the reference to what is appended, which may be NULL. */
void ps_append(object list, object made);

/* The readers that `kinds`, a tuple of tuples, names for the type of a value, NULL where there are none. Behind a type and
 * its readers something third may stand: then they are for types that are made from it as well. */
object ps_readers_for(object value, object kinds);

/* What the readers tell of a value, as a new list; NULL where one of them fails. */
object ps_readings_of(object value, object readers);

/* How many values an object holds, and its identity, as a new tuple: those of what the readers tell the size of, as far as
 * that is reached. */
object ps_values_in(object value, object kinds);

/* An object and all that it holds, as a new list, empty where that is more than is reached: a number that tells how it is
 * built, which is who holds whom and in which order, keys of dictionaries among it; then tuples: of the object and of each
 * that it holds the identity, the type, and a list of what the readers tell, or None where there are none. */
object ps_held_in(object value, object kinds);

#endif
