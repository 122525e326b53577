#ifndef BENCH_BENCH_POLICY_PEERS_H
#define BENCH_BENCH_POLICY_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What bench_policy_forward compares with, in the same run: a plain read of as many bytes, OpenBLAS
// in FP32, oneDNN's inner product in int8. All on one thread, for a multilayer perceptron with
// relu.
//
// Threads: one. Owns: a peer owns its weights and activations.
typedef struct bench_peer {
    const char *name;
    void (*run)(void *self);
    void (*destroy)(void *self);
    void *self; // NULL: this build has no such peer
} bench_peer;

// Reads so many bytes, as fast as the core can.
bench_peer bench_peer_read(size_t bytes);
// widths[count]: inputs, hidden layers, outputs. cblas_sgemv for one row, cblas_sgemm for more.
bench_peer bench_peer_openblas(const uint32_t *widths, uint32_t count, uint32_t rows);
// Static scales, u8 between layers, weights in the library's own packed format: less work than a
// policy does, which quantises each row by its range.
bench_peer bench_peer_onednn(const uint32_t *widths, uint32_t count, uint32_t rows);

// One row through weights packed as the kernels would have them at their simplest: AVX-512, relu,
// no fixed order of sums. What a policy may cost more is the price of its exact arithmetic. self is
// NULL on CPUs without AVX-512 VNNI.
bench_peer bench_peer_plain(const uint32_t *widths, uint32_t count, bool is_int8);

const char *bench_peer_openblas_core(void);

#endif // BENCH_BENCH_POLICY_PEERS_H
