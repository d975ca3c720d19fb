/* Functions that a program has Python call at each of its lines or calls: profilers, debuggers, measures of coverage. */
#include "python/hooks.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "perfscope_recorder.h"
#include "state.h"

#define HOOKS 2

static struct {
    atomic_uint looks, set[HOOKS];
} seen;

static bool is_set(const ps_python_functions *python, const char *getter_name)
{
    object getter = python->of_sys(getter_name), hook = getter ? python->call(getter) : NULL;
    if (!hook) {
        python->clear_error();
        return false;
    }
    python->drop(hook);
    return hook != python->none;
}

void ps_look_for_hooks(const ps_python_functions *python)
{
    static const char *const getters[HOOKS] = {"getprofile", "gettrace"};
    if (!python->of_sys || !python->call)
        return;
    atomic_fetch_add(&seen.looks, 1);
    for (size_t i = 0; i < HOOKS; i++)
        atomic_fetch_add(&seen.set[i], is_set(python, getters[i]));
}

PS_EXPORT uint32_t ps_hooked(uint32_t hook)
{
    uint32_t looks = atomic_load(&seen.looks);
    return looks && hook < HOOKS ? (uint32_t)((uint64_t)100 * atomic_load(&seen.set[hook]) / looks) : 0;
}
