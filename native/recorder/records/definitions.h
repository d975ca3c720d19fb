/* The .def file: texts and tables that records refer to by number. Append-only. */
#ifndef PERFSCOPE_DEFINITIONS_H
#define PERFSCOPE_DEFINITIONS_H

#include "state.h"

/* Creates the file; it will not grow beyond max_bytes. False with errno set when it cannot be created. */
bool ps_definitions_create(const char *path, uint64_t max_bytes);
/* One entry whose payload is head followed by body. False when it could not be written. */
bool ps_define(uint16_t type, uint32_t id, const void *head, uint32_t head_bytes, const void *body,
               uint32_t body_bytes);
void ps_define_text(uint16_t type, const char *text, uint32_t bytes);
void ps_define_note(const char *text, uint32_t bytes);
/* In a forked child: the file is the parent's. */
void ps_definitions_forget(void);

#endif
