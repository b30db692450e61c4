/* Compiled twice by bootstrap.h, with REAL = float and double. Sums are double. */

/* Adds P' W to totals (K, SAMPLES). Two columns at a time: enough independent sums to hide
   the time that an addition takes, and few enough for the registers. */
VECTOR_CLONES
static void NAMED(sum_columns_of_samples)(const REAL *probs, ptrdiff_t K, const double *base,
                                          const uint16_t *counts, ptrdiff_t n, double *totals)
{
    double weight[ROWS_AT_ONCE][SAMPLES];
    for (ptrdiff_t start = 0; start < n; start += ROWS_AT_ONCE) {
        const ptrdiff_t stop = start + ROWS_AT_ONCE < n ? start + ROWS_AT_ONCE : n;
        take_weights(base, counts, n, start, stop, weight);
        for (ptrdiff_t k = 0; k < K; k += 2) {
            const ptrdiff_t next = k + 1 < K ? k + 1 : k;
            double left[SAMPLES] = {0.0}, right[SAMPLES] = {0.0};
            for (ptrdiff_t i = start; i < stop; i++) {
                const double *RESTRICT w = weight[i - start];
                const double p = (double)probs[i * K + k], q = (double)probs[i * K + next];
                PRAGMA(omp simd)
                for (int s = 0; s < SAMPLES; s++) {
                    left[s] += p * w[s];
                    right[s] += q * w[s];
                }
            }
            for (int s = 0; s < SAMPLES; s++)
                totals[k * SAMPLES + s] += left[s];
            if (next > k)
                for (int s = 0; s < SAMPLES; s++)
                    totals[next * SAMPLES + s] += right[s];
        }
    }
}
