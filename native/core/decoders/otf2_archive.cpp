#include "otf2_archive.h"

#include <unordered_set>

namespace perfscope::otf2 {

std::string Archive::events_path(const Location &location) const
{
    return anchor.directory + "/" + std::to_string(location.id) + ".evt";
}

Archive open_archive(const std::string &path)
{
    Archive archive;
    archive.anchor = read_anchor(path);
    archive.definitions = read_definitions(archive.anchor);
    std::unordered_set<uint64_t> ids;
    for (const Location &location : archive.definitions.locations)
        if (!ids.insert(location.id).second)
            throw FormatError(archive.anchor.definitions_path, 0,
                              "location " + std::to_string(location.id) + " is defined twice");
    return archive;
}

} // namespace perfscope::otf2
