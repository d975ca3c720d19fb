#include "mpi/array_arguments.h"

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

static bool narrow_one(ps_word *array, int size, int *narrow)
{
    const int64_t *wide = (const int64_t *)*array;
    for (int i = 0; wide && i < size; i++) {
        if (wide[i] < INT_MIN || wide[i] > INT_MAX)
            return false;
        narrow[i] = (int)wide[i];
    }
    if (wide)
        *array = (ps_word)narrow;
    return true;
}

bool ps_narrow_sized(const ps_function *function, ps_word **arrays, const int *sizes, int count, void **owned)
{
    size_t total = 1; /* a rank without neighbors has arrays too */
    if (!function->is_narrow)
        return true;
    for (int a = 0; a < count; a++)
        total += (size_t)sizes[a];
    int *narrow = malloc(total * sizeof *narrow);
    *owned = narrow;
    bool fits = narrow != NULL;
    for (int a = 0; fits && a < count; narrow += sizes[a++])
        fits = narrow_one(arrays[a], sizes[a], narrow);
    if (!fits) {
        free(*owned);
        *owned = NULL;
    }
    return fits;
}

bool ps_narrow_arrays(const ps_function *function, ps_word comm, ps_word **arrays, int count, void **owned)
{
    if (!function->is_narrow)
        return true;
    int size = ask(ask(&library.test_inter, comm) ? &library.remote_size : &library.size, comm);
    int sizes[] = {size, size, size, size};
    return ps_narrow_sized(function, arrays, sizes, count, owned);
}

bool ps_narrow_pair(const ps_function *function, ps_word comm, ps_word *first, ps_word *second, void **owned)
{
    ps_word *arrays[] = {first, second};
    return ps_narrow_arrays(function, comm, arrays, second ? 2 : 1, owned);
}

bool ps_narrow_at_root(const ps_function *function, ps_word comm, ps_word root, ps_word *first, ps_word *second,
                       void **owned)
{
    return !ps_is_root(comm, root) || ps_narrow_pair(function, comm, first, second, owned);
}

bool ps_narrow_both_sides(const ps_function *function, ps_word comm, ps_word send, ps_word **arrays, void **owned)
{
    /* With MPI_IN_PLACE the arrays of the sending side, which come first, mean nothing. */
    bool is_in_place = ps_abi.abi != PS_ABI_UNKNOWN && send == ps_abi.in_place;
    return ps_narrow_arrays(function, comm, is_in_place ? arrays + 2 : arrays, is_in_place ? 2 : 4, owned);
}
