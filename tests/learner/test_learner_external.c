// The process that learns, at both ends: what it gets and gives, who may connect, what is refused,
// and how either end goes.
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/oct_external.h"
#include "common/oct_reason.h"
#include "include/octet/octet.h"
#include "learner/learner_external.h"
#include "tests/learner/run_folder.h"
#include "tests/support/oct_test.h"

#define FOLDER "test_learner_external.run"

enum { WINDOWS = 3, OBS = 2, ACTIONS = 2 };

// The learner's side: a batch, learned from on a thread as in octet-learner.
typedef struct side {
    config_experiment config;
    policy_spec spec;
    algo *a;
    learner_external *x;
    algo_batch batch;
    pthread_t thread;
    oct_err err;
    float priorities[WINDOWS], numbers[ALGO_NUMBERS_MAX];
} side;

static const float obs[WINDOWS][OBS] = {{1, 2}, {3, 4}, {5, 6}};
static const float next[WINDOWS][OBS] = {{7, 8}, {9, 10}, {11, 12}};
static const int32_t action[WINDOWS] = {0, 1, 0};
static const float reward[WINDOWS] = {-1, 0, 1}, discount[WINDOWS] = {0, 0.5f, 0.25f};
static const float weight[WINDOWS] = {1, 0.5f, 0.75f};

static config_experiment
config_of(double wait_s)
{
    config_experiment config;
    config_default(&config);
    config.algo.name = CONFIG_ALGO_EXTERNAL;
    config.algo.client_wait_s = wait_s;
    config.learner.batch_size = WINDOWS;
    config.network.hidden = (config_ints){.count = 1, .value = {4}};
    return config;
}

static bool pictures; // the next side's environment has bytes up to 255

static side *
side_open(const config_experiment *config)
{
    oct_reason why = {""};
    side *s = oct_alloc(sizeof(*s));
    algo_wants wants;
    folder_begin(FOLDER);
    s->config = *config;
    s->spec = (policy_spec){.env_id = "Point-v0",
                            .obs_dtype = pictures ? POLICY_U8 : POLICY_F32,
                            .obs_count = OBS,
                            .obs_high = pictures ? 255 : 0,
                            .obs_rank = 1,
                            .obs_shape = {OBS},
                            .action_kind = POLICY_DISCRETE,
                            .action_count = ACTIONS};
    T_OK(algo_make_spec(&s->config, &s->spec, &wants, &why));
    T_OK(algo_create(&s->a, NULL, &s->config, &s->spec, 1));
    T_OK(learner_external_open(&s->x, &s->config, &s->spec, &wants, s->a, FOLDER, &why));
    const algo_external_learner its = learner_external_learner(s->x);
    algo_external_set_learner(s->a, &its);
    s->batch = (algo_batch){.B = WINDOWS,
                            .obs = obs[0],
                            .next = next[0],
                            .action = action,
                            .reward = reward,
                            .discount = discount,
                            .weight = weight};
    return s;
}

static side *
side_begin(double wait_s)
{
    const config_experiment config = config_of(wait_s);
    return side_open(&config);
}

static void *
side_run(void *arg)
{
    side *s = arg;
    s->err = algo_update(s->a, &s->batch, 0.125f, s->priorities, s->numbers);
    return NULL;
}

static void
side_learn(side *s)
{
    assert_int_equal(pthread_create(&s->thread, NULL, side_run, s), 0);
}

static oct_err
side_learned(side *s)
{
    assert_int_equal(pthread_join(s->thread, NULL), 0);
    return s->err;
}

static void
side_end(side *s)
{
    learner_external_close(s->x);
    algo_destroy(s->a);
    free(s);
    folder_end(FOLDER);
}

// ---- the other side

static octet_learner *
client_open(void)
{
    char error[OCTET_LEARNER_ERROR_BYTES];
    octet_learner *client = NULL;
    assert_int_equal(octet_learner_open(&client, FOLDER, error, sizeof(error)), OCTET_LEARNER_OK);
    return client;
}

static octet_learner_batch
client_next(octet_learner *client)
{
    octet_learner_batch batch = {.size = sizeof(batch)};
    assert_int_equal(octet_learner_next(client, -1, &batch), OCTET_LEARNER_OK);
    return batch;
}

static void
client_answer(octet_learner *client, bool has_params)
{
    octet_learner_answer answer = {.size = sizeof(answer), .has_params = has_params};
    assert_int_equal(octet_learner_update(client, &answer), OCTET_LEARNER_OK);
}

static void
assert_says(const char *text, const char *want)
{
    if (strstr(text, want) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", text, want);
    }
}

// ---- what passes

static void
test_a_batch_and_its_answer_pass(void **state)
{
    (void)state;
    side *s = side_begin(60);
    side_learn(s);
    octet_learner *client = client_open();
    octet_learner_batch batch = client_next(client);
    assert_true(batch.B == WINDOWS && batch.T == 0 && batch.learning_rate == 0.125f);
    assert_memory_equal(batch.obs, obs, sizeof(obs));
    assert_memory_equal(batch.next_obs, next, sizeof(next));
    assert_memory_equal(batch.action, action, sizeof(action));
    assert_memory_equal(batch.reward, reward, sizeof(reward));
    assert_memory_equal(batch.discount, discount, sizeof(discount));
    assert_memory_equal(batch.importance, weight, sizeof(weight));
    assert_true(batch.flags == NULL && batch.version == NULL && batch.extra == NULL);

    const octet_learner_spec *spec = octet_learner_get_spec(client);
    assert_int_equal(spec->param_count, policy_spec_params(&s->spec));
    assert_string_equal(spec->number_names[0], "loss");
    float *params = octet_learner_params(client);
    assert_memory_equal(params, algo_policy_params(s->a), spec->param_count * sizeof(float));
    for (size_t i = 0; i < spec->param_count; i++) {
        params[i] = (float)i;
    }
    const float priorities[WINDOWS] = {3, 2, 1};
    float numbers[OCTET_LEARNER_NUMBERS_MAX];
    for (int i = 0; i < OCTET_LEARNER_NUMBERS_MAX; i++) {
        numbers[i] = i == 0 ? 42.0f : NAN;
    }
    octet_learner_answer answer = {
        .size = sizeof(answer), .has_params = 1, .priorities = priorities, .numbers = numbers};
    assert_int_equal(octet_learner_update(client, &answer), OCTET_LEARNER_OK);
    T_OK(side_learned(s));
    assert_memory_equal(s->priorities, priorities, sizeof(priorities));
    assert_true(s->numbers[0] == 42.0f && isnan(s->numbers[1]));
    assert_true(algo_policy_params(s->a)[5] == 5.0f);
    octet_learner_close(client);
    side_end(s);
}

// Its batches are of bytes divided, and so are its parameters; actors get those of bytes.
static void
test_parameters_are_those_of_the_batches(void **state)
{
    (void)state;
    const config_experiment config = config_of(60);
    pictures = true;
    side *s = side_open(&config);
    pictures = false;
    size_t weights = policy_layer_weights(&s->spec.layers[0]);
    float first = algo_policy_params(s->a)[0];
    side_learn(s);
    octet_learner *client = client_open();
    (void)client_next(client);
    float *params = octet_learner_params(client);
    assert_true(params[0] == 256 * first);
    for (size_t i = 0; i < policy_spec_params(&s->spec); i++) {
        params[i] = (float)i + 1;
    }
    client_answer(client, true);
    T_OK(side_learned(s));
    const float *ships = algo_policy_params(s->a);
    for (size_t i = 0; i < policy_spec_params(&s->spec); i++) {
        assert_true(ships[i] == ((float)i + 1) / (i < weights ? 256 : 1));
    }
    octet_learner_close(client);
    side_end(s);
}

// Replay clips only what it sums. The rows are one sequence of two steps.
static void
test_rewards_of_sequences_are_clipped(void **state)
{
    (void)state;
    enum { STEPS = 2 };
    static const float paid[STEPS] = {-3, 0.25f}, clipped[STEPS] = {-0.5f, 0.25f};
    static const uint8_t flags[STEPS] = {ALGO_FIRST, 0};
    static const uint32_t version[STEPS] = {1, 1};
    for (int clips = 0; clips < 2; clips++) {
        config_experiment config = config_of(60);
        config.algo.window = CONFIG_SAMPLED_SEQUENCE;
        config.algo.sequence_steps = STEPS;
        config.algo.reward_clip = clips * 0.5;
        side *s = side_open(&config);
        s->batch.B = 1;
        s->batch.T = STEPS;
        s->batch.reward = paid;
        s->batch.flags = flags;
        s->batch.version = version;
        side_learn(s);
        octet_learner *client = client_open();
        octet_learner_batch batch = client_next(client);
        assert_true(batch.B == 1 && batch.T == STEPS);
        assert_memory_equal(batch.obs, obs, sizeof(obs));
        assert_memory_equal(batch.flags, flags, sizeof(flags));
        assert_memory_equal(batch.reward, clips ? clipped : paid, sizeof(paid));
        client_answer(client, false);
        T_OK(side_learned(s));
        octet_learner_close(client);
        side_end(s);
    }
}

static void
test_the_socket_is_for_the_user_alone(void **state)
{
    (void)state;
    struct stat about;
    side *s = side_begin(60);
    assert_int_equal(stat(FOLDER "/" OCT_EXTERNAL_SOCKET, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    side_end(s);
}

static void
test_only_one_process_learns(void **state)
{
    (void)state;
    side *s = side_begin(60);
    side_learn(s);
    octet_learner *client = client_open(), *second;
    (void)client_next(client);
    second = client_open();
    octet_learner_batch none = {.size = sizeof(none)};
    assert_int_equal(octet_learner_next(second, -1, &none), OCTET_LEARNER_ESTALE);
    assert_says(octet_learner_error(second),
                "already learns in this run; only one process may at a time");
    assert_int_equal(octet_learner_has_ended(second), 0);
    octet_learner_close(second);
    client_answer(client, false);
    T_OK(side_learned(s));
    octet_learner_close(client);
    side_end(s);
}

// ---- what is refused

static void
test_numbers_that_are_not_finite_are_refused_and_may_be_mended(void **state)
{
    (void)state;
    side *s = side_begin(60);
    side_learn(s);
    octet_learner *client = client_open();
    octet_learner_batch batch = client_next(client);
    const octet_learner_spec *spec = octet_learner_get_spec(client);
    float *params = octet_learner_params(client), priorities[WINDOWS] = {1, -1, 1};
    octet_learner_answer answer = {.size = sizeof(answer), .has_params = 1};
    params[spec->layers[1].bias] = INFINITY;
    assert_int_equal(octet_learner_update(client, &answer), OCTET_LEARNER_EINVAL);
    assert_string_equal(octet_learner_error(client), "a weight of layer 1 is not finite");
    params[spec->layers[1].bias] = 0;
    params[0] = NAN;
    assert_int_equal(octet_learner_update(client, &answer), OCTET_LEARNER_EINVAL);
    assert_string_equal(octet_learner_error(client), "a weight of layer 0 is not finite");
    params[0] = 0;
    answer.priorities = priorities;
    assert_int_equal(octet_learner_update(client, &answer), OCTET_LEARNER_EINVAL);
    assert_says(octet_learner_error(client), "priority 1 is -1; allowed are finite numbers");
    assert_int_equal(octet_learner_next(client, 0, &batch), OCTET_LEARNER_EINVAL);
    assert_says(octet_learner_error(client), "was not answered");
    priorities[1] = 0;
    assert_int_equal(octet_learner_update(client, &answer), OCTET_LEARNER_OK);
    T_OK(side_learned(s));
    assert_int_equal(octet_learner_update(client, &answer), OCTET_LEARNER_EINVAL);
    assert_says(octet_learner_error(client), "no batch waits for an answer");
    octet_learner_close(client);
    side_end(s);
}

// Past what liboctet checks: its socket is the first field.
static void
send_raw(octet_learner *client, const void *bytes, size_t length)
{
    int fd = *(const int *)(const void *)client;
    assert_int_equal(send(fd, bytes, length, 0), length);
}

// A client that is not ours writes what it likes: the learner checks what it copied.
static void
test_the_learner_checks_by_itself(void **state)
{
    (void)state;
    side *s = side_begin(60);
    side_learn(s);
    octet_learner *client = client_open();
    octet_learner_batch batch = client_next(client);
    float before = algo_policy_params(s->a)[0];
    octet_learner_params(client)[0] = NAN;
    oct_external_packet packet = oct_external_packet_of(OCT_EXTERNAL_ANSWER, batch.number, NULL);
    packet.flags = OCT_EXTERNAL_HAS_PARAMS;
    send_raw(client, &packet, sizeof(packet));
    T_ERR(side_learned(s), OCT_EINTERNAL);
    assert_true(algo_policy_params(s->a)[0] == before);
    octet_learner_close(client);
    side_end(s);
}

// Who says what is no answer is given up, and the batch is another's.
static void
test_who_talks_out_of_turn_is_dropped(void **state)
{
    (void)state;
    oct_external_packet wrong[3];
    wrong[0] = oct_external_packet_of(OCT_EXTERNAL_ANSWER, 99, NULL);
    wrong[1] = oct_external_packet_of(OCT_EXTERNAL_BATCH, 1, NULL);
    wrong[2] = oct_external_packet_of(OCT_EXTERNAL_ANSWER, 1, NULL);
    wrong[2].version++;
    side *s = side_begin(60);
    side_learn(s);
    for (size_t i = 0; i <= OCT_COUNTOF(wrong); i++) {
        octet_learner *client = client_open();
        octet_learner_batch batch = client_next(client);
        send_raw(client, i < 3 ? (const void *)&wrong[i] : "x", i < 3 ? sizeof(wrong[i]) : 1);
        client_answer(client, false);
        assert_int_equal(octet_learner_next(client, -1, &batch), OCTET_LEARNER_ECLOSED);
        assert_says(octet_learner_error(client), "closed the connection");
        octet_learner_close(client);
    }
    octet_learner *client = client_open();
    (void)client_next(client);
    client_answer(client, false);
    T_OK(side_learned(s));
    octet_learner_close(client);
    side_end(s);
}

// ---- how either goes

static void
test_another_takes_the_place_of_one_that_went(void **state)
{
    (void)state;
    side *s = side_begin(60);
    side_learn(s);
    octet_learner *first = client_open();
    octet_learner_batch batch = client_next(first);
    float *kept = octet_learner_params(first);
    batch.obs[0] = NAN; // it goes in the middle of its work
    kept[0] = NAN;
    octet_learner_leave(first);
    octet_learner *second = client_open();
    batch = client_next(second); // the same one
    assert_memory_equal(batch.obs, obs, sizeof(obs));
    assert_memory_equal(octet_learner_params(second), algo_policy_params(s->a),
                        policy_spec_params(&s->spec) * sizeof(float));
    client_answer(second, false);
    T_OK(side_learned(s));
    assert_true(isfinite(kept[0])); // what was handed out stays mapped
    octet_learner_close(first);
    octet_learner_close(second);
    side_end(s);
}

static void
test_a_batch_that_nobody_takes_is_given_up(void **state)
{
    (void)state;
    side *s = side_begin(0);
    side_learn(s);
    T_ERR(side_learned(s), OCT_EAGAIN);
    assert_true(learner_external_is_lost(s->x));
    assert_int_equal(algo_updates(s->a), 0);
    side_end(s);
}

static void
test_an_end_is_told(void **state)
{
    (void)state;
    side *s = side_begin(60);
    side_learn(s);
    octet_learner *client = client_open();
    octet_learner_batch batch = client_next(client);
    learner_external_stop(s->x);
    T_ERR(side_learned(s), OCT_EAGAIN);
    client_answer(client, false); // nobody reads it
    learner_external_end(s->x, "solved");
    assert_int_equal(octet_learner_next(client, -1, &batch), OCTET_LEARNER_ECLOSED);
    assert_string_equal(octet_learner_error(client), "solved");
    assert_int_equal(octet_learner_has_ended(client), 1);
    assert_int_equal(octet_learner_next(client, -1, &batch), OCTET_LEARNER_ECLOSED);
    assert_string_equal(octet_learner_error(client), "solved");
    assert_int_not_equal(access(FOLDER "/" OCT_EXTERNAL_SOCKET, F_OK), 0);
    octet_learner_close(client);
    side_end(s);
}

static void
test_without_a_run_there_is_nothing_to_open(void **state)
{
    (void)state;
    char error[OCTET_LEARNER_ERROR_BYTES];
    octet_learner *client = NULL;
    assert_int_equal(octet_learner_open(&client, FOLDER "/none", error, sizeof(error)),
                     OCTET_LEARNER_EAGAIN);
    assert_says(error, "/none: no run of algo.name: external provides batches here");
    assert_null(client);
    octet_learner_close(NULL);
}

// ---- the spec of the shared memory

static void
test_a_layout_beyond_its_memory_is_refused(void **state)
{
    (void)state;
    side *s = side_begin(60);
    side_learn(s);
    octet_learner *client = client_open();
    (void)client_next(client);
    octet_learner_spec good = *octet_learner_get_spec(client), bad;
    oct_external_layout layout;
    T_OK(oct_external_lay_out(&layout, &good));
    for (int k = 1; k < OCT_EXTERNAL_COLUMNS; k++) {
        assert_true(layout.at[k] % 64 == 0 && layout.at[k] >= layout.at[k - 1]);
    }
#define REFUSED(field, value)                                                                      \
    bad = good;                                                                                    \
    bad.field = (value);                                                                           \
    T_ERR(oct_external_lay_out(&layout, &bad), OCT_EINVAL)
    REFUSED(size, 1);
    REFUSED(window, 4);
    REFUSED(steps, 3);
    REFUSED(batch_size, 0);
    REFUSED(batch_size, UINT32_MAX);
    REFUSED(obs_count, UINT32_MAX);
    REFUSED(layer_count, 17);
    REFUSED(number_count, 17);
    REFUSED(param_count, 3);
    REFUSED(layers[1].weight, UINT64_MAX);
    REFUSED(layers[0].bias, good.param_count);
#undef REFUSED
    client_answer(client, false);
    T_OK(side_learned(s));
    octet_learner_close(client);
    side_end(s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_batch_and_its_answer_pass),
        cmocka_unit_test(test_parameters_are_those_of_the_batches),
        cmocka_unit_test(test_rewards_of_sequences_are_clipped),
        cmocka_unit_test(test_the_socket_is_for_the_user_alone),
        cmocka_unit_test(test_only_one_process_learns),
        cmocka_unit_test(test_numbers_that_are_not_finite_are_refused_and_may_be_mended),
        cmocka_unit_test(test_the_learner_checks_by_itself),
        cmocka_unit_test(test_who_talks_out_of_turn_is_dropped),
        cmocka_unit_test(test_another_takes_the_place_of_one_that_went),
        cmocka_unit_test(test_a_batch_that_nobody_takes_is_given_up),
        cmocka_unit_test(test_an_end_is_told),
        cmocka_unit_test(test_without_a_run_there_is_nothing_to_open),
        cmocka_unit_test(test_a_layout_beyond_its_memory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
