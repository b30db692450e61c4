/* Scores of nested prediction sets: what is the same for float and double matrices.

   A label's score depends on the row only through
     mass_above   the probability of the strictly more likely labels,
     n_above      how many of them there are (rank - 1),
     p            its own probability,
     top, rival   the largest probability, and the largest among the other labels,
   and never decreases from a label to a less likely one. So a prediction set is always
   {k : p_k >= cutoff}, and tied labels stand on the same side.

   Exact sums. Probabilities are rounded to multiples of 2^-52 before they are added; a sum
   of such numbers that stays below 2 is exact in double precision. The order of summation
   then does not matter: a label's score is the same, bit for bit, at calibration (one pass,
   unsorted), in a prediction set (selection) and in the matrix of all scores (buckets). */
#ifndef DISTFREEUQ_NESTED_SCORES_H
#define DISTFREEUQ_NESTED_SCORES_H

#include <math.h>
#include <string.h>
#include "masses_above.h"
#include "portability.h"
#include "simplex_rows.h"

enum { SCORE_LAC, SCORE_APS, SCORE_RAPS, SCORE_SAPS, SCORE_RANK, SCORE_MARGIN };

/* What a kernel returns if it does not return a row. */
enum { ALL_GOOD = -1, NO_MEMORY = -2 };

typedef struct {
    int kind;
    double penalty; /* RAPS: added per rank beyond k_reg */
    double k_reg;
    double weight; /* SAPS: added per rank beyond the first */
} nested_score;

ALWAYS_INLINE double score_at(const nested_score *s, double mass_above, double n_above,
                              double p, double top, double rival, double u)
{
    double excess;
    switch (s->kind) {
    case SCORE_LAC:
        return 1.0 - p;
    case SCORE_APS:
        return mass_above + u * on_grid(p);
    case SCORE_RAPS:
        excess = n_above + 1.0 - s->k_reg;
        return mass_above + u * on_grid(p) + s->penalty * (excess > 0.0 ? excess : 0.0);
    case SCORE_SAPS:
        return n_above == 0.0 ? u * top : top + (n_above - 1.0 + u) * s->weight;
    case SCORE_RANK:
        return n_above + u;
    default: /* SCORE_MARGIN */
        return rival - p;
    }
}

/* LANES rows of at most READ_LANE_COLUMNS probabilities, a column at a time: the entries
   of label k are those from k * LANES on, so that every row has a lane of its own. */
typedef struct {
    double p[READ_LANE_COLUMNS * LANES], p_on_grid[READ_LANE_COLUMNS * LANES];
    double top[LANES], next[LANES]; /* the two largest, equal if they tie */
} row_block;

/* Scores of one label in each row, by its own probabilities `own`. The kind is known where
   this is inlined, so that what it does not need falls away. */
ALWAYS_INLINE void score_block_as(nested_score s, const row_block *b, ptrdiff_t K,
                                  const double *RESTRICT own, const double *RESTRICT u,
                                  double *RESTRICT out)
{
    double mass[LANES] = {0.0}, count[LANES] = {0.0};
    for (ptrdiff_t k = 0; k < K && s.kind != SCORE_LAC && s.kind != SCORE_MARGIN; k++) {
        const double *p = b->p + k * LANES, *on_grid_k = b->p_on_grid + k * LANES;
        PRAGMA(omp simd)
        for (int r = 0; r < LANES; r++) {
            mass[r] += p[r] > own[r] ? on_grid_k[r] : 0.0;
            count[r] += p[r] > own[r] ? 1.0 : 0.0;
        }
    }
    PRAGMA(omp simd)
    for (int r = 0; r < LANES; r++) {
        double rival = own[r] == b->top[r] ? b->next[r] : b->top[r];
        out[r] = score_at(&s, mass[r], count[r], own[r], b->top[r], rival, u[r]);
    }
}

/* A loop for each kind of score, without a branch inside. */
#define FOR_KIND(known_kind, loop) \
    case known_kind:               \
        known.kind = known_kind;   \
        loop;                      \
        break;

ALWAYS_INLINE void score_block(const nested_score *s, const row_block *b, ptrdiff_t K,
                               const double *own, const double *u, double *out)
{
    nested_score known = *s;
    switch (s->kind) {
        FOR_KIND(SCORE_LAC, score_block_as(known, b, K, own, u, out))
        FOR_KIND(SCORE_APS, score_block_as(known, b, K, own, u, out))
        FOR_KIND(SCORE_RAPS, score_block_as(known, b, K, own, u, out))
        FOR_KIND(SCORE_SAPS, score_block_as(known, b, K, own, u, out))
        FOR_KIND(SCORE_RANK, score_block_as(known, b, K, own, u, out))
        FOR_KIND(SCORE_MARGIN, score_block_as(known, b, K, own, u, out))
    }
}

/* Bits of a set, that of label 0 first, as bytes: four at a time. Bit by bit: 14.9 -> 16.7 ns
   per row of prediction_sets at K = 10 (min of 400), and 12 % more instructions. */
ALWAYS_INLINE void spread_bits(uint64_t bits, ptrdiff_t K, uint8_t *in_set)
{
    static const uint8_t four[16][4] = {
        {0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {1, 1, 0, 0}, {0, 0, 1, 0}, {1, 0, 1, 0},
        {0, 1, 1, 0}, {1, 1, 1, 0}, {0, 0, 0, 1}, {1, 0, 0, 1}, {0, 1, 0, 1}, {1, 1, 0, 1},
        {0, 0, 1, 1}, {1, 0, 1, 1}, {0, 1, 1, 1}, {1, 1, 1, 1}};
    ptrdiff_t k = 0;
    for (; k + 4 <= K; k += 4, bits >>= 4)
        memcpy(in_set + k, four[bits & 15], 4);
    for (; k < K; k++, bits >>= 1)
        in_set[k] = (uint8_t)(bits & 1);
}

/* Sets of a block of rows by thresholds of their own, or of the labels. */
ALWAYS_INLINE void mark_block(const nested_score *s, const row_block *b, ptrdiff_t K,
                              const double *uniforms, const double *thresholds,
                              int one_per_row, int never_empty, uint8_t *in_sets,
                              int64_t *sizes)
{
    double set[LANES] = {0.0}, size[LANES] = {0.0}; /* sum of 2^k, of ones */
    double score[LANES], threshold[LANES], always[LANES];
    double bit = 1.0;
    for (int r = 0; r < LANES; r++) {
        threshold[r] = thresholds[one_per_row ? r : 0];
        always[r] = never_empty ? b->top[r] : 2.0; /* from which probability on */
    }
    for (ptrdiff_t k = 0; k < K; k++, bit += bit) {
        const double *p = b->p + k * LANES;
        score_block(s, b, K, p, uniforms, score);
        for (int r = 0; r < LANES && !one_per_row; r++)
            threshold[r] = thresholds[k];
        PRAGMA(omp simd)
        for (int r = 0; r < LANES; r++) {
            double is_in = score[r] <= threshold[r] ? 1.0 : 0.0;
            is_in = p[r] >= always[r] ? 1.0 : is_in;
            set[r] += is_in * bit;
            size[r] += is_in;
        }
    }
    for (int r = 0; r < LANES; r++) {
        spread_bits((uint64_t)set[r], K, in_sets + r * K);
        sizes[r] = (int64_t)size[r];
    }
}

ALWAYS_INLINE int32_t float_bits(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Room for what is known of some labels of one row, in one piece of memory. */
typedef struct {
    double *p, *mass_above, *n_above, *score;
    uint32_t *label;
    groups by_size;
} row_buffers;

/* With room for K labels. `p` is what to free, and NULL if there is no memory. */
static row_buffers allocate_buffers(ptrdiff_t K)
{
    row_buffers b;
    size_t room = (size_t)K + LANES; /* so that whole LANES can be written */
    b.p = (double *)malloc(room * (5 * sizeof(double) + 4 * sizeof(uint32_t)));
    b.mass_above = b.p + room;
    b.n_above = b.mass_above + room;
    b.score = b.n_above + room;
    b.by_size.value = b.score + room;
    b.label = (uint32_t *)(b.by_size.value + room);
    b.by_size.place = b.label + room;
    b.by_size.bucket = b.by_size.place + room;
    b.by_size.end = b.by_size.bucket + room;
    return b;
}

ALWAYS_INLINE void score_as(nested_score s, const row_buffers *b, ptrdiff_t m,
                            double mass_before, double n_before, double top, double u,
                            double *RESTRICT out)
{
    for (ptrdiff_t j = 0; j < m; j++)
        out[j] = score_at(&s, mass_before + b->mass_above[j], n_before + b->n_above[j],
                          b->p[j], top, top, u);
}

/* Scores of m labels with the probabilities b->p, to which come others that are all more
   likely, with mass `mass_before`. For scores that depend on what stands above. */
ALWAYS_INLINE void score_labels(const nested_score *s, row_buffers *b, ptrdiff_t m,
                                double mass_before, double n_before, double top, double u,
                                double *RESTRICT out)
{
    if (m <= FEW_LABELS)
        masses_above_few(b->p, m, b->mass_above, b->n_above);
    else
        masses_above_many(b->p, m, b->mass_above, b->n_above, b->by_size);
    nested_score known = *s;
    switch (s->kind) {
        FOR_KIND(SCORE_APS, score_as(known, b, m, mass_before, n_before, top, u, out))
        FOR_KIND(SCORE_RAPS, score_as(known, b, m, mass_before, n_before, top, u, out))
        FOR_KIND(SCORE_SAPS, score_as(known, b, m, mass_before, n_before, top, u, out))
        FOR_KIND(SCORE_RANK, score_as(known, b, m, mass_before, n_before, top, u, out))
    }
}

/* The label's bucket by the logarithm of its probability, as a float's bits tell it: never
   less for a smaller one. Bucket 0 has the largest, n_buckets the smallest positive ones. */
ALWAYS_INLINE void find_buckets(const double *RESTRICT p, ptrdiff_t m, int32_t n_buckets,
                                uint32_t *RESTRICT bucket)
{
    float largest = 0.0f, smallest = INFINITY;
    PRAGMA(omp simd reduction(max : largest) reduction(min : smallest))
    for (ptrdiff_t j = 0; j < m; j++) {
        float x = (float)p[j], positive = x > 0.0f ? x : INFINITY;
        largest = x > largest ? x : largest;
        smallest = positive < smallest ? positive : smallest;
    }
    int32_t top = float_bits(largest);
    float range = largest > smallest ? (float)(top - float_bits(smallest)) : 1.0f;
    float per_bit = (float)n_buckets / range;
    for (ptrdiff_t j = 0; j < m; j++) {
        float at = (float)(top - float_bits((float)p[j])) * per_bit;
        int32_t k = (int32_t)(at < (float)n_buckets ? at : (float)n_buckets);
        bucket[j] = (uint32_t)k;
    }
}

/* What is not decided by the masses of whole buckets: the bit of a mark beside that of "in". */
enum { IN_SET = 1, UNDECIDED = 2 };

/* Labels in a bucket, as a rule. With 8 of them: 3.9 -> 4.6 us per row of
   label-conditional APS sets at K = 1000. Rows that are then marked without a look at them;
   with 0: 3.9 -> 4.2. Shorter rows than these are looked at. */
enum { LABELS_A_BUCKET = 4, ROWS_BEFORE_LOOKING = 15, SHORTEST_DEALT = 100 };

/* Deals K labels into buckets, and marks all that need no more than the masses of whole
   buckets: a label's score lies between those of the first and of the last place in its
   bucket, and rounding keeps that order. Returns how many are in. The labels of a bucket are
   chained, from its head on, for those that need more. */
ALWAYS_INLINE int64_t mark_as(nested_score s, const row_buffers *b, ptrdiff_t K,
                              int32_t n_buckets, double top, double u,
                              const double *RESTRICT thresholds, uint8_t *RESTRICT marks)
{
    const double *RESTRICT p = b->p;
    const uint32_t *RESTRICT bucket = b->by_size.bucket;
    double *RESTRICT mass = b->mass_above, *RESTRICT count = b->n_above;
    uint32_t *RESTRICT head = b->by_size.end, *RESTRICT next = b->by_size.place;
    int by_mass = s.kind == SCORE_APS || s.kind == SCORE_RAPS, by_rank = s.kind != SCORE_APS;
    memset(head, 0, (size_t)(n_buckets + 1) * sizeof(uint32_t));
    memset(mass, 0, (size_t)(n_buckets + 2) * sizeof(double));
    memset(count, 0, (size_t)(n_buckets + 2) * sizeof(double));
    for (ptrdiff_t k = 0; k < K; k++) {
        uint32_t of = bucket[k];
        next[k] = head[of]; /* places in a chain are counted from one */
        head[of] = (uint32_t)k + 1;
        if (by_mass)
            mass[of + 1] += on_grid(p[k]);
        if (by_rank)
            count[of + 1] += 1.0;
    }
    double above = 0.0, n_above = 0.0; /* what stands above each bucket */
    for (int32_t k = 0; k <= n_buckets && by_mass; k++)
        mass[k + 1] = above += mass[k + 1];
    for (int32_t k = 0; k <= n_buckets && by_rank; k++)
        count[k + 1] = n_above += count[k + 1];
    const double *RESTRICT mass_after = mass + 1, *RESTRICT count_after = count + 1;
    double *RESTRICT open = b->score; /* as wide as the entries, for vectors */
    double n_in = 0.0;
    PRAGMA(omp simd reduction(+ : n_in))
    for (ptrdiff_t k = 0; k < K; k++) {
        int32_t of = (int32_t)bucket[k];
        double first = score_at(&s, mass[of], count[of], p[k], top, top, u);
        double last = score_at(&s, mass_after[of], count_after[of], p[k], top, top, u);
        double in = last <= thresholds[k] ? 1.0 : 0.0;
        double may_be_in = first <= thresholds[k] ? 2.0 : 0.0;
        n_in += in;
        open[k] = may_be_in - in;
    }
    for (ptrdiff_t k = 0; k < K; k++) /* first <= last, so that 2 is undecided */
        marks[k] = (uint8_t)open[k];
    return (int64_t)n_in;
}

/* Marks all K labels, whose probabilities are b->p, by thresholds of their own, without an
   order among them. Returns how many are in, or -1 if too many tie: they then have to be
   scored.

   Without this, scoring those between the looks at a row: 3.9 -> 11 us per row of
   label-conditional APS sets at K = 1000 (min of 15). */
ALWAYS_INLINE int64_t mark_by_buckets(const nested_score *s, const row_buffers *b,
                                      ptrdiff_t K, double top, double u,
                                      const double *thresholds, uint8_t *RESTRICT marks)
{
    enum { STEPS_PER_LABEL = 16 };
    int32_t n_buckets = (int32_t)(K / LABELS_A_BUCKET + 1);
    find_buckets(b->p, K, n_buckets, b->by_size.bucket);
    int64_t size = 0;
    nested_score known = *s;
    switch (s->kind) {
        FOR_KIND(SCORE_APS, size = mark_as(known, b, K, n_buckets, top, u, thresholds, marks))
        FOR_KIND(SCORE_RAPS, size = mark_as(known, b, K, n_buckets, top, u, thresholds, marks))
        FOR_KIND(SCORE_SAPS, size = mark_as(known, b, K, n_buckets, top, u, thresholds, marks))
        FOR_KIND(SCORE_RANK, size = mark_as(known, b, K, n_buckets, top, u, thresholds, marks))
    }
    ptrdiff_t steps_left = STEPS_PER_LABEL * K;
    for (ptrdiff_t k = 0; k < K; k++) {
        if (marks[k] != UNDECIDED)
            continue;
        double own = b->p[k];
        uint32_t of = b->by_size.bucket[k];
        double mass_above = b->mass_above[of], n_above = b->n_above[of];
        for (uint32_t j = b->by_size.end[of]; j != 0; j = b->by_size.place[j - 1]) {
            double other = b->p[j - 1];
            mass_above += other > own ? on_grid(other) : 0.0;
            n_above += other > own ? 1.0 : 0.0;
            steps_left--;
        }
        if (steps_left < 0)
            return -1;
        marks[k] = score_at(s, mass_above, n_above, own, top, top, u) <= thresholds[k];
        size += marks[k];
    }
    return size;
}

/* Where the labels of a row part at one threshold: entries from `in` on have scores of at
   most the threshold, those up to `out` have larger ones, the rest is not yet known. */
typedef struct {
    double threshold;
    double in, score_in, n_above_in;
    double out, score_out, n_above_out, mass_above_out; /* the mass is -1 if not known */
} bracket;

ALWAYS_INLINE bracket open_bracket(double threshold, ptrdiff_t K)
{
    bracket b = {threshold, INFINITY, 0.0, 0.0, -1.0, 0.0, (double)K, -1.0};
    return b;
}

ALWAYS_INLINE double n_between(const bracket *b) { return b->n_above_out - b->n_above_in; }

/* An entry p of the row, and its score, are known. */
ALWAYS_INLINE void tighten(bracket *b, double p, double score, double n_above,
                           double mass_above)
{
    if (score <= b->threshold) {
        if (p < b->in) {
            b->in = p;
            b->score_in = score;
            b->n_above_in = n_above;
        }
    } else if (p > b->out) {
        b->out = p;
        b->score_out = score;
        b->n_above_out = n_above;
        b->mass_above_out = mass_above;
    }
}

/* Where to look next: a few entries beyond where the threshold seems to be crossed, so that
   the bracket closes from both sides. A bad guess costs a look, and changes no result.

   Each part, in us per row of mark_labels (min of 25; flat rows, APS, where not said):
     without guesses, only by sample_between      0.80 -> 1.87 at K = 1000
     beyond = 0                                   0.80 -> 1.56 at K = 1000
     share = 1/2, not by the scores               9.7 -> 13.6 at K = 10,000
     no logarithms                                12 -> 15 at K = 10,000 (peaked rows, RAPS,
                                                  thresholds by class) */
static double next_look(const nested_score *s, const bracket *b)
{
    const double beyond = 6.0; /* entries; fewer than LANES, so that 0 < share < 1 below */
    if (b->in < INFINITY && b->out >= 0.0) { /* score_in <= threshold < score_out */
        double share = (b->threshold - b->score_in) / (b->score_out - b->score_in);
        share += (share < 0.5 ? beyond : -beyond) / n_between(b);
        if (b->out > 0.0 && b->in > 2.0 * b->out)
            return b->in * exp(share * log(b->out / b->in));
        return b->in + share * (b->out - b->in);
    }
    /* One side is open: as far as the neighbours' scores and a 1/p law of ranks suggest. */
    int has_in = b->in < INFINITY;
    double p = has_in ? b->in : b->out;
    double score = has_in ? b->score_in : b->score_out;
    double n_above = has_in ? b->n_above_in : b->n_above_out;
    double step = s->kind == SCORE_RANK   ? 1.0
                  : s->kind == SCORE_SAPS ? s->weight
                                          : p + s->penalty;
    double n_away = fabs(b->threshold - score) / step;
    n_away = n_away < n_above + 1.0 ? n_away : n_above + 1.0;
    double factor = 1.0 + 2.0 * (n_away + beyond) / (n_above + 2.0);
    return has_in ? p / factor : p * factor;
}

/* Bits as doubles: a vectorised sum of them is a set of bits (gather_between). */
static const double POWER_OF_TWO[32] = {
    0x1p0,  0x1p1,  0x1p2,  0x1p3,  0x1p4,  0x1p5,  0x1p6,  0x1p7,  0x1p8,  0x1p9,  0x1p10,
    0x1p11, 0x1p12, 0x1p13, 0x1p14, 0x1p15, 0x1p16, 0x1p17, 0x1p18, 0x1p19, 0x1p20, 0x1p21,
    0x1p22, 0x1p23, 0x1p24, 0x1p25, 0x1p26, 0x1p27, 0x1p28, 0x1p29, 0x1p30, 0x1p31};

ALWAYS_INLINE double median_of_3(double a, double b, double c)
{
    double low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : (c > high ? high : c);
}

#define REAL double
#define NAMED(name) name##_f64
#include "nested_scores_template.h"
#undef REAL
#undef NAMED
#define REAL float
#define NAMED(name) name##_f32
#include "nested_scores_template.h"
#undef REAL
#undef NAMED

#define true_label_scores(probs, ...) CALL_BY_TYPE(true_label_scores, probs, __VA_ARGS__)
#define all_label_scores(probs, ...) CALL_BY_TYPE(all_label_scores, probs, __VA_ARGS__)
#define prediction_sets(probs, ...) CALL_BY_TYPE(prediction_sets, probs, __VA_ARGS__)

#endif
