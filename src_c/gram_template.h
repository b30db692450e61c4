/* Compiled four times by gram.h: rows REAL = float and double, products WORK = float and
   double.

   Adds the outer products scale_i^2 row_i row_i' of the rows start .. stop-1 to sums (K, K),
   which is symmetric. `row_scale` NULL: one for every row. Rows are scaled into a block that
   stays in the cache, then multiplied. Returns -1 if out of memory, else 0. */
VECTOR_CLONES
static int GRAM(const REAL *rows, ptrdiff_t K, const double *row_scale, ptrdiff_t start,
                ptrdiff_t stop, double *sums)
{
    enum { BLOCK = 131072 / sizeof(WORK), MOST_ROWS = 256 };
    ptrdiff_t padded = in_tiles_of(sizeof(WORK), K);
    ptrdiff_t depth = BLOCK / padded > 8 ? BLOCK / padded : 8;
    depth = depth < MOST_ROWS ? depth : MOST_ROWS;
    depth = depth < stop - start ? depth : stop - start;
    WORK *block = (WORK *)calloc((size_t)(depth * padded), sizeof(WORK));
    if (block == NULL)
        return -1;
    for (ptrdiff_t first = start; first < stop; first += depth) {
        ptrdiff_t n_rows = first + depth < stop ? depth : stop - first;
        for (ptrdiff_t r = 0; r < n_rows; r++) {
            const REAL *RESTRICT row = rows + (first + r) * K;
            WORK *RESTRICT scaled = block + r * padded;
            double scale = row_scale == NULL ? 1.0 : row_scale[first + r];
            PRAGMA(omp simd)
            for (ptrdiff_t k = 0; k < K; k++)
                scaled[k] = (WORK)(scale * (double)row[k]);
        }
        ADD_PRODUCTS(block, K, block, K, n_rows, 1, sums);
    }
    for (ptrdiff_t i = 1; i < K; i++)
        for (ptrdiff_t j = 0; j < i; j++)
            sums[i * K + j] = sums[j * K + i];
    free(block);
    return 0;
}
