#include "kineto_words.h"

#include <algorithm>
#include <iterator>
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

// Words of the libraries that communicate, in the names of their kernels or in the namespaces of these. Namespaces stand
// in mangled names behind their length.
static constexpr const char *LIBRARIES[] = {
    "nccl", "pynccl", "rccl", "msccl", "mccl", "hccl", "hcom_", "xccl", "oneccl", "oneapi::ccl", "oneapi3ccl", // collectives
    "bkcl", "cncl", "flagcx",
    "nvshmem", "rocshmem", "ishmem", "symm_mem", "multimem_",              // symmetric memory
    "deep_ep", "hybrid_ep", "internode", "intranode", "moedistribute",     // experts: DeepEP and its kin, Ascend's
    "pplx", "mori::", "4mori", "epdispatch", "epcombine",                  // Perplexity's, AMD's
    "userbuffers", "cross_device", "mnnvl", "collective-permute",          // TransformerEngine, vLLM, TensorRT-LLM, XLA
};
// Operations, in the names of the kernels themselves: FlashInfer's, TensorRT-LLM's, those written in Triton, ...
static constexpr const char *COLLECTIVES[] = {
    "all_reduce", "allreduce", "all-reduce", "all_gather", "allgather", "all-gather", "reduce_scatter", "reducescatter",
    "reduce-scatter", "all_to_all", "alltoall", "all-to-all", "all2all", "all_2_all", "a2a",
};

// The name of a kernel without its parameters, those of its template, and mangled ones as they are.
static std::string_view function_of(std::string_view kernel)
{
    constexpr std::string_view NAMELESS = "(anonymous namespace)";
    for (size_t place = 0; place < kernel.size(); place++) {
        if (kernel.substr(place, NAMELESS.size()) == NAMELESS)
            place += NAMELESS.size() - 1;
        else if (kernel[place] == '<' || kernel[place] == '(')
            return kernel.substr(0, place);
    }
    return kernel;
}

static bool is_communication(std::string_view kernel)
{
    // a compiler names fused kernels by the operators around them; an expert's layout is counted locally
    if ((starts_with(kernel, "triton_") && kernel.find("fused") != kernel.npos) ||
        kernel.find("get_dispatch_layout") != kernel.npos)
        return false;
    const std::string_view function = function_of(kernel);
    const auto in = [](std::string_view text) {
        return [text](const char *word) { return contains_word(text, word); };
    };
    return std::any_of(std::begin(LIBRARIES), std::end(LIBRARIES), in(kernel)) ||
           std::any_of(std::begin(COLLECTIVES), std::end(COLLECTIVES), in(function));
}

bool names_device(std::string_view process) { return starts_with(process, "/device:"); }

int32_t device_number(std::string_view process, int32_t otherwise)
{
    const size_t end = process.find(' ');
    process = process.substr(0, end);
    const size_t colon = process.rfind(':');
    return colon == process.npos ? otherwise : small(whole(process.substr(colon + 1), otherwise));
}

uint8_t traits_of(std::string_view text)
{
    uint8_t traits = is_communication(text) ? TRAIT_COMMUNICATION : 0;
    // what older versions write as operators, and newer ones as annotations
    for (const char *start : {"ProfilerStep#", "Optimizer.", "enumerate(DataLoader)", "DistributedDataParallel.",
                              "FullyShardedDataParallel.", "nccl:", "gloo:", "mpi:", "ucc:"})
        if (starts_with(text, start))
            traits |= TRAIT_NOTEWORTHY;
    if (starts_with(text, "dma") || starts_with(text, "Memcpy"))
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
        {"hpu_op", Category::KERNEL},
        {"xpu_driver", Category::RUNTIME},
        {"privateuse1_driver", Category::RUNTIME},
        {"Trace", Category::SPAN},
        {"gpu_user_annotation", Category::OTHER},
        {"external_correlation", Category::OTHER},
        {"cpu_instant_event", Category::OTHER},
        {"overhead", Category::OTHER},
        {"mtia_insight", Category::OTHER},
        {"mtia_counters", Category::OTHER},
        {"cuda_sync", Category::OTHER},
        {"xpu_sync", Category::OTHER},
        {"cuda_event", Category::OTHER},
        {"glow_runtime", Category::OTHER},
        {"cuda_profiler_range", Category::OTHER},
        {"xpu_scope_profiler", Category::OTHER},
        {"collective_comm", Category::OTHER},
        {"hardware_counters", Category::OTHER},
        {"gpu_pm_counter", Category::OTHER},
    };
    if (text == "cpu_op") // most events
        return Category::OPERATOR;
    const auto found = known.find(text);
    return found == known.end() ? Category::FOREIGN : found->second;
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
