// Both streams of an engine, seen from the host: offers input, takes output, checks the output's rules.
#include <cstdint>
#include <cstring>
#include <type_traits>
#include "verilated.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

constexpr uint32_t BEAT_WORDS = {{ c.beat_words() }};

// Ports of any width as 32-bit words, lowest first.
template <typename T> inline void put(T& port, const uint32_t* words) {
    if constexpr (!std::is_integral_v<T>) {
        std::memcpy(&port[0], words, sizeof(port));
    } else if constexpr (sizeof(T) == 8) {
        port = static_cast<uint64_t>(words[1]) << 32 | words[0];
    } else {
        port = static_cast<T>(words[0]);
    }
}

template <typename T> inline void get(const T& port, uint32_t* words) {
    if constexpr (!std::is_integral_v<T>) {
        std::memcpy(words, &port[0], sizeof(port));
    } else if constexpr (sizeof(T) == 8) {
        words[0] = static_cast<uint32_t>(port);
        words[1] = static_cast<uint32_t>(port >> 32);
    } else {
        words[0] = port;
    }
}

// One call of the host; sim/src/cycle/driver.rs has the same fields.
struct Exchange {
    const uint32_t* in;
    const uint8_t* in_last;
    uint64_t in_beats;
    uint64_t in_taken;
    uint32_t* out;
    uint8_t* out_last;
    uint64_t* out_cycle;
    uint64_t out_room;
    uint64_t out_taken;
    uint64_t cycle_limit;
    uint64_t patience;
    uint32_t stop_at_packet;
    uint32_t gap;
    uint32_t stall;
};

enum Status : uint32_t { GOING = 0, RETURN = 1, HANG = 2, DROPPED = 3, CHANGED = 4, LATE = 5 };

struct Streams {
    uint64_t cycle = 0;
    uint64_t progress = 0;
    uint64_t random = 1;
    bool offering = false;
    bool waiting = false;
    uint32_t held[BEAT_WORDS + 1] = {};

    // SplitMix64; true with probability p / 2^32.
    bool chance(uint32_t p) {
        if (p == 0) return false;
        random += 0x9e3779b97f4a7c15u;
        uint64_t z = random;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return static_cast<uint32_t>((z ^ (z >> 31)) >> 32) < p;
    }

    // Before the clock edge: what the host offers. A beat once offered stays until it is taken.
    template <typename Top> void drive(Top& top, Exchange& x) {
        if (!offering) offering = x.in_taken < x.in_beats && !chance(x.gap);
        top.s_tvalid = offering;
        if (offering) {
            put(top.s_tdata, x.in + x.in_taken * BEAT_WORDS);
            top.s_tlast = x.in_last[x.in_taken];
        }
        top.m_tready = x.out_taken < x.out_room && !chance(x.stall);
    }

    // After everything settled, still before the edge: what is transferred at it.
    template <typename Top> Status settle(Top& top, Exchange& x, bool busy) {
        uint32_t now[BEAT_WORDS + 1];
        get(top.m_tdata, now);
        now[BEAT_WORDS] = top.m_tlast;
        if (waiting && !top.m_tvalid) return DROPPED;
        if (waiting && std::memcmp(now, held, sizeof(now)) != 0) return CHANGED;
        waiting = top.m_tvalid && !top.m_tready;
        if (waiting) std::memcpy(held, now, sizeof(now));
        Status status = GOING;
        if (busy) progress = cycle;
        if (offering && top.s_tready) {
            offering = false;
            progress = cycle;
            if (++x.in_taken == x.in_beats) status = RETURN;
        }
        if (top.m_tvalid && top.m_tready) {
            progress = cycle;
            std::memcpy(x.out + x.out_taken * BEAT_WORDS, now, sizeof(uint32_t) * BEAT_WORDS);
            x.out_last[x.out_taken] = now[BEAT_WORDS];
            x.out_cycle[x.out_taken] = cycle;
            ++x.out_taken;
            if (x.out_taken == x.out_room || (x.stop_at_packet && now[BEAT_WORDS])) status = RETURN;
        }
        ++cycle;
        if (cycle >= x.cycle_limit) status = RETURN;
        if (status == GOING && cycle - progress > x.patience) return HANG;
        return status;
    }
};
