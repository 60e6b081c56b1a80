// Drives an engine's streams, with gaps in its input and stalls of its output, and hands out its replies beat by beat.
#include "Vtoy_engine.h"
#include <cstdint>
#include <cstring>

// One run; sim/tests/suite/engine_common/mod.rs has the same fields.
struct Asked {
    const uint32_t* beats;  // `words` words and TLAST each
    uint64_t count;
    uint32_t gap;    // percent of cycles without input
    uint32_t stall;  // percent of cycles without readiness
    uint64_t seed;
    uint64_t limit;    // cycles
    uint64_t packets;  // to wait for
    void (*take)(void*, const uint32_t*, uint64_t, bool);
    void* taken;
    uint64_t words;
    uint64_t cycles;
};

static bool chance(uint64_t& state, uint32_t percent) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (state >> 33) % 100 < percent;
}

template <class T> static void put(T& port, const uint32_t* words) { memcpy(&port, words, sizeof(T)); }
template <class T> static void get(uint32_t* words, const T& port) { memcpy(words, &port, sizeof(T)); }

// 0 if all came back; 1 if a beat changed or went away before it was taken; 2 if the limit was reached.
extern "C" __attribute__((visibility("default"))) uint32_t bench_run(Asked* asked) {
    uint64_t state = asked->seed;
    const uint64_t words = asked->words;
    VerilatedContext context;
    Vtoy_engine engine{&context, "engine"};
    Vtoy_engine* top = &engine;
    auto clock = [&] { top->clk = 0; top->eval(); top->clk = 1; top->eval(); };
    top->rst = 1; top->s_tvalid = 0; top->m_tready = 0;
    clock(); clock();
    top->rst = 0;
    uint64_t next = 0, packets = 0;
    uint64_t rest = 300;  // cycles run on, so that a packet too many is seen
    bool offered = false, held = false;
    uint32_t last_word[5] = {0}, now[5];
    for (uint64_t cycle = 0; cycle < asked->limit && rest; cycle++) {
        if (packets >= asked->packets && next >= asked->count) rest--;
        else asked->cycles = cycle + 1;
        if (!offered && next < asked->count && !chance(state, asked->gap)) offered = true;
        top->s_tvalid = offered;
        if (offered) {
            const uint32_t* beat = asked->beats + next * (words + 1);
            put(top->s_tdata, beat);
            top->s_tlast = beat[words];
        }
        top->m_tready = !chance(state, asked->stall);
        top->clk = 0; top->eval();
        const bool taken = offered && top->s_tready;
        memset(now, 0, sizeof now);
        get(now, top->m_tdata); now[4] = top->m_tlast;
        if (held && (!top->m_tvalid || memcmp(now, last_word, sizeof now))) return 1;
        held = top->m_tvalid && !top->m_tready;
        memcpy(last_word, now, sizeof now);
        if (top->m_tvalid && top->m_tready) {
            asked->take(asked->taken, now, words, top->m_tlast);
            packets += top->m_tlast;
        }
        top->clk = 1; top->eval();
        if (taken) { offered = false; next++; }
    }
    return rest ? 2 : 0;
}
