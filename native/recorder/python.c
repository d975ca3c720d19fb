/* What the agent asks of Python's own memory that no call of Python's tells without a side effect. */
#include <dlfcn.h>
#include <string.h>

#include "buffer.h"
#include "perfscope_recorder.h"

static char *pointer_at(const char *address)
{
    char *pointer;
    memcpy(&pointer, address, sizeof pointer);
    return pointer;
}

PS_EXPORT void *ps_type_of_variable(const void *frame, uint32_t inner_offset, uint32_t offset, void *none)
{
    static void (*keep)(void *); /* the interpreter's lock keeps other threads out */
    if (!keep && dlsym)
        *(void **)&keep = dlsym(RTLD_DEFAULT, "Py_IncRef");
    if (!keep)
        return NULL;
    const char *variables = inner_offset ? pointer_at((const char *)frame + inner_offset) : frame;
    const char *value = variables ? pointer_at(variables + offset) : NULL;
    void *type = value ? pointer_at(value + sizeof(void *)) : none;
    keep(type);
    return type;
}
