// What the kernels of the FMM need of CUDA, for a C++ compiler of the host: it stands before their text.
//
// The threads of a block are fibers of one thread. A fiber runs until it waits for its warp or its block, and goes on when all
// that are left there have come.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <ucontext.h>
#include <vector>

#define __CUDA_ARCH__ 750       // no asynchronous copies
#define __global__ __attribute__((visibility("default")))
#define __constant__ static const
#define __shared__ static
#define __align__(bytes) alignas(bytes)
#define __launch_bounds__(...)

struct uint2 { uint32_t x, y; };
static uint2 make_uint2(uint32_t x, uint32_t y) { return {x, y}; }
using std::max;
using std::min;
using std::signbit;

static struct { uint32_t x; } threadIdx, blockIdx, gridDim, blockDim;

namespace fibers {

enum Wait : uint8_t { NOTHING, WARP, BLOCK, END };
// A place to go on from, by the compiler's own jumps: five words, where those of the C library keep and check more.
struct Place { void *words[5]; };
// A fiber starts by its context and goes on by a jump, which takes no call of the system. One that has ended is that thread of the
// next block too. What is looked at for each switch stands together.
static std::vector<Wait> waits;
static std::vector<Place> places;
static std::vector<uint8_t> is_started;
static std::vector<ucontext_t> contexts;
static std::vector<char> stacks;
struct Words { uint64_t words[2]; };
static std::vector<Words> words;
static std::vector<uint32_t> shuffles;
static Place scheduler;
static uint32_t warp_end;
static void (*body)();

[[gnu::noinline, noreturn]] static void go_on(const uint32_t k)
{
    threadIdx.x = k;
    if (is_started[k])
        __builtin_longjmp(places[k].words, 1);
    is_started[k] = true;
    setcontext(&contexts[k]);
    __builtin_trap();
}

// Goes on with the next fiber of the warp that can, or else with the scheduler.
[[gnu::noinline, noreturn]] static void leave(const uint32_t k)
{
    for (uint32_t next = k + 1; next < warp_end; next++)
        if (waits[next] == NOTHING)
            go_on(next);
    __builtin_longjmp(scheduler.words, 1);
}

[[gnu::noinline]] static void wait_for(const Wait wait)
{
    const uint32_t k = threadIdx.x;
    waits[k] = wait;
    if (__builtin_setjmp(places[k].words) == 0)
        leave(k);
}

static void fiber()
{
    for (;;) {
        body();
        wait_for(END);
    }
}

// Lets each fiber from this one on, of those that can, run until it waits.
[[gnu::noinline]] static void pass(const uint32_t first)
{
    if (__builtin_setjmp(scheduler.words) == 0)
        go_on(first);
}

// Lets some fibers run until each waits for more than its warp.
static void run_warp(const uint32_t first, const uint32_t end)
{
    warp_end = end;
    for (;;) {
        const auto ready = std::find(&waits[first], &waits[first] + (end - first), NOTHING);
        if (ready != &waits[first] + (end - first))
            pass(ready - &waits[0]);
        bool is_left = false;
        for (uint32_t k = first; k < end; k++)
            if (waits[k] == WARP) {
                waits[k] = NOTHING;
                is_left = true;
            }
        if (!is_left)
            return;
    }
}

template <class Body> static void run(uint32_t blocks, uint32_t threads, const Body &work)
{
    const size_t stack = 64 << 10;
    static const Body *now;
    now = &work;
    body = [] { (*now)(); };
    if (waits.size() < threads) {
        places.assign(threads, Place());
        is_started.assign(threads, false);
        contexts.assign(threads, ucontext_t());
        stacks.assign(threads * stack, 0);
        words.assign(threads, Words());
        for (uint32_t k = 0; k < threads; k++) {
            ucontext_t &own = contexts[k];
            getcontext(&own);
            own.uc_stack.ss_sp = stacks.data() + k * stack;
            own.uc_stack.ss_size = stack;
            own.uc_link = nullptr;
            makecontext(&own, fiber, 0);
        }
    }
    gridDim.x = blocks;
    blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
        waits.assign(std::max<size_t>(waits.size(), threads), NOTHING);
        shuffles.assign(waits.size(), 0);
        for (bool is_left = true; is_left;) {
            for (uint32_t first = 0; first < threads; first += 32)
                run_warp(first, std::min(first + 32, threads));
            is_left = false;
            for (uint32_t k = 0; k < threads; k++)
                if (waits[k] == BLOCK) {
                    waits[k] = NOTHING;
                    is_left = true;
                }
        }
    }
}

}

using fibers::run;

static void __syncthreads() { fibers::wait_for(fibers::BLOCK); }
static void __syncwarp() { fibers::wait_for(fibers::WARP); }

// The word of another lane. Two places in turn: a lane may be one shuffle ahead of another.
template <class T> static T shuffled(const T value, const uint32_t lane)
{
    const uint32_t turn = fibers::shuffles[threadIdx.x]++ % 2;
    memcpy(&fibers::words[threadIdx.x].words[turn], &value, sizeof(T));
    fibers::wait_for(fibers::WARP);
    T other;
    memcpy(&other, &fibers::words[threadIdx.x / 32 * 32 + lane].words[turn], sizeof(T));
    return other;
}

template <class T> static T __shfl_xor_sync(uint32_t, const T value, const uint32_t bits)
{
    return shuffled(value, threadIdx.x % 32 ^ bits);
}

template <class T> static T __shfl_up_sync(uint32_t, const T value, const uint32_t step)
{
    const uint32_t lane = threadIdx.x % 32;
    return shuffled(value, lane < step ? lane : lane - step);
}

template <class T> static T __shfl_sync(uint32_t, const T value, const uint32_t lane) { return shuffled(value, lane); }

static uint32_t __ballot_sync(uint32_t, const bool own)
{
    shuffled((uint64_t)own, threadIdx.x % 32);
    const fibers::Words *const warp = &fibers::words[threadIdx.x / 32 * 32];
    uint32_t all = 0;
    for (uint32_t lane = 0; lane < 32; lane++)
        all |= (uint32_t)warp[lane].words[(fibers::shuffles[threadIdx.x] - 1) % 2] << lane;
    return all;
}

static int __clzll(uint64_t bits) { return bits == 0 ? 64 : __builtin_clzll(bits); }
static int __popc(uint32_t bits) { return __builtin_popcount(bits); }

template <class T, class U> static T atomicMax(T *place, const U value)
{
    const T before = *place;
    *place = before < (T)value ? (T)value : before;
    return before;
}

template <class T, class U> static T atomicAdd(T *place, const U value)
{
    const T before = *place;
    *place += value;
    return before;
}

static double __dmul_rn(double a, double b) { return a * b; }
static float __fdividef(float a, float b) { return a / b; }

static uint32_t atomicCAS(uint32_t *place, const uint32_t expected, const uint32_t value)
{
    const uint32_t before = *place;
    if (before == expected)
        *place = value;
    return before;
}

static void atomicOr(uint32_t *place, uint32_t bits) { *place |= bits; }
static int __ffs(uint32_t bits) { return __builtin_ffs(bits); }

static float __int_as_float(int bits)
{
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

// What a kernel is started with, by its name.
#define START(name) extern "C" __global__ void start_##name(uint32_t blocks, uint32_t threads, const Problem *p, const uint32_t *numbers)
