#ifndef NN_NN_TILE_TABLES_H
#define NN_NN_TILE_TABLES_H

#include "nn/nn_tile.h"

// One table per build of nn_tile.c (nn/meson.build). Only nn_tile_choose.c reads this list.
extern const nn_tile_ops nn_tile_avx2;
extern const nn_tile_ops nn_tile_avx512;
extern const nn_tile_ops nn_tile_avx512bf16;
extern const nn_tile_ops nn_tile_amx;

#endif // NN_NN_TILE_TABLES_H
