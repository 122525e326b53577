// Octet's models against the numbers of dm_control's, compiled:
// tests/data/dmc/model_parameters.json has arrays of mjModel by their names there.
#include "tests/support/oct_test.h"

#include <jansson.h>
#include <mujoco/mjxmacro.h>
#include <stdlib.h>

#include "tests/envs/dmc/dmc_rig.h"

#define PARAMETERS "tests/data/dmc/model_parameters.json"

struct field {
    const char *name;
    const char *type; // as MuJoCo writes it
    const void *values;
    int rows, columns;
};

static int
int_at(const mjModel *m, size_t offset)
{
    int value;
    memcpy(&value, (const char *)m + offset, sizeof(value));
    return value;
}

// Where arrays lie in mjModel; columns: how many, or where that is said, negative.
#undef MJ_M
#define MJ_M(n) (-1 - (int)offsetof(mjModel, n))

static bool
field_find(const mjModel *m, const char *name, struct field *out)
{
    static const struct {
        const char *name, *type;
        size_t values, rows;
        int columns;
    } fields[] = {
#define X(type, name, rows, columns)                                                               \
    {#name, #type, offsetof(mjModel, name), offsetof(mjModel, rows), columns},
        MJMODEL_POINTERS
#undef X
    };
    for (size_t i = 0; i < OCT_COUNTOF(fields); i++) {
        if (strcmp(fields[i].name, name) == 0) {
            int columns = fields[i].columns;
            *out = (struct field){.name = fields[i].name,
                                  .type = fields[i].type,
                                  .rows = int_at(m, fields[i].rows),
                                  .columns =
                                      columns < 0 ? int_at(m, (size_t)(-1 - columns)) : columns};
            memcpy(&out->values, (const char *)m + fields[i].values, sizeof(out->values));
            return true;
        }
    }
    return false;
}

static bool
count_find(const mjModel *m, const char *name, int *out)
{
    const struct {
        const char *name;
        int value;
    } counts[] = {
#define X(name) {#name, m->name},
        MJMODEL_INTS
#undef X
    };
    for (size_t i = 0; i < OCT_COUNTOF(counts); i++) {
        if (strcmp(counts[i].name, name) == 0) {
            *out = counts[i].value;
            return true;
        }
    }
    return false;
}

static double
field_value(const struct field *field, int at)
{
    if (strcmp(field->type, "mjtNum") == 0) {
        return ((const mjtNum *)field->values)[at];
    }
    if (strcmp(field->type, "int") == 0) {
        return ((const int *)field->values)[at];
    }
    if (strcmp(field->type, "mjtByte") == 0) {
        return ((const mjtByte *)field->values)[at];
    }
    fail_msg("%s has an unknown type", field->name);
    return NAN;
}

// A row of the parameters is a number, or an array of columns.
static void
field_compare(const char *model, const struct field *field, const json_t *rows)
{
    assert_int_equal(json_array_size(rows), field->rows);
    for (int row = 0; row < field->rows; row++) {
        const json_t *cells = json_array_get(rows, (size_t)row);
        assert_int_equal(json_is_array(cells) ? json_array_size(cells) : 1, field->columns);
        for (int k = 0; k < field->columns; k++) {
            const json_t *cell = json_is_array(cells) ? json_array_get(cells, (size_t)k) : cells;
            double got = field_value(field, row * field->columns + k);
            double want = json_number_value(cell);
            if (!(got == want)) {
                fail_msg("%s: %s[%d][%d] is %.17g, not %.17g", model, field->name, row, k, got,
                         want);
            }
        }
    }
}

static void
names_compare(const mjModel *m, json_t *names)
{
    const char *kind;
    json_t *list;
    json_object_foreach(names, kind, list)
    {
        for (size_t k = 0; k < json_array_size(list); k++) {
            const char *want = json_string_value(json_array_get(list, k));
            const char *got = mj_id2name(m, mju_str2Type(kind), (int)k);
            assert_non_null(got);
            assert_string_equal(got, want);
        }
    }
}

static void
fact_compare(const char *model, const mjModel *m, const char *key, json_t *fact)
{
    struct field field;
    int count;
    if (strcmp(key, "names") == 0) {
        names_compare(m, fact);
    } else if (strcmp(key, "timestep") == 0) {
        assert_true(m->opt.timestep == json_number_value(fact));
    } else if (strcmp(key, "integrator") == 0) {
        assert_int_equal(m->opt.integrator, json_integer_value(fact));
    } else if (count_find(m, key, &count)) {
        assert_int_equal(count, json_integer_value(fact));
    } else if (field_find(m, key, &field)) {
        field_compare(model, &field, fact);
    } else if (strcmp(key, "n_sub_steps") != 0) { // the tasks', test_dmc_golden.c
        fail_msg("no field %s", key);
    }
}

static void
test_dmc_models_have_the_constants_of_dm_control(void **state)
{
    (void)state;
    json_t *parameters = json_load_file(PARAMETERS, 0, NULL), *model;
    const char *name;
    assert_non_null(parameters);
    json_object_foreach(parameters, name, model)
    {
        mjModel *m = rig_compile(dmc_model_text(name), name);
        const char *key;
        json_t *fact;
        json_object_foreach(model, key, fact)
        {
            fact_compare(name, m, key, fact);
        }
        mj_deleteModel(m);
    }
    assert_int_equal(json_object_size(parameters), 13);
    json_decref(parameters);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dmc_models_have_the_constants_of_dm_control),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
