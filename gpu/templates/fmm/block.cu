// The common part of both texts of M2L up to order 10: products of dense matrices, for which multipliers of matrices are used where a
// GPU has them.
//
// A block goes through steps, each a matrix and one source expansion for every cell of 64. Both come into shared memory while the steps
// before are computed. A warp has some tiles of 16 of these cells, and some of 8 rows.

#define CELL_WARPS (CELLS / 16 / CELL_TILES)
#define M2L_THREADS (32 * CELL_WARPS * ROW_WARPS)
#define CHUNK (PITCH / CHUNKS)  // columns that are in shared memory at a time
#define ROW ((CHUNK / 4 | 1) * 4)   // an odd number of fours: rows that are read together are in other banks

#define VECTORS (CHUNK / VECTOR)

// Rows behind the last one are never set, and what they give is not used.
struct Buffer { Real matrix[8 * ROW_TILES * ROW_WARPS * ROW], sources[CELLS * ROW]; };

// The sources of two steps in turn, by cells.
typedef uint32_t Sources[2][CELLS];

// A warp's sums: of each tile of 16 cells and 8 rows a thread has two cells, 8 apart, and two rows beside each other.
typedef Real ProductSums[CELL_TILES][ROW_TILES][4];

// The first cell and row of a warp, and a thread's place in tiles.
struct ProductPlace { int cell, row, group, member; };

PF ProductPlace product_place()
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    return {warp % CELL_WARPS * 16 * CELL_TILES, warp / CELL_WARPS * 8 * ROW_TILES, lane / 4, lane % 4};
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= (SINGLE ? 800 : 900)
#if SINGLE
// A number as two of 11 bits. The second one's bits behind those are left out by the multiplier, after this has rounded it.
struct Factor { uint32_t high, low; };

PF Factor factor(const float x)
{
    const uint32_t high = __float_as_uint(x) & 0xffffe000u;
    return {high, __float_as_uint(x - __uint_as_float(high)) + 0x1000u};
}

// Multiplies tiles with 8 or 4 columns.
PF void multiply(float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2])
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

PF void multiply(float (&sum)[4], const uint32_t (&a)[2], const uint32_t (&b)[1])
{
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}

// Numbers of tiles, each in two parts, of whose products the smallest is left out. What is added first is smallest.
template <int N> struct Numbers { uint32_t high[N], low[N]; };

template <int N> PF void set(Numbers<N> &to, const int k, const float x)
{
    const Factor f = factor(x);
    (to.high[k] = f.high, to.low[k] = f.low);
}

template <int A, int B> PF void multiply(float (&sum)[4], const Numbers<A> &a, const Numbers<B> &b)
{
    multiply(sum, a.low, b.high);
    multiply(sum, a.high, b.low);
    multiply(sum, a.high, b.high);
}
#else
template <int N> struct Numbers { double x[N]; };

template <int N> PF void set(Numbers<N> &to, const int k, const double x) { to.x[k] = x; }

PF void multiply(double (&sum)[4], const Numbers<4> &a, const Numbers<2> &b)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
                 : "d"(a.x[0]), "d"(a.x[1]), "d"(a.x[2]), "d"(a.x[3]), "d"(b.x[0]), "d"(b.x[1]));
}

PF void multiply(double (&sum)[4], const Numbers<2> &a, const Numbers<1> &b)
{
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3]) : "d"(a.x[0]), "d"(a.x[1]), "d"(b.x[0]));
}
#endif

// Adds the products of some fours of columns.
template <int FOURS> PF void add_columns(ProductSums &sums, const Real *const sources, const Real *const matrix)
{
    Numbers<2 * FOURS> a[CELL_TILES];
#pragma unroll
    for (int i = 0; i < CELL_TILES; i++)
#pragma unroll
        for (int k = 0; k < 2 * FOURS; k++)
            set(a[i], k, sources[(16 * i + 8 * (k & 1)) * ROW + 4 * (k >> 1)]);
#pragma unroll
    for (int j = 0; j < ROW_TILES; j++) {
        Numbers<FOURS> b;
#pragma unroll
        for (int k = 0; k < FOURS; k++)
            set(b, k, matrix[8 * j * ROW + 4 * k]);
#pragma unroll
        for (int i = 0; i < CELL_TILES; i++)
            multiply(sums[i][j], a[i], b);
    }
}

// Adds what the columns of a matrix give for a warp's rows and cells. Multipliers of f32 round sums toward 0, so that each buffer has sums
// of its own, which are few numbers each.
PF void add_products(ProductSums &sums, const Buffer &buffer, const ProductPlace &at, const int columns)
{
    const Real *const sources = buffer.sources + (at.cell + at.group) * ROW + at.member;
    const Real *const matrix = buffer.matrix + (at.row + at.group) * ROW + at.member;
#if SINGLE
    ProductSums own = {};
#else
    ProductSums &own = sums;
#endif
    int c = 0;
#pragma unroll 1
    for (; c + 4 < columns; c += 8)
        add_columns<2>(own, sources + c, matrix + c);
    if (c < columns)
        add_columns<1>(own, sources + c, matrix + c);
#if SINGLE
#pragma unroll
    for (int i = 0; i < CELL_TILES; i++)
#pragma unroll
        for (int j = 0; j < ROW_TILES; j++)
#pragma unroll
            for (int k = 0; k < 4; k++)
                sums[i][j][k] += own[i][j][k];
#endif
}
#else
PF void add_products(ProductSums &sums, const Buffer &buffer, const ProductPlace &at, const int columns)
{
    const Real *const sources = buffer.sources + (at.cell + at.group) * ROW;
#pragma unroll 1
    for (int c = 0; c < columns; c++)
#pragma unroll
        for (int j = 0; j < ROW_TILES; j++)
#pragma unroll
            for (int r = 0; r < 2; r++) {
                const Real b = buffer.matrix[(at.row + 8 * j + 2 * at.member + r) * ROW + c];
#pragma unroll
                for (int i = 0; i < CELL_TILES; i++)
#pragma unroll
                    for (int h = 0; h < 2; h++)
                        sums[i][j][2 * h + r] += b * sources[(16 * i + 8 * h) * ROW + c];
            }
}
#endif

// Calls `take(cell, row, sum)` for what a thread has.
template <class Take> PF void take_sums(const ProductSums &sums, const ProductPlace &at, const Take take)
{
#pragma unroll
    for (int i = 0; i < CELL_TILES; i++)
#pragma unroll
        for (int j = 0; j < ROW_TILES; j++)
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const int row = at.row + 8 * j + 2 * at.member + (k & 1);
                if (row < TERMS)
                    take(at.cell + 16 * i + at.group + 8 * (k >> 1), row, sums[i][j][k]);
            }
}

// Calls `take(k, row, v)` for a thread's share of the vectors of some rows, of which this is the k-th.
template <uint32_t COUNT, class Take> PF void take_vectors(const Take take)
{
    uint32_t row = threadIdx.x / VECTORS, v = threadIdx.x % VECTORS;
#pragma unroll
    for (uint32_t first = 0; first < COUNT * VECTORS; first += M2L_THREADS) {
        const uint32_t k = first + threadIdx.x;
        if (first + M2L_THREADS <= COUNT * VECTORS || k < COUNT * VECTORS)
            take(k, row, v);
        (row += M2L_THREADS / VECTORS, v += M2L_THREADS % VECTORS);
        if (v >= VECTORS)
            (v -= VECTORS, row++);
    }
}

PF void load(Buffer &buffer, const Real *const matrix, const Real *const m, const uint32_t (&sources)[CELLS])
{
    // Without gaps between rows, places follow from the number alone.
    const auto place = [](const uint32_t k, const uint32_t row, const uint32_t v) {
        return ROW == CHUNK ? k * VECTOR : row * ROW + v * VECTOR;
    };
    take_vectors<TERMS>([&](const uint32_t k, const uint32_t row, const uint32_t v) {
        copy(buffer.matrix + place(k, row, v), matrix + (PITCH == CHUNK ? k * VECTOR : row * PITCH + v * VECTOR), true);
    });
    take_vectors<CELLS>([&](const uint32_t k, const uint32_t c, const uint32_t v) {
        const uint32_t cell = sources[c];
        const bool is_there = cell != NOWHERE;
        copy(buffer.sources + place(k, c, v), m + ((uint64_t)(is_there ? cell : 0) * PITCH + v * VECTOR), is_there);
    });
}

// Where a block is among the columns of its steps.
struct Turn { uint32_t k, chunk; Step step; };

// Adds the products of `count` steps with some matrices and expansions. `find(k)` is a step, and `source(step, c)` a cell's source.
template <class Find, class Source>
PF void add_steps(ProductSums &sums, Buffer (&buffers)[M2L_BUFFERS], Sources &sources, const Real *const matrices, const Real *const m,
                  const uint32_t count, const Find find, const Source source)
{
    const auto find_sources = [&](const uint32_t k, const Step &step) {
        for (uint32_t c = threadIdx.x; c < CELLS; c += M2L_THREADS)
            sources[k % 2][c] = source(step, c);
    };
    const auto advance = [&](Turn &turn) {
        if ((int)(++turn.chunk * CHUNK) < turn.step.columns)
            return false;
        (turn.chunk = 0, turn.k++);
        if (turn.k < count)
            turn.step = find(turn.k);
        return true;
    };
    if (count == 0)
        return;
    const ProductPlace at = product_place();
    Turn now = {0, 0, find(0)}, next = now;
    find_sources(0, now.step);
    uint32_t buffer = 0, last = 0;
    // What is needed next is on its way, and the sources of the step behind it are found, while one buffer is computed.
    const auto load_next = [&]() {
        if (next.k < count) {
            const Real *const matrix = matrices + (uint64_t)next.step.matrix * TERMS * PITCH + next.chunk * CHUNK;
            load(buffers[last], matrix, m + next.chunk * CHUNK, sources[next.k % 2]);
            last = last + 1 == M2L_BUFFERS ? 0 : last + 1;
            if (advance(next) && next.k < count)
                find_sources(next.k, next.step);
        }
        end_copies();
    };
    for (uint32_t k = 0; k < M2L_BUFFERS - 1; k++) {
        __syncthreads();
        load_next();
    }
    while (now.k < count) {
        wait_but<M2L_BUFFERS - 2>();
        __syncthreads();
        load_next();
        const int rest = now.step.columns - (int)(now.chunk * CHUNK);
        add_products(sums, buffers[buffer], at, rest < CHUNK ? rest : CHUNK);
        buffer = buffer + 1 == M2L_BUFFERS ? 0 : buffer + 1;
        advance(now);
    }
}
