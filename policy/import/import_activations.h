#ifndef POLICY_IMPORT_IMPORT_ACTIVATIONS_H
#define POLICY_IMPORT_IMPORT_ACTIVATIONS_H

#include "policy/import/import_values.h"

// The activations of ONNX, as operations and as the forms that exporters write out, such as
// x * Sigmoid(x). Threads: one user of the graph. Owns: nothing; the graph owns all.

// Returns the activation of a number in double precision.
double import_activation_number(policy_activation activation, double x);
// True if ONNX has this operation as an activation, or as a part of one.
bool import_activation_is_operation(const char *op);
// The import_operation of those.
const char *import_activate(import_graph *graph, const import_node *node, import_value *out);

// True if the step computes each number from the same number of from, all by the same function.
bool import_step_is_numberwise(const import_step *step);
// y = function(x, alpha) of each number, as an activation if it completes one.
const char *import_activation_part(import_graph *graph, const import_node *node,
                                   const import_step *x, import_function function, double alpha,
                                   import_value *out);
// Add, Sub, Mul, Div, Max or Min of two values that are functions of each number of one value.
// If they are not, out->step stays NULL and the result is NULL.
const char *import_activation_both(import_graph *graph, const import_node *node,
                                   const import_step *x, const import_step *y, import_value *out);
// Sets out->step: an activation, scaled, if the step is one of a value before it; or the step.
const char *import_activation_settle(import_graph *graph, const import_node *node,
                                     const import_step *step, import_value *out);
// True if the numbers of step are factor * activation of those of base, which comes before it.
bool import_activation_match(const import_step *step, const import_step *base,
                             policy_activation *activation, double *factor);
// Writes why policies lack the function that step computes.
void import_activation_why(const import_step *step, char *text, size_t size);
// 1 / x and x to the power alpha.
double import_function_reciprocal(double x, double alpha);
double import_function_power(double x, double alpha);

#endif // POLICY_IMPORT_IMPORT_ACTIVATIONS_H
