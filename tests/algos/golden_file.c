// Reads the golden files of tools/golden.py: named arrays of numbers.
#include "tests/algos/golden_file.h"

#include <stdlib.h>

#include "tests/support/oct_test.h"

enum { ARRAYS_MAX = 192, NAME_MAX_BYTES = 32 };

typedef struct array {
    char name[NAME_MAX_BYTES];
    size_t count;
    double *values;
} array;

struct golden_file {
    size_t array_count;
    array arrays[ARRAYS_MAX];
};

static const char *folder;

void
golden_begin(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        exit(2);
    }
    folder = argv[1];
}

golden_file *
golden_open(const char *name)
{
    char path[4096];
    golden_file *file = oct_alloc(sizeof(*file));
    (void)snprintf(path, sizeof(path), "%s/%s.txt", folder, name);
    FILE *text = fopen(path, "r");
    if (text == NULL) {
        print_error("%s: not there\n", path);
        fail();
        return NULL;
    }
    array *a = file->arrays;
    while (fscanf(text, "%31s %zu", a->name, &a->count) == 2) {
        a->values = oct_alloc(a->count * sizeof(*a->values));
        for (size_t i = 0; i < a->count; i++) {
            assert_int_equal(fscanf(text, "%lf", &a->values[i]), 1);
        }
        file->array_count++;
        assert_true(file->array_count < ARRAYS_MAX);
        a++;
    }
    assert_true(feof(text));
    (void)fclose(text);
    return file;
}

void
golden_close(golden_file *file)
{
    for (size_t i = 0; i < file->array_count; i++) {
        free(file->arrays[i].values);
    }
    free(file);
}

static const array *
find(const golden_file *file, const char *name)
{
    for (size_t i = 0; i < file->array_count; i++) {
        if (strcmp(file->arrays[i].name, name) == 0) {
            return &file->arrays[i];
        }
    }
    print_error("no array %s\n", name);
    fail();
    return NULL;
}

const double *
golden_array(const golden_file *file, const char *name, size_t count)
{
    const array *a = find(file, name);
    assert_int_equal(a->count, count);
    return a->values;
}

double
golden_number(const golden_file *file, const char *name)
{
    return golden_array(file, name, 1)[0];
}

size_t
golden_count(const golden_file *file, const char *name)
{
    return find(file, name)->count;
}

config_ints
golden_ints(const golden_file *file, const char *name)
{
    size_t count = golden_count(file, name);
    config_ints ints = {.count = (uint32_t)count};
    assert_true(count <= OCT_COUNTOF(ints.value));
    for (size_t i = 0; i < count; i++) {
        ints.value[i] = (uint32_t)golden_array(file, name, count)[i];
    }
    return ints;
}

void
golden_network(const golden_file *file, config_experiment *config)
{
    config->network.hidden = golden_ints(file, "hidden");
    int hidden = (int)golden_number(file, "activation"); // 0: relu
    config->network.activation = (policy_activation)(POLICY_RELU + hidden);
    config->network.first_layer_norm = golden_number(file, "norm") != 0;
    config->algo.grad_norm_max = golden_number(file, "grad_norm_max");
}

void
golden_adam(const golden_file *file, config_experiment *config)
{
    const double *adam = golden_array(file, "adam", 4);
    config->algo.learning_rate = adam[0];
    config->algo.adam_beta1 = adam[1];
    config->algo.adam_beta2 = adam[2];
    config->algo.adam_epsilon = adam[3];
}

void
golden_critic(const golden_file *file, config_experiment *config)
{
    double ratio = golden_number(file, "critic_ratio");
    config->network.critic_hidden = golden_ints(file, "critic_hidden");
    config->algo.critic_learning_rate = config->algo.learning_rate * ratio;
    config->algo.critic_learning_rate_is_same = false;
}

void
golden_bounds(const golden_file *file, policy_spec *spec)
{
    for (uint32_t i = 0; i < spec->action_count; i++) {
        spec->action_low[i] = (float)golden_array(file, "low", spec->action_count)[i];
        spec->action_high[i] = (float)golden_array(file, "high", spec->action_count)[i];
    }
}

void
golden_put_floats(uint8_t *bytes, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float value = (float)values[i];
        memcpy(bytes + i * sizeof(value), &value, sizeof(value));
    }
}

void
golden_near_floats(const void *bytes, const double *values, size_t count, double tolerance,
                   double relative)
{
    for (size_t i = 0; i < count; i++) {
        float got;
        memcpy(&got, (const uint8_t *)bytes + i * sizeof(got), sizeof(got));
        T_NEAR((double)got, values[i], tolerance, relative);
    }
}

float *
golden_floats(const golden_file *file, const char *name, size_t count)
{
    float *x = oct_alloc(count * sizeof(*x));
    golden_put_floats((uint8_t *)x, golden_array(file, name, count), count);
    return x;
}

// Good for one call.
static const char *
step_name(uint32_t step, const char *name)
{
    static char full[64];
    (void)snprintf(full, sizeof(full), "%u.%s", step, name);
    return full;
}

const double *
golden_step(const golden_file *file, uint32_t step, const char *name, size_t count)
{
    return golden_array(file, step_name(step, name), count);
}

float *
golden_step_floats(const golden_file *file, uint32_t step, const char *name, size_t count)
{
    return golden_floats(file, step_name(step, name), count);
}

static int32_t *
step_indices(const golden_file *file, uint32_t step, const char *name, size_t count)
{
    int32_t *x = oct_alloc(count * sizeof(*x));
    for (size_t i = 0; i < count; i++) {
        x[i] = (int32_t)golden_step(file, step, name, count)[i];
    }
    return x;
}

algo_batch
golden_step_batch(const golden_file *file, uint32_t step, uint32_t B, uint32_t obs, uint32_t dim)
{
    algo_batch batch = {
        .B = B,
        .obs = golden_step_floats(file, step, "obs", (size_t)B * obs),
        .next = golden_step_floats(file, step, "next", (size_t)B * obs),
        .reward = golden_step_floats(file, step, "reward", B),
        .discount = golden_step_floats(file, step, "discount", B),
        .weight = golden_step_floats(file, step, "weight", B),
    };
    if (dim > 0) {
        batch.action = golden_step_floats(file, step, "action", (size_t)B * dim);
    } else {
        batch.action = step_indices(file, step, "action", B);
    }
    return batch;
}
