#include "otf2_chunks.h"

#include <algorithm>

namespace perfscope::otf2 {

ChunkReader::ChunkReader(std::string path, uint64_t chunk_bytes) : file_(std::move(path)), chunk_bytes_(chunk_bytes)
{
    // a small file needs no block of full size
    const uint64_t wanted = std::min(chunk_bytes_, file_.size());
    buffer_ = std::make_unique<uint8_t[]>(wanted + PADDING);
}

bool ChunkReader::next(Chunk &chunk)
{
    if (place_ >= file_.size())
        return false;
    const uint64_t wanted = std::min(chunk_bytes_, file_.size() - place_);
    const size_t got = file_.read_at(place_, buffer_.get(), wanted);
    if (got < wanted)
        throw FormatError(path(), place_ + got, "the file became shorter while it was read");
    std::memset(buffer_.get() + got, 0, PADDING);
    Bytes header(buffer_.get(), buffer_.get() + got, false, path(), place_);
    if (header.u8() != CHUNK_HEADER)
        throw FormatError(path(), place_, "no chunk begins here: the file is damaged or of another format");
    const uint8_t order = header.u8();
    if (order != LITTLE_ENDIAN_MARK && order != BIG_ENDIAN_MARK)
        throw FormatError(path(), place_ + 1, "the byte order of a chunk is not known");
    Bytes numbers(header.position(), buffer_.get() + got, order == BIG_ENDIAN_MARK, path(), place_ + 2);
    chunk.first_record = numbers.u64_full();
    chunk.last_record = numbers.u64_full();
    chunk.swapped = order == BIG_ENDIAN_MARK;
    chunk.begin = numbers.position();
    chunk.end = buffer_.get() + got;
    chunk.offset = numbers.offset();
    place_ += got;
    chunk.is_last = place_ >= file_.size();
    return true;
}

void ChunkReader::check_end(const Chunk &chunk, const uint8_t *mark) const
{
    const auto offset = chunk.offset + static_cast<uint64_t>(mark - chunk.begin);
    if (*mark == END_OF_FILE) {
        // libotf2 puts END_OF_BUFFER behind it, and nothing else
        const auto rest = static_cast<size_t>(chunk.end - mark) - 1;
        if (!chunk.is_last || rest > 1 || (rest == 1 && mark[1] != END_OF_BUFFER))
            throw FormatError(path(), offset, "an end mark stands in the middle of the file: it is damaged");
        return;
    }
    const auto stray = std::find_if(mark, chunk.end, [](uint8_t byte) { return byte != 0; });
    if (stray != chunk.end)
        throw FormatError(path(), offset, "a chunk ends before its records do: the file is damaged");
    if (chunk.is_last)
        throw FormatError(path(), offset, "the file has no end mark: it was cut off");
}

} // namespace perfscope::otf2
