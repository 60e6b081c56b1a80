// What the kernels of the FMM need of CUDA, for a C++ compiler of the host: it stands before their text.
//
// The threads of a block are fibers of one thread. A fiber runs until it waits for its warp or its block, and goes on when all
// that are left there have come.

#include <algorithm>
#include <cmath>
#include <csetjmp>
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

enum Wait { NOTHING, WARP, BLOCK, END };
// A fiber starts by its context and goes on by a jump, which takes no call of the system. One that has ended is that thread of the
// next block too.
struct Fiber { ucontext_t context; jmp_buf place; bool is_started; Wait wait; uint32_t shuffles; uint64_t words[2]; };
static std::vector<Fiber> fibers;
static std::vector<char> stacks;
static jmp_buf scheduler;
static void (*body)();

static void wait_for(Wait wait)
{
    Fiber &own = fibers[threadIdx.x];
    own.wait = wait;
    if (_setjmp(own.place) == 0)
        _longjmp(scheduler, 1);
}

static void fiber()
{
    for (;;) {
        body();
        wait_for(END);
    }
}

static void go_on(uint32_t k)
{
    Fiber &next = fibers[k];
    threadIdx.x = k;
    if (_setjmp(scheduler) != 0)
        return;
    if (next.is_started)
        _longjmp(next.place, 1);
    next.is_started = true;
    setcontext(&next.context);
}

// Lets some fibers run until each waits for more than its warp.
static void run_warp(uint32_t first, uint32_t end)
{
    for (bool is_left = true; is_left;) {
        for (uint32_t k = first; k < end; k++)
            if (fibers[k].wait == NOTHING)
                go_on(k);
        is_left = false;
        for (uint32_t k = first; k < end; k++)
            if (fibers[k].wait == WARP) {
                fibers[k].wait = NOTHING;
                is_left = true;
            }
    }
}

template <class Body> static void run(uint32_t blocks, uint32_t threads, const Body &work)
{
    const size_t stack = 64 << 10;
    static const Body *now;
    now = &work;
    body = [] { (*now)(); };
    if (fibers.size() < threads) {
        fibers.assign(threads, Fiber());
        stacks.assign(threads * stack, 0);
        for (uint32_t k = 0; k < threads; k++) {
            Fiber &own = fibers[k];
            getcontext(&own.context);
            own.context.uc_stack.ss_sp = stacks.data() + k * stack;
            own.context.uc_stack.ss_size = stack;
            own.context.uc_link = nullptr;
            makecontext(&own.context, fiber, 0);
        }
    }
    gridDim.x = blocks;
    blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
        for (uint32_t k = 0; k < threads; k++) {
            fibers[k].wait = NOTHING;
            fibers[k].shuffles = 0;
        }
        for (bool is_left = true; is_left;) {
            for (uint32_t first = 0; first < threads; first += 32)
                run_warp(first, std::min(first + 32, threads));
            is_left = false;
            for (uint32_t k = 0; k < threads; k++)
                if (fibers[k].wait == BLOCK) {
                    fibers[k].wait = NOTHING;
                    is_left = true;
                }
        }
    }
}

static void __syncthreads() { wait_for(BLOCK); }
static void __syncwarp() { wait_for(WARP); }

// The word of another lane. Two places in turn: a lane may be one shuffle ahead of another.
template <class T> static T shuffled(const T value, const uint32_t lane)
{
    Fiber &own = fibers[threadIdx.x];
    const uint32_t turn = own.shuffles++ % 2;
    memcpy(&own.words[turn], &value, sizeof(T));
    wait_for(WARP);
    T other;
    memcpy(&other, &fibers[threadIdx.x / 32 * 32 + lane].words[turn], sizeof(T));
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
    const Fiber *const warp = &fibers[threadIdx.x / 32 * 32];
    uint32_t all = 0;
    for (uint32_t lane = 0; lane < 32; lane++)
        all |= (uint32_t)warp[lane].words[(fibers[threadIdx.x].shuffles - 1) % 2] << lane;
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
