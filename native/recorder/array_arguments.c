#include "array_arguments.h"

#include <stdlib.h>

static struct {
    ps_function rank, size, remote_size, test_inter;
} library = {
    .rank = PS_FUNCTION(PMPI_Comm_rank),
    .size = PS_FUNCTION(PMPI_Comm_size),
    .remote_size = PS_FUNCTION(PMPI_Comm_remote_size),
    .test_inter = PS_FUNCTION(PMPI_Comm_test_inter),
};

static int ask(ps_function *function, ps_word comm)
{
    int answer = 0;
    if (ps_ready(function))
        PS_CALL(function, ps_call_2, comm, (ps_word)&answer);
    return answer;
}

bool ps_is_root(ps_word comm, ps_word root)
{
    if (ps_abi.abi == PS_ABI_UNKNOWN)
        ps_abi_learn();
    return ask(&library.test_inter, comm) ? (int)root == ps_abi.root : (int)root == ask(&library.rank, comm);
}

bool ps_narrow_arrays(const ps_function *function, ps_word comm, ps_word **arrays, int count, void **owned)
{
    if (!function->is_narrow)
        return true;
    int size = ask(ask(&library.test_inter, comm) ? &library.remote_size : &library.size, comm);
    int *narrow = malloc((size_t)size * (size_t)count * sizeof *narrow);
    *owned = narrow;
    bool fits = narrow != NULL;
    for (int a = 0; fits && a < count; a++) {
        const int64_t *wide = (const int64_t *)*arrays[a];
        for (int i = 0; wide && i < size; i++) {
            fits = fits && wide[i] >= INT_MIN && wide[i] <= INT_MAX;
            narrow[a * size + i] = (int)wide[i];
        }
        if (wide)
            *arrays[a] = (ps_word)(narrow + a * size);
    }
    if (!fits) {
        free(narrow);
        *owned = NULL;
    }
    return fits;
}
