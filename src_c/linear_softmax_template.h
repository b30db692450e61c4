/* Compiled twice by linear_softmax.h, with REAL = float and double.
   Kernels return -1 if there is no memory for a block of rows, else 0. Their arguments:

     logits       in       (n, K), row by row
     labels       in       (n,)
     weights      in       (n,), of the rows
     coef, bias   in       (K, K) and (K,)
     start, stop  in       the rows that are done: start .. stop-1
     sums         in, out  what is added to
     out          out      (n, K) probabilities */

/* Fills, for at most LANES rows, the probabilities in lanes of `scores` (K, LANES), the
   labels' losses (LANES,), and the rows themselves in lanes of `z` (K, LANES). */
ALWAYS_INLINE void NAMED(map_rows)(const REAL *rows, ptrdiff_t K, int n_rows,
                                   const int64_t *labels, const double *coef,
                                   const double *bias, double *RESTRICT z,
                                   double *RESTRICT scores, double *RESTRICT loss)
{
    int64_t label[LANES];
    double away[LANES], log_sum[LANES];
    for (int r = 0; r < LANES; r++) { /* lanes without a row repeat the last */
        int row = r < n_rows ? r : n_rows - 1;
        label[r] = labels == NULL ? 0 : labels[row];
        for (ptrdiff_t k = 0; k < K; k++)
            z[k * LANES + r] = (double)rows[row * K + k];
    }
    map_lanes(z, K, coef, bias, scores);
    normalise_lanes(scores, K, label, away, log_sum);
    for (int r = 0; r < LANES; r++)
        loss[r] = log_sum[r] - away[r];
}

/* Fills a block of n_rows rows from `first` on: features (z, 1) and probabilities, both row
   by row and padded to whole tiles. Returns the weighted sum of the labels' losses. `lanes`
   has room for 2 K LANES numbers. */
ALWAYS_INLINE double NAMED(fill_block)(const REAL *logits, ptrdiff_t K, ptrdiff_t first,
                                       ptrdiff_t n_rows, const int64_t *labels,
                                       const double *weights, const double *coef,
                                       const double *bias, double *lanes,
                                       double *RESTRICT features, double *RESTRICT probs)
{
    double *z = lanes, *scores = lanes + K * LANES;
    double loss[LANES], total = 0.0;
    ptrdiff_t feature_width = in_tiles(K + 1), prob_width = in_tiles(K);
    for (ptrdiff_t i = 0; i < n_rows; i += LANES) {
        ptrdiff_t left = n_rows - i;
        int some = left < LANES ? (int)left : LANES;
        const REAL *rows = logits + (first + i) * K;
        NAMED(map_rows)(rows, K, some, labels + first + i, coef, bias, z, scores, loss);
        for (int r = 0; r < some; r++) {
            double *RESTRICT x = features + (i + r) * feature_width;
            double *RESTRICT p = probs + (i + r) * prob_width;
            for (ptrdiff_t k = 0; k < K; k++) {
                x[k] = (double)rows[r * K + k];
                p[k] = scores[k * LANES + r];
            }
            x[K] = 1.0;
            total += weights[first + i + r] * loss[r];
        }
    }
    return total;
}

/* Adds the weighted NLL to sums[0], and its gradient in the rows (coef_k, bias_k) to the
   K (K+1) numbers after it. */
VECTOR_CLONES
static int NAMED(add_linear_nll)(const REAL *logits, ptrdiff_t K, const int64_t *labels,
                                 const double *weights, const double *coef,
                                 const double *bias, ptrdiff_t start, ptrdiff_t stop,
                                 double *sums)
{
    ptrdiff_t feature_width = in_tiles(K + 1), width = in_tiles(K);
    ptrdiff_t room = 2 * K * LANES + PRODUCT_ROWS * (feature_width + width);
    double *lanes = (double *)calloc((size_t)room, sizeof(double));
    if (lanes == NULL)
        return -1;
    double *features = lanes + 2 * K * LANES;
    double *residuals = features + PRODUCT_ROWS * feature_width;
    for (ptrdiff_t first = start; first < stop; first += PRODUCT_ROWS) {
        ptrdiff_t n_rows = stop - first < PRODUCT_ROWS ? stop - first : PRODUCT_ROWS;
        sums[0] += NAMED(fill_block)(logits, K, first, n_rows, labels, weights, coef, bias,
                                     lanes, features, residuals);
        for (ptrdiff_t i = 0; i < n_rows; i++) {
            double *RESTRICT residual = residuals + i * width;
            double w = weights[first + i];
            residual[labels[first + i]] -= 1.0;
            for (ptrdiff_t k = 0; k < K; k++)
                residual[k] *= w;
        }
        add_products_f64(residuals, K, features, K + 1, n_rows, 0, sums + 1);
    }
    free(lanes);
    return 0;
}

/* Adds what the Hessian is made of: sums (K (K+1) / 2, (K+1) (K+2) / 2) over the rows of
     w (p_j [j = k] - p_j p_k)  times  x_a x_b,   x = (z, 1),
   for pairs j <= k and a <= b in the order of a matrix's upper triangle. With `scores`, as
   many rows again hold the sums of w^2 (p_j - y_j) (p_k - y_k) times x_a x_b, y the label's unit
   vector: the products of the gradient's summands. */
VECTOR_CLONES
static int NAMED(add_linear_products)(const REAL *logits, ptrdiff_t K,
                                      const int64_t *labels, const double *weights,
                                      const double *coef, const double *bias, int scores,
                                      ptrdiff_t start, ptrdiff_t stop, double *sums)
{
    ptrdiff_t n_pairs = K * (K + 1) / 2, n_left = scores ? 2 * n_pairs : n_pairs;
    ptrdiff_t n_right = (K + 1) * (K + 2) / 2;
    ptrdiff_t feature_width = in_tiles(K + 1), width = in_tiles(K);
    ptrdiff_t left_width = in_tiles(n_left), right_width = in_tiles(n_right);
    ptrdiff_t room = 2 * K * LANES +
                     PRODUCT_ROWS * (feature_width + width + left_width + right_width);
    double *lanes = (double *)calloc((size_t)room, sizeof(double));
    if (lanes == NULL)
        return -1;
    double *features = lanes + 2 * K * LANES;
    double *probs = features + PRODUCT_ROWS * feature_width;
    double *left = probs + PRODUCT_ROWS * width;
    double *right = left + PRODUCT_ROWS * left_width;
    for (ptrdiff_t first = start; first < stop; first += PRODUCT_ROWS) {
        ptrdiff_t n_rows = stop - first < PRODUCT_ROWS ? stop - first : PRODUCT_ROWS;
        NAMED(fill_block)(logits, K, first, n_rows, labels, weights, coef, bias, lanes,
                          features, probs);
        for (ptrdiff_t i = 0; i < n_rows; i++) {
            double *RESTRICT x = features + i * feature_width;
            double *RESTRICT p = probs + i * width;
            double *RESTRICT of_probs = left + i * left_width;
            double *RESTRICT of_features = right + i * right_width;
            double w = weights[first + i];
            for (ptrdiff_t a = 0; a <= K; of_features += K + 1 - a, a++)
                for (ptrdiff_t b = a; b <= K; b++)
                    of_features[b - a] = x[a] * x[b];
            for (ptrdiff_t j = 0; j < K; of_probs += K - j, j++) {
                double wp = w * p[j];
                for (ptrdiff_t k = j; k < K; k++)
                    of_probs[k - j] = -wp * p[k];
                of_probs[0] += wp;
            }
            p[labels[first + i]] -= 1.0;
            for (ptrdiff_t j = 0; j < K && scores; of_probs += K - j, j++)
                for (ptrdiff_t k = j; k < K; k++)
                    of_probs[k - j] = (w * p[j]) * (w * p[k]);
        }
        add_products_f64(left, n_left, right, n_right, n_rows, 0, sums);
    }
    free(lanes);
    return 0;
}

/* Probabilities softmax(coef z + bias). */
VECTOR_CLONES
static int NAMED(linear_softmax)(const REAL *logits, ptrdiff_t K, const double *coef,
                                 const double *bias, ptrdiff_t start, ptrdiff_t stop,
                                 REAL *out)
{
    double *z = (double *)malloc((size_t)(2 * K * LANES) * sizeof(double));
    if (z == NULL)
        return -1;
    double *scores = z + K * LANES, loss[LANES];
    for (ptrdiff_t i = start; i < stop; i += LANES) {
        int some = stop - i < LANES ? (int)(stop - i) : LANES;
        NAMED(map_rows)(logits + i * K, K, some, NULL, coef, bias, z, scores, loss);
        for (int r = 0; r < some; r++)
            for (ptrdiff_t k = 0; k < K; k++)
                out[(i + r) * K + k] = (REAL)scores[k * LANES + r];
    }
    free(z);
    return 0;
}
