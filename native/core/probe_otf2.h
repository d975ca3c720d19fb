// OTF2 archives read by the probe.
#pragma once

#include <string>

namespace perfscope {

// Reads the archive with the anchor file at `path` in every way. Throws FormatError or ReadError.
void read_otf2_archive(const std::string &path);

// The same for the probe. For "-" the names of anchor files come from standard
// input, one a line, and each is answered by a line, also where the archive is refused.
int probe_otf2(const char *path);

} // namespace perfscope
