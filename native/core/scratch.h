// Large blocks of memory that move into unnamed temporary files, where the memory of the machine does not suffice.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace perfscope {

// Blocks from this size on are large: below it files would cost more than they bring.
constexpr size_t LARGE_BLOCK_BYTES = 1 << 20;

// How much large blocks may take of the memory.
struct ScratchLimits {
    size_t plain_bytes;    // from the allocator of the process; what comes behind is scratch
    size_t resident_bytes; // scratch that is in no file, and what is kept of it for the next block
};

// What is known of the blocks is not kept in such blocks itself.
template <class T> struct PlainAllocator {
    using value_type = T;
    PlainAllocator() = default;
    template <class Other> PlainAllocator(const PlainAllocator<Other> &) {}
    T *allocate(size_t count)
    {
        auto *block = static_cast<T *>(std::malloc(count * sizeof(T)));
        if (block == nullptr)
            throw std::bad_alloc();
        return block;
    }
    void deallocate(T *block, size_t) { std::free(block); }
    template <class Other> bool operator==(const PlainAllocator<Other> &) const { return true; }
    template <class Other> bool operator!=(const PlainAllocator<Other> &) const { return false; }
};

// Blocks begin in memory, as most live for a moment. Where they would take too much of it, the oldest move to files and
// stay at their addresses: a block is written to the disk once, and read again when it is asked for. Each has a file of
// its own, which has no name and so is gone with the process, however that ends. Its room on the disk is claimed before
// it is mapped, so that writing to it cannot fail.
class Scratch {
public:
    Scratch(std::string directory, size_t most_resident_bytes);

    // Null where the system refuses; `refused()` tells why. Blocks move only where the caller knows that nobody else
    // writes to any of them meanwhile (`is_alone`).
    void *take(size_t bytes, bool is_zero, bool is_alone) noexcept;
    // Whether it was one of these blocks.
    bool give_back(void *block) noexcept;
    // The size of a block that lives here, 0 of any other.
    size_t size_of(void *block) noexcept;

    void set_most_resident(size_t bytes) { most_resident_ = bytes; }
    size_t peak_file_bytes() const { return peak_file_bytes_; }
    int refused() const { return refused_; } // errno, 0 nothing was refused
    size_t refused_bytes() const { return refused_bytes_; }

    void before_fork() { mutex_.lock(); }
    void after_fork() { mutex_.unlock(); }

private:
    struct Block {
        size_t bytes = 0;
        uint64_t birth = 0; // 0: it is in a file
    };
    struct Kept {
        void *begin;
        size_t bytes;
    };
    template <class Key, class Value>
    using Map = std::map<Key, Value, std::less<Key>, PlainAllocator<std::pair<const Key, Value>>>;

    void *take_kept(size_t bytes);
    void drop_oldest_kept();
    void *take_resident(size_t bytes);
    void *take_file(size_t bytes);
    void make_room(size_t bytes, bool is_alone);
    bool move_to_file(void *block, size_t bytes);
    int open_file(size_t bytes);
    void refuse(int error, size_t bytes);
    void note_file(size_t bytes);

    const std::string directory_;
    std::atomic<size_t> most_resident_;
    std::mutex mutex_;
    Map<void *, Block> live_;
    Map<uint64_t, void *> resident_; // by birth
    std::vector<Kept, PlainAllocator<Kept>> kept_; // the oldest first
    uint64_t births_ = 0;
    size_t resident_bytes_ = 0, kept_bytes_ = 0, file_bytes_ = 0;
    std::atomic<size_t> peak_file_bytes_{0}, refused_bytes_{0};
    std::atomic<int> refused_{0};
};

// From now on large blocks are scratch as soon as the limits say so. The directory is that of the first call, and the
// calling thread is the one that may move blocks: it has no other at work while it asks for tables.
void use_scratch(const std::string &directory, const ScratchLimits &limits);
// Null before `use_scratch`; it stays to the end of the process.
Scratch *scratch() noexcept;

// Memory of the process or scratch, whichever it should be; null where neither can be had.
void *take_block(size_t bytes) noexcept;
void give_block_back(void *block) noexcept;

// For who takes memory in another way: scratch, null where a block of that size should be none; whether it should; and
// what was taken or given back instead.
void *take_scratch(size_t bytes, bool is_zero) noexcept;
bool is_for_scratch(size_t bytes) noexcept;
void count_plain(void *block, bool is_taken) noexcept;

} // namespace perfscope
