#ifndef NN_NN_VEC_TABLES_H
#define NN_NN_VEC_TABLES_H

#include "nn/nn_categorical.h"
#include "nn/nn_vec.h"

// One table per build of nn_vec.c and nn_categorical.c (nn/meson.build). Only nn_vec_choose.c reads
// this list.
extern const nn_vec_ops nn_vec_base;
extern const nn_vec_ops nn_vec_avx2;
extern const nn_vec_ops nn_vec_avx512;
extern const nn_categorical_ops nn_categorical_base;
extern const nn_categorical_ops nn_categorical_avx2;
extern const nn_categorical_ops nn_categorical_avx512;

#endif // NN_NN_VEC_TABLES_H
