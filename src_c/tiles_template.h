/* Compiled twice by tiles.h, with WORK = float and double.

   Adds left' right to sums.

     left     (n_rows, p), rows padded to whole tiles
     right    (n_rows, q), rows padded to whole tiles; may be `left`
     upper    whether only the tiles on and above the diagonal are wanted
     sums     (p, q), always double; added to

   Each sum over rows is taken in the order of the rows, in a precision of WORK. */
ALWAYS_INLINE void ADD_PRODUCTS(const WORK *left, ptrdiff_t p, const WORK *right, ptrdiff_t q,
                                ptrdiff_t n_rows, const int upper, double *sums)
{
    enum { TILE_WIDTH = TILE_BYTES / sizeof(WORK) };
    const ptrdiff_t left_width = in_tiles_of(sizeof(WORK), p);
    const ptrdiff_t right_width = in_tiles_of(sizeof(WORK), q);
    for (ptrdiff_t i = 0; i < p; i += TILE_HEIGHT)
        for (ptrdiff_t j = upper ? i / TILE_WIDTH * TILE_WIDTH : 0; j < q; j += TILE_WIDTH) {
            WORK tile[TILE_HEIGHT][TILE_WIDTH] = {{0}};
            const WORK *RESTRICT l = left + i, *RESTRICT r = right + j;
            for (ptrdiff_t row = 0; row < n_rows; row++, l += left_width, r += right_width)
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
