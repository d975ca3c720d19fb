// numpy's arrays as blocks of `scratch.h`.
#pragma once

namespace perfscope {

// From now on large arrays that the calling context makes are blocks that may live in files; false where this numpy
// does not let its memory be given.
bool give_numpy_blocks();

} // namespace perfscope
