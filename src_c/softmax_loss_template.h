/* Compiled twice by softmax_loss.h, with REAL = float and double.
   Their arguments, where they have them:

     logits       in       (n, K), row by row
     labels       in       (n,)
     tops         in       (n,), the column of each row's largest logit
     weights      in       (n,), of the rows
     groups       in       (n,), each row's group, 0 .. n_groups - 1
     alphas       in       (n_groups,), inverse temperatures
     active       in       (n_groups,), groups that are not active are passed over
     scale, bias  in       (K,) each
     start, stop  in       the rows that are done: start .. stop-1
     scratch               room that the caller allocates; size as said
     sums         in, out  what is added to; a row of it belongs to these rows alone
     out          out      (n, K) probabilities */

/* Rows side by side, one per lane, take over where rows are short: the loop over a row of
   ten entries costs more to enter and to leave than what it computes. */

/* The column of each row's largest entry, the first of them if tied; and, over the rows,
   the widest range max - min and the largest squared distance from the row's mean. */
ALWAYS_INLINE void NAMED(find_lane_tops)(const REAL *RESTRICT rows, ptrdiff_t K,
                                         int64_t *RESTRICT tops, double *RESTRICT range,
                                         double *RESTRICT norm)
{
    REAL top[LANES], low[LANES], origin[LANES];
    double sum[LANES] = {0}, squares[LANES] = {0};
    int64_t first[LANES] = {0};
    prefetch_ahead(rows, (size_t)(LANES * K) * sizeof(REAL));
    for (int r = 0; r < LANES; r++)
        top[r] = low[r] = origin[r] = rows[r * K];
    for (ptrdiff_t k = 1; k < K; k++) {
        PRAGMA(omp simd)
        for (int r = 0; r < LANES; r++) {
            REAL z = rows[r * K + k];
            double d = (double)z - (double)origin[r];
            first[r] = z > top[r] ? k : first[r];
            top[r] = z > top[r] ? z : top[r];
            low[r] = z < low[r] ? z : low[r];
            sum[r] += d;
            squares[r] += d * d;
        }
    }
    for (int r = 0; r < LANES; r++) {
        tops[r] = first[r];
        range[r] = (double)top[r] - (double)low[r];
        norm[r] = squares[r] - sum[r] * sum[r] / (double)K;
    }
}

ALWAYS_INLINE void NAMED(find_row_top)(const REAL *RESTRICT row, ptrdiff_t K, int64_t *top_at,
                                       double *range, double *norm)
{
    REAL top = row[0], low = row[0];
    prefetch_ahead(row, (size_t)K * sizeof(REAL));
    PRAGMA(omp simd reduction(max : top) reduction(min : low))
    for (ptrdiff_t k = 0; k < K; k++) {
        top = row[k] > top ? row[k] : top;
        low = row[k] < low ? row[k] : low;
    }
    ptrdiff_t first = 0;
    while (first < K - 1 && row[first] != top) /* a row of NaN has no largest entry */
        first++;
    *top_at = first;

    double sum = 0.0, squares = 0.0;
    PRAGMA(omp simd reduction(+ : sum, squares))
    for (ptrdiff_t k = 0; k < K; k++) {
        double d = (double)row[k] - (double)top;
        sum += d;
        squares += d * d;
    }
    *range = (double)top - (double)low;
    *norm = squares - sum * sum / (double)K;
}

VECTOR_CLONES
static void NAMED(find_tops)(const REAL *logits, ptrdiff_t K, ptrdiff_t start,
                             ptrdiff_t stop, int64_t *tops, double *widest,
                             double *longest)
{
    double range[LANES], norm[LANES];
    for (ptrdiff_t i = start; i < stop;) {
        int n_rows = K <= SOFTMAX_LANE_COLUMNS && stop - i >= LANES ? LANES : 1;
        if (n_rows == LANES)
            NAMED(find_lane_tops)(logits + i * K, K, tops + i, range, norm);
        else
            NAMED(find_row_top)(logits + i * K, K, tops + i, range, norm);
        for (int r = 0; r < n_rows; r++) {
            *widest = range[r] > *widest ? range[r] : *widest;
            *longest = norm[r] > *longest ? norm[r] : *longest;
        }
        i += n_rows;
    }
}

/* The moments of LANES rows of K entries, which stand below one another from `rows` on. */
ALWAYS_INLINE void NAMED(sum_lanes)(int brier, const REAL *RESTRICT rows, ptrdiff_t K,
                                    const double *RESTRICT top,
                                    const double *RESTRICT binary_alpha,
                                    struct moments *RESTRICT sums)
{
    struct moments m = {{0}};
    prefetch_ahead(rows, (size_t)(LANES * K) * sizeof(REAL));
    for (ptrdiff_t k = 0; k < K; k++) {
        PRAGMA(omp simd)
        for (int r = 0; r < LANES; r++) {
            double d = (double)rows[r * K + k] - top[r];
            double e = exp2_nonpositive(binary_alpha[r] * d), ed = e * d;
            m.s0[r] += e;
            m.s1[r] += ed;
            m.s2[r] += ed * d;
            if (brier) {
                m.q0[r] += e * e;
                m.q1[r] += e * ed;
                m.q2[r] += ed * ed;
            }
        }
    }
    *sums = m;
}

/* The moments of one long row, into lane r. */
ALWAYS_INLINE void NAMED(sum_row)(int brier, const REAL *RESTRICT row, ptrdiff_t K,
                                  double top, double binary_alpha,
                                  struct moments *RESTRICT sums, int r)
{
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, q0 = 0.0, q1 = 0.0, q2 = 0.0;
    prefetch_ahead(row, (size_t)K * sizeof(REAL));
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
    sums->s0[r] = s0, sums->s1[r] = s1, sums->s2[r] = s2;
    sums->q0[r] = q0, sums->q1[r] = q1, sums->q2[r] = q2;
}

/* Adds each row's loss and derivatives in its group's alpha to that group's sums
   (n_groups, N_SUMS), and its weight if it is misclassified. confidence[i] becomes the largest
   probability, unless confidence is NULL. */
ALWAYS_INLINE void NAMED(add_temperature_losses)(
    int brier, const REAL *logits, ptrdiff_t K, const int64_t *labels, const int64_t *tops,
    const double *weights, const int64_t *groups, ptrdiff_t n_groups, const double *alphas,
    const uint8_t *active, ptrdiff_t start, ptrdiff_t stop, double *confidence,
    double *sums)
{
    REAL copies[LANES * SOFTMAX_LANE_COLUMNS];
    ptrdiff_t place[LANES];
    double top[LANES] = {0}, alpha[LANES] = {0}, binary_alpha[LANES] = {0};
    double d_y[LANES] = {0}, weight[LANES] = {0}, of_one_group[N_SUMS][LANES] = {{0}};
    struct moments m = {{0}};
    struct row_losses of;
    if (n_groups == 1 && !active[0])
        return;
    for (ptrdiff_t i = start; i < stop;) {
        int n_rows = 0;
        if (n_groups == 1)
            for (; i < stop && n_rows < LANES; i++)
                place[n_rows++] = i;
        else
            for (; i < stop && n_rows < LANES; i++)
                if (active[groups[i]])
                    place[n_rows++] = i;
        for (int r = 0; r < n_rows; r++) {
            const REAL *row = logits + place[r] * K;
            top[r] = (double)row[tops[place[r]]];
            d_y[r] = (double)row[labels[place[r]]] - top[r];
            alpha[r] = alphas[n_groups == 1 ? 0 : groups[place[r]]];
            binary_alpha[r] = alpha[r] * ONE_OVER_LN_2;
            weight[r] = weights[place[r]];
            if (K > SOFTMAX_LANE_COLUMNS)
                NAMED(sum_row)(brier, row, K, top[r], binary_alpha[r], &m, r);
        }
        for (int r = n_rows; r < LANES; r++)
            weight[r] = 0.0;
        if (K > SOFTMAX_LANE_COLUMNS) {
            ; /* done row by row */
        } else if (n_rows == LANES && place[LANES - 1] == place[0] + LANES - 1) {
            NAMED(sum_lanes)(brier, logits + place[0] * K, K, top, binary_alpha, &m);
        } else if (n_rows > 0) {
            for (int r = 0; r < LANES; r++) /* lanes without a row repeat the last one */
                memcpy(copies + r * K, logits + place[r < n_rows ? r : n_rows - 1] * K,
                       (size_t)K * sizeof(REAL));
            NAMED(sum_lanes)(brier, copies, K, top, binary_alpha, &m);
        }
        losses_from_moments(brier, &m, alpha, binary_alpha, d_y, weight, &of);
        if (n_groups == 1)
            for (int j = 0; j < N_SUMS; j++) {
                PRAGMA(omp simd)
                for (int r = 0; r < LANES; r++)
                    of_one_group[j][r] += r < n_rows ? of.sums[j][r] : 0.0;
            }
        else
            for (int r = 0; r < n_rows; r++)
                for (int j = 0; j < N_SUMS; j++)
                    sums[N_SUMS * groups[place[r]] + j] += of.sums[j][r];
        if (confidence != NULL)
            for (int r = 0; r < n_rows; r++)
                confidence[place[r]] = of.confidence[r];
    }
    for (int j = 0; j < N_SUMS && n_groups == 1; j++)
        for (int r = 0; r < LANES; r++)
            sums[j] += of_one_group[j][r];
}

VECTOR_CLONES
static void NAMED(add_nll)(const REAL *logits, ptrdiff_t K, const int64_t *labels,
                           const int64_t *tops, const double *weights,
                           const int64_t *groups, ptrdiff_t n_groups, const double *alphas,
                           const uint8_t *active, ptrdiff_t start, ptrdiff_t stop,
                           double *confidence, double *sums)
{
    NAMED(add_temperature_losses)(0, logits, K, labels, tops, weights, groups, n_groups,
                                  alphas, active, start, stop, confidence, sums);
}

VECTOR_CLONES
static void NAMED(add_brier)(const REAL *logits, ptrdiff_t K, const int64_t *labels,
                             const int64_t *tops, const double *weights,
                             const int64_t *groups, ptrdiff_t n_groups,
                             const double *alphas, const uint8_t *active, ptrdiff_t start,
                             ptrdiff_t stop, double *confidence, double *sums)
{
    NAMED(add_temperature_losses)(1, logits, K, labels, tops, weights, groups, n_groups,
                                  alphas, active, start, stop, confidence, sums);
}

/* Adds the derivative of the Brier score in alpha at first, first sqrt(2), 2 first, ... to
   sums (n_groups, n_points): what a search for all local minima looks at.

   An exponential at twice the alpha is a square, and so the whole grid costs two of them per
   entry. The moments q of one alpha are the moments s of its double. `scratch` has room for
   2 LANES K doubles. */
VECTOR_CLONES
static void NAMED(add_brier_slopes)(const REAL *logits, ptrdiff_t K, const int64_t *labels,
                                    const int64_t *tops, const double *weights,
                                    const int64_t *groups, double first,
                                    ptrdiff_t n_points, ptrdiff_t start, ptrdiff_t stop,
                                    double *scratch, double *sums)
{
    double *RESTRICT d = scratch, *RESTRICT e = scratch + LANES * K;
    double d_y[LANES], e_y[LANES], s0[LANES], s1[LANES], slope[LANES];
    double half0[LANES] = {0}, half1[LANES] = {0}, half_y[LANES] = {0};
    for (ptrdiff_t i = start; i < stop; i += LANES) {
        int n_rows = stop - i < LANES ? (int)(stop - i) : LANES;
        for (int r = 0; r < LANES; r++) {
            ptrdiff_t place = i + (r < n_rows ? r : n_rows - 1);
            const REAL *row = logits + place * K;
            double top = (double)row[tops[place]];
            for (ptrdiff_t k = 0; k < K; k++)
                d[k * LANES + r] = (double)row[k] - top;
            d_y[r] = (double)row[labels[place]] - top;
        }
        for (int odd = 0; odd < 2; odd++) {
            double binary_alpha = (odd ? first * 0x1.6a09e667f3bcdp+0 : first) * ONE_OVER_LN_2;
            PRAGMA(omp simd)
            for (ptrdiff_t j = 0; j < LANES * K; j++)
                e[j] = exp2_nonpositive(binary_alpha * d[j]);
            PRAGMA(omp simd)
            for (int r = 0; r < LANES; r++)
                e_y[r] = exp2_nonpositive(binary_alpha * d_y[r]);
            for (ptrdiff_t point = odd; point < n_points + 2; point += 2) {
                for (int r = 0; r < LANES; r++)
                    s0[r] = s1[r] = 0.0;
                for (ptrdiff_t k = 0; k < K; k++) {
                    PRAGMA(omp simd)
                    for (int r = 0; r < LANES; r++) {
                        double x = e[k * LANES + r];
                        s0[r] += x;
                        s1[r] += x * d[k * LANES + r];
                        e[k * LANES + r] = x * x;
                    }
                }
                PRAGMA(omp simd)
                for (int r = 0; r < LANES; r++) {
                    double inverse = 1.0 / half0[r], square = inverse * inverse;
                    double mean = half1[r] * inverse;
                    slope[r] = 2.0 * (square * (s1[r] - mean * s0[r]) -
                                      half_y[r] * inverse * (d_y[r] - mean));
                    half0[r] = s0[r], half1[r] = s1[r];
                    half_y[r] = e_y[r];
                    e_y[r] *= e_y[r];
                }
                for (int r = 0; r < n_rows && point >= 2; r++)
                    sums[groups[i + r] * n_points + point - 2] += weights[i + r] * slope[r];
            }
        }
    }
}

/* Probabilities from exponentials e_k that sum to 1 / inverse. Rounding may not promote a
   smaller logit to a tie with the largest: the decision is the same before and after. */
ALWAYS_INLINE void NAMED(keep_decision)(const REAL *RESTRICT row, ptrdiff_t K, REAL top,
                                        const double *RESTRICT e, double inverse,
                                        REAL *RESTRICT probs)
{
    REAL largest = (REAL)inverse, below = NAMED(next_below)(largest);
    PRAGMA(omp simd)
    for (ptrdiff_t k = 0; k < K; k++) {
        REAL p = (REAL)(e[k] * inverse);
        REAL limit = row[k] < top ? below : largest;
        probs[k] = p < limit ? p : limit;
    }
}

/* Probabilities at each row's alpha. `scratch` has room for K doubles. */
VECTOR_CLONES
static void NAMED(scale_softmax)(const REAL *logits, ptrdiff_t K, const int64_t *tops,
                                 const int64_t *groups, const double *alphas,
                                 ptrdiff_t start, ptrdiff_t stop, double *scratch,
                                 REAL *out)
{
    ptrdiff_t n_rows = K > SOFTMAX_LANE_COLUMNS ? 1 : LANES;
    double in_lanes[LANES * SOFTMAX_LANE_COLUMNS];
    double *RESTRICT e = n_rows == 1 ? scratch : in_lanes;
    for (ptrdiff_t i = start; i < stop; i += n_rows) {
        n_rows = stop - i < n_rows ? stop - i : n_rows;
        for (ptrdiff_t r = 0; r < n_rows; r++) {
            const REAL *RESTRICT row = logits + (i + r) * K;
            double binary_alpha = alphas[groups[i + r]] * ONE_OVER_LN_2;
            double top = (double)row[tops[i + r]];
            PRAGMA(omp simd)
            for (ptrdiff_t k = 0; k < K; k++)
                e[r * K + k] = binary_alpha * ((double)row[k] - top);
        }
        PRAGMA(omp simd)
        for (ptrdiff_t j = 0; j < n_rows * K; j++)
            e[j] = exp2_nonpositive(e[j]);
        for (ptrdiff_t r = 0; r < n_rows; r++) {
            const REAL *row = logits + (i + r) * K;
            double sum = 0.0;
            PRAGMA(omp simd reduction(+ : sum))
            for (ptrdiff_t k = 0; k < K; k++)
                sum += e[r * K + k];
            NAMED(keep_decision)(row, K, row[tops[i + r]], e + r * K, 1.0 / sum,
                                 out + (i + r) * K);
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

/* Does this for LANES short rows, of which those from n_rows on repeat the last: exponentials
   in lanes of `scaled` (K, LANES), their sums, and the largest u. */
ALWAYS_INLINE void NAMED(exp_affine_lanes)(const REAL *rows, ptrdiff_t K, ptrdiff_t n_rows,
                                           const double *RESTRICT scale,
                                           const double *RESTRICT bias,
                                           double *RESTRICT scaled, double *RESTRICT sum,
                                           double *RESTRICT top)
{
    REAL copies[LANES * SOFTMAX_LANE_COLUMNS];
    if (n_rows < LANES) {
        for (ptrdiff_t r = 0; r < LANES; r++)
            memcpy(copies + r * K, rows + (r < n_rows ? r : n_rows - 1) * K,
                   (size_t)K * sizeof(REAL));
        rows = copies;
    }
    for (int r = 0; r < LANES; r++)
        top[r] = -INFINITY, sum[r] = 0.0;
    for (ptrdiff_t k = 0; k < K; k++) {
        PRAGMA(omp simd)
        for (int r = 0; r < LANES; r++) {
            double u = scale[k] * (double)rows[r * K + k] + bias[k];
            scaled[k * LANES + r] = u;
            top[r] = u > top[r] ? u : top[r];
        }
    }
    for (ptrdiff_t k = 0; k < K; k++) {
        PRAGMA(omp simd)
        for (int r = 0; r < LANES; r++) {
            double e = exp2_nonpositive((scaled[k * LANES + r] - top[r]) * ONE_OVER_LN_2);
            scaled[k * LANES + r] = e;
            sum[r] += e;
        }
    }
}

ALWAYS_INLINE void NAMED(add_short_vector_nll)(const REAL *logits, ptrdiff_t K,
                                               const int64_t *labels, const double *weights,
                                               const double *scale, const double *bias,
                                               ptrdiff_t start, ptrdiff_t stop, double *sums)
{
    double e[LANES * SOFTMAX_LANE_COLUMNS], per_e[LANES];
    double sum[LANES], top[LANES], log_sum[LANES];
    double by_scale[LANES * SOFTMAX_LANE_COLUMNS] = {0};
    double by_bias[LANES * SOFTMAX_LANE_COLUMNS] = {0};
    for (ptrdiff_t i = start; i < stop; i += LANES) {
        const REAL *rows = logits + i * K;
        ptrdiff_t n_rows = stop - i < LANES ? stop - i : LANES;
        NAMED(exp_affine_lanes)(rows, K, n_rows, scale, bias, e, sum, top);
        for (ptrdiff_t r = 0; r < LANES; r++)
            per_e[r] = r < n_rows ? weights[i + r] : 0.0;
        PRAGMA(omp simd)
        for (int r = 0; r < LANES; r++) {
            per_e[r] /= sum[r];
            log_sum[r] = log_normal(sum[r]);
        }
        if (n_rows == LANES)
            for (ptrdiff_t k = 0; k < K; k++) {
                PRAGMA(omp simd)
                for (int r = 0; r < LANES; r++) {
                    double p = e[k * LANES + r] * per_e[r];
                    by_bias[k * LANES + r] += p;
                    by_scale[k * LANES + r] += p * (double)rows[r * K + k];
                }
            }
        else
            for (ptrdiff_t r = 0; r < n_rows; r++)
                for (ptrdiff_t k = 0; k < K; k++) {
                    double p = e[k * LANES + r] * per_e[r];
                    by_bias[k * LANES + r] += p;
                    by_scale[k * LANES + r] += p * (double)rows[r * K + k];
                }
        for (ptrdiff_t r = 0; r < n_rows; r++) {
            ptrdiff_t y = labels[i + r];
            double z = (double)rows[r * K + y], w = weights[i + r];
            sums[0] += w * (log_sum[r] - (scale[y] * z + bias[y] - top[r]));
            by_bias[y * LANES + r] -= w;
            by_scale[y * LANES + r] -= w * z;
        }
    }
    for (ptrdiff_t k = 0; k < K; k++)
        for (int r = 0; r < LANES; r++) {
            sums[1 + k] += by_scale[k * LANES + r];
            sums[1 + K + k] += by_bias[k * LANES + r];
        }
}

/* Vector scaling: adds the weighted NLL to sums[0], its gradient in the scales to
   sums[1 .. K] and in the biases to sums[K+1 .. 2K]. `scratch` has room for K doubles. */
VECTOR_CLONES
static void NAMED(add_vector_nll)(const REAL *logits, ptrdiff_t K, const int64_t *labels,
                                  const double *weights, const double *scale,
                                  const double *bias, ptrdiff_t start, ptrdiff_t stop,
                                  double *scratch, double *sums)
{
    double *RESTRICT by_scale = sums + 1;
    double *RESTRICT by_bias = sums + 1 + K;
    if (K <= SOFTMAX_LANE_COLUMNS) {
        NAMED(add_short_vector_nll)(logits, K, labels, weights, scale, bias, start, stop,
                                    sums);
        return;
    }
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

/* Fills out (n, 2K) with rows (p_1 z_1 .. p_K z_K, p_1 .. p_K) of vector-scaled
   probabilities, and adds to sums (3K,) the weighted sums of p_k z_k^2, p_k z_k and p_k: what
   the Hessian is made of. */
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
    double lanes[LANES * SOFTMAX_LANE_COLUMNS], sum[LANES], top[LANES];
    for (ptrdiff_t i = start; i < stop && K <= SOFTMAX_LANE_COLUMNS; i += LANES) {
        ptrdiff_t n_rows = stop - i < LANES ? stop - i : LANES;
        NAMED(exp_affine_lanes)(logits + i * K, K, n_rows, scale, bias, lanes, sum, top);
        for (ptrdiff_t r = 0; r < n_rows; r++) {
            double inverse = 1.0 / sum[r];
            for (ptrdiff_t k = 0; k < K; k++)
                out[(i + r) * K + k] = (REAL)(lanes[k * LANES + r] * inverse);
        }
    }
    for (ptrdiff_t i = start; i < stop && K > SOFTMAX_LANE_COLUMNS; i++) {
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
    double lanes[LANES * SOFTMAX_LANE_COLUMNS], sums[LANES], top[LANES];
    for (ptrdiff_t i = start; i < stop && K <= SOFTMAX_LANE_COLUMNS; i += LANES) {
        ptrdiff_t n_rows = stop - i < LANES ? stop - i : LANES;
        NAMED(exp_affine_lanes)(logits + i * K, K, n_rows, scale, bias, lanes, sums, top);
        for (ptrdiff_t r = 0; r < n_rows; r++) {
            double inverse = 1.0 / sums[r];
            REAL largest = (REAL)inverse;
            ptrdiff_t first = 0, y = labels[i + r];
            while (first < K - 1 && (REAL)(lanes[first * LANES + r] * inverse) != largest)
                first++;
            tops[i + r] = first;
            confidence[i + r] = (double)largest;
            losses[i + r] = log_normal(sums[r]) - (scale[y] * (double)logits[(i + r) * K + y] +
                                                   bias[y] - top[r]);
        }
    }
    for (ptrdiff_t i = start; i < stop && K > SOFTMAX_LANE_COLUMNS; i++) {
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

/* Logarithms of the entries start .. stop-1; smaller ones count as `floor`, a positive normal
   number. */
VECTOR_CLONES
static void NAMED(log_entries)(const REAL *entries, double floor, ptrdiff_t start,
                               ptrdiff_t stop, REAL *out)
{
    const REAL *RESTRICT from = entries;
    REAL *RESTRICT to = out;
    PRAGMA(omp simd)
    for (ptrdiff_t j = start; j < stop; j++) {
        double x = (double)from[j];
        to[j] = (REAL)log_normal(x > floor ? x : floor);
    }
}
