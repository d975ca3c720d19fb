// Names, threads and processes of a Kineto trace by their numbers.
#include "error.h"
#include "kineto.h"
#include "kineto_words.h"

#include <algorithm>
#include <functional>

namespace perfscope {

// Keeps the moment of an event that stands in no table, where few are further out: heaps with the next to go on top.
void KinetoFile::note(int64_t moment)
{
    const auto keep = [moment](std::vector<int64_t> &kept, auto is_further) {
        if (kept.size() == SHOWN) {
            if (!is_further(moment, kept.front()))
                return;
            std::pop_heap(kept.begin(), kept.end(), is_further);
            kept.pop_back();
        }
        kept.push_back(moment);
        std::push_heap(kept.begin(), kept.end(), is_further);
    };
    noted++;
    keep(earliest, std::less<int64_t>());
    keep(latest, std::greater<int64_t>());
}

uint32_t KinetoFile::name(std::string_view text)
{
    if (text.size() > MOST_BYTES_OF_A_NAME) {
        counts.long_names++;
        size_t kept = MOST_BYTES_OF_A_NAME;
        while (kept && text[kept - 1] == '\\') // no escape is cut
            kept--;
        text = text.substr(0, kept);
    }
    const uint32_t number = names.number(text);
    while (traits_.size() < names.texts().size())
        traits_.push_back(traits_of(names.texts()[traits_.size()]));
    if (names.bytes() > MOST_BYTES_OF_NAMES)
        throw FormatError(path_, parser_.bytes(), "the names of events take more than 1 GiB");
    return number;
}

uint32_t KinetoFile::thread(const ChromeEvent &event)
{
    const std::string_view process = event.process.substr(0, MOST_BYTES_OF_A_NAME);
    const std::string_view place = event.thread.substr(0, MOST_BYTES_OF_A_NAME);
    const size_t length = process.size() + 1 + place.size();
    const bool is_last = !threads.empty() && last_place_.size() == length &&
                         std::equal(process.begin(), process.end(), last_place_.begin()) &&
                         std::equal(place.rbegin(), place.rend(), last_place_.rbegin());
    if (!is_last) {
        last_place_.assign(process).append(1, '\n').append(place);
        const auto [found, is_new] = thread_numbers_.emplace(last_place_, static_cast<uint32_t>(threads.size()));
        if (threads.size() > MOST_THREADS)
            throw FormatError(path_, parser_.bytes(), "the events are of more than a million threads");
        if (is_new) {
            this->process(event);
            threads.push_back({std::string(unquoted(process)), std::string(unquoted(place)), "", 0});
            open_.emplace_back();
        }
        last_thread_ = found->second;
    }
    threads[last_thread_].events++;
    return last_thread_;
}

uint32_t KinetoFile::process(const ChromeEvent &event)
{
    const std::string_view text = event.process.substr(0, MOST_BYTES_OF_A_NAME);
    for (const auto &[known, number] : last_processes_)
        if (known == text && number < processes.size())
            return number;
    const auto [found, is_new] = process_numbers_.emplace(unquoted(text), static_cast<uint32_t>(processes.size()));
    if (is_new) {
        if (processes.size() >= MOST_THREADS)
            throw FormatError(path_, parser_.bytes(), "the events are of more than a million processes");
        processes.push_back({std::string(unquoted(text)), "", ""});
    }
    std::swap(last_processes_[0], last_processes_[1]);
    last_processes_[0] = {std::string(text), found->second};
    return found->second;
}

} // namespace perfscope
