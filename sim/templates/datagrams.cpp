// Clocks a design at the words of its datagrams.
#include "{{ prefix }}.h"
#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))

// The pins in one clock; sim/src/board/words.rs has the same fields.
struct Pins {
    uint32_t rst;
    uint32_t rx_valid;
    uint32_t rx_last;
    uint32_t rx_data;
    uint32_t rx_address;
    uint32_t rx_port;
    uint32_t tx_ready;
    uint32_t tx_valid;
    uint32_t tx_last;
    uint32_t tx_data;
    uint32_t tx_address;
    uint32_t tx_port;
    uint32_t tx_bytes;
    uint32_t busy;
    uint32_t resting;
};

struct Board {
    VerilatedContext context;
    {{ prefix }} top{&context, "board"};
};

EXPORT void* board_new() { return new Board; }

EXPORT void board_delete(void* board) { delete static_cast<Board*>(board); }

// One clock: what goes out is that of before its edge.
EXPORT void board_clock(void* board, Pins* pins) {
    {{ prefix }}& top = static_cast<Board*>(board)->top;
    top.rst = pins->rst;
    top.rx_valid = pins->rx_valid;
    top.rx_last = pins->rx_last;
    top.rx_data = pins->rx_data;
    top.rx_address = pins->rx_address;
    top.rx_port = pins->rx_port;
    top.tx_ready = pins->tx_ready;
    top.clk = 0;
    top.eval();
    pins->tx_valid = top.tx_valid;
    pins->tx_last = top.tx_last;
    pins->tx_data = top.tx_data;
    pins->tx_address = top.tx_address;
    pins->tx_port = top.tx_port;
    pins->tx_bytes = top.tx_bytes;
    pins->busy = top.busy;
    pins->resting = top.resting;
    top.clk = 1;
    top.eval();
}
