// Orders above 10: products of dense matrices, by which M2M, M2L and L2L go over cells.
//
// A block computes some rows of the expansions of 64 cells. It goes through steps, each a matrix and one source expansion for every cell.
// Columns of both come into shared memory while those before are computed, as many buffers ahead as there is memory for.

#define PRODUCT_THREADS 256
#define COLUMNS 8               // that are in shared memory at a time
#define COLUMN_VECTORS (COLUMNS / VECTOR)
#define LINE 12                 // numbers from one row to the next there: rows that are read together are in other banks
#define TILES_M (TILE_ROWS / 64)    // tiles of 16 rows of a warp, of which four share the rows and two the cells
#define TILES_N (CELLS / 16)   // its tiles of 8 cells
#define ROW_PARTS ((TERMS + TILE_ROWS - 1) / TILE_ROWS)

struct ProductBuffer { Real matrix[TILE_ROWS * LINE], sources[CELLS * LINE]; };

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800 && AHEAD > 0
#define BUFFERS (AHEAD + 1)
extern __shared__ __align__(16) char shared_memory[];
#define PRODUCT_BUFFERS(name) ProductBuffer *const name = (ProductBuffer *)shared_memory
#else
#define BUFFERS 2
#define PRODUCT_BUFFERS(name) __shared__ ProductBuffer name[BUFFERS]
#endif

// A step for one cell: the matrix, its columns and rows that are not 0, and where the source's expansion is, if there is one.
struct Move { const Real *matrix; uint32_t columns, source; };

// A warp's sums: of each tile of 16 rows and 8 cells a thread has two rows, 8 apart, and two cells beside each other.
typedef Real ProductSums[TILES_M][TILES_N][4];

PF void load_products(ProductBuffer &buffer, const Move &move, const Real *const from, const uint32_t first_row, const uint32_t column)
{
    for (uint32_t k = threadIdx.x; k < TILE_ROWS * COLUMN_VECTORS; k += PRODUCT_THREADS) {
        const uint32_t row = k / COLUMN_VECTORS, v = k % COLUMN_VECTORS;
        const bool is_there = first_row + row < TERMS;
        copy(buffer.matrix + row * LINE + v * VECTOR, move.matrix + (uint64_t)(is_there ? first_row + row : 0) * PITCH + column + v * VECTOR,
             is_there);
    }
    const uint32_t cell = threadIdx.x / COLUMN_VECTORS, v = threadIdx.x % COLUMN_VECTORS;
    if (cell < CELLS) {
        const bool is_there = move.source != NOWHERE;
        copy(buffer.sources + cell * LINE + v * VECTOR, from + (uint64_t)(is_there ? move.source : 0) * PITCH + column + v * VECTOR, is_there);
    }
    end_copies();
}

// The rows and cells of a warp within its block, and of a thread within tiles.
struct ProductPlace { uint32_t row, cell, group, member; };

PF ProductPlace product_place()
{
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    return {warp % 4 * 16 * TILES_M, warp / 4 * 8 * TILES_N, lane / 4, lane % 4};
}

PF void multiply(ProductSums &sums, const ProductBuffer &buffer, const ProductPlace &at)
{
    const Real *const matrix = buffer.matrix + (at.row + at.group) * LINE;
#if !SINGLE && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const Real *const sources = buffer.sources + (at.cell + at.group) * LINE + at.member;
    Real a[TILES_M][4], b[TILES_N][2];
#pragma unroll
    for (int i = 0; i < TILES_M; i++)
#pragma unroll
        for (int k = 0; k < 4; k++)
            a[i][k] = matrix[(16 * i + 8 * (k & 1)) * LINE + 4 * (k >> 1) + at.member];
#pragma unroll
    for (int j = 0; j < TILES_N; j++)
#pragma unroll
        for (int k = 0; k < 2; k++)
            b[j][k] = sources[8 * j * LINE + 4 * k];
#pragma unroll
    for (int i = 0; i < TILES_M; i++)
#pragma unroll
        for (int j = 0; j < TILES_N; j++)
            asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                         : "+d"(sums[i][j][0]), "+d"(sums[i][j][1]), "+d"(sums[i][j][2]), "+d"(sums[i][j][3])
                         : "d"(a[i][0]), "d"(a[i][1]), "d"(a[i][2]), "d"(a[i][3]), "d"(b[j][0]), "d"(b[j][1]));
#else
    const Real *const sources = buffer.sources + (at.cell + 2 * at.member) * LINE;
#pragma unroll
    for (int c = 0; c < COLUMNS; c++) {
        Real b[TILES_N][2];
#pragma unroll
        for (int j = 0; j < TILES_N; j++)
#pragma unroll
            for (int k = 0; k < 2; k++)
                b[j][k] = sources[(8 * j + k) * LINE + c];
#pragma unroll
        for (int i = 0; i < TILES_M; i++)
#pragma unroll
            for (int h = 0; h < 2; h++) {
                const Real a = matrix[(16 * i + 8 * h) * LINE + c];
#pragma unroll
                for (int j = 0; j < TILES_N; j++)
#pragma unroll
                    for (int k = 0; k < 2; k++)
                        sums[i][j][2 * h + k] += a * b[j][k];
            }
    }
#endif
}

// Where a block is among the columns of its steps.
struct ProductTurn { uint32_t k, column; Move move; };

// Adds the products of all steps for the rows from `first_row` on. `step(k, cell)` is the same matrix for all cells.
template <class Step>
PF void add_steps(ProductSums &sums, ProductBuffer *const buffers, const Real *const from, const uint32_t first_row, const uint32_t count,
                  const Step step)
{
    const ProductPlace at = product_place();
    const uint32_t cell = min(threadIdx.x / COLUMN_VECTORS, (uint32_t)CELLS - 1);
    // Steps without rows here are left out.
    const auto find = [&](ProductTurn &turn) {
        for (turn.column = 0; turn.k < count; turn.k++) {
            turn.move = step(turn.k, cell);
            if (turn.move.columns > first_row)
                break;
        }
    };
    ProductTurn next = {};
    const auto load_next = [&](const uint32_t buffer) {
        if (next.k < count) {
            load_products(buffers[buffer], next.move, from, first_row, next.column);
            next.column += COLUMNS;
            if (next.column >= next.move.columns) {
                next.k++;
                find(next);
            }
        } else {
            end_copies();
        }
    };
    find(next);
    uint32_t ahead = 0, now = 0;
    // A buffer is there to be computed, and all others but the one before it are on their way.
    for (; ahead < BUFFERS - 1 && next.k < count; ahead++)
        load_next(ahead);
    for (uint32_t k = ahead; k < BUFFERS - 1; k++)
        end_copies();
    while (ahead > 0) {
        wait_but<BUFFERS - 2>();
        __syncthreads();
        const uint32_t last = now == 0 ? BUFFERS - 1 : now - 1;
        if (next.k < count)
            ahead++;
        load_next(last);
        multiply(sums, buffers[now], at);
        now = now == BUFFERS - 1 ? 0 : now + 1;
        ahead--;
    }
}

// The part of the rows of a block, and its tile of cells. The first rows, which have the most steps, come first.
struct ProductPart { uint32_t first_row, tile; };

PF ProductPart part_of_block()
{
    const uint32_t tiles = gridDim.x / ROW_PARTS;
    return {blockIdx.x / tiles * TILE_ROWS, blockIdx.x % tiles};
}

// Calls `take(row, cell, sum)` for what a thread has.
template <class Take> PF void take_products(const ProductSums &sums, const uint32_t first_row, const Take take)
{
    const ProductPlace at = product_place();
#pragma unroll
    for (int i = 0; i < TILES_M; i++)
#pragma unroll
        for (int j = 0; j < TILES_N; j++)
#pragma unroll
            for (int k = 0; k < 4; k++) {
                const uint32_t row = first_row + at.row + 16 * i + at.group + 8 * (k >> 1);
                if (row < TERMS)
                    take(row, at.cell + 8 * j + 2 * at.member + (k & 1), sums[i][j][k]);
            }
}

// A term by its place: degree, order, and whether it is a sine.
struct Term { int n, m; bool is_sine; };

PF Term term_of(const int place)
{
    int n = (int)sqrtf((float)place);
    while (n * n > place)
        n--;
    while ((n + 1) * (n + 1) <= place)
        n++;
    const int rest = place - n * n;
    return {n, (rest + 1) / 2, rest > 0 && rest % 2 == 0};
}

PF int place_of_term(const int n, const int m, const bool is_sine) { return n * n + (m == 0 ? 0 : 2 * m - 1 + (int)is_sine); }

// The matrix of M2L at each offset, a block a row. For each offset `up` has the derivatives of 1/r there up to twice the order, `down` has
// the weights of terms, both in f64, and `steps` the degree up to which the matrix is not 0.
extern "C" __global__ void __launch_bounds__(256) make_matrices(const Problem p)
{
    const uint32_t offset = blockIdx.x / TERMS, row = blockIdx.x % TERMS;
    const double *const derivatives = (const double *)p.up + (uint64_t)offset * (2 * ORDER + 1) * (2 * ORDER + 1);
    const double *const weights = (const double *)p.down;
    const int needed = p.steps[offset];
    Real *const to = (Real *)p.matrices + ((uint64_t)offset * TERMS + row) * PITCH;
    const Term a = term_of((int)row);
    for (int column = (int)threadIdx.x; column < PITCH; column += 256) {
        const Term b = term_of(column);
        double entry = 0;
        if (column < TERMS && max(a.n, b.n) <= needed) {
            // The product of two operators' parts is a sum of two such parts.
            const int n = a.n + b.n, less = a.m - b.m;
            const double swap = min(a.m, b.m) % 2 == 0 ? 0.5 : -0.5, sign = less < 0 ? -swap : swap;
            const bool is_sine = a.is_sine != b.is_sine;
            const double first = a.is_sine && b.is_sine ? -0.5 : 0.5;
            const double second = !is_sine ? swap : a.is_sine ? sign : -sign;
            const int m = less < 0 ? -less : less;
            const double one = first * (is_sine && a.m + b.m == 0 ? 0.0 : derivatives[place_of_term(n, a.m + b.m, is_sine)]);
            const double other = is_sine && m == 0 ? 0.0 : second * derivatives[place_of_term(n, m, is_sine)];
            const double scale = weights[row] * weights[column];
            entry = (b.n % 2 == 0 ? scale : -scale) * (one + other);
        }
        to[column] = (Real)entry;
    }
}
