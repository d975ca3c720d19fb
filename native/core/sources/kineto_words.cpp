#include "kineto_words.h"

#include <algorithm>
#include <unordered_map>

namespace perfscope {

static bool is_small(char letter) { return letter >= 'a' && letter <= 'z'; }
static bool is_capital(char letter) { return letter >= 'A' && letter <= 'Z'; }

// Whether a text contains a word (in small letters) in any case, where a word may begin: not behind another letter,
// unless its capital follows a small one. So `myNcclKernel` contains nccl, and `syncClear` does not.
static bool contains_word(std::string_view text, std::string_view word)
{
    const auto same = [](char a, char b) { return (is_capital(a) ? a | 0x20 : a) == b; };
    for (auto from = text.begin();; ++from) {
        from = std::search(from, text.end(), word.begin(), word.end(), same);
        if (from == text.end())
            return false;
        const char before = from == text.begin() ? ' ' : from[-1];
        if (!is_small(before) && !is_capital(before))
            return true;
        if (is_small(before) && is_capital(*from))
            return true;
    }
}

static bool starts_with(std::string_view text, std::string_view start)
{
    return text.substr(0, start.size()) == start;
}

uint8_t traits_of(std::string_view text)
{
    uint8_t traits = 0;
    // NCCL, RCCL with its MSCCL, HCCL, oneCCL also by its namespace (or mangled), and the all-reduces of inference engines
    // and of PyTorch's symmetric memory
    for (const char *word : {"nccl", "pynccl", "rccl", "msccl", "hccl", "hcom_", "xccl", "oneccl", "oneapi::ccl",
                             "oneapi3ccl", "cross_device_reduce", "multimem_all_reduce", "multimem_all_gather",
                             "multimem_reduce_scatter", "one_shot_all_reduce", "two_shot_all_reduce"})
        if (contains_word(text, word))
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
        {"operation", Category::CALL},
        {"background_operation", Category::BACKGROUND_CALL},
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
