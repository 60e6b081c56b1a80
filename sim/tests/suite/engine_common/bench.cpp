// Drives an engine's streams: beats from standard input, replies to standard output.
// Arguments: percent of cycles without input, percent without readiness, seed, cycle limit, number of packets to wait for.
#include "Vtoy_engine.h"
#include "verilated.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <cstdint>

static uint64_t state;
static bool chance(int percent) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (int)((state >> 33) % 100) < percent;
}

template <class T> static void put(T& port, const uint32_t* words) { memcpy(&port, words, sizeof(T)); }
template <class T> static void get(uint32_t* words, const T& port) { memcpy(words, &port, sizeof(T)); }

int main(int argc, char** argv) {
    const int gap = atoi(argv[1]), stall = atoi(argv[2]);
    state = strtoull(argv[3], 0, 10);
    const uint64_t limit = strtoull(argv[4], 0, 10);
    const uint64_t expected = strtoull(argv[5], 0, 10);
    const int words = BEAT_WORDS;
    std::vector<uint32_t> beats;  // `words` words and TLAST each
    uint32_t word;
    while (scanf("%x", &word) == 1) beats.push_back(word);
    const size_t count = beats.size() / (words + 1);
    Vtoy_engine* top = new Vtoy_engine;
    auto clock = [&] { top->clk = 0; top->eval(); top->clk = 1; top->eval(); };
    top->rst = 1; top->s_tvalid = 0; top->m_tready = 0;
    clock(); clock();
    top->rst = 0;
    size_t next = 0, packets = 0;
    uint64_t done = 0, rest = 300;  // cycles run on, so that a packet too many is seen
    bool offered = false, held = false;
    uint32_t last_word[5] = {0}, now[5];
    uint64_t cycle = 0;
    for (; cycle < limit && rest; cycle++) {
        if (packets >= expected && next >= count) rest--;
        else done = cycle + 1;
        if (!offered && next < count && !chance(gap)) offered = true;
        top->s_tvalid = offered;
        if (offered) { put(top->s_tdata, &beats[next * (words + 1)]); top->s_tlast = beats[next * (words + 1) + words]; }
        top->m_tready = !chance(stall);
        top->clk = 0; top->eval();
        const bool taken = offered && top->s_tready;
        memset(now, 0, sizeof now);
        get(now, top->m_tdata); now[4] = top->m_tlast;
        if (held && (!top->m_tvalid || memcmp(now, last_word, sizeof now))) { printf("unstable\n"); return 1; }
        held = top->m_tvalid && !top->m_tready;
        memcpy(last_word, now, sizeof now);
        if (top->m_tvalid && top->m_tready) {
            for (int k = 0; k < words; k++) printf("%x ", now[k]);
            printf("%d\n", (int)top->m_tlast);
            packets += top->m_tlast;
        }
        top->clk = 1; top->eval();
        if (taken) { offered = false; next++; }
    }
    printf("cycles %llu\n", (unsigned long long)done);
    return rest ? 2 : 0;
}
