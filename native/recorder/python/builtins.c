/* What the agent calls in every step, as functions that Python calls itself: it hands their arguments over as they are.
 * Through ctypes, a call takes several times as long as what it does. */
#include <dlfcn.h>
#include <string.h>
#include <sys/types.h>

#include "perfscope_recorder.h"
#include "python/python_functions.h"
#include "state.h"

#define NO_ARGUMENTS 0x04 /* of a method, in Python's stable interface: this and the next one */
#define ANY_NUMBER 0x80
#define MOST_ARGUMENTS 6

typedef void *object;
typedef object builtin(object, object const *, ssize_t);

/* PyMethodDef */
typedef struct {
    const char *name;
    builtin *call;
    int flags;
    const char *description;
} method;

static struct {
    void (*keep)(object);
    object (*make)(method *, object, object);
    object (*number)(unsigned long long);
    unsigned long long (*value)(object);
    object (*error)(void);
    int (*refuse)(void);
    object none;
} python;

static object nothing(void)
{
    python.keep(python.none);
    return python.none;
}

/* Negative numbers wrap around, as they do through ctypes. */
static bool read_numbers(object const *given, ssize_t count, ssize_t wanted, uint64_t *values)
{
    if (count != wanted)
        return python.refuse();
    for (ssize_t i = 0; i < count; i++) {
        values[i] = python.value(given[i]);
        if (values[i] == UINT64_MAX && python.error())
            return false;
    }
    return true;
}

static object now(object self, object const *given, ssize_t count)
{
    (void)self, (void)given, (void)count;
    return python.number(ps_now());
}

static object phase_begin(object self, object const *given, ssize_t count)
{
    (void)self;
    uint64_t is[MOST_ARGUMENTS] = {0};
    if (!read_numbers(given, count, 4, is))
        return NULL;
    return python.number(ps_phase_begin((uint32_t)is[0], (uint32_t)is[1], (uint32_t)is[2], (int32_t)is[3]));
}

static object phase_end(object self, object const *given, ssize_t count)
{
    (void)self;
    uint64_t is[MOST_ARGUMENTS] = {0};
    if (!read_numbers(given, count, 1, is))
        return NULL;
    ps_phase_end(is[0]);
    return nothing();
}

static object phase(object self, object const *given, ssize_t count)
{
    (void)self;
    uint64_t is[MOST_ARGUMENTS] = {0};
    if (!read_numbers(given, count, 6, is))
        return NULL;
    ps_phase((uint32_t)is[0], (uint32_t)is[1], (uint32_t)is[2], (int32_t)is[3], is[4], is[5]);
    return nothing();
}

static object step(object self, object const *given, ssize_t count)
{
    (void)self;
    uint64_t is[MOST_ARGUMENTS] = {0};
    if (!read_numbers(given, count, 6, is))
        return NULL;
    ps_step((uint32_t)is[0], (int32_t)is[1], is[2], is[3], is[4], is[5]);
    return nothing();
}

static method methods[] = {
    {"now", now, NO_ARGUMENTS, NULL},          {"phase_begin", phase_begin, ANY_NUMBER, NULL},
    {"phase_end", phase_end, ANY_NUMBER, NULL}, {"phase", phase, ANY_NUMBER, NULL},
    {"step", step, ANY_NUMBER, NULL},
};

/* Of several Pythons in a process the one is meant that `none` belongs to. */
static bool find_python(object none)
{
    object own = dlsym ? dlsym(RTLD_DEFAULT, "_Py_NoneStruct") : NULL;
    if (own != none)
        return false;
    python.none = none;
    return ps_find_by_name(&python.make, "PyCFunction_NewEx") &&
           ps_find_by_name(&python.number, "PyLong_FromUnsignedLongLong") &&
           ps_find_by_name(&python.value, "PyLong_AsUnsignedLongLongMask") &&
           ps_find_by_name(&python.error, "PyErr_Occurred") &&
           ps_find_by_name(&python.refuse, "PyErr_BadArgument");
}

PS_EXPORT void *ps_builtin(const char *name, void *none)
{
    if (!ps_find_by_name(&python.keep, "Py_IncRef"))
        return NULL;
    for (size_t i = 0; find_python(none) && i < sizeof methods / sizeof *methods; i++)
        if (strcmp(methods[i].name, name) == 0)
            return python.make(&methods[i], NULL, NULL);
    python.keep(none);
    return none;
}
