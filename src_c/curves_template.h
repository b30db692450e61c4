/* Compiled twice by curves.h, with REAL = float and double.

   Applies each class's curve to its column, and divides rows by their sum; rows on which all
   curves are 0 become uniform. A single curve is that of column 1 of two.

     probs          in   (n, K), row by row
     knots, values  in   points of all curves; those of curve c are ends[c] .. ends[c+1]-1
     ends           in   (n_curves + 1,)
     start, stop    in   the rows that are done: start .. stop-1
     scratch             room for K doubles
     out            out  (n, K) */
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
