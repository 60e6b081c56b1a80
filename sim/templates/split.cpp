// Drives an engine as one model of its shell and N of its lane, which are spread over threads.
//
// Shell and lanes need not meet at every clock. A lane's outputs matter to the shell only while r_done is high, and
// r_done is l_last of LATENCY clocks ago, which the shell itself sent: so the shell runs ahead and notes what
// it sends in a ring, the lanes follow through the ring in pieces, and only at a clock with r_done does the shell wait
// until the lanes of that group have come to that very clock. That r_done is high then, and at no other clock, is checked.
{% include "stream.h" %}
#include <exception>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>
#include "{{ shell }}.h"
#include "{{ lane }}.h"
#if __has_include("{{ lane }}___024root.h")
#include "{{ lane }}___024root.h"
#endif

constexpr uint32_t LANES = {{ c.pipelines }};
constexpr uint32_t LANE_WORDS = (LANES + 31) / 32;
constexpr uint32_t GROUPS = {{ c.groups }};
constexpr uint32_t GROUP_WORDS = (GROUPS + 31) / 32;
constexpr uint32_t GROUP_LANES = LANES / GROUPS;
constexpr uint32_t I_WORDS = {{ c.layout.i_words() }};
constexpr uint32_t J_WORDS = {{ c.layout.j_words() }};
constexpr uint32_t PARAM_WORDS = {{ c.layout.register_words() }};
constexpr uint32_t RESULT_WORDS = {{ c.layout.result_words() }};
constexpr uint64_t LATENCY = {{ latency }};
constexpr uint64_t RING = {{ ring }};
// Clocks of one lane that a thread steps at once: long enough to keep the lane's state in its cache.
constexpr uint64_t SHORTEST_PIECE = 16;
constexpr uint64_t LONGEST_PIECE = 256;
// The shell tells the others how far it is only now and then, since they look at it all the time.
constexpr uint64_t TELL = 16;
static_assert(RING > LATENCY && (RING & (RING - 1)) == 0, "the ring holds what is in flight");

// A bit for each lane group.
struct Groups {
    uint32_t words[GROUP_WORDS] = {};
    bool operator[](uint32_t k) const { return words[k / 32] >> k % 32 & 1; }
    bool any() const {
        uint32_t all = 0;
        for (uint32_t word : words) all |= word;
        return all != 0;
    }
};

// What the shell sends in one clock.
struct Bus {
    uint32_t j[GROUPS * J_WORDS];
    uint32_t i[GROUPS * I_WORDS];
    uint32_t param[PARAM_WORDS + 1];
{%- for table in c.layout.tables %}
    uint32_t {{ table.port }}[{{ table.port_bits().div_ceil(32) }}];
{%- endfor %}
    uint32_t we[LANE_WORDS];
    uint32_t active[LANE_WORDS];
    Groups valid, first, last, bank, i_bank, done;
{%- if c.ii > 1 %}
    Groups start;
{%- endif %}
};

inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Waits a little while busily, then lets others run: a machine with fewer cores than threads must not crawl.
struct Patience {
    uint32_t tries = 0;
    void wait() {
        if (++tries < 256) {
            relax();
        } else {
            std::this_thread::yield();
        }
    }
};

// Lets the next evaluation see a rising edge although the clock was never evaluated low: nothing in a lane happens at a
// falling edge, and evaluating it takes time. What the model remembers of its clock has this name in some versions of
// Verilator; with others the falling edge is evaluated.
template <class Model>
auto rearm(Model& top, int) -> decltype(top.rootp->__Vtrigrprev__TOP__clk = 0, true) {
    top.rootp->__Vtrigrprev__TOP__clk = 0;
    return true;
}
template <class Model>
bool rearm(Model&, long) {
    return false;
}

struct alignas(128) Lane {
    VerilatedContext context;
    {{ lane }} top{&context, "lane"};
    // Clocks stepped; written by the thread that holds `taken`.
    alignas(128) std::atomic<uint64_t> clock{0};
    std::atomic<bool> taken{false};

    // Steps to clock `to`; false if r_done broke its latency.
    bool step(const Bus* ring, uint32_t index, uint64_t to) {
        uint32_t wrong = 0;
        const uint32_t word = index / 32, bit = index % 32, group = index / GROUP_LANES;
        uint64_t t = clock.load(std::memory_order_relaxed);
        for (; t < to; ++t) {
            const Bus& bus = ring[t & (RING - 1)];
            put(top.i_rec, bus.i + group * I_WORDS);
            put(top.j_rec, bus.j + group * J_WORDS);
{%- for table in c.layout.tables %}
            put(top.{{ table.port }}, bus.{{ table.port }});
{%- endfor %}
{%- if c.layout.register_words() > 0 %}
            put(top.param, bus.param);
{%- endif %}
            top.i_we = bus.we[word] >> bit & 1;
            top.i_bank = bus.i_bank[group];
            top.c_valid = bus.valid[group];
{%- if c.ii > 1 %}
            top.c_start = bus.start[group];
{%- endif %}
            top.c_first = bus.first[group];
            top.c_last = bus.last[group];
            top.c_bank = bus.bank[group];
            top.c_active = bus.active[word] >> bit & 1;
            // The outputs are those of registers: they stand since the last rising edge.
            wrong |= top.r_done ^ bus.done[group];
            if (!rearm(top, 0)) {
                top.clk = 0;
                top.eval();
            }
            top.clk = 1;
            top.eval();
        }
        clock.store(to, std::memory_order_release);
        return wrong == 0;
    }
};

struct Engine {
    VerilatedContext context;
    {{ shell }} shell{&context, "shell"};
    std::unique_ptr<Lane> lanes[LANES];
    std::vector<Bus> ring{RING};
    Streams streams;
    std::atomic<bool> wrong{false};
    alignas(128) std::atomic<uint64_t> told{0};
    alignas(128) std::mutex mutex;
    std::condition_variable wake;
    std::atomic<bool> awake{false};
    bool ending = false;
    std::vector<std::thread> threads;

    explicit Engine(uint32_t count) {
        for (auto& lane : lanes) lane = std::make_unique<Lane>();
        for (uint32_t k = 1; k < count && k < LANES + 1; ++k) threads.emplace_back([this] { follow(); });
    }

    ~Engine() {
        {
            std::lock_guard<std::mutex> lock(mutex);
            ending = true;
            awake = false;
        }
        wake.notify_all();
        for (auto& thread : threads) thread.join();
    }

    // What the other threads do: step lanes while there is something to follow, sleep between calls of the host.
    void follow() {
        for (;;) {
            {
                std::unique_lock<std::mutex> lock(mutex);
                wake.wait(lock, [this] { return ending || awake.load(); });
                if (ending) return;
            }
            Patience patience;
            while (awake.load(std::memory_order_relaxed)) {
                if (work(SHORTEST_PIECE, 0, LANES)) {
                    patience = Patience();
                } else {
                    patience.wait();
                }
            }
        }
    }

    // Steps a piece of the lane from `first` up to `end` that is furthest behind by at least `least` clocks; false if
    // there is none.
    bool work(uint64_t least, uint32_t first, uint32_t end) {
        const uint64_t to = told.load(std::memory_order_acquire);
        for (;;) {
            uint32_t furthest = LANES;
            uint64_t behind = least - 1;
            for (uint32_t k = first; k < end; ++k) {
                const uint64_t gap = to - lanes[k]->clock.load(std::memory_order_relaxed);
                // A lane may already be past an old `to`.
                if (static_cast<int64_t>(gap) > static_cast<int64_t>(behind) &&
                    !lanes[k]->taken.load(std::memory_order_relaxed)) {
                    furthest = k;
                    behind = gap;
                }
            }
            if (furthest == LANES) return false;
            Lane& lane = *lanes[furthest];
            if (lane.taken.exchange(true, std::memory_order_acquire)) continue;
            const uint64_t from = lane.clock.load(std::memory_order_relaxed);
            if (from < to) {
                uint64_t piece = (to - from) / 2;
                piece = piece < SHORTEST_PIECE ? SHORTEST_PIECE : piece > LONGEST_PIECE ? LONGEST_PIECE : piece;
                if (!lane.step(ring.data(), furthest, to - from < piece ? to : from + piece)) wrong = true;
            }
            lane.taken.store(false, std::memory_order_release);
            return true;
        }
    }

    // Returns when every lane from `first` up to `end` has come to clock `to`.
    void catch_up(uint64_t to, uint32_t first, uint32_t end) {
        told.store(streams.cycle, std::memory_order_release);
        Patience patience;
        while (slowest(first, end) < to) {
            if (work(1, first, end)) {
                patience = Patience();
            } else {
                patience.wait();
            }
        }
    }

    uint64_t slowest(uint32_t first, uint32_t end) const {
        uint64_t least = UINT64_MAX;
        for (uint32_t k = first; k < end; ++k) {
            const uint64_t clock = lanes[k]->clock.load(std::memory_order_acquire);
            if (clock < least) least = clock;
        }
        return least;
    }

    // Takes the finished results of the lanes from `first` up to `end` to the shell's inputs.
    void collect(uint32_t first, uint32_t end) {
        for (uint32_t k = first; k < end; ++k) {
            get(lanes[k]->top.r_data, data + k * RESULT_WORDS);
            lane_flags[k] = lanes[k]->top.r_flags;
        }
        uint32_t flags[(5 * LANES + 31) / 32 + 1] = {};
        for (uint32_t k = 0; k < LANES; ++k) {
            const uint64_t placed = static_cast<uint64_t>(lane_flags[k]) << (5 * k % 32);
            flags[5 * k / 32] |= static_cast<uint32_t>(placed);
            flags[5 * k / 32 + 1] |= static_cast<uint32_t>(placed >> 32);
        }
        put(shell.l_r_data, data);
        put(shell.l_r_flags, flags);
    }

    Status clock(Exchange& x) {
        const uint64_t t = streams.cycle;
        Groups done;
        if (t >= LATENCY) done = ring[(t - LATENCY) & (RING - 1)].last;
        if (done.any()) {
            for (uint32_t k = 0; k < GROUPS; ++k) {
                if (!done[k]) continue;
                catch_up(t, k * GROUP_LANES, (k + 1) * GROUP_LANES);
                collect(k * GROUP_LANES, (k + 1) * GROUP_LANES);
            }
        }
        if (t - oldest >= RING - LATENCY) {
            oldest = slowest(0, LANES);
            if (t - oldest >= RING - LATENCY) {
                catch_up(t - RING / 2, 0, LANES);
                oldest = slowest(0, LANES);
            }
        }
        put(shell.l_r_done, done.words);
        streams.drive(shell, x);
        shell.clk = 0;
        shell.eval();
        Bus& bus = ring[t & (RING - 1)];
        note(bus);
        bus.done = done;
        Status status = streams.settle(shell, x, bus.valid.any() || done.any());
        shell.clk = 1;
        shell.eval();
        if (t % TELL == 0) told.store(t + 1, std::memory_order_release);
        return status;
    }

    void note(Bus& bus) {
        get(shell.l_i_rec, bus.i);
        get(shell.l_j_rec, bus.j);
{%- for table in c.layout.tables %}
        get(shell.l_{{ table.port }}, bus.{{ table.port }});
{%- endfor %}
{%- if c.layout.register_words() > 0 %}
        get(shell.l_param, bus.param);
{%- endif %}
        get(shell.l_i_we, bus.we);
        get(shell.l_active, bus.active);
        get(shell.l_i_bank, bus.i_bank.words);
        get(shell.l_valid, bus.valid.words);
{%- if c.ii > 1 %}
        get(shell.l_start, bus.start.words);
{%- endif %}
        get(shell.l_first, bus.first.words);
        get(shell.l_last, bus.last.words);
        get(shell.l_bank, bus.bank.words);
    }

    // Lanes have come at least to this clock.
    uint64_t oldest = 0;
    // What the lanes finished last.
    uint32_t data[LANES * RESULT_WORDS + 1] = {};
    uint8_t lane_flags[LANES] = {};
};

// Null where the waves cannot be written, or where there is no memory for the model.
EXPORT void* engine_new(uint32_t threads, uint64_t seed, const char*) try {
    Engine* engine = new Engine(threads);
    engine->streams.random = seed;
    Exchange none{};
    none.cycle_limit = UINT64_MAX;
    none.patience = UINT64_MAX;
    for (int k = 0; k < {{ reset }}; ++k) {
        engine->shell.rst = 1;
        engine->clock(none);
    }
    engine->shell.rst = 0;
    return engine;
} catch (const std::exception&) {
    return nullptr;
}

EXPORT void engine_delete(void* engine) { delete static_cast<Engine*>(engine); }
EXPORT uint64_t engine_cycles(void* engine) { return static_cast<Engine*>(engine)->streams.cycle; }
EXPORT void engine_pause(void* engine) { static_cast<Engine*>(engine)->awake = false; }

EXPORT uint32_t engine_run(void* engine, Exchange* x) {
    Engine& e = *static_cast<Engine*>(engine);
    if (!e.threads.empty() && !e.awake.load()) {
        {
            std::lock_guard<std::mutex> lock(e.mutex);
            e.awake = true;
        }
        e.wake.notify_all();
    }
    for (;;) {
        Status status = e.clock(*x);
        if (e.wrong.load(std::memory_order_relaxed)) return LATE;
        if (status != GOING) return status;
    }
}
