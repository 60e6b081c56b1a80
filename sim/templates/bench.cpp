// Drives a feed-forward top: one row of inputs a clock, one row of outputs a clock.
#include "{{ prefix }}.h"
#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))

struct Bench {
    VerilatedContext context;
    {{ prefix }} top{&context, "top"};
};

EXPORT void* bench_new() { return new Bench; }
EXPORT void bench_delete(void* bench) { delete static_cast<Bench*>(bench); }

EXPORT void bench_run(void* bench, uint64_t clocks, const uint64_t* in, uint64_t* out) {
    {{ prefix }}& top = static_cast<Bench*>(bench)->top;
    for (uint64_t t = 0; t < clocks; ++t) {
{%- for name in inputs %}
        top.{{ name }} = *in++;
{%- endfor %}
        top.clk = 0;
        top.eval();
{%- for name in outputs %}
        *out++ = top.{{ name }};
{%- endfor %}
        top.clk = 1;
        top.eval();
    }
}
