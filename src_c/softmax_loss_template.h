/* Compiled twice by softmax_loss.h, with REAL = float and double.
   `logits` is row-major with K columns; rows start .. stop-1 are done. */

/* The column of each row's largest entry, the first of them if tied; and, over the rows,
   the widest range max - min and the largest squared distance from the row's mean. */
VECTOR_CLONES
static void NAMED(find_tops)(const REAL *logits, ptrdiff_t K, ptrdiff_t start,
                             ptrdiff_t stop, int64_t *tops, double *widest,
                             double *longest)
{
    for (ptrdiff_t i = start; i < stop; i++) {
        const REAL *RESTRICT row = logits + i * K;
        REAL top = row[0], low = row[0];
        prefetch_ahead(row, (size_t)K * sizeof(REAL));
        PRAGMA(omp simd reduction(max : top) reduction(min : low))
        for (ptrdiff_t k = 0; k < K; k++) {
            top = row[k] > top ? row[k] : top;
            low = row[k] < low ? row[k] : low;
        }
        ptrdiff_t first = 0;
        while (row[first] != top)
            first++;
        tops[i] = first;

        double sum = 0.0, squares = 0.0;
        PRAGMA(omp simd reduction(+ : sum, squares))
        for (ptrdiff_t k = 0; k < K; k++) {
            double d = (double)row[k] - (double)top;
            sum += d;
            squares += d * d;
        }
        double range = (double)top - (double)low, norm = squares - sum * sum / (double)K;
        *widest = range > *widest ? range : *widest;
        *longest = norm > *longest ? norm : *longest;
    }
}

/* Add each row's loss and derivatives in its group's alpha to that group's sums (G, 5),
   and its weight if another logit is larger than its label's.
   Groups that are not active are passed over. confidence[i] becomes the largest
   probability, unless confidence is NULL. */
ALWAYS_INLINE void NAMED(add_temperature_losses)(
    int brier, const REAL *logits, ptrdiff_t K, const int64_t *labels, const int64_t *tops,
    const double *weights, const int64_t *groups, const double *alphas,
    const uint8_t *active, ptrdiff_t start, ptrdiff_t stop, double *confidence,
    double *sums)
{
    for (ptrdiff_t i = start; i < stop; i++) {
        int64_t group = groups[i];
        if (!active[group])
            continue;
        const REAL *RESTRICT row = logits + i * K;
        double alpha = alphas[group], top = (double)row[tops[i]];
        double binary_alpha = alpha * ONE_OVER_LN_2;
        double s0 = 0.0, s1 = 0.0, s2 = 0.0, q0 = 0.0, q1 = 0.0, q2 = 0.0;
        PRAGMA(omp simd reduction(+ : s0, s1, s2, q0, q1, q2))
        for (ptrdiff_t k = 0; k < K; k++) {
            double d = (double)row[k] - top;
            double e = exp2_nonpositive(binary_alpha * d), ed = e * d;
            s0 += e;
            s1 += ed;
            s2 += ed * d;
            if (brier) {
                q0 += e * e;
                q1 += e * ed;
                q2 += ed * ed;
            }
        }
        double d_y = (double)row[labels[i]] - top, inverse = 1.0 / s0;
        double mean = s1 * inverse, variance = s2 * inverse - mean * mean;
        double loss, gradient, curvature;
        if (brier) {
            double p_y = exp2_nonpositive(binary_alpha * d_y) * inverse;
            double away = d_y - mean;
            double square = inverse * inverse;
            q0 *= square, q1 *= square, q2 *= square;
            loss = (1.0 - p_y) * (1.0 - p_y) + (q0 - p_y * p_y);
            gradient = 2.0 * ((q1 - mean * q0) - p_y * away);
            curvature = 4.0 * (q2 - mean * (2.0 * q1 - mean * q0)) - 2.0 * variance * q0 -
                        2.0 * p_y * (away * away - variance);
        } else {
            loss = log(s0) - alpha * d_y;
            gradient = mean - d_y;
            curvature = variance > 0.0 ? variance : 0.0;
        }
        double w = weights[i], score = w * gradient, *sum = sums + N_SUMS * group;
        sum[SUM_LOSS] += w * loss;
        sum[SUM_GRADIENT] += score;
        sum[SUM_CURVATURE] += w * curvature;
        sum[SUM_SQUARED_SCORE] += score * score;
        sum[SUM_WRONG] += d_y < 0.0 ? w : 0.0;
        if (confidence != NULL)
            confidence[i] = inverse;
    }
}

VECTOR_CLONES
static void NAMED(add_nll)(const REAL *logits, ptrdiff_t K, const int64_t *labels,
                           const int64_t *tops, const double *weights,
                           const int64_t *groups, const double *alphas,
                           const uint8_t *active, ptrdiff_t start, ptrdiff_t stop,
                           double *confidence, double *sums)
{
    NAMED(add_temperature_losses)(0, logits, K, labels, tops, weights, groups, alphas,
                                  active, start, stop, confidence, sums);
}

VECTOR_CLONES
static void NAMED(add_brier)(const REAL *logits, ptrdiff_t K, const int64_t *labels,
                             const int64_t *tops, const double *weights,
                             const int64_t *groups, const double *alphas,
                             const uint8_t *active, ptrdiff_t start, ptrdiff_t stop,
                             double *confidence, double *sums)
{
    NAMED(add_temperature_losses)(1, logits, K, labels, tops, weights, groups, alphas,
                                  active, start, stop, confidence, sums);
}

/* Probabilities at each row's alpha. Rounding may not promote a smaller logit to a tie
   with the largest: the decision is the same before and after. `scratch` has room for K
   doubles. */
VECTOR_CLONES
static void NAMED(scale_softmax)(const REAL *logits, ptrdiff_t K, const int64_t *tops,
                                 const int64_t *groups, const double *alphas,
                                 ptrdiff_t start, ptrdiff_t stop, double *scratch,
                                 REAL *out)
{
    for (ptrdiff_t i = start; i < stop; i++) {
        const REAL *RESTRICT row = logits + i * K;
        REAL *RESTRICT probs = out + i * K;
        double *RESTRICT e = scratch;
        REAL top = row[tops[i]];
        double binary_alpha = alphas[groups[i]] * ONE_OVER_LN_2, sum = 0.0;
        PRAGMA(omp simd reduction(+ : sum))
        for (ptrdiff_t k = 0; k < K; k++) {
            e[k] = exp2_nonpositive(binary_alpha * ((double)row[k] - (double)top));
            sum += e[k];
        }
        double inverse = 1.0 / sum;
        REAL largest = (REAL)inverse;
        REAL below = sizeof(REAL) == sizeof(float)
                         ? (REAL)nextafterf((float)largest, 0.0f)
                         : (REAL)nextafter((double)largest, 0.0);
        PRAGMA(omp simd)
        for (ptrdiff_t k = 0; k < K; k++) {
            REAL p = (REAL)(e[k] * inverse);
            REAL limit = row[k] < top ? below : largest;
            probs[k] = p < limit ? p : limit;
        }
    }
}

/* scaled[k] = exp(u_k - max u) with u = scale * row + bias; returns their sum, and
   u_label - max u. */
ALWAYS_INLINE double NAMED(exp_affine)(const REAL *RESTRICT row, ptrdiff_t K,
                                       const double *RESTRICT scale,
                                       const double *RESTRICT bias, int64_t label,
                                       double *RESTRICT scaled, double *u_label)
{
    double top = -INFINITY, sum = 0.0;
    PRAGMA(omp simd reduction(max : top))
    for (ptrdiff_t k = 0; k < K; k++) {
        double u = scale[k] * (double)row[k] + bias[k];
        scaled[k] = u;
        top = u > top ? u : top;
    }
    *u_label = scaled[label] - top;
    PRAGMA(omp simd reduction(+ : sum))
    for (ptrdiff_t k = 0; k < K; k++) {
        double e = exp2_nonpositive((scaled[k] - top) * ONE_OVER_LN_2);
        scaled[k] = e;
        sum += e;
    }
    return sum;
}

/* Vector scaling: add the weighted NLL to sums[0], its gradient in the scales to
   sums[1 .. K] and in the biases to sums[K+1 .. 2K]. `scratch` has room for K doubles. */
VECTOR_CLONES
static void NAMED(add_vector_nll)(const REAL *logits, ptrdiff_t K, const int64_t *labels,
                                  const double *weights, const double *scale,
                                  const double *bias, ptrdiff_t start, ptrdiff_t stop,
                                  double *scratch, double *sums)
{
    double *RESTRICT by_scale = sums + 1;
    double *RESTRICT by_bias = sums + 1 + K;
    for (ptrdiff_t i = start; i < stop; i++) {
        const REAL *RESTRICT row = logits + i * K;
        double *RESTRICT e = scratch;
        double u_y, w = weights[i];
        double sum = NAMED(exp_affine)(row, K, scale, bias, labels[i], e, &u_y);
        double per_e = w / sum;
        PRAGMA(omp simd)
        for (ptrdiff_t k = 0; k < K; k++) {
            double p = e[k] * per_e;
            by_bias[k] += p;
            by_scale[k] += p * (double)row[k];
        }
        sums[0] += w * (log(sum) - u_y);
        by_bias[labels[i]] -= w;
        by_scale[labels[i]] -= w * (double)row[labels[i]];
    }
}

/* Rows (p_1 z_1 .. p_K z_K, p_1 .. p_K) of vector-scaled probabilities, and added to sums
   the weighted sums of p_k z_k^2, p_k z_k and p_k (3K): what the Hessian is made of. */
VECTOR_CLONES
static void NAMED(fill_vector_rows)(const REAL *logits, ptrdiff_t K, const double *weights,
                                    const double *scale, const double *bias,
                                    ptrdiff_t start, ptrdiff_t stop, double *out,
                                    double *sums)
{
    double *RESTRICT second = sums;
    double *RESTRICT first = sums + K;
    double *RESTRICT mass = sums + 2 * K;
    for (ptrdiff_t i = start; i < stop; i++) {
        const REAL *RESTRICT row = logits + i * K;
        double *RESTRICT pz = out + 2 * i * K;
        double *RESTRICT p = pz + K;
        double u_0, w = weights[i];
        double inverse = 1.0 / NAMED(exp_affine)(row, K, scale, bias, 0, p, &u_0);
        PRAGMA(omp simd)
        for (ptrdiff_t k = 0; k < K; k++) {
            double z = (double)row[k], of_k = p[k] * inverse, times_z = of_k * z;
            p[k] = of_k;
            pz[k] = times_z;
            mass[k] += w * of_k;
            first[k] += w * times_z;
            second[k] += w * times_z * z;
        }
    }
}

/* Probabilities of softmax(scale * row + bias). */
VECTOR_CLONES
static void NAMED(affine_softmax)(const REAL *logits, ptrdiff_t K, const double *scale,
                                  const double *bias, ptrdiff_t start, ptrdiff_t stop,
                                  double *scratch, REAL *out)
{
    for (ptrdiff_t i = start; i < stop; i++) {
        const REAL *RESTRICT row = logits + i * K;
        REAL *RESTRICT probs = out + i * K;
        double *RESTRICT e = scratch;
        double u_0, inverse = 1.0 / NAMED(exp_affine)(row, K, scale, bias, 0, e, &u_0);
        PRAGMA(omp simd)
        for (ptrdiff_t k = 0; k < K; k++)
            probs[k] = (REAL)(e[k] * inverse);
    }
}

/* What affine_softmax would make of each row, without writing it down: the column of the
   largest probability (the first one if several tie), that probability, and minus the
   logarithm of the label's. `scratch` has room for K doubles. */
VECTOR_CLONES
static void NAMED(describe_affine)(const REAL *logits, ptrdiff_t K, const int64_t *labels,
                                   const double *scale, const double *bias,
                                   ptrdiff_t start, ptrdiff_t stop, double *scratch,
                                   int64_t *tops, double *confidence, double *losses)
{
    for (ptrdiff_t i = start; i < stop; i++) {
        const REAL *RESTRICT row = logits + i * K;
        double *RESTRICT e = scratch;
        double u_y, sum = NAMED(exp_affine)(row, K, scale, bias, labels[i], e, &u_y);
        double inverse = 1.0 / sum;
        REAL largest = (REAL)inverse;
        ptrdiff_t first = K;
        PRAGMA(omp simd reduction(min : first))
        for (ptrdiff_t k = 0; k < K; k++) {
            ptrdiff_t place = (REAL)(e[k] * inverse) == largest ? k : K;
            first = place < first ? place : first;
        }
        tops[i] = first;
        confidence[i] = (double)largest;
        losses[i] = log(sum) - u_y;
    }
}
