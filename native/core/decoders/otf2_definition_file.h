// Walks over the records of a file of definitions, global or of one location.
#pragma once

#include "otf2_chunks.h"

namespace perfscope::otf2 {

constexpr uint8_t FIRST_DEFINITION = 5; // below it stand marks

// Calls take(type, payload) for every record.
template <class Take> void for_each_definition(ChunkReader &file, Take &&take)
{
    if (!file.size())
        throw FormatError(file.path(), 0, "the file is empty");
    for (Chunk chunk; file.next(chunk);) {
        Bytes bytes(chunk.begin, chunk.end, chunk.swapped, file.path(), chunk.offset);
        for (;;) {
            if (bytes.at_end())
                bytes.fail("the file has no end mark: it was cut off");
            const uint8_t *mark = bytes.position();
            const uint8_t type = bytes.u8();
            if (type == END_OF_CHUNK || type == END_OF_FILE) {
                file.check_end(chunk, mark);
                break;
            }
            if (type < FIRST_DEFINITION)
                bytes.fail("a mark stands where a definition should: the file is damaged");
            Bytes payload = bytes.record();
            take(type, payload);
        }
    }
}

} // namespace perfscope::otf2
