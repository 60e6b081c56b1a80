// Columns of numbers on the GPU, each anywhere and with any distance between its numbers, in f32 or f64.

struct Column {
    uint64_t place;         // of the first number
    int64_t stride;         // from one number to the next, in numbers
    uint64_t is_single;
};

struct Problem {
    Column from[MOST_COLUMNS], to[MOST_COLUMNS];
    double factor[MOST_COLUMNS];
    uint64_t count;         // columns of each
    uint64_t n;             // numbers of a column
};

PF double read(const Column c, const int64_t i)
{
    return c.is_single ? (double)((const float *)c.place)[i * c.stride] : ((const double *)c.place)[i * c.stride];
}

PF void write(const Column c, const int64_t i, const double x)
{
    if (c.is_single)
        ((float *)c.place)[i * c.stride] = (float)x;
    else
        ((double *)c.place)[i * c.stride] = x;
}

// Each number times its column's factor, in place of what was there or, if `adds`, added to it.
extern "C" __global__ void __launch_bounds__(256) columns(const Problem p, const uint32_t adds)
{
    const uint64_t i = (uint64_t)blockIdx.x * 256u + threadIdx.x;
    if (i >= p.n)
        return;
    for (uint32_t k = 0; k < p.count; k++) {
        const double x = p.factor[k] * read(p.from[k], i);
        write(p.to[k], i, adds ? read(p.to[k], i) + x : x);
    }
}
