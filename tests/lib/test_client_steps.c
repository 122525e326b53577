// Steps become rows: one each where a step leads to the next, an end row where it does not.
#include "common/oct_reason.h"
#include "lib/client_steps.h"

#include "tests/support/oct_test.h"

enum { STREAMS = 2 };

static const octet_replay_table table = {
    .size = sizeof(table),
    .streams = 64,
    .capacity = 100000,
    .observation_bytes = sizeof(float),
    .observation_is_float = 1,
    .action_bytes = sizeof(int32_t),
};

static octet_replay_writer_config
config_of(uint32_t streams, const octet_replay_table *of)
{
    return (octet_replay_writer_config){
        .size = sizeof(octet_replay_writer_config), .streams = streams, .number = 1, .table = of};
}

struct step {
    float obs[STREAMS], next[STREAMS], reward[STREAMS];
    int32_t action[STREAMS];
    uint8_t terminated[STREAMS], truncated[STREAMS], mask[STREAMS];
};

static octet_replay_steps
view_of(const struct step *step)
{
    return (octet_replay_steps){.size = sizeof(octet_replay_steps),
                                .observations = step->obs,
                                .actions = step->action,
                                .rewards = step->reward,
                                .terminated = step->terminated,
                                .truncated = step->truncated,
                                .next_observations = step->next,
                                .mask = step->mask};
}

// Stream 0 goes from 10 at to 10 at + 1; stream 1 is left out.
static struct step
step_of(float from, float to)
{
    return (struct step){.obs = {from}, .next = {to}, .reward = {1}, .mask = {1, 0}};
}

static actor_batch *
batch_of(const client_steps *steps)
{
    actor_batch *batch = actor_batch_create(&steps->shape);
    actor_batch_begin(batch, steps->next);
    return batch;
}

static void
append(client_steps *steps, actor_batch *batch, const struct step *step)
{
    oct_reason why;
    octet_replay_steps view = view_of(step);
    T_OK(client_steps_check(steps, &view, &why));
    client_steps_append(steps, batch, &view);
}

static void
rows_are(const actor_batch *batch, const float *obs, const uint8_t *flags, uint32_t count)
{
    assert_int_equal(batch->rows[0], count);
    assert_int_equal(batch->rows[1], 0);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(((const float *)(const void *)batch->obs)[i] == obs[i]);
        assert_int_equal(batch->flags[i], flags[i]);
    }
}

static void
test_steps_that_lead_to_each_other_take_a_row_each(void **state)
{
    (void)state;
    client_steps steps;
    octet_replay_writer_config config = config_of(STREAMS, &table);
    T_OK(client_steps_init(&steps, &config, NULL));
    actor_batch *batch = batch_of(&steps);
    struct step a = step_of(1, 2), b = step_of(2, 3), c = step_of(5, 6);
    b.terminated[0] = 1;
    c.truncated[0] = 1;
    append(&steps, batch, &a);
    append(&steps, batch, &b);
    append(&steps, batch, &c);
    rows_are(
        batch, (float[]){1, 2, 3, 5, 6},
        (uint8_t[]){WIRE_FIRST, WIRE_TERMINATED, WIRE_END, WIRE_FIRST | WIRE_TRUNCATED, WIRE_END},
        5);
    assert_false(client_steps_is_open(&steps));
    assert_int_equal(steps.next[0], 5);
    assert_int_equal(steps.next[1], 0);
    actor_batch_destroy(batch);
    client_steps_fini(&steps);
}

static void
test_steps_are_cut_where_one_does_not_lead_to_the_next(void **state)
{
    (void)state;
    client_steps steps;
    octet_replay_writer_config config = config_of(STREAMS, &table);
    T_OK(client_steps_init(&steps, &config, NULL));
    actor_batch *batch = batch_of(&steps);
    struct step a = step_of(1, 2), b = step_of(7, 8);
    append(&steps, batch, &a);
    append(&steps, batch, &b);
    assert_true(client_steps_is_open(&steps));
    client_steps_cut(&steps, batch);
    client_steps_cut(&steps, batch); // there is nothing left to cut
    rows_are(batch, (float[]){1, 2, 7, 8},
             (uint8_t[]){WIRE_FIRST, WIRE_END | WIRE_ROLLOUT, WIRE_FIRST, WIRE_END | WIRE_ROLLOUT},
             4);
    actor_batch_destroy(batch);
    client_steps_fini(&steps);
}

// What is open when a batch is full ends in the next one.
static void
test_steps_fit_whatever_rows_come_with_them(void **state)
{
    (void)state;
    client_steps steps;
    octet_replay_writer_config config = config_of(STREAMS, &table);
    T_OK(client_steps_init(&steps, &config, NULL));
    actor_batch *batch = batch_of(&steps);
    uint32_t count = 0;
    for (float at = 0; client_steps_fit(&steps, batch); at += 2, count++) { // never leads on
        struct step step = step_of(at, at + 1);
        step.mask[1] = 1;
        append(&steps, batch, &step);
    }
    client_steps_cut(&steps, batch);
    assert_true(count >= 8 && batch->most <= batch->room);
    actor_batch_seal(batch);
    actor_batch_destroy(batch);
    client_steps_fini(&steps);
}

static void
test_steps_that_replay_would_reject_are_refused(void **state)
{
    (void)state;
    client_steps steps;
    octet_replay_writer_config config = config_of(STREAMS, &table);
    T_OK(client_steps_init(&steps, &config, NULL));
    oct_reason why;
    struct step good = step_of(1, 2);
    struct {
        float *at;
        const char *words;
    } wrong[] = {{good.obs, "stream 0: its observation is not finite"},
                 {good.next, "stream 0: its next observation is not finite"},
                 {good.reward, "stream 0: its reward is not finite"}};
    octet_replay_steps view = view_of(&good);
    for (size_t i = 0; i < OCT_COUNTOF(wrong); i++) {
        float before = *wrong[i].at;
        *wrong[i].at = NAN;
        T_ERR(client_steps_check(&steps, &view, &why), OCT_EINVAL);
        assert_string_equal(why.text, wrong[i].words);
        *wrong[i].at = before;
    }
    good.reward[1] = INFINITY; // left out
    T_OK(client_steps_check(&steps, &view, &why));
    good.mask[1] = 1;
    T_ERR(client_steps_check(&steps, &view, &why), OCT_EINVAL);
    client_steps_fini(&steps);
}

static void
test_steps_of_too_many_streams_are_refused(void **state)
{
    (void)state;
    client_steps steps;
    oct_reason why;
    octet_replay_writer_config config = config_of(65, &table);
    T_ERR(client_steps_init(&steps, &config, &why), OCT_EINVAL);
    assert_string_equal(why.text, "streams 65; allowed are 1 to 64 (streams of the table)");
    config.streams = 0;
    T_ERR(client_steps_init(&steps, &config, &why), OCT_EINVAL);
    octet_replay_table large = table;
    large.observation_bytes = 1 << 20;
    config = config_of(64, &large);
    T_ERR(client_steps_init(&steps, &config, &why), OCT_EINVAL);
    assert_non_null(strstr(why.text, "divide them among several writers"));
    octet_replay_table small = table;
    small.capacity = 64 * 8;
    config = config_of(64, &small);
    T_ERR(client_steps_init(&steps, &config, &why), OCT_EINVAL);
    assert_non_null(strstr(why.text, "has room for"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_that_lead_to_each_other_take_a_row_each),
        cmocka_unit_test(test_steps_are_cut_where_one_does_not_lead_to_the_next),
        cmocka_unit_test(test_steps_fit_whatever_rows_come_with_them),
        cmocka_unit_test(test_steps_that_replay_would_reject_are_refused),
        cmocka_unit_test(test_steps_of_too_many_streams_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
