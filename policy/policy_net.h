#ifndef POLICY_POLICY_NET_H
#define POLICY_POLICY_NET_H

#include "policy/policy_draw.h"
#include "policy/policy_format.h"

// A policy that is ready to act: its weights are packed for the instructions of this CPU.
//
// Threads: a net is immutable after create and may be shared; a scratch belongs to one thread.
// Owns: its packed weights; the image may be destroyed after create. policy_forward does not
// allocate.
// Exactness (contract 3): every kernel gives the bits of the scalar reference, in every precision
// and for every split of a batch. FP32 differs from the learner's forward pass by at most 1e-6
// relative (contract 2).
typedef struct policy_net policy_net;
typedef struct policy_scratch policy_scratch;

typedef enum policy_isa {
    POLICY_ISA_BEST = 0, // the fastest that this CPU supports, unless OCTET_ISA names another
    POLICY_ISA_REF = 1,
    POLICY_ISA_AVX2 = 2,
    POLICY_ISA_VNNI = 3,    // AVX-512 VNNI
    POLICY_ISA_AVXVNNI = 4, // VNNI on 256-bit registers
    POLICY_ISA_NEON = 5,    // with the dot product (ARMv8.2)
} policy_isa;

// Packs image for isa. OCT_EINVAL: OCTET_ISA is not the name of an instruction set. OCT_ENOTFOUND:
// this CPU or this build does not support the instruction set.
OCT_CHECKED oct_err policy_net_create(policy_net **out, const policy_image *image, policy_isa isa);
void policy_net_destroy(policy_net *net); // NULL is a no-op
const policy_spec *policy_net_spec(const policy_net *net);
const policy_origin *policy_net_origin(const policy_net *net);
policy_precision policy_net_precision(const policy_net *net);
// Returns the log deviations [action_count] of a head that has its own, else NULL. They live as
// long as net.
const float *policy_net_deviation(const policy_net *net);
policy_isa policy_net_isa(const policy_net *net);
const char *policy_isa_name(policy_isa isa);

// An error message about an instruction set that is not available: the value of OCTET_ISA, and what
// this CPU and build support. It is returned by value, for use within one call of printf.
typedef struct policy_isa_reason {
    char text[128];
} policy_isa_reason;

policy_isa_reason policy_isa_refused(void);

// Reserves work space for up to batch_max rows through nets that are no wider than this spec and
// whose convolutions are no larger.
policy_scratch *policy_scratch_create(const policy_spec *spec, uint32_t batch_max);
void policy_scratch_destroy(policy_scratch *scratch); // NULL is a no-op

// out[B][outputs] = the outputs of the last layer for obs[B], which have the spec's dtype (a u8 is
// read as its number) and begin obs_stride bytes apart. B <= batch_max. Precondition: observations
// are finite.
void policy_forward(const policy_net *net, policy_scratch *scratch, const void *obs,
                    size_t obs_stride, uint32_t B, float *out);

// Writes the greedy actions of outputs y[B][outputs]: int32 [B] for discrete, float [B][dim] for
// box, in rows of policy_spec_action_bytes. policy_spec.h defines them for each head. Actions are
// in range for any y, even NaN.
void policy_act(const policy_spec *spec, const float *y, uint32_t B, void *actions);

// Samples actions from the distributions of outputs y[B][outputs], in the layout of policy_act.
// extra[B][policy_spec_extra_dim] = the log-probability of each action, then for Gaussians the
// numbers before clipping or squashing. Row b draws from rng[b] alone, so results do not depend on
// the grouping of rows. deviation is that of policy_net_deviation.
// Heads without a distribution (extra_dim 0) act greedily and draw nothing; rng and extra may then
// be NULL. If y is not finite, actions stay in range, but extra may not be finite.
void policy_sample(const policy_spec *spec, const float *deviation, const float *y, uint32_t B,
                   policy_rng *rng, void *actions, float *extra);

#endif // POLICY_POLICY_NET_H
