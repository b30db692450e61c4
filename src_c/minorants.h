/* The fitted values of one more row of class 1, for every place where it may stand.

   Rows are pooled by score in ascending order; see convex_minorants.py for why the value at a
   group is the slope of a tangent of two convex hulls, and why one pass gives all of them.

     mass, hits   in   (m,)  weight of each group, and how much of it is of class 1
     m            in         groups
     weight       in         of the row that is added
     points       room for (m + 2, 2) doubles: running sums, begun with the row itself
     hull         room for (m + 2, 2) doubles: corners, the leftmost on top
     out          out  (m,)  the fitted value of a row at, or just below, each group

   Every point enters the hull once and a second time at most, moved by the row's weight: the
   time is proportional to m. */

#ifndef MINORANTS_H
#define MINORANTS_H

#include <stddef.h>

#include "portability.h"

typedef struct {
    double x, y;
} corner;

/* Add a point on the left; drop those that are no longer corners. Returns the new size. */
ALWAYS_INLINE ptrdiff_t push_corner(corner *hull, ptrdiff_t size, corner left)
{
    while (size > 1) {
        corner top = hull[size - 1], below = hull[size - 2];
        if ((top.x - left.x) * (below.y - top.y) > (top.y - left.y) * (below.x - top.x))
            break;
        size--;
    }
    hull[size] = left;
    return size + 1;
}

static void fit_one_more_hit(const double *mass, const double *hits, ptrdiff_t m,
                             double weight, double *points, double *hull, double *out)
{
    corner *sums = (corner *)points, *corners = (corner *)hull;
    ptrdiff_t size = 0;
    sums[0].x = sums[0].y = -weight;
    sums[1].x = sums[1].y = 0.0;
    for (ptrdiff_t i = 0; i < m; i++) {
        sums[i + 2].x = sums[i + 1].x + mass[i];
        sums[i + 2].y = sums[i + 1].y + hits[i];
    }
    for (ptrdiff_t i = m + 1; i >= 0; i--)
        size = push_corner(corners, size, sums[i]);
    for (ptrdiff_t i = 0; i < m; i++) {
        corner left = corners[size - 1], right = corners[size - 2], moved = sums[i + 2];
        out[i] = (right.y - left.y) / (right.x - left.x);
        moved.x -= weight;
        moved.y -= weight;
        /* is the new point of the left set below the tangent? */
        if ((right.x - left.x) * (moved.y - left.y) < (right.y - left.y) * (moved.x - left.x))
            size = push_corner(corners, size - 1, moved);
    }
}

#endif
