#include "kineto_words.h"

#include <algorithm>
#include <unordered_map>

namespace perfscope {

static bool contains_in_any_case(std::string_view text, std::string_view wanted)
{
    const auto same = [](char a, char b) { return (a | 0x20) == b; };
    return std::search(text.begin(), text.end(), wanted.begin(), wanted.end(), same) != text.end();
}

static bool starts_with(std::string_view text, std::string_view start)
{
    return text.substr(0, start.size()) == start;
}

uint8_t traits_of(std::string_view text)
{
    uint8_t traits = 0;
    for (const char *library : {"nccl", "rccl", "hccl", "oneccl"})
        if (contains_in_any_case(text, library))
            traits |= TRAIT_COMMUNICATION;
    // what older versions write as operators, and newer ones as annotations
    for (const char *start : {"ProfilerStep#", "Optimizer.", "enumerate(DataLoader)", "DistributedDataParallel.",
                              "FullyShardedDataParallel.", "nccl:", "gloo:", "mpi:", "ucc:"})
        if (starts_with(text, start))
            traits |= TRAIT_NOTEWORTHY;
    if (starts_with(text, "dma"))
        traits |= TRAIT_COPY;
    if (starts_with(text, "autograd::engine::evaluate_function"))
        traits |= TRAIT_BACKWARD;
    return traits;
}

Category category_of(std::string_view text)
{
    static const std::unordered_map<std::string_view, Category> known = {
        {"", Category::NONE},
        {"cpu_op", Category::OPERATOR},
        {"Operator", Category::OPERATOR},
        {"user_annotation", Category::ANNOTATION},
        {"python_function", Category::PYTHON},
        {"cuda_runtime", Category::RUNTIME},
        {"cuda_driver", Category::RUNTIME},
        {"mtia_runtime", Category::RUNTIME},
        {"xpu_runtime", Category::RUNTIME},
        {"privateuse1_runtime", Category::RUNTIME},
        {"Runtime", Category::RUNTIME},
        {"runtime", Category::RUNTIME},
        {"kernel", Category::KERNEL},
        {"Kernel", Category::KERNEL},
        {"gpu_memcpy", Category::MEMCPY},
        {"Memcpy", Category::MEMCPY},
        {"gpu_memset", Category::MEMSET},
        {"Memset", Category::MEMSET},
        {"mtia_ccp_events", Category::MTIA},
        {"Trace", Category::SPAN},
    };
    if (text == "cpu_op") // most events
        return Category::OPERATOR;
    const auto found = known.find(text);
    return found == known.end() ? Category::OTHER : found->second;
}

int64_t bytes_of_type(std::string_view type)
{
    static const std::unordered_map<std::string_view, int64_t> known = {
        {"Float", 4}, {"Double", 8},  {"Half", 2}, {"BFloat16", 2}, {"Byte", 1},          {"Char", 1},
        {"Short", 2}, {"Int", 4},     {"Long", 8}, {"Bool", 1},     {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1},
        {"UInt16", 2}, {"UInt32", 4}, {"UInt64", 8},
    };
    const auto found = known.find(type);
    return found == known.end() ? 0 : found->second;
}

} // namespace perfscope
