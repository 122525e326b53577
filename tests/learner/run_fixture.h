#ifndef TESTS_LEARNER_RUN_FIXTURE_H
#define TESTS_LEARNER_RUN_FIXTURE_H

#include <inttypes.h>
#include <jansson.h>

#include "common/oct_clock.h"
#include "common/oct_reason.h"
#include "learner/learner_checkpoint.h"
#include "learner/learner_run.h"
#include "tests/learner/learner_fixture.h"
#include "tests/learner/run_folder.h"

// A whole learner without sockets, in the run folder FOLDER (which the test names before it
// includes this): the test plays actors, evaluators and replay.
#ifndef FOLDER
#define FOLDER "run_fixture.run"
#endif

static fixture_bell bell = FIXTURE_BELL;
static config_experiment config;
static oct_rng rng;
static oct_reason reason;
static fixture_rows rows;
static uint64_t steps; // of environments, that replay has taken
static double evaluator_wait_s;
static const char *environment; // file, NULL: not known beforehand
static double missed_s;

static inline int
setup(void **state)
{
    (void)state;
    config = fixture_config();
    folder_begin(FOLDER);
    oct_rng_init(&rng, 1, 0);
    steps = 0;
    evaluator_wait_s = 0;
    environment = NULL;
    missed_s = 3600;
    return 0;
}

static inline int
teardown(void **state)
{
    (void)state;
    folder_end(FOLDER);
    return 0;
}

static inline oct_err
run_create(learner_run **out, bool resume)
{
    learner_run_options options = {.config = &config,
                                   .folder = FOLDER,
                                   .resume = resume,
                                   .environment = environment,
                                   .evaluator_wait_s = evaluator_wait_s,
                                   .missed_s = missed_s,
                                   .notify = fixture_ring,
                                   .arg = &bell};
    reason.text[0] = '\0';
    return learner_run_create(out, &options, &reason);
}

static inline learner_run *
run_begin(bool resume)
{
    learner_run *run = NULL;
    T_OK(run_create(&run, resume));
    assert_int_equal(learner_run_phase(run), LEARNER_WAITING);
    assert_null(learner_run_spec(run));
    return run;
}

static const wire_env_spec good_env = {
    .env_id = "Fixture-v0",
    .obs_dtype = POLICY_F32,
    .obs_count = FIXTURE_OBS,
    .action_kind = POLICY_DISCRETE,
    .action_count = FIXTURE_ACTIONS,
    .reward_threshold = NAN,
};

static inline learner_run *
run_joined(bool resume)
{
    learner_run *run = run_begin(resume);
    T_OK(learner_run_begin(run, &good_env, &reason));
    assert_int_equal(learner_run_phase(run), LEARNER_TRAINING);
    return run;
}

static inline learner_actor *
actor_begin(learner_run *run, uint64_t session, wire_role role)
{
    learner_actor *actor = NULL;
    const learner_registrant who = {.role = role, .session = session};
    T_OK(learner_actors_register(learner_run_actors(run), &who, oct_clock_ns(), &actor));
    return actor;
}

static inline const quantizer_publication *
run_published(learner_run *run)
{
    const quantizer_publication *publication;
    while ((publication = learner_run_publish(run)) == NULL) {
        fixture_listen(&bell);
    }
    return publication;
}

// Batches that the next request may ask for.
static inline uint32_t
run_request(learner_run *run)
{
    wire_sample request;
    return learner_run_request(run, 0, &request) / FIXTURE_B;
}

static inline void
run_sampled(learner_run *run, uint32_t requested, const wire_sampled *sampled)
{
    T_OK(learner_run_sampled(run, 0, requested * FIXTURE_B, sampled));
}

// One request answered, all of its batches learned from.
static inline void
run_train(learner_run *run, uint32_t requests)
{
    for (uint32_t i = 0; i < requests; i++) {
        uint32_t reserved = run_request(run);
        assert_in_range(reserved, 1, 2);
        wire_sampled sampled = fixture_sampled(&rows, reserved * FIXTURE_B, &rng);
        sampled.steps = steps;
        double before = 0;
        wire_priorities priorities;
        run_sampled(run, reserved, &sampled);
        while (before < reserved) {
            fixture_listen(&bell);
            learner_run_collect(run);
            if (learner_source_priorities(learner_run_source(run, 0), &priorities)) {
                before += priorities.count / (double)FIXTURE_B;
            }
        }
    }
}

// Replay says that it has taken so many steps in all.
static inline void
run_stepped(learner_run *run, uint64_t taken)
{
    steps = taken;
    wire_sampled nothing = fixture_sampled(&rows, 0, &rng);
    nothing.steps = steps;
    run_sampled(run, 0, &nothing);
}

static inline oct_err
report(learner_run *run, const learner_actor *actor, uint64_t sequence, uint64_t env_steps)
{
    static const float returns[] = {10, 20};
    static const uint32_t lengths[] = {10, 20};
    wire_report message = {.actor_id = actor->id,
                           .session = actor->session,
                           .report_sequence = sequence,
                           .env_steps = env_steps,
                           .episode_count = 2,
                           .episode_return = returns,
                           .episode_length = lengths};
    learner_admission_token(learner_run_admission(run), actor, message.token);
    return learner_run_report(run, &message);
}

static inline double
status_of(learner_run *run, const char *name)
{
    const wire_status *status = learner_run_status(run);
    for (uint32_t i = 0; i < status->stat_count; i++) {
        if (strcmp(status->stat_name[i], name) == 0) {
            return status->stat_value[i];
        }
    }
    fail_msg("no %s", name);
    return 0;
}

// The evaluator says that it got mean in every episode of what it was asked.
static inline oct_err
run_answer(learner_run *run, const learner_actor *evaluator, uint64_t version, uint64_t ticket,
           uint32_t episodes, float mean)
{
    const float returns[8] = {mean, mean, mean, mean, mean, mean, mean, mean};
    const uint32_t lengths[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    wire_report message = {.actor_id = evaluator->id,
                           .session = evaluator->session,
                           .report_sequence = evaluator->report_sequence + 1,
                           .policy_version = version,
                           .ticket = ticket,
                           .episode_count = episodes,
                           .episode_return = returns,
                           .episode_length = lengths};
    learner_admission_token(learner_run_admission(run), evaluator, message.token);
    return learner_run_report(run, &message);
}

// It plays what it is asked to.
static inline void
run_evaluated(learner_run *run, learner_actor *evaluator, uint32_t episodes, float mean)
{
    learner_eval_order order;
    T_OK(learner_run_order(run, evaluator->id, &order));
    assert_int_equal(order.episodes, episodes);
    T_OK(run_answer(run, evaluator, order.publication->version, order.ticket, episodes, mean));
}

// The next version is evaluated, by a screen and in full.
static inline uint64_t
run_published_evaluated(learner_run *run, learner_actor *evaluator, float screen, float full)
{
    uint64_t version = run_published(run)->version;
    run_evaluated(run, evaluator, 2, screen);
    run_evaluated(run, evaluator, 4, full);
    return version;
}

// A run that was killed between policy.oct, of this version with a return of 80, and the checkpoint
// that names it.
static inline uint64_t
run_killed_before_its_checkpoint(void)
{
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    uint64_t version = run_published_evaluated(run, evaluator, 80, 80);
    learner_run_checkpoint(run); // policy.oct is written at once, the checkpoint is not
    learner_run_destroy(run);
    return version;
}

static inline json_t *
summary_read(void)
{
    json_error_t error;
    json_t *root = json_load_file(FOLDER "/summary.json", 0, &error);
    assert_non_null(root);
    return root;
}

// What the summary of a run says that is saved and ends here.
static inline json_t *
run_summarised(learner_run *run)
{
    learner_run_save(run);
    learner_run_destroy(run);
    return summary_read();
}

static inline void
assert_reason(const json_t *summary, const char *want)
{
    assert_string_equal(json_string_value(json_object_get(summary, "reason")), want);
}

static inline learner_checkpoint
checkpoint_read(void)
{
    learner_checkpoint checkpoint;
    T_OK(learner_checkpoint_read(FOLDER "/checkpoint.oct", &checkpoint, &reason));
    return checkpoint;
}

static inline void
run_stop(learner_run *run, const char *why)
{
    learner_run_finish(run, why, false);
    assert_int_equal(learner_run_phase(run), LEARNER_DONE);
    learner_run_save(run);
    learner_run_destroy(run);
}

static inline policy_image *
policy_read(const char *name)
{
    uint8_t *bytes;
    size_t length;
    policy_image *image;
    char path[256];
    (void)snprintf(path, sizeof(path), FOLDER "/%s", name);
    T_OK(oct_file_read(path, 1 << 20, &bytes, &length));
    T_OK(policy_decode(&image, bytes, length, &reason));
    free(bytes);
    return image;
}

static inline policy_origin
policy_origin_read(const char *name)
{
    policy_image *image = policy_read(name);
    policy_origin origin = image->origin;
    policy_image_destroy(image);
    return origin;
}

// policy.oct is of that version, and has that return.
static inline void
assert_best(double eval_return, uint64_t version)
{
    policy_origin best = policy_origin_read("policy.oct");
    T_NEAR((double)best.eval_return, eval_return, 0, 0);
    assert_int_equal(best.version, version);
}

#endif // TESTS_LEARNER_RUN_FIXTURE_H
