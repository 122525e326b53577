// Recognises activations by what they compute, however a model writes them.
//
// An exporter writes SiLU as x * Sigmoid(x), and GELU as six nodes in one of several orders. Each
// node on the way makes an IMPORT_PART: a function of one or two steps before it. After each node
// the whole function is computed at some points, as a function of each value before it, and
// compared with all activations. If it is one of them with a factor, the node's value is that
// activation of that value, and the factor an affine step. So no form is listed anywhere. A part
// that no later node completes is refused when a layer is made.
//
// A function is a tree of at most NUMBERS_MAX steps, so that a model that squares a value again
// and again costs no time.
#include "policy/import/import_activations.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "policy/import/import_constants.h"
#include "policy/policy_spec.h"

#define NUMBERS_MAX 64   // steps of a tree, each counted as often as it is used
#define BEFORE_MAX  16   // values before a step with which it is compared
#define SLACK       1e-6 // of the points; constants in models are rounded to float
#define NEAR        0.1  // a difference from an activation that is worth a message

// ---- functions of a number, and of an attribute

static double
linear(double x, double alpha)
{
    (void)alpha;
    return x;
}

static double
relu(double x, double alpha)
{
    (void)alpha;
    return x > 0.0 ? x : 0.0;
}

static double
hyperbolic(double x, double alpha)
{
    (void)alpha;
    return tanh(x);
}

static double
elu(double x, double alpha)
{
    return x > 0.0 ? x : alpha * expm1(x);
}

static double
sigmoid(double x, double alpha)
{
    (void)alpha;
    return 1.0 / (1.0 + exp(-x));
}

static double
silu(double x, double alpha)
{
    return x * sigmoid(alpha * x, 0.0);
}

static double
gelu(double x, double alpha)
{
    (void)alpha;
    return 0.5 * x * erfc(-x * sqrt(0.5));
}

static double
gelu_tanh(double x, double alpha)
{
    (void)alpha;
    return x * sigmoid(4.0 * sqrt(0.5 / acos(-1.0)) * (x + 0.044715 * x * x * x), 0.0);
}

static double
softplus(double x, double alpha)
{
    (void)alpha;
    return fmax(x, 0.0) + log1p(exp(-fabs(x)));
}

static double
mish(double x, double alpha)
{
    return x * tanh(softplus(x, alpha));
}

static double
leaky_relu(double x, double alpha)
{
    return x > 0.0 ? x : alpha * x;
}

static double
relu6(double x, double alpha)
{
    (void)alpha;
    return fmin(fmax(x, 0.0), 6.0);
}

static double
absolute(double x, double alpha)
{
    (void)alpha;
    return fabs(x);
}

static double
error_function(double x, double alpha)
{
    (void)alpha;
    return erf(x);
}

static double
exponential(double x, double alpha)
{
    (void)alpha;
    return exp(x);
}

static double
logarithm(double x, double alpha)
{
    (void)alpha;
    return log(x);
}

static double
hard_sigmoid(double x, double alpha)
{
    return fmin(fmax(alpha * x + 0.5, 0.0), 1.0);
}

static double
hard_swish(double x, double alpha)
{
    (void)alpha;
    return x * relu6(x + 3.0, 0.0) / 6.0;
}

double
import_function_reciprocal(double x, double alpha)
{
    (void)alpha;
    return 1.0 / x;
}

double
import_function_power(double x, double alpha)
{
    return pow(x, alpha);
}

static double
sum(double x, double y)
{
    return x + y;
}

static double
difference(double x, double y)
{
    return x - y;
}

static double
product(double x, double y)
{
    return x * y;
}

static double
quotient(double x, double y)
{
    return x / y;
}

// ---- operations

// An operation of ONNX. attribute: the name of alpha; NULL: there is none.
typedef struct operation {
    const char *op; // NULL: ONNX has none
    import_function function;
    const char *attribute;
    double alpha; // without the attribute; of an activation also that of policies
} operation;

static const operation activations[] = {
    [POLICY_LINEAR] = {NULL, linear, NULL, 0.0},
    [POLICY_RELU] = {"Relu", relu, NULL, 0.0},
    [POLICY_TANH] = {"Tanh", hyperbolic, NULL, 0.0},
    [POLICY_ELU] = {"Elu", elu, "alpha", 1.0},
    [POLICY_SILU] = {"Swish", silu, "alpha", 1.0},
    [POLICY_GELU] = {"Gelu", gelu, NULL, 0.0},
    [POLICY_GELU_TANH] = {NULL, gelu_tanh, NULL, 0.0}, // Gelu with an attribute
    [POLICY_SIGMOID] = {"Sigmoid", sigmoid, NULL, 0.0},
    [POLICY_SOFTPLUS] = {"Softplus", softplus, NULL, 0.0},
    [POLICY_MISH] = {"Mish", mish, NULL, 0.0},
    [POLICY_LEAKY_RELU] = {"LeakyRelu", leaky_relu, "alpha", 0.01},
    [POLICY_RELU6] = {NULL, relu6, NULL, 0.0}, // Clip
    [POLICY_HARD_SWISH] = {"HardSwish", hard_swish, NULL, 0.0},
};
static_assert(OCT_COUNTOF(activations) == POLICY_ACTIVATION_COUNT, "a row for each activation");

// Policies have these only as parts of an activation.
static const operation parts[] = {
    {"Abs", absolute, NULL, 0.0},    {"Erf", error_function, NULL, 0.0},
    {"Exp", exponential, NULL, 0.0}, {"HardSigmoid", hard_sigmoid, "alpha", 0.2},
    {"Log", logarithm, NULL, 0.0},
};

static const operation *
operation_find(const char *op)
{
    for (size_t i = 0; i < OCT_COUNTOF(activations); i++) {
        if (activations[i].op != NULL && strcmp(activations[i].op, op) == 0) {
            return &activations[i];
        }
    }
    for (size_t i = 0; i < OCT_COUNTOF(parts); i++) {
        if (strcmp(parts[i].op, op) == 0) {
            return &parts[i];
        }
    }
    return NULL;
}

bool
import_activation_is_operation(const char *op)
{
    return operation_find(op) != NULL;
}

double
import_activation_number(policy_activation activation, double x)
{
    return activations[activation].function(x, activations[activation].alpha);
}

const char *
import_activate(import_graph *graph, const import_node *node, import_value *out)
{
    const import_value *x = import_graph_input(graph, node, 0);
    const import_attribute *form = import_node_attribute(node, "approximate");
    const operation *of = operation_find(node->op);
    if (of == &activations[POLICY_GELU] && form != NULL && strcmp(form->s, "none") != 0) {
        of = &activations[POLICY_GELU_TANH];
        if (strcmp(form->s, "tanh") != 0) {
            return "its approximate is neither none nor tanh";
        }
    }
    if (x == NULL || x->step == NULL) {
        return "its input is a constant, which no exporter leaves in a model";
    }
    if (of->function == hard_sigmoid && import_node_float(node, "beta", 0.5) != 0.5) {
        return "its beta is not 0.5";
    }
    double alpha =
        of->attribute != NULL ? import_node_float(node, of->attribute, of->alpha) : of->alpha;
    return import_activation_part(graph, node, x->step, of->function, alpha, out);
}

// ---- functions of steps

bool
import_step_is_numberwise(const import_step *step)
{
    return step->kind == IMPORT_ACTIVATION || step->kind == IMPORT_PART ||
           ((step->kind == IMPORT_AFFINE || step->kind == IMPORT_CLIP) && step->is_even);
}

// Computes the step's number from the number x of base. left is counted down; 0: the tree is too
// large, or not all of it follows base.
static double
tree_number(const import_step *step, const import_step *base, double x, uint32_t *left)
{
    if (step == base) {
        return x;
    }
    if (*left == 0 || !import_step_is_numberwise(step)) {
        *left = 0;
        return NAN;
    }
    *left -= 1;
    double y = tree_number(step->kind == IMPORT_PART ? step->left : step->from, base, x, left);
    switch (step->kind) {
    case IMPORT_AFFINE:
        return step->a[0] * y + step->b[0];
    case IMPORT_CLIP:
        return fmin(fmax(y, step->a[0]), step->b[0]);
    case IMPORT_ACTIVATION:
        return import_activation_number(step->activation, y);
    default:
        return step->function(y, step->right != NULL ? tree_number(step->right, base, x, left)
                                                     : step->alpha);
    }
}

// Between and beyond the corners of all activations. Numbers up to POINT_NEAR are usual ones.
static const double points[] = {2.0,  -60.0, -20.0, -8.0, -5.0, -3.5, -2.5, -1.7,
                                -0.9, -0.3,  -1e-3, 0.0,  1e-3, 0.3,  0.9,  1.7,
                                2.5,  3.5,   5.0,   5.9,  6.1,  8.0,  20.0, 60.0};
#define POINT_NEAR 8.0

// Computes the step at all points as a function of base. False: it is none.
static bool
points_compute(const import_step *step, const import_step *base, double *y)
{
    uint32_t left = NUMBERS_MAX;
    for (size_t i = 0; left > 0 && i < OCT_COUNTOF(points); i++) {
        left = NUMBERS_MAX;
        y[i] = tree_number(step, base, points[i], &left);
    }
    return left > 0;
}

bool
import_activation_match(const import_step *step, const import_step *base,
                        policy_activation *activation, double *factor)
{
    double y[OCT_COUNTOF(points)];
    if (!points_compute(step, base, y)) {
        return false;
    }
    for (uint32_t k = 0; k < POLICY_ACTIVATION_COUNT; k++) {
        double c = y[0] / import_activation_number((policy_activation)k, points[0]);
        bool is_alike = isfinite(c) && c != 0.0;
        for (size_t i = 0; is_alike && i < OCT_COUNTOF(points); i++) {
            double want = c * import_activation_number((policy_activation)k, points[i]);
            is_alike = fabs(y[i] - want) <= SLACK * fabs(c) * fmax(fabs(points[i]), 1.0);
        }
        if (is_alike) {
            *activation = (policy_activation)k;
            *factor = fabs(c - 1.0) < SLACK ? 1.0 : c;
            return true;
        }
    }
    return false;
}

// factor * activation of base.
static const import_step *
activation_make(import_graph *graph, const import_node *node, const import_step *base,
                policy_activation activation, double factor)
{
    import_step *made =
        activation != POLICY_LINEAR ? import_step_make(graph, node, IMPORT_ACTIVATION, base) : NULL;
    if (made != NULL) {
        made->activation = activation;
    } else if (activation != POLICY_LINEAR) {
        return NULL;
    }
    const import_step *from = made != NULL ? made : base;
    if (factor == 1.0) {
        return from;
    }
    double *a = import_graph_alloc(graph, from->count * sizeof(double));
    double *b = import_graph_alloc(graph, from->count * sizeof(double));
    import_step *scaled = import_step_make(graph, node, IMPORT_AFFINE, from);
    for (uint32_t i = 0; a != NULL && i < from->count; i++) {
        a[i] = factor;
    }
    if (a == NULL || b == NULL || scaled == NULL) {
        return NULL;
    }
    scaled->a = a;
    scaled->b = b;
    scaled->is_even = true;
    return scaled;
}

const char *
import_activation_settle(import_graph *graph, const import_node *node, const import_step *step,
                         import_value *out)
{
    const import_step *base = step;
    policy_activation activation;
    double factor;
    out->step = step;
    for (uint32_t i = 0; i < BEFORE_MAX && import_step_is_numberwise(base); i++) {
        base = base->from;
        if (import_activation_match(step, base, &activation, &factor)) {
            out->step = activation_make(graph, node, base, activation, factor);
            return out->step != NULL ? NULL : IMPORT_TOO_LARGE;
        }
    }
    return NULL;
}

const char *
import_activation_part(import_graph *graph, const import_node *node, const import_step *x,
                       import_function function, double alpha, import_value *out)
{
    import_step *made = import_step_make(graph, node, IMPORT_PART, x);
    if (made == NULL) {
        return IMPORT_TOO_LARGE;
    }
    made->left = x;
    made->function = function;
    made->alpha = alpha;
    return import_activation_settle(graph, node, made, out);
}

// Returns the last step before x and y, or one of them, from which both are computed number by
// number. NULL: there is none.
static const import_step *
base_find(const import_step *x, const import_step *y)
{
    for (uint32_t i = 0; i < BEFORE_MAX; i++) {
        const import_step *other = y;
        for (uint32_t k = 0; k < BEFORE_MAX; k++) {
            if (other == x) {
                return x;
            }
            if (!import_step_is_numberwise(other)) {
                break;
            }
            other = other->from;
        }
        if (!import_step_is_numberwise(x)) {
            return NULL;
        }
        x = x->from;
    }
    return NULL;
}

const char *
import_activation_both(import_graph *graph, const import_node *node, const import_step *x,
                       const import_step *y, import_value *out)
{
    static const struct {
        const char *op;
        import_function function;
    } table[] = {{"Add", sum},      {"Sub", difference}, {"Mul", product},
                 {"Div", quotient}, {"Max", fmax},       {"Min", fmin}};
    const import_step *base = base_find(x, y);
    for (size_t i = 0; base != NULL && i < OCT_COUNTOF(table); i++) {
        if (strcmp(table[i].op, node->op) == 0) {
            import_step *made = import_step_make(graph, node, IMPORT_PART, base);
            if (made == NULL) {
                return IMPORT_TOO_LARGE;
            }
            made->left = x;
            made->right = y;
            made->function = table[i].function;
            return import_activation_settle(graph, node, made, out);
        }
    }
    return NULL;
}

// ---- messages

// Finds the activation that is nearest to the step at usual numbers; returns its distance.
static double
nearest_find(const import_step *step, const char **name)
{
    double y[OCT_COUNTOF(points)], least = (double)INFINITY;
    const import_step *base = step;
    for (uint32_t k = 0; k < BEFORE_MAX && import_step_is_numberwise(base); k++) {
        base = base->from;
        for (uint32_t j = 0; points_compute(step, base, y) && j < POLICY_ACTIVATION_COUNT; j++) {
            double most = 0.0;
            for (size_t i = 0; i < OCT_COUNTOF(points); i++) {
                double d = fabs(y[i] - import_activation_number((policy_activation)j, points[i]));
                most = fabs(points[i]) <= POINT_NEAR && !(d <= most) ? d : most;
            }
            if (most < least) {
                least = most;
                *name = policy_activation_name((policy_activation)j);
            }
        }
    }
    return least;
}

void
import_activation_why(const import_step *step, char *text, size_t size)
{
#define COMMA_NAME(ENUM, name, version) ", " #name
    static const char list[] = "" POLICY_ACTIVATIONS(COMMA_NAME);
#undef COMMA_NAME
    const char *name = "";
    double distance = nearest_find(step, &name);
    int length = snprintf(text, size,
                          "policies do not have this function; their activations are %s, of which "
                          "elu has alpha 1 and leaky_relu 0.01",
                          list + strlen(", "));
    if (distance < NEAR && length > 0 && (size_t)length < size) {
        (void)snprintf(text + length, size - (size_t)length, "; %s is near, but differs by %.2g",
                       name, distance);
    }
}
