#include "otf2_anchor.h"

#include "otf2_chunks.h"

#include <algorithm>

namespace perfscope::otf2 {

static constexpr uint64_t MOST_ANCHOR_BYTES = 1 << 20;
static constexpr uint8_t NEWEST_FORMAT = 3;
enum Substrate : uint8_t { POSIX = 1, SION = 2 };
enum Compression : uint8_t { NONE = 1, ZLIB = 2 };

std::string Anchor::property(const std::string &name) const
{
    for (const auto &[key, value] : properties)
        if (key == name)
            return value;
    return {};
}

static uint64_t chunk_bytes(Bytes &bytes)
{
    const uint64_t size = bytes.u64_full();
    if (size < MIN_CHUNK || size > MAX_CHUNK)
        bytes.fail("a chunk size is outside 256 KiB to 16 MiB");
    return size;
}

static void check_storage(Bytes &bytes)
{
    const uint8_t substrate = bytes.u8();
    if (substrate == SION)
        bytes.fail("the archive is stored in SION files, which cannot be read; convert it to the POSIX substrate "
                   "(with otf2-merger or sionsplit) or record with SCOREP_TRACING_USE_SION=false");
    if (substrate != POSIX)
        bytes.fail("the way the archive is stored (its substrate) is not known");
    const uint8_t compression = bytes.u8();
    if (compression == ZLIB)
        bytes.fail("the archive is compressed with zlib, which cannot be read; record it without compression");
    if (compression > ZLIB)
        bytes.fail("the compression of the archive is not known");
}

static void read_properties(Bytes &bytes, uint8_t format, Anchor &anchor)
{
    if (format < 2)
        return;
    const uint32_t count = bytes.u32_full();
    bytes.expect(count, 2);
    for (uint32_t i = 0; i < count; i++) {
        std::string name(bytes.text());
        anchor.properties.emplace_back(std::move(name), std::string(bytes.text()));
    }
    anchor.trace_id = bytes.u64_full();
}

Anchor read_anchor(const std::string &path)
{
    const InputFile file(path);
    const uint64_t size = std::min(file.size(), MOST_ANCHOR_BYTES);
    std::vector<uint8_t> content(size);
    content.resize(file.read_at(0, content.data(), size));
    const uint8_t *end = content.data() + content.size();
    Bytes header(content.data(), end, false, path, 0);
    if (content.size() < 2 || header.u8() != CHUNK_HEADER)
        throw FormatError(path, 0, "no OTF2 anchor file begins here");
    const uint8_t order = header.u8();
    if (order != LITTLE_ENDIAN_MARK && order != BIG_ENDIAN_MARK)
        throw FormatError(path, 1, "the byte order of the file is not known");
    Bytes bytes(header.position(), end, order == BIG_ENDIAN_MARK, path, header.offset());
    if (bytes.text() != "OTF2")
        throw FormatError(path, 2, "no OTF2 anchor file: the name of the format is not there");
    Anchor anchor;
    anchor.path = path;
    const uint8_t format = bytes.u8();
    if (format == 0)
        bytes.fail("the version of the anchor file is not known");
    bytes.u8(); // the trace format, which is always 3 for OTF2
    for (uint8_t &part : anchor.version)
        part = bytes.u8();
    anchor.event_chunk_bytes = chunk_bytes(bytes);
    anchor.definition_chunk_bytes = chunk_bytes(bytes);
    check_storage(bytes);
    anchor.locations = bytes.u64_full();
    anchor.definitions = bytes.u64_full();
    anchor.machine = bytes.text();
    anchor.creator = bytes.text();
    anchor.description = bytes.text();
    read_properties(bytes, format, anchor);
    if (format == NEWEST_FORMAT) {
        bytes.skip(8); // the numbers of snapshots and thumbnails
        if (bytes.u8() != END_OF_FILE)
            bytes.fail("the anchor file does not end where it should");
    }
    const auto dot = path.rfind(".otf2");
    const bool has_suffix = dot != std::string::npos && dot + 5 == path.size();
    anchor.directory = has_suffix ? path.substr(0, dot) : path;
    anchor.definitions_path = anchor.directory + ".def";
    return anchor;
}

} // namespace perfscope::otf2
