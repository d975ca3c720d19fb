// The anchor file of an OTF2 archive: what the archive is and where its parts are.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace perfscope::otf2 {

// What the anchor file says.
struct Anchor {
    std::string path;
    std::string definitions_path; // of the global definitions
    std::string directory;        // where the files of the locations are
    uint8_t version[3];           // of the library that wrote it
    uint64_t event_chunk_bytes, definition_chunk_bytes;
    uint64_t locations, definitions; // how many it should hold
    std::string machine, creator, description;
    std::vector<std::pair<std::string, std::string>> properties;
    uint64_t trace_id = 0;

    // The value of a property, empty where it is not there.
    std::string property(const std::string &name) const;
};

// Reads the anchor at `path`. Throws FormatError also where the archive is of a kind that is not read (SION, zlib).
Anchor read_anchor(const std::string &path);

} // namespace perfscope::otf2
