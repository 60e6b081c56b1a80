// In f32, a GPU has particles of other GPUs' shares on the grid alone. If it does not read these GPUs' memory, it is given the f64
// coordinates of pairs that may be too close, once it has asked for them.

// Nothing is asked for of the `count` particles around.
extern "C" __global__ void __launch_bounds__(256) ask_nothing(const Problem p, const uint32_t count)
{
    const uint32_t i = blockIdx.x * 256u + threadIdx.x;
    if (i < count)
        p.wide_at[i] = 0;
}

PF void ask_for(const uint32_t sorted, const uint32_t cell, const Problem &p)
{
    if (atomicCAS(&p.wide_at[sorted], 0u, ~0u) != 0)
        return;
    const uint32_t number = (uint32_t)atomicAdd((unsigned long long *)&p.status->wanted, 1ull);
    p.wide_at[sorted] = number + 1;
    p.wanted[number] = slot_of(p, cell, sorted - start_of(p, cell));
}

// A block a target: asks for it, and for all sources that may be too close to it.
extern "C" __global__ void __launch_bounds__(128) ask(const Problem p)
{
    for (uint64_t k = blockIdx.x; k < p.status->again; k += gridDim.x) {
        const uint32_t i = p.again[k];
        const Record own = p.records[i];
        const uint32_t cell = cell_of(own, p);
        for (uint32_t r = 0; r < NEAR_PARTS; r++) {
            const Near near = near_part(p, cell, r);
            for (uint32_t j = near.first + threadIdx.x; j < near.end; j += 128) {
                const Record other = p.records[j];
                if (j == i || (is_source(other) && steps_to(own, other, near.image, p).may_be_close))
                    ask_for(j, cell_of(other, p), p);
            }
        }
    }
}

// What others ask for: `count` places of the sorted share in `wide_at`.
extern "C" __global__ void __launch_bounds__(256) answer(const Problem p, const uint32_t count)
{
    const uint32_t k = blockIdx.x * 256u + threadIdx.x;
    if (k < count)
        p.wide[k] = wide_in({p.x, p.y, p.z, p.q, p.order}, p.wide_at[k], p);
}
