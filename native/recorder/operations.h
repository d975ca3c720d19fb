/* Codes of the recorded operations. */
#ifndef PERFSCOPE_OPERATIONS_H
#define PERFSCOPE_OPERATIONS_H

enum ps_operation {
#define OPERATION(code, name, class) PS_OP_##name = code,
#include "operations.def"
#undef OPERATION
};

#endif
