// Texts that occur often, kept once.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace perfscope {

// Gives every distinct text a number, in order of first occurrence.
class Interner {
public:
    uint32_t number(std::string_view text)
    {
        const auto found = numbers_.find(text);
        if (found != numbers_.end())
            return found->second;
        texts_.emplace_back(text);
        const auto fresh = static_cast<uint32_t>(texts_.size() - 1);
        numbers_.emplace(texts_.back(), fresh);
        return fresh;
    }
    const std::deque<std::string> &texts() const { return texts_; }

private:
    std::deque<std::string> texts_; // a deque: the views of `numbers_` stay valid
    std::unordered_map<std::string_view, uint32_t> numbers_;
};

} // namespace perfscope
