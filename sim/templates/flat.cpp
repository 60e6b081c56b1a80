// Drives a whole engine as one model on one thread.
{% include "stream.h" %}
#include <exception>
#include "{{ top }}.h"
{% if trace -%}
#include "verilated_fst_c.h"
{%- endif %}

struct Engine {
    VerilatedContext context;
    {{ top }} top{&context, "engine"};
    Streams streams;
{%- if trace %}
    VerilatedFstC trace;
    ~Engine() { trace.close(); }
    void dump(uint64_t half) { trace.dump(streams.cycle * {{ period }} + half * {{ period / 2 }}); }
{%- else %}
    void dump(uint64_t) {}
{%- endif %}
    Status clock(Exchange& x) {
        streams.drive(top, x);
        top.clk = 0;
        top.eval();
        dump(0);
        Status status = streams.settle(top, x, false);
        top.clk = 1;
        top.eval();
        --streams.cycle;
        dump(1);
        ++streams.cycle;
        return status;
    }
};

// Null where the waves cannot be written, or where there is no memory for the model.
EXPORT void* engine_new(uint32_t, uint64_t seed, const char* path) try {
    Engine* engine = new Engine;
    engine->streams.random = seed;
{%- if trace %}
    engine->context.traceEverOn(true);
    engine->top.trace(&engine->trace, 99);
    engine->trace.open(path);
    if (!engine->trace.isOpen()) {
        delete engine;
        return nullptr;
    }
{%- endif %}
    Exchange none{};
    none.cycle_limit = UINT64_MAX;
    none.patience = UINT64_MAX;
    for (int k = 0; k < {{ reset }}; ++k) {
        engine->top.rst = 1;
        engine->clock(none);
    }
    engine->top.rst = 0;
    return engine;
} catch (const std::exception&) {
    return nullptr;
}

EXPORT void engine_delete(void* engine) { delete static_cast<Engine*>(engine); }
EXPORT uint64_t engine_cycles(void* engine) { return static_cast<Engine*>(engine)->streams.cycle; }
EXPORT void engine_pause(void*) {}

EXPORT uint32_t engine_run(void* engine, Exchange* x) {
    Engine& e = *static_cast<Engine*>(engine);
    for (;;) {
        Status status = e.clock(*x);
        if (status != GOING) return status;
    }
}
