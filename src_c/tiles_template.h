/* Compiled twice by tiles.h, with WORK = float and double.

   Adds left' right to sums.

     left     (n_rows, p) in strips: tile by tile of columns, a strip's rows side by side
     right    (n_rows, q) in strips; may be `left`
     upper    whether only the tiles on and above the diagonal are wanted
     sums     (p, q), always double; added to

   Each sum over rows is taken in the order of the rows, in a precision of WORK. */
ALWAYS_INLINE void ADD_PRODUCTS(const WORK *left, ptrdiff_t p, const WORK *right, ptrdiff_t q,
                                ptrdiff_t n_rows, const int upper, double *sums)
{
    enum { TILE_WIDTH = TILE_BYTES / sizeof(WORK) };
    for (ptrdiff_t j = 0; j < q; j += TILE_WIDTH)
        for (ptrdiff_t i = 0; i < (upper && j + TILE_WIDTH < p ? j + TILE_WIDTH : p);
             i += TILE_HEIGHT) {
            WORK tile[TILE_HEIGHT][TILE_WIDTH] = {{0}};
            const WORK *RESTRICT l = left + i / TILE_WIDTH * TILE_WIDTH * n_rows;
            const WORK *RESTRICT r = right + j * n_rows; /* stays in the cache for all i */
            l += i % TILE_WIDTH;
            for (ptrdiff_t row = 0; row < n_rows; row++, l += TILE_WIDTH, r += TILE_WIDTH)
                for (int a = 0; a < TILE_HEIGHT; a++) {
                    PRAGMA(omp simd)
                    for (int b = 0; b < TILE_WIDTH; b++)
                        tile[a][b] += l[a] * r[b];
                }
            ptrdiff_t last_i = i + TILE_HEIGHT < p ? i + TILE_HEIGHT : p;
            ptrdiff_t last_j = j + TILE_WIDTH < q ? j + TILE_WIDTH : q;
            for (ptrdiff_t a = i; a < last_i; a++)
                for (ptrdiff_t b = j; b < last_j; b++)
                    sums[a * q + b] += (double)tile[a - i][b - j];
        }
}
