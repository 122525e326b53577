#ifndef POLICY_POLICY_NET_H
#define POLICY_POLICY_NET_H

#include "policy/policy_draw.h"
#include "policy/policy_format.h"

// A policy ready to act: weights packed once for this machine's instructions.
//
// Threads: a net is immutable after create and may be shared; a scratch belongs to one thread.
// Owns: its packed weights; the image may be destroyed afterwards. No allocation in forward.
// Exactness (contract 3): every kernel gives the bits of the scalar reference, in every precision,
// for any batch split. FP32 equals the learner's forward within 1e-6 relative (contract 2).
typedef struct policy_net policy_net;
typedef struct policy_scratch policy_scratch;

typedef enum policy_isa {
    POLICY_ISA_BEST = 0, // the fastest that this CPU has; OCTET_ISA=NAME forces one
    POLICY_ISA_REF = 1,
    POLICY_ISA_AVX2 = 2,
    POLICY_ISA_VNNI = 3,    // AVX-512 VNNI
    POLICY_ISA_AVXVNNI = 4, // VNNI on 256-bit registers
    POLICY_ISA_NEON = 5,    // with the dot product (ARMv8.2)
} policy_isa;

// OCT_ENOTFOUND: this CPU (or build) lacks the asked instructions; OCT_EINVAL: OCTET_ISA names
// none.
OCT_CHECKED oct_err policy_net_create(policy_net **out, const policy_image *image, policy_isa isa);
void policy_net_destroy(policy_net *net); // NULL is a no-op
const policy_spec *policy_net_spec(const policy_net *net);
const policy_origin *policy_net_origin(const policy_net *net);
policy_precision policy_net_precision(const policy_net *net);
// The log deviations [action_count] of a head that has its own, else NULL; as long as net lives.
const float *policy_net_deviation(const policy_net *net);
policy_isa policy_net_isa(const policy_net *net);
const char *policy_isa_name(policy_isa isa);

// Why an instruction set is not to be had, for a message to a person: the value of OCTET_ISA, and
// what this CPU and build have. A value: for use within one call of printf.
typedef struct policy_isa_reason {
    char text[128];
} policy_isa_reason;

policy_isa_reason policy_isa_refused(void);

// Work space for up to batch_max rows through nets of this spec.
policy_scratch *policy_scratch_create(const policy_spec *spec, uint32_t batch_max);
void policy_scratch_destroy(policy_scratch *scratch); // NULL is a no-op

// out[B][outputs] = the last layer's outputs for obs[B], rows obs_stride bytes apart, of the spec's
// dtype (u8 is read as the number). B <= batch_max. Finite observations only.
void policy_forward(const policy_net *net, policy_scratch *scratch, const void *obs,
                    size_t obs_stride, uint32_t B, float *out);

// Greedy actions from outputs y[B][outputs]: int32 [B] for discrete, float [B][dim] for box, rows
// of policy_spec_action_bytes. The head in policy_spec.h says how.
void policy_act(const policy_spec *spec, const float *y, uint32_t B, void *actions);

// Actions drawn from the distributions of outputs y[B][outputs], as policy_act has them, and
// extra[B][policy_spec_extra_dim]: the log-probability of each action, then, of Gaussians, the
// number before it was clipped or squashed. Row b takes its draws from rng[b] alone, so results do
// not depend on how rows are grouped. deviation as policy_net_deviation has it. Heads without a
// distribution (extra_dim 0) act greedily and draw nothing; rng and extra may then be NULL.
// y finite: otherwise actions stay in range, but extra need not be finite.
void policy_sample(const policy_spec *spec, const float *deviation, const float *y, uint32_t B,
                   policy_rng *rng, void *actions, float *extra);

#endif // POLICY_POLICY_NET_H
