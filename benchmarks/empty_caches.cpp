/*
 * empty_caches.cpp - makes caches hold other things than an operator's: as much data as the second
 * cache of a core mostly holds, and twice as much code as the first one for code does.
 * bench_cold.py compiles it as the torch collector is compiled.
 */
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace
{

constexpr size_t LINE_BYTES = 64;
constexpr size_t N_FUNCTIONS = 1024; /* a line each */
constexpr size_t N_WORDS = (size_t{1} << 20) / sizeof(uint64_t);

uint64_t words[N_WORDS];
volatile uint64_t kept;

template <size_t N> __attribute__((noinline, aligned(LINE_BYTES))) uint64_t one_line(uint64_t x)
{
    return (x ^ N * 2654435761U) + (x >> (N % 31 + 1));
}

using Function = uint64_t (*)(uint64_t);

template <size_t... N>
constexpr std::array<Function, sizeof...(N)> one_line_each(std::index_sequence<N...>)
{
    return {one_line<N>...};
}

constexpr auto functions = one_line_each(std::make_index_sequence<N_FUNCTIONS>{});

} // namespace

extern "C" __attribute__((visibility("default"))) void empty_caches(void);

void empty_caches(void)
{
    uint64_t x = kept;

    for (size_t i = 0; i < N_WORDS; i += LINE_BYTES / sizeof(uint64_t))
        words[i] += x;
    for (const Function function : functions)
        x = function(x);
    kept = x;
}
