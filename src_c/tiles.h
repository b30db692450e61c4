/* Products of tall matrices, in tiles that stay in registers. No library of linear algebra is
   called: its threads would wait actively for work, on the cores that the threads of the
   caller need. */
#ifndef DISTFREEUQ_TILES_H
#define DISTFREEUQ_TILES_H

#include "portability.h"

enum { TILE_HEIGHT = 4, TILE_BYTES = 64 }; /* a tile's row is a cache line */

/* A row length, rounded up to whole tiles of numbers of so many bytes. */
ALWAYS_INLINE ptrdiff_t in_tiles_of(size_t bytes, ptrdiff_t width)
{
    ptrdiff_t per_tile = TILE_BYTES / (ptrdiff_t)bytes;
    return (width + per_tile - 1) / per_tile * per_tile;
}

ALWAYS_INLINE ptrdiff_t in_tiles(ptrdiff_t width)
{
    return in_tiles_of(sizeof(double), width);
}

#define WORK double
#define ADD_PRODUCTS add_products_f64
#include "tiles_template.h"
#undef WORK
#undef ADD_PRODUCTS
#define WORK float
#define ADD_PRODUCTS add_products_f32
#include "tiles_template.h"
#undef WORK
#undef ADD_PRODUCTS

#endif
