// Drives the top of a board at its pins: an oscillator, and the other end of the serial line.
#include "{{ prefix }}.h"
#include <cstdint>
#if __has_include("{{ prefix }}___024root.h")
#include "{{ prefix }}___024root.h"
#endif

#define EXPORT extern "C" __attribute__((visibility("default")))

// One call of the host; sim/src/board.rs has the same fields.
struct Exchange {
    const uint8_t* in;
    uint64_t in_bytes;
    uint64_t in_taken;
    uint8_t* out;
    uint64_t out_room;
    uint64_t out_taken;
    uint64_t clocks;
};

// What was seen so far; sim/src/board.rs has the same fields. Clocks are counted from power-on.
struct Seen {
    uint64_t clock;
    // The beginning of the first byte and the end of the last one, in either direction.
    uint64_t first;
    uint64_t last;
    // Clocks between these in which both lines rested and the board had nothing to do.
    uint64_t idle;
    // The last clock in which a line was in use, and that in which the board was at work too.
    uint64_t line_used;
    uint64_t worked;
    uint64_t bytes_in;
    uint64_t bytes_out;
    uint64_t flips;
};

// Lets the next evaluation see a rising edge although the clock was never evaluated low: all that happens in a board does
// so at rising edges. What the model remembers of its clock has one of these names in some versions of Verilator; with
// others the falling edge is evaluated.
template <class Model>
auto rearm(Model& top, int) -> decltype(top.rootp->__Vtrigrprev__TOP__clk_in = 0, true) {
    top.rootp->__Vtrigrprev__TOP__clk_in = 0;
    return true;
}
template <class Model>
bool rearm(Model&, long) {
    return false;
}

// Times are in 2^-32 of a clock, so that a bit need not be a whole number of clocks.
constexpr int FRACTION = 32;

struct Board {
    VerilatedContext context;
    {{ prefix }} top{&context, "board"};
    Seen seen{};
    // Idle clocks so far, of which those behind the last byte do not count yet.
    uint64_t idle = 0;
    uint64_t random = 1;
    uint64_t bit_time;
    uint32_t flip;
    // From the host: the bits still to go, lowest first, and when the one on the line ends.
    uint32_t sending = 0;
    uint32_t send_bits = 0;
    uint64_t send_edge = 0;
    // To the host: bits still to come, and when the next one is looked at.
    uint32_t receiving = 0;
    uint32_t receive_bits = 0;
    uint64_t receive_edge = 0;
    bool was_high = true;

    // SplitMix64; true with the probability of a flipped bit.
    bool flipped() {
        if (flip == 0) return false;
        random += 0x9e3779b97f4a7c15u;
        uint64_t z = random;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        const bool hit = static_cast<uint32_t>((z ^ (z >> 31)) >> 32) < flip;
        seen.flips += hit;
        return hit;
    }

    void step() {
        if (!rearm(top, 0)) {
            top.clk_in = 0;
            top.eval();
        }
        top.clk_in = 1;
        top.eval();
        ++seen.clock;
    }

    // The host's transmitter; a line at rest is high.
    void send(Exchange& x) {
        const uint64_t now = seen.clock << FRACTION;
        if (now < send_edge) return;
        if (send_bits == 0) {
            if (x.in_taken == x.in_bytes) {
                top.uart_rx = 1;
                return;
            }
            if (seen.bytes_in == 0 && seen.bytes_out == 0) seen.first = seen.clock;
            ++seen.bytes_in;
            sending = 0x200u | static_cast<uint32_t>(x.in[x.in_taken++]) << 1;
            send_bits = 10;
            // Bytes follow each other without a gap if they are there in time.
            if (send_edge + bit_time < now) send_edge = now;
        }
        top.uart_rx = (sending & 1) ^ flipped();
        sending >>= 1;
        --send_bits;
        send_edge += bit_time;
    }

    // The host's receiver: looks at each bit in its middle.
    void receive(Exchange& x) {
        const uint64_t now = seen.clock << FRACTION;
        const bool high = top.uart_tx;
        if (receive_bits == 0) {
            if (was_high && !high) {
                if (seen.bytes_in == 0 && seen.bytes_out == 0) seen.first = seen.clock;
                receive_bits = 10;
                receive_edge = now + bit_time / 2;
            }
        } else if (now >= receive_edge) {
            const bool bit = high ^ flipped();
            receive_edge += bit_time;
            --receive_bits;
            if (receive_bits == 9) {
                if (bit) receive_bits = 0;
            } else if (receive_bits > 0) {
                receiving = receiving >> 1 | static_cast<uint32_t>(bit) << 7;
            } else if (bit) {
                ++seen.bytes_out;
                x.out[x.out_taken++] = static_cast<uint8_t>(receiving);
            }
        }
        was_high = high;
    }

    // Keeps the books of the clock that has just passed.
    void note(const Exchange& x) {
        const bool line = send_bits > 0 || x.in_taken < x.in_bytes || receive_bits > 0 || (seen.clock << FRACTION) < send_edge;
        if (line) {
            seen.line_used = seen.clock;
            seen.last = seen.clock;
            seen.idle = idle;
        }
        if (line || top.led_busy == {{ lit }}) {
            seen.worked = seen.clock;
        } else if (seen.bytes_in + seen.bytes_out > 0) {
            ++idle;
        }
    }
};

EXPORT void* board_new(uint64_t bit_time, uint32_t flip, uint64_t seed) {
    Board* board = new Board;
    board->bit_time = bit_time;
    board->flip = flip;
    board->random = seed;
    board->top.uart_rx = 1;
    board->top.clk_in = 0;
    board->top.eval();
    return board;
}

// Bits that are on a line keep their time so far.
EXPORT void board_rate(void* board, uint64_t bit_time) { static_cast<Board*>(board)->bit_time = bit_time; }
EXPORT void board_delete(void* board) { delete static_cast<Board*>(board); }
EXPORT void board_seen(void* board, Seen* seen) { *seen = static_cast<Board*>(board)->seen; }

EXPORT void board_run(void* board, Exchange* x) {
    Board& b = *static_cast<Board*>(board);
    const uint64_t end = b.seen.clock + x->clocks;
    while (b.seen.clock < end && x->out_taken < x->out_room) {
        b.send(*x);
        b.step();
        b.receive(*x);
        b.note(*x);
    }
}
