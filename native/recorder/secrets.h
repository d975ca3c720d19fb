/* Secrets in short texts that a program chose: names of its threads, the path of its MPI library. */
#ifndef PERFSCOPE_SECRETS_H
#define PERFSCOPE_SECRETS_H

#include <stddef.h>

/* Replaces what looks like a secret in a terminated text, in place; a longer text is cut at bytes - 1. */
void ps_redact(char *text, size_t bytes);

#endif
