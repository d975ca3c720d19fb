// What this library was made from: `perfscope run` looks for it in the file, nothing in the job reads it.
#include "sources_digest.h"

__attribute__((used)) static const char made_from[] = PERFSCOPE_SOURCES;
