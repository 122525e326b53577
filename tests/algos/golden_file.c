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

golden_file *
golden_open(const char *folder, const char *name)
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

void
golden_put_floats(uint8_t *bytes, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float value = (float)values[i];
        memcpy(bytes + i * sizeof(value), &value, sizeof(value));
    }
}

const double *
golden_step(const golden_file *file, uint32_t step, const char *name, size_t count)
{
    char full[64];
    (void)snprintf(full, sizeof(full), "%u.%s", step, name);
    return golden_array(file, full, count);
}

float *
golden_step_floats(const golden_file *file, uint32_t step, const char *name, size_t count)
{
    float *x = oct_alloc(count * sizeof(*x));
    golden_put_floats((uint8_t *)x, golden_step(file, step, name, count), count);
    return x;
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
