#ifndef POLICY_POLICY_ACTIVATIONS_H
#define POLICY_POLICY_ACTIVATIONS_H

// The activations of a network, one row each: X(ENUM, name, version).
//   ENUM     POLICY_ENUM is its value in files, which never changes: new rows come last
//   name     the word in configurations, commands and messages; policy_name (policy_curves.h) is
//            its arithmetic, nn_name_slope (nn/nn_slopes.h) its derivative
//   version  the first version of the file format (policy_format.h) that has it
// Everything else follows: the enums, the names and their parsers, the kernels of every instruction
// set, the exports, the version of a file, and the loops of the tests.
#define POLICY_ACTIVATIONS(X)                                                                      \
    X(LINEAR, linear, 1)                                                                           \
    X(RELU, relu, 1)                                                                               \
    X(TANH, tanh, 1)                                                                               \
    X(ELU, elu, 1)                                                                                 \
    X(SILU, silu, 6)                                                                               \
    X(GELU, gelu, 6)                                                                               \
    X(GELU_TANH, gelu_tanh, 6)                                                                     \
    X(SIGMOID, sigmoid, 6)                                                                         \
    X(SOFTPLUS, softplus, 6)                                                                       \
    X(MISH, mish, 6)                                                                               \
    X(LEAKY_RELU, leaky_relu, 6)                                                                   \
    X(RELU6, relu6, 6)                                                                             \
    X(HARD_SWISH, hard_swish, 6)

// "name", for lists of words.
#define POLICY_ACTIVATION_WORD(ENUM, name, version) #name,

#define POLICY_ACTIVATION_VALUE(ENUM, name, version) POLICY_##ENUM,
typedef enum policy_activation {
    POLICY_ACTIVATIONS(POLICY_ACTIVATION_VALUE) POLICY_ACTIVATION_COUNT
} policy_activation;
#undef POLICY_ACTIVATION_VALUE

#endif // POLICY_POLICY_ACTIVATIONS_H
