// Distinct JSON texts, kept once and unescaped; a look-up of a text that is known costs one hash.
#pragma once

#include "json_text.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace perfscope {

class TextTable {
public:
    TextTable() : slots_(1024, EMPTY) {}

    // The number of the text that is written as `raw` between quotes.
    uint32_t number(std::string_view raw)
    {
        const uint64_t hash = hash_of(raw);
        const uint32_t found = find(raw, hash);
        if (found != EMPTY)
            return entries_[found].number;
        return add(raw, hash);
    }

    const std::vector<std::string> &texts() const { return texts_; }
    size_t bytes() const { return bytes_; }

private:
    static constexpr uint32_t EMPTY = UINT32_MAX;
    struct Entry {
        uint64_t hash;
        uint32_t number; // of the text
        std::string raw; // as written; empty where it is the text itself
    };

    static uint64_t hash_of(std::string_view text)
    {
        const char *p = text.data();
        size_t left = text.size();
        uint64_t hash = left * 0x9E3779B97F4A7C15u, word = 0;
        for (; left >= 8; p += 8, left -= 8) {
            std::memcpy(&word, p, 8);
            hash = (hash ^ word) * 0xff51afd7ed558ccdu;
            hash ^= hash >> 32;
        }
        word = 0;
        if (left)
            std::memcpy(&word, p, left);
        hash = (hash ^ word) * 0xc4ceb9fe1a85ec53u;
        return hash ^ hash >> 29;
    }

    std::string_view written(const Entry &entry) const
    {
        return entry.raw.empty() ? std::string_view(texts_[entry.number]) : std::string_view(entry.raw);
    }

    uint32_t find(std::string_view raw, uint64_t hash) const
    {
        const size_t mask = slots_.size() - 1;
        for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
            const uint32_t entry = slots_[slot];
            if (entry == EMPTY || (entries_[entry].hash == hash && written(entries_[entry]) == raw))
                return entry;
        }
    }

    uint32_t add(std::string_view raw, uint64_t hash)
    {
        Entry entry{hash, 0, {}};
        if (raw.find('\\') == std::string_view::npos) {
            entry.number = static_cast<uint32_t>(texts_.size());
            texts_.emplace_back(raw);
        } else {
            std::string text, plain;
            json::unescape(raw.data(), raw.data() + raw.size(), text);
            for (const char c : text) // one spelling of every text
                plain.append(c == '\\' ? 2 : 1, c);
            if (plain == raw) {
                entry.number = static_cast<uint32_t>(texts_.size());
                texts_.push_back(std::move(text));
            } else {
                entry.number = number(plain);
            }
            entry.raw = raw;
        }
        bytes_ += 2 * raw.size() + sizeof(Entry);
        entries_.push_back(std::move(entry));
        if (2 * entries_.size() > slots_.size())
            slots_.assign(2 * slots_.size(), EMPTY);
        else
            return insert(entries_.size() - 1);
        for (size_t i = 0; i < entries_.size(); i++)
            insert(i);
        return entries_.back().number;
    }

    uint32_t insert(size_t entry)
    {
        const size_t mask = slots_.size() - 1;
        size_t slot = entries_[entry].hash & mask;
        while (slots_[slot] != EMPTY)
            slot = (slot + 1) & mask;
        slots_[slot] = static_cast<uint32_t>(entry);
        return entries_[entry].number;
    }

    std::vector<std::string> texts_;
    std::vector<Entry> entries_;
    std::vector<uint32_t> slots_;
    size_t bytes_ = 0;
};

} // namespace perfscope
