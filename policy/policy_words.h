#ifndef POLICY_POLICY_WORDS_H
#define POLICY_POLICY_WORDS_H

#include "policy/policy_spec.h"

// Layers as a person writes them (network.layers, docs/networks.md): a list with commas, such as
//   conv 32 8x8/4, conv 64 4x4/2+1, pool 2x2/2, dense 512 norm tanh
//
//   dense N              N outputs
//   conv N KERNEL        N filters
//   pool KERNEL          max pool; mean KERNEL: mean pool
//   nature               conv 32 8x8/4, conv 64 4x4/2, conv 64 3x3, dense 512 (Mnih et al. 2015)
//
// KERNEL is ROWSxCOLUMNS, then optionally /STRIDE, then optionally +PADDING, which are one number
// or ROWSxCOLUMNS. A kernel of one number moves along a sequence, which is the observation's first
// axis. After a layer may follow `norm`, a layer norm, and the name of an activation.
//
// Threads: any. Owns: plain values.

typedef struct policy_word {
    policy_layer_kind kind;
    uint32_t units;                        // outputs or filters; 0 for pools
    bool is_sequence;                      // the kernel has one number
    uint32_t kernel[2], stride[2], pad[2]; // rows, columns; 0 for POLICY_DENSE
    bool layer_norm;
    bool has_activation;
    policy_activation activation; // only if has_activation
} policy_word;

typedef struct policy_words {
    uint32_t count;
    policy_word word[POLICY_LAYERS_MAX - 1];
} policy_words;

// OCT_EINVAL, with one line for the user in why: the text is no such list, a number is out of
// range, or there are too many layers.
OCT_CHECKED oct_err policy_words_parse(policy_words *out, const char *text, oct_reason *why);

// Returns the words of the short form: convolutions of 3 x 3 with filters[conv_count], then dense
// layers of hidden[hidden_count]. OCT_EINVAL, with a reason: more layers than a network can have.
OCT_CHECKED oct_err policy_words_short(policy_words *out, const uint32_t *filters,
                                       uint32_t conv_count, const uint32_t *hidden,
                                       uint32_t hidden_count, oct_reason *why);

// Sets the layers of spec: the words over observations of obs_shape, with `activation` where a word
// names none, then a linear layer of `outputs`. OCT_EINVAL, with one line for the user in why: a
// layer does not fit what it reads, or is too large.
OCT_CHECKED oct_err policy_spec_set_words(policy_spec *spec, const policy_words *words,
                                          policy_activation activation, uint32_t outputs,
                                          oct_reason *why);

// One layer as a word, such as "conv 32 8x8/4", without norm and activation. Padding that is not
// the same on both sides, which only imported layers have, has four numbers, and policy_words_parse
// refuses it. The word is returned by value, for use within one call of printf.
typedef struct policy_layer_text {
    char text[64];
} policy_layer_text;

policy_layer_text policy_layer_word(const policy_layer *layer);

#endif // POLICY_POLICY_WORDS_H
