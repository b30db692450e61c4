/* Where rows that join a line stand in it: the conformal p-values of a stream.

   The line is kept as the number of its rows in each of `n_cells` cells of the scores. Row
   i is the t-th of the line, in cell c. With u in (0, 1),

       p = (rows in cells above c + u (rows in cell c, this one included)) / t,

   and q = 1 - p from the counts themselves, as it would lose its digits near p = 1. Both
   are positive. The counts below c are prefix sums of a Fenwick tree: cell i of it holds
   the rows of the (i & -i) cells that end at i, counted from 1. Few rows take the sums as
   they are: making the tree would cost more (65,536 cells: about as much as 16 sums). */
#ifndef DISTFREEUQ_LINE_RANKS_H
#define DISTFREEUQ_LINE_RANKS_H

#include "portability.h"

enum { ROWS_WITHOUT_TREE = 16 };

static void fenwick_tree(
    const int64_t *RESTRICT counts, ptrdiff_t n_cells, int64_t *RESTRICT tree)
{
    for (ptrdiff_t i = 0; i < n_cells; i++)
        tree[i] = counts[i];
    for (ptrdiff_t i = 1; i <= n_cells; i++) {
        const ptrdiff_t parent = i + (i & -i);
        if (parent <= n_cells)
            tree[parent - 1] += tree[i - 1];
    }
}

static int64_t fenwick_below(const int64_t *tree, ptrdiff_t cell)
{
    int64_t sum = 0;
    for (ptrdiff_t i = cell; i > 0; i -= i & -i)
        sum += tree[i - 1];
    return sum;
}

static void fenwick_add(int64_t *tree, ptrdiff_t n_cells, ptrdiff_t cell)
{
    for (ptrdiff_t i = cell + 1; i <= n_cells; i += i & -i)
        tree[i - 1]++;
}

VECTOR_CLONES
static int64_t sum_below(const int64_t *counts, ptrdiff_t cell)
{
    int64_t sum = 0;
    for (ptrdiff_t i = 0; i < cell; i++)
        sum += counts[i];
    return sum;
}

/*   name      in/out   shape      meaning
     cells     in       n          cell of each row, from 0
     uniforms  in       n          in [0, 1); 0 counts as 2^-54
     counts    in/out   n_cells    rows of the line by cell
     tree      scratch  n_cells
     line      in                  rows of the line before the first of these
     p, q      out      n          as above
   The rows join one after the other. */
static void rank_in_line(
    const int32_t *RESTRICT cells, const double *RESTRICT uniforms, ptrdiff_t n,
    int64_t *RESTRICT counts, int64_t *RESTRICT tree, ptrdiff_t n_cells, int64_t line,
    double *RESTRICT p, double *RESTRICT q)
{
    const double least = 1.0 / 18014398509481984.0; /* 2^-54 */
    const int with_tree = n > ROWS_WITHOUT_TREE;
    if (with_tree)
        fenwick_tree(counts, n_cells, tree);
    for (ptrdiff_t i = 0; i < n; i++) {
        const ptrdiff_t cell = cells[i];
        const int64_t below =
            with_tree ? fenwick_below(tree, cell) : sum_below(counts, cell);
        const int64_t above = line - below - counts[cell];
        counts[cell]++;
        line++;
        if (with_tree)
            fenwick_add(tree, n_cells, cell);
        const double u = uniforms[i] > least ? uniforms[i] : least;
        const double tied = (double)counts[cell], rows = (double)line;
        p[i] = ((double)above + u * tied) / rows;
        q[i] = ((double)below + (1.0 - u) * tied) / rows;
    }
}

#endif
