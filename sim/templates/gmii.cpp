// Clocks a board from GMII on: the clocks of engine, core and wire, and the frames on the wire.
#include "{{ prefix }}.h"
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

// sim/src/board/gmii.rs has the same fields.
struct Seen {
    uint64_t clock;
    uint64_t first;
    uint64_t last;
    uint64_t idle;
    uint64_t heard;
    uint32_t busy;
    uint32_t resting;
};

struct Sent {
    std::vector<uint8_t> bytes;
    uint32_t gap = 0;
};

enum { USER, SYS, WIRE, CLOCKS };

// Bytes between two frames to the board.
const uint32_t GAP = 12;

struct Board {
    VerilatedContext context;
    {{ prefix }} top{&context, "board"};
    uint64_t period[CLOCKS];
    uint64_t next[CLOCKS];
    std::deque<std::vector<uint8_t>> input;
    size_t at = 0;
    uint32_t rest = 0;
    Sent sent;
    std::deque<Sent> output;
    uint32_t gap = GAP;
    bool used = false;
    uint64_t idle = 0;
    Seen seen{};

    void set(int clock, bool high) {
        if (clock == USER) top.user_clk = high;
        else if (clock == SYS) top.sys_clk = high;
        else top.eth_rx_clk = top.eth_tx_clk = high;
    }
    bool is_high(int clock) {
        return clock == USER ? top.user_clk : clock == SYS ? top.sys_clk : top.eth_rx_clk;
    }
    void reset(bool on) { top.user_rst = top.sys_rst = top.eth_rx_rst = top.eth_tx_rst = on; }

    // What the board sends in the clock of the wire that ends, and what it gets in the next one.
    void listen() {
        if (top.gmii_tx_en) {
            if (sent.bytes.empty()) sent.gap = gap;
            sent.bytes.push_back(top.gmii_tx_data);
            gap = 0;
            used = true;
            return;
        }
        gap += gap < 1000000;
        if (!sent.bytes.empty()) {
            output.push_back(std::move(sent));
            sent.bytes.clear();
        }
    }
    void speak() {
        if (rest > 0) rest--;
        bool on = rest == 0 && !input.empty();
        top.gmii_rx_dv = on;
        if (!on) return;
        top.gmii_rx_data = input.front()[at++];
        used = true;
        seen.heard = seen.clock;
        if (at == input.front().size()) {
            input.pop_front();
            at = 0;
            rest = GAP + 1;
        }
    }
    void watch() {
        seen.busy = top.busy;
        seen.resting = top.resting;
        if (used) {
            if (seen.last == 0) {
                seen.first = seen.clock;
                idle = 0;
            }
            seen.last = seen.clock + 1;
            seen.idle = idle;
        } else if (!top.busy && input.empty()) idle++;
        used = false;
        seen.clock++;
    }
    // The next edge of any clock. Those that rise together do so in one step, and fall before their next edge.
    void step() {
        uint64_t time = next[0] < next[1] ? next[0] : next[1];
        if (next[2] < time) time = next[2];
        bool again = false;
        for (int k = 0; k < CLOCKS; k++) {
            again |= next[k] == time && is_high(k);
            set(k, false);
        }
        if (again) top.eval();
        bool rises[CLOCKS];
        for (int k = 0; k < CLOCKS; k++) {
            rises[k] = next[k] == time;
            if (!rises[k]) continue;
            set(k, true);
            next[k] += period[k];
        }
        if (rises[WIRE]) listen();
        top.eval();
        if (rises[WIRE]) speak();
        if (rises[USER]) watch();
    }
    void run(uint64_t clocks) {
        for (uint64_t end = seen.clock + clocks; seen.clock < end;) step();
    }
};

// Periods in picoseconds.
EXPORT void* board_new(uint64_t user, uint64_t sys, uint64_t mac, uint32_t ip) {
    auto board = new Board;
    const uint64_t periods[CLOCKS] = {user, sys, 8000};
    for (int k = 0; k < CLOCKS; k++) board->period[k] = board->next[k] = periods[k];
    board->top.mac_address = mac;
    board->top.ip_address = ip;
    board->top.gmii_rx_dv = 0;
    board->reset(true);
    board->run(32);
    board->reset(false);
    board->run(32);
    return board;
}

EXPORT void board_delete(void* board) { delete static_cast<Board*>(board); }

EXPORT void board_give(void* board, const uint8_t* bytes, uint64_t length) {
    static_cast<Board*>(board)->input.emplace_back(bytes, bytes + length);
}

EXPORT void board_run(void* board, uint64_t clocks) { static_cast<Board*>(board)->run(clocks); }

// The next frame that the board has sent and the bytes of rest before it; 0 for none. What does not fit is cut.
EXPORT uint64_t board_take(void* board, uint8_t* bytes, uint64_t room, uint32_t* gap) {
    auto& output = static_cast<Board*>(board)->output;
    if (output.empty()) return 0;
    Sent sent = std::move(output.front());
    output.pop_front();
    *gap = sent.gap;
    uint64_t length = sent.bytes.size() < room ? sent.bytes.size() : room;
    std::memcpy(bytes, sent.bytes.data(), length);
    return length;
}

EXPORT void board_seen(void* board, Seen* seen) { *seen = static_cast<Board*>(board)->seen; }
EXPORT uint64_t board_waiting(void* board) { return static_cast<Board*>(board)->input.size(); }
