/* Compiled twice by curves.h, with REAL = float and double.

   Each class's curve at its column, rows divided by their sum; rows on which all curves are 0
   become uniform. A single curve is that of column 1 of two. Points of curve c stand at
   ends[c] .. ends[c+1]-1. `scratch` has room for K doubles. */
static void NAMED(apply_curves)(const REAL *probs, ptrdiff_t K, const double *knots,
                                const double *values, const int64_t *ends,
                                ptrdiff_t n_curves, ptrdiff_t start, ptrdiff_t stop,
                                double *RESTRICT scratch, REAL *RESTRICT out)
{
    for (ptrdiff_t i = start; i < stop; i++) {
        const REAL *row = probs + i * K;
        if (n_curves == 1) {
            double of_one = interpolate(knots, values, ends[1], (double)row[1]);
            out[2 * i] = (REAL)(1.0 - of_one);
            out[2 * i + 1] = (REAL)of_one;
            continue;
        }
        double sum = 0.0;
        for (ptrdiff_t k = 0; k < K; k++) {
            scratch[k] = interpolate(knots + ends[k], values + ends[k],
                                     ends[k + 1] - ends[k], (double)row[k]);
            sum += scratch[k];
        }
        for (ptrdiff_t k = 0; k < K; k++)
            out[i * K + k] = (REAL)(sum > 0.0 ? scratch[k] / sum : 1.0 / (double)K);
    }
}
