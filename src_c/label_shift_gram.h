/* Compiled four times by label_shift.h: rows REAL = float and double, products WORK = float
   and double.

   sums += the outer products scale_i^2 row_i row_i'; sums of shape (K, K), symmetric, always
   double. `row_scale` NULL: one for every row. Rows are scaled into a block that stays in the
   cache, then multiplied in tiles that stay in registers. Returns -1 if out of memory. */
VECTOR_CLONES
static int GRAM(const REAL *probs, ptrdiff_t K, const double *row_scale, ptrdiff_t start,
                ptrdiff_t stop, double *sums)
{
    enum { HEIGHT = 4, WIDTH = 64 / sizeof(WORK), BLOCK = 131072 / sizeof(WORK) };
    enum { MOST_ROWS = 256 };
    ptrdiff_t padded = (K + WIDTH - 1) / WIDTH * WIDTH;
    ptrdiff_t depth = BLOCK / padded > 8 ? BLOCK / padded : 8;
    depth = depth < MOST_ROWS ? depth : MOST_ROWS;
    depth = depth < stop - start ? depth : stop - start;
    WORK *block = (WORK *)calloc((size_t)(depth * padded), sizeof(WORK));
    if (block == NULL)
        return -1;
    for (ptrdiff_t first = start; first < stop; first += depth) {
        ptrdiff_t rows = first + depth < stop ? depth : stop - first;
        for (ptrdiff_t r = 0; r < rows; r++) {
            const REAL *RESTRICT row = probs + (first + r) * K;
            WORK *RESTRICT scaled = block + r * padded;
            double scale = row_scale == NULL ? 1.0 : row_scale[first + r];
            PRAGMA(omp simd)
            for (ptrdiff_t k = 0; k < K; k++)
                scaled[k] = (WORK)(scale * (double)row[k]);
        }
        for (ptrdiff_t i = 0; i < K; i += HEIGHT)
            for (ptrdiff_t j = i / WIDTH * WIDTH; j < K; j += WIDTH) {
                WORK tile[HEIGHT][WIDTH] = {{0}};
                const WORK *RESTRICT left = block + i, *RESTRICT right = block + j;
                for (ptrdiff_t r = 0; r < rows; r++, left += padded, right += padded)
                    for (int a = 0; a < HEIGHT; a++) {
                        PRAGMA(omp simd)
                        for (int b = 0; b < WIDTH; b++)
                            tile[a][b] += left[a] * right[b];
                    }
                ptrdiff_t last_i = i + HEIGHT < K ? i + HEIGHT : K;
                ptrdiff_t last_j = j + WIDTH < K ? j + WIDTH : K;
                for (ptrdiff_t a = i; a < last_i; a++)
                    for (ptrdiff_t b = j; b < last_j; b++)
                        sums[a * K + b] += (double)tile[a - i][b - j];
            }
    }
    for (ptrdiff_t i = 1; i < K; i++)
        for (ptrdiff_t j = 0; j < i; j++)
            sums[i * K + j] = sums[j * K + i];
    free(block);
    return 0;
}
