#include "scratch.h"

#include "parallel.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

namespace perfscope {

static constexpr size_t PAGE = 4096;
static constexpr size_t MOVED_AT_ONCE = 8 << 20;

// Mapped blocks begin with a page; hardly any block of the allocator does.
static bool may_be_here(void *block)
{
    return reinterpret_cast<uintptr_t>(block) % PAGE == 0;
}

Scratch::Scratch(std::string directory, size_t most_resident_bytes)
    : directory_(std::move(directory)), most_resident_(most_resident_bytes)
{
}

void *Scratch::take(size_t bytes, bool is_zero, bool is_alone) noexcept
{
    const size_t room = (bytes + PAGE - 1) / PAGE * PAGE;
    const std::lock_guard<std::mutex> lock(mutex_);
    if (void *block = take_kept(room)) {
        if (is_zero)
            std::memset(block, 0, bytes);
        return block;
    }
    make_room(room, is_alone);
    return resident_bytes_ + room <= most_resident_ ? take_resident(room) : take_file(room);
}

// The smallest block that has the room and is not much larger.
void *Scratch::take_kept(size_t bytes)
{
    auto best = kept_.end();
    for (auto one = kept_.begin(); one != kept_.end(); ++one) {
        const bool has_room = one->bytes >= bytes && one->bytes - bytes <= bytes / 4;
        if (has_room && (best == kept_.end() || one->bytes <= best->bytes))
            best = one;
    }
    if (best == kept_.end())
        return nullptr;
    const Kept found = *best;
    kept_.erase(best);
    kept_bytes_ -= found.bytes;
    resident_bytes_ += found.bytes;
    live_[found.begin] = {found.bytes, ++births_};
    resident_[births_] = found.begin;
    return found.begin;
}

void Scratch::drop_oldest_kept()
{
    ::munmap(kept_.front().begin, kept_.front().bytes);
    kept_bytes_ -= kept_.front().bytes;
    kept_.erase(kept_.begin());
}

// Lets go of what is kept, and moves the oldest blocks, until a block of that size fits.
void Scratch::make_room(size_t bytes, bool is_alone)
{
    while (!kept_.empty() && resident_bytes_ + kept_bytes_ + bytes > most_resident_)
        drop_oldest_kept();
    while (is_alone && !resident_.empty() && bytes <= most_resident_ && resident_bytes_ + bytes > most_resident_) {
        const auto oldest = resident_.begin();
        Block &block = live_[oldest->second];
        if (!move_to_file(oldest->second, block.bytes))
            return;
        resident_bytes_ -= block.bytes;
        block.birth = 0;
        resident_.erase(oldest);
    }
}

void *Scratch::take_resident(size_t bytes)
{
    void *block = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) {
        refuse(errno, bytes);
        return nullptr;
    }
    resident_bytes_ += bytes;
    live_[block] = {bytes, ++births_};
    resident_[births_] = block;
    return block;
}

void *Scratch::take_file(size_t bytes)
{
    const int descriptor = open_file(bytes);
    if (descriptor < 0)
        return nullptr;
    void *block = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    const int error = errno;
    ::close(descriptor);
    if (block == MAP_FAILED) {
        refuse(error, bytes);
        return nullptr;
    }
    live_[block] = {bytes, 0};
    note_file(bytes);
    return block;
}

// Piece by piece, so that what was written is free before the rest is.
bool Scratch::move_to_file(void *block, size_t bytes)
{
    const int descriptor = open_file(bytes);
    if (descriptor < 0)
        return false;
    int error = 0;
    for (size_t start = 0; start < bytes && error == 0;) {
        char *piece = static_cast<char *>(block) + start;
        const size_t length = std::min(MOVED_AT_ONCE, bytes - start);
        size_t written = 0;
        while (written < length && error == 0) {
            const auto offset = static_cast<off_t>(start + written);
            const ssize_t count = ::pwrite(descriptor, piece + written, length - written, offset);
            if (count > 0)
                written += static_cast<size_t>(count);
            else if (count == 0 || errno != EINTR)
                error = count == 0 ? EIO : errno;
        }
        if (error != 0)
            break;
        ::sync_file_range(descriptor, static_cast<off_t>(start), static_cast<off_t>(length), SYNC_FILE_RANGE_WRITE);
        const void *mapped = ::mmap(piece, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor,
                                    static_cast<off_t>(start));
        if (mapped == MAP_FAILED)
            error = errno;
        start += length;
    }
    ::close(descriptor);
    if (error != 0)
        refuse(error, bytes); // the pieces so far are in the file, the others in memory, all as they were
    else
        note_file(bytes);
    return error == 0;
}

// An unnamed file with room for so many bytes; -1 where the system refuses.
int Scratch::open_file(size_t bytes)
{
    int descriptor = ::open(directory_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor < 0) { // a file system without unnamed files
        std::string name = directory_ + "/perfscope-XXXXXX";
        descriptor = ::mkostemp(name.data(), O_CLOEXEC);
        if (descriptor >= 0)
            ::unlink(name.c_str());
    }
    int error = descriptor < 0 ? errno : EINTR;
    while (error == EINTR)
        error = ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
    if (error == 0)
        return descriptor;
    if (descriptor >= 0)
        ::close(descriptor);
    refuse(error, bytes);
    return -1;
}

void Scratch::refuse(int error, size_t bytes)
{
    refused_ = error;
    refused_bytes_ = bytes;
}

void Scratch::note_file(size_t bytes)
{
    file_bytes_ += bytes;
    peak_file_bytes_ = std::max(peak_file_bytes_.load(), file_bytes_);
}

bool Scratch::give_back(void *block) noexcept
{
    if (!may_be_here(block))
        return false;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = live_.find(block);
    if (found == live_.end())
        return false;
    const Block known = found->second;
    live_.erase(found);
    if (known.birth == 0) {
        ::munmap(block, known.bytes);
        file_bytes_ -= known.bytes;
        return true;
    }
    resident_.erase(known.birth);
    resident_bytes_ -= known.bytes;
    kept_.push_back({block, known.bytes});
    kept_bytes_ += known.bytes;
    // More may be resident than is allowed by now.
    while (!kept_.empty() && resident_bytes_ + kept_bytes_ > most_resident_)
        drop_oldest_kept();
    return true;
}

size_t Scratch::size_of(void *block) noexcept
{
    if (!may_be_here(block))
        return 0;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = live_.find(block);
    return found == live_.end() ? 0 : found->second.bytes;
}

static std::atomic<Scratch *> given{nullptr};
static std::atomic<size_t> most_plain{SIZE_MAX};
static std::atomic<int64_t> plain_bytes{0}; // of large blocks, as the allocator rounds them
static pthread_t mover;

Scratch *scratch() noexcept
{
    return given.load(std::memory_order_acquire);
}

void use_scratch(const std::string &directory, const ScratchLimits &limits)
{
    mover = ::pthread_self();
    if (scratch() == nullptr) {
        given.store(new Scratch(directory, limits.resident_bytes), std::memory_order_release);
        ::pthread_atfork([] { scratch()->before_fork(); }, [] { scratch()->after_fork(); },
                         [] { scratch()->after_fork(); });
    }
    scratch()->set_most_resident(limits.resident_bytes);
    most_plain = limits.plain_bytes;
}

bool is_for_scratch(size_t bytes) noexcept
{
    if (bytes < LARGE_BLOCK_BYTES || scratch() == nullptr)
        return false;
    const int64_t taken = std::max<int64_t>(plain_bytes, 0);
    return static_cast<size_t>(taken) + bytes > most_plain;
}

void *take_scratch(size_t bytes, bool is_zero) noexcept
{
    const bool is_alone = ::pthread_equal(mover, ::pthread_self()) != 0 && others_at_work == 0;
    return scratch()->take(bytes, is_zero, is_alone);
}

void count_plain(void *block, bool is_taken) noexcept
{
    const size_t bytes = ::malloc_usable_size(block);
    if (bytes >= LARGE_BLOCK_BYTES)
        plain_bytes += is_taken ? static_cast<int64_t>(bytes) : -static_cast<int64_t>(bytes);
}

void *take_block(size_t bytes) noexcept
{
    if (is_for_scratch(bytes))
        return take_scratch(bytes, false);
    void *block = std::malloc(bytes);
    if (block != nullptr)
        count_plain(block, true);
    return block;
}

void give_block_back(void *block) noexcept
{
    if (block == nullptr || (scratch() != nullptr && scratch()->give_back(block)))
        return;
    count_plain(block, false);
    std::free(block);
}

} // namespace perfscope
