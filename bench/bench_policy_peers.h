#ifndef BENCH_BENCH_POLICY_PEERS_H
#define BENCH_BENCH_POLICY_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(BENCH_HAS_ONEDNN)
#include <dnnl.h>
#endif

#include "common/oct_base.h"
#include "policy/policy_net.h"

// What bench_policy_forward and bench_policy_conv time: forward passes of a policy, and what they
// are compared with in the same run. Peers of a multilayer perceptron with relu: a plain read of as
// many bytes, OpenBLAS in FP32, oneDNN's inner product in int8. All on one thread.
//
// Threads: one. Owns: a peer owns its weights and activations.
typedef struct bench_peer {
    const char *name;
    void (*run)(void *self);
    void (*destroy)(void *self);
    void *self; // NULL: this build has no such peer
} bench_peer;

// Before anything is computed. The libraries read the environment when they are loaded: one thread,
// and the kernels of this CPU. Where it says otherwise the program starts again.
void bench_peers_prepare(char **argv);
// Microseconds of CPU time of one call, over so many.
double bench_peer_us(const bench_peer *peer, uint32_t calls);

// A policy's forward pass of B rows of obs, which is borrowed.
typedef struct bench_own_net {
    policy_net *net;
    policy_scratch *scratch;
    const void *obs;
    uint32_t B;
    size_t obs_bytes; // of a row
    float *y;         // [B][outputs]
} bench_own_net;

// Has run once; NULL where this CPU has no such instructions.
bench_own_net *bench_own_net_create(const policy_image *image, policy_isa isa, const void *obs,
                                    uint32_t B);
void bench_own_net_destroy(void *self);
// Takes it.
bench_peer bench_peer_own(bench_own_net *own);

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

#if defined(BENCH_HAS_ONEDNN)
#define BENCH_ONEDNN(call) OCT_ASSERT((call) == dnnl_success)

// oneDNN's int8 layers in a row, for peers of other shapes.
typedef struct bench_onednn_net bench_onednn_net;

bench_onednn_net *bench_onednn_net_create(void);
// desc: the layer's operation, of x, bias and y. It reads what the layer before writes. Has one
// scale for each output, and relu but for the last layer.
void bench_onednn_net_add(bench_onednn_net *net, const void *desc, const dnnl_memory_desc_t *x,
                          const dnnl_memory_desc_t *bias, const dnnl_memory_desc_t *y,
                          uint32_t outputs, bool is_last);
// Takes it.
bench_peer bench_peer_onednn_net(bench_onednn_net *net);
#endif

#endif // BENCH_BENCH_POLICY_PEERS_H
