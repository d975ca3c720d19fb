#include "xla_instructions.h"

#include <algorithm>
#include <cctype>

namespace perfscope {

namespace {

// The whole number that a text begins with, which is moved behind it; 0 where there is none, as of more than can be.
uint64_t leading_number(std::string_view &text)
{
    uint64_t number = 0;
    while (!text.empty() && std::isdigit(static_cast<unsigned char>(text.front()))) {
        number = std::min(number * 10 + static_cast<uint64_t>(text.front() - '0'), MOST_DEVICES + 1);
        text.remove_prefix(1);
    }
    return number;
}

// The first of some types or operands, up to a comma that stands in none of their brackets; it is taken from the text.
std::string_view first_of(std::string_view &list)
{
    int depth = 0;
    size_t end = 0;
    for (; end < list.size(); end++) {
        const char sign = list[end];
        depth += (sign == '{' || sign == '[' || sign == '(') - (sign == '}' || sign == ']' || sign == ')');
        if (depth < 0 || (depth == 0 && sign == ','))
            break;
    }
    const std::string_view first = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    return first;
}

} // namespace

uint64_t devices_among(std::string_view instruction)
{
    uint64_t most = 0;
    for (const std::string_view key : {std::string_view("replica_groups="), std::string_view("source_target_pairs=")}) {
        const size_t place = instruction.find(key);
        if (place == std::string_view::npos)
            continue;
        std::string_view rest = instruction.substr(place + key.size());
        const bool is_product = !rest.empty() && rest.front() == '[';
        uint64_t found = is_product ? 1 : 0;
        for (int depth = 0; !rest.empty();) {
            const char sign = rest.front();
            if (std::isdigit(static_cast<unsigned char>(sign))) {
                const uint64_t number = leading_number(rest);
                found = is_product ? std::min(found * number, MOST_DEVICES + 1) : std::max(found, number + 1);
                continue;
            }
            depth += (sign == '{' || sign == '[') - (sign == '}' || sign == ']');
            if (depth <= 0 || (sign != '{' && sign != '}' && sign != '[' && sign != ',' && sign != ' '))
                break;
            rest.remove_prefix(1);
        }
        most = std::max(most, found > MOST_DEVICES ? 0 : found);
    }
    return most;
}

std::string_view way_of_copy(std::string_view instruction)
{
    constexpr std::string_view EQUALS = " = ", HOST = "S(5)";
    const size_t place = instruction.find(EQUALS);
    if (instruction.empty() || instruction.front() != '%' || place == std::string_view::npos)
        return {};
    const std::string_view told = instruction.substr(place + EQUALS.size());
    const size_t plain = told.find(" copy("), begun = told.find(" copy-start("), done = told.find(" copy-done((");
    std::string_view list, to, from;
    if (begun != std::string_view::npos && told.front() == '(') {
        list = told.substr(1);
    } else if (done != std::string_view::npos) {
        list = told.substr(done + std::string_view(" copy-done((").size());
    } else if (plain != std::string_view::npos) {
        to = told.substr(0, plain);
        from = told.substr(plain);
    }
    if (!list.empty()) {
        to = first_of(list);
        from = first_of(list);
    }
    if (to.empty())
        return {};
    const bool is_to_host = to.find(HOST) != std::string_view::npos;
    const bool is_from_host = from.find(HOST) != std::string_view::npos;
    return is_to_host ? (is_from_host ? " HtoH" : " DtoH") : (is_from_host ? " HtoD" : " DtoD");
}

} // namespace perfscope
