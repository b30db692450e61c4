/* Compiled twice by cell_sums.h, with REAL = float and double. */

/* Adds rows start .. stop-1 and their squares, weighted, to the cells' K totals and K
   squares; a negative cell is none. */
VECTOR_CLONES
static void NAMED(sum_cells)(const REAL *matrix, const int64_t *cells,
                             const double *weights, double *totals, double *squares,
                             ptrdiff_t K, ptrdiff_t start, ptrdiff_t stop)
{
    for (ptrdiff_t i = start; i < stop; i++) {
        if (cells[i] < 0)
            continue;
        const REAL *RESTRICT row = matrix + i * K;
        double *RESTRICT total = totals + cells[i] * K;
        double *RESTRICT square = squares + cells[i] * K;
        const double weight = weights[i];
        PRAGMA(omp simd)
        for (ptrdiff_t k = 0; k < K; k++) {
            double x = (double)row[k];
            total[k] += weight * x;
            square[k] += weight * (x * x);
        }
    }
}
