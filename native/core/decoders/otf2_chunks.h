// OTF2 files as chunks: fixed-size blocks that begin with a header and end with a mark.
#pragma once

#include "../input.h"
#include "otf2_bytes.h"

#include <memory>
#include <vector>

namespace perfscope::otf2 {

enum Mark : uint8_t {
    END_OF_CHUNK = 0,
    END_OF_BUFFER = 1,
    END_OF_FILE = 2,
    CHUNK_HEADER = 3,
    TIMESTAMP = 5,
    ATTRIBUTE_LIST = 6,
};

constexpr uint64_t MIN_CHUNK = 256 << 10, MAX_CHUNK = 16 << 20; // bytes, as libotf2 has them
constexpr size_t CHUNK_HEADER_BYTES = 18;
constexpr size_t PADDING = 64; // zero bytes behind a block: a fast reader may look so far past its end

// One block of a chunked file in memory.
struct Chunk {
    const uint8_t *begin; // first record
    const uint8_t *end;   // behind the last byte
    uint64_t offset;      // of `begin` in the file
    bool swapped;
    bool is_last;
    uint64_t first_record, last_record; // numbers as the header has them, counted from 1
};

// Reads a chunked file block by block.
class ChunkReader {
public:
    ChunkReader(std::string path, uint64_t chunk_bytes);

    const std::string &path() const { return file_.path(); }
    uint64_t size() const { return file_.size(); }
    // The next block; false behind the last one. The block before is gone then.
    bool next(Chunk &chunk);
    // Throws unless the marks at `mark` (the end mark of a chunk) are those of a whole file.
    void check_end(const Chunk &chunk, const uint8_t *mark) const;

private:
    InputFile file_;
    uint64_t chunk_bytes_;
    uint64_t place_ = 0;
    std::unique_ptr<uint8_t[]> buffer_;
};

} // namespace perfscope::otf2
