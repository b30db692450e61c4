/* Compiled twice by cell_sums.h, with REAL = float and double. */

/* Adds the weighted rows start .. stop-1 to the totals of their cells.

     rows         in       (n, K), row by row
     cells        in       (n,); a negative cell is none
     weights      in       (n,), of the rows
     start, stop  in       the rows that are done
     totals       in, out  (C, K) */
VECTOR_CLONES
static void NAMED(sum_cells)(const REAL *rows, ptrdiff_t K, const int64_t *cells,
                             const double *weights, ptrdiff_t start, ptrdiff_t stop,
                             double *totals)
{
    for (ptrdiff_t i = start; i < stop; i++) {
        if (cells[i] < 0)
            continue;
        const REAL *RESTRICT row = rows + i * K;
        double *RESTRICT total = totals + cells[i] * K;
        const double weight = weights[i];
        PRAGMA(omp simd)
        for (ptrdiff_t k = 0; k < K; k++)
            total[k] += weight * (double)row[k];
    }
}
