/* The functions by which Python itself is asked: looked up by name, as a process need not be one of Python. */
#include "python/python_functions.h"

#include <dlfcn.h>
#include <link.h>

#include "state.h"

/* Where a library is in memory. */
typedef struct {
    uintptr_t start, end;
} extent;

static bool holds(extent where, uintptr_t address)
{
    return where.start <= address && address < where.end;
}

/* Puts the extent of the library that an address is in where its `start` was that address. */
static int measure(struct dl_phdr_info *library, size_t bytes, void *wanted)
{
    (void)bytes;
    extent *found = wanted, whole = {.start = UINTPTR_MAX};
    for (int i = 0; i < library->dlpi_phnum; i++) {
        if (library->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        uintptr_t start = library->dlpi_addr + library->dlpi_phdr[i].p_vaddr;
        uintptr_t end = start + library->dlpi_phdr[i].p_memsz;
        whole.start = start < whole.start ? start : whole.start;
        whole.end = end > whole.end ? end : whole.end;
    }
    if (!holds(whole, found->start))
        return 0;
    *found = whole;
    return 1;
}

/* A process may hold several Pythons: all functions are to be from one library. To ask `dladdr` of each would have it
 * go through all that Python exports, two dozen times at the start of a process. */
static bool find(void *function, const char *name)
{
    static extent library;
    void *found = dlsym(RTLD_DEFAULT, name);
    if (!found)
        return false;
    if (!library.end) {
        extent place = {.start = (uintptr_t)found};
        if (!dl_iterate_phdr(measure, &place))
            return false;
        library = place;
    }
    if (!holds(library, (uintptr_t)found))
        return false;
    *(void **)function = found;
    return true;
}

bool ps_find_by_name(void *place, const char *name)
{
    if (!*(void **)place && dlsym)
        *(void **)place = dlsym(RTLD_DEFAULT, name);
    return *(void **)place != NULL;
}

bool ps_find_python(ps_python_functions *python, const void *none, bool has_one_holder, bool may_collect)
{
    if (!dlsym || dlsym(RTLD_DEFAULT, "_Py_NoneStruct") != none)
        return false;
    python->none = none;
    find(&python->last, "PyFrame_GetLasti");
    find(&python->of_sys, "PySys_GetObject");
    find(&python->call, "PyObject_CallNoArgs");
    bool has_ending = find(&python->is_ending, "Py_IsFinalizing") || find(&python->is_ending, "_Py_IsFinalizing");
    return has_ending && find(&python->is_started, "Py_IsInitialized") && find(&python->add, "Py_AddPendingCall") &&
           find(&python->thread, "PyThreadState_Get") && find(&python->interpreter, "PyInterpreterState_Get") &&
           find(&python->first_interpreter, "PyInterpreterState_Main") && find(&python->error, "PyErr_Occurred") &&
           find(&python->clear_error, "PyErr_Clear") && find(&python->innermost, "PyThreadState_GetFrame") &&
           find(&python->back, "PyFrame_GetBack") && find(&python->code, "PyFrame_GetCode") &&
           find(&python->item, "PyObject_GetAttrString") && find(&python->integer, "PyLong_AsLong") &&
           find(&python->drop, "Py_DecRef") && find(&python->list, "PyList_New") &&
           find(&python->append, "PyList_Append") && find(&python->build, "Py_BuildValue") &&
           find(&python->lock, "PyGILState_Ensure") && find(&python->unlock, "PyGILState_Release") &&
           (!has_one_holder || find(&python->holder, "_PyThreadState_UncheckedGet")) &&
           (!may_collect ||
            (find(&python->collector_off, "PyGC_Disable") && find(&python->collector_on, "PyGC_Enable")));
}

int ps_last_of(const ps_python_functions *python, object frame)
{
    if (python->last)
        return python->last(frame);
    object value = python->item(frame, "f_lasti");
    long last = value ? python->integer(value) : -1;
    if (value)
        python->drop(value);
    return (int)last;
}
