/* The functions by which Python itself is asked: looked up by name, as a process need not be one of Python. */
#include "python_functions.h"

#include <dlfcn.h>

#include "state.h"

/* A process may hold several Pythons: all functions are to be from one library. */
static bool find(void *function, const char *name)
{
    static void *base;
    Dl_info place;
    void *found = dlsym(RTLD_DEFAULT, name);
    if (!found || !dladdr(found, &place) || (base && place.dli_fbase != base))
        return false;
    base = place.dli_fbase;
    *(void **)function = found;
    return true;
}

bool ps_find_python(ps_python_functions *python, const void *none, bool has_one_holder, bool may_collect)
{
    if (!dlsym || !dladdr || dlsym(RTLD_DEFAULT, "_Py_NoneStruct") != none)
        return false;
    find(&python->last, "PyFrame_GetLasti");
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
