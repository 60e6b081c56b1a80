// What both texts of M2L up to order 10 have in common: the product.

// The threads of a block of M2L: along cells, of which each has SHARE, and ROW_GROUPS along rows, of which each has OWN_ROWS.
#define CELLS 64
#define GROUPS 16
#define SHARE (CELLS / GROUPS)
#define M2L_THREADS (GROUPS * ROW_GROUPS)
#define CHUNK (PITCH / CHUNKS)  // columns that are in shared memory at a time
#define ROW (((CHUNK / VECTOR) | 1) * VECTOR)   // an odd number of vectors: neighbours are in other banks

struct Buffer { Real matrix[TERMS * ROW], sources[CELLS * ROW]; };

// Adds what the columns of a matrix give for a thread's rows and cells.
PF void add_products(Real (&sums)[OWN_ROWS][SHARE], const Buffer &buffer, const uint32_t group, const uint32_t place, const int columns)
{
    const Real *const sources = buffer.sources + place * ROW, *const matrix = buffer.matrix + group * ROW;
#pragma unroll 1
    for (int c = 0; c < columns; c += VECTOR) {
        Vector b[SHARE];
#pragma unroll
        for (int j = 0; j < SHARE; j++)
            b[j] = *(const Vector *)(sources + j * GROUPS * ROW + c);
#pragma unroll
        for (int i = 0; i < OWN_ROWS; i++) {
            const Vector a = *(const Vector *)(matrix + i * ROW_GROUPS * ROW + c);
#pragma unroll
            for (int v = 0; v < VECTOR; v++)
#pragma unroll
                for (int j = 0; j < SHARE; j++)
                    sums[i][j] += a.v[v] * b[j].v[v];
        }
    }
}
