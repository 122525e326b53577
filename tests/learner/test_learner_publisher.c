// Versions grow, policies that are too large are refused, and costs are reported. The test is both
// the training thread and the loop thread.
#include <math.h>
#include <sched.h>

#include "common/oct_reason.h"
#include "learner/learner_publisher.h"
#include "tests/learner/learner_fixture.h"

static fixture_bell bell = FIXTURE_BELL;
static config_experiment config;
static policy_spec spec;
static float params[4096];

static learner_publisher *
publisher_begin(uint64_t last_version)
{
    oct_reason why = {""};
    config = fixture_config();
    config.learner.publish_core_share = 0;
    spec = (policy_spec){.env_id = "Fixture-v0",
                         .obs_dtype = POLICY_F32,
                         .obs_count = FIXTURE_OBS,
                         .action_kind = POLICY_DISCRETE,
                         .action_count = FIXTURE_ACTIONS};
    T_OK(algo_make_spec(&config, &spec, NULL, &why));
    assert_true(policy_spec_params(&spec) <= OCT_COUNTOF(params));
    learner_publisher *publisher = learner_publisher_create(&config);
    T_OK(learner_publisher_check(&config, &spec, &why));
    const learner_publisher_options options = {.spec = &spec,
                                               .run_id = 7,
                                               .run_name = "publisher",
                                               .last_version = last_version,
                                               .notify = fixture_ring,
                                               .arg = &bell};
    T_OK(learner_publisher_begin(publisher, &options));
    return publisher;
}

// The version made of these weights.
static const quantizer_publication *
published_for(learner_publisher *publisher, float weight, uint64_t updates, bool noisy,
              uint32_t audience)
{
    for (size_t i = 0; i < policy_spec_params(&spec); i++) {
        params[i] = weight * (float)(i % 7 + 1);
    }
    quantizer_stage *stage = learner_publisher_stage(publisher);
    const quantizer_offer offer = {.params = params,
                                   .updates = updates,
                                   .env_steps = 10,
                                   .noisy = noisy,
                                   .audience = audience};
    assert_true(quantizer_stage_offer_to(stage, &offer));
    const quantizer_publication *publication;
    while ((publication = learner_publisher_take(publisher)) == NULL) {
        fixture_listen(&bell);
    }
    return publication;
}

static const quantizer_publication *
published(learner_publisher *publisher, float weight, uint64_t updates, bool noisy)
{
    return published_for(publisher, weight, updates, noisy, 0);
}

static void
test_nothing_is_published_in_the_beginning(void **state)
{
    (void)state;
    config = fixture_config();
    learner_publisher *publisher = learner_publisher_create(&config);
    assert_null(learner_publisher_stage(publisher));
    assert_null(learner_publisher_take(publisher));
    assert_null(learner_publisher_latest(publisher));
    assert_null(learner_publisher_policy(publisher));
    assert_int_equal(learner_publisher_version(publisher), 0);
    assert_true(isnan(learner_publisher_updates_of(publisher, 0)));
    assert_string_equal(learner_publisher_precision(publisher), "int8");
    learner_publishing told = learner_publisher_counts(publisher);
    assert_true(isnan(told.bytes) && isnan(told.layer_error[0]) && told.publications == 0);
    learner_publisher_destroy(publisher);
    learner_publisher_destroy(NULL);
}

static void
test_a_policy_that_is_too_large_is_refused(void **state)
{
    (void)state;
    oct_reason why = {""};
    learner_publisher *publisher = publisher_begin(0);
    policy_spec large = spec;
    large.layers[0].outputs = large.layers[1].inputs = POLICY_WIDTH_MAX;
    large.layers[0].inputs = POLICY_WIDTH_MAX;
    T_ERR(learner_publisher_check(&config, &large, &why), OCT_EINVAL);
    assert_non_null(strstr(why.text, "network.hidden"));
    learner_publisher_destroy(publisher);
}

static void
test_versions_go_on_from_the_last(void **state)
{
    (void)state;
    learner_publisher *publisher = publisher_begin(40);
    assert_int_equal(published(publisher, 0.5f, 100, false)->version, 41);
    assert_int_equal(published(publisher, 0.25f, 130, false)->version, 42);
    assert_int_equal(learner_publisher_version(publisher), 42);
    assert_true(learner_publisher_updates_of(publisher, 41) == 100);
    assert_true(learner_publisher_updates_of(publisher, 42) == 130);
    assert_true(isnan(learner_publisher_updates_of(publisher, 43)));
    assert_null(learner_publisher_take(publisher));
    learner_publisher_destroy(publisher);
}

// Actors run the noisy one, which nobody evaluates or saves.
static void
test_the_policy_is_the_newest_without_noise(void **state)
{
    (void)state;
    learner_publisher *publisher = publisher_begin(0);
    (void)published(publisher, 0.5f, 1, false);
    const quantizer_publication *noisy = published(publisher, 0.3f, 2, true);
    assert_ptr_equal(learner_publisher_latest(publisher), noisy);
    assert_int_equal(learner_publisher_policy(publisher)->version, 1);
    (void)published(publisher, 0.2f, 3, false);
    assert_int_equal(learner_publisher_policy(publisher)->version, 3);
    learner_publisher_destroy(publisher);
}

// Two updates for each of the first versions are many to who learns from each batch once, but not
// where two learners make one each.
static void
test_versions_far_apart_are_told_once(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t interval = 1 + i % 5, at_once = 1 + i / 5;
        learner_publisher *publisher = publisher_begin(0);
        uint32_t told = 0;
        for (uint64_t n = 0; n <= 2 * LEARNER_INTERVAL_VERSIONS; n++) {
            (void)published(publisher, 0.5f + (float)n, 7 + n * interval, false);
            told += learner_publisher_is_rare(publisher, at_once);
            assert_int_equal(told, interval >= 2 * at_once && n >= LEARNER_INTERVAL_VERSIONS);
        }
        learner_publisher_destroy(publisher);
    }
}

// Each audience acts with the newest of its own, and with nobody else's; before there is one, and
// when nobody was left, with the policy itself.
static void
test_the_newest_is_that_of_an_audience(void **state)
{
    (void)state;
    learner_publisher *publisher = publisher_begin(0);
    assert_null(learner_publisher_newest(publisher, 2));
    const quantizer_publication *policy = published_for(publisher, 0.5f, 1, false, 1);
    assert_ptr_equal(learner_publisher_newest(publisher, 2), policy);
    (void)published_for(publisher, 0.4f, 2, true, 1);
    assert_int_equal(learner_publisher_newest(publisher, 1)->version, 2);
    assert_int_equal(learner_publisher_newest(publisher, 2)->version, 1);
    (void)published_for(publisher, 0.3f, 3, true, 2);
    (void)published_for(publisher, 0.2f, 4, false, 3);
    assert_int_equal(learner_publisher_newest(publisher, 1)->version, 2);
    assert_int_equal(learner_publisher_newest(publisher, 2)->version, 3);
    learner_publisher_forget(publisher, 1u << 1 | 1u << 2);
    assert_int_equal(learner_publisher_newest(publisher, 1)->version, 4);
    assert_int_equal(learner_publisher_newest(publisher, 2)->version, 3);
    learner_publisher_destroy(publisher);
}

static void
test_what_publishing_costs_is_told(void **state)
{
    (void)state;
    learner_publisher *publisher = publisher_begin(0);
    double bytes = (double)published(publisher, 0.5f, 1, false)->length;
    const quantizer_publication *second = published(publisher, 0.3f, 2, false);
    double sent = (double)(second->delta != NULL ? second->delta_length : second->length);
    learner_publishing told = learner_publisher_counts(publisher);
    assert_int_equal(told.publications, 2);
    assert_int_equal(told.deltas, second->delta != NULL);
    assert_true(told.bytes == sent && told.published_bytes == bytes + sent);
    assert_true(told.fp32_bytes == 4.0 * (double)policy_spec_params(&spec));
    assert_true(told.core_s > 0);
    params[0] = NAN;
    assert_true(quantizer_stage_offer(learner_publisher_stage(publisher), params, 3, 10));
    while (learner_publisher_counts(publisher).refused == 0) {
        (void)sched_yield(); // nobody is told of what is not published
    }
    assert_int_equal(learner_publisher_counts(publisher).publications, 2);
    learner_publisher_destroy(publisher);
}

// Once above the limit, and again only after it was well below.
static void
test_a_divergence_is_told_once_for_each_rise(void **state)
{
    (void)state;
    static const struct {
        double relative;
        bool told;
    } steps[] = {{0.1, false},  {0.21, true}, {0.5, false},  {0.15, false}, {0.3, false},
                 {0.09, false}, {0.2, false}, {0.201, true}, {NAN, false},  {0.3, false}};
    bool above = false;
    for (size_t i = 0; i < OCT_COUNTOF(steps); i++) {
        assert_int_equal(learner_publisher_rises(steps[i].relative, 0.2, &above), steps[i].told);
    }
    above = false;
    assert_false(learner_publisher_rises(1e9, 0.0, &above)); // 0: never
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_published_in_the_beginning),
        cmocka_unit_test(test_a_policy_that_is_too_large_is_refused),
        cmocka_unit_test(test_versions_go_on_from_the_last),
        cmocka_unit_test(test_the_policy_is_the_newest_without_noise),
        cmocka_unit_test(test_the_newest_is_that_of_an_audience),
        cmocka_unit_test(test_versions_far_apart_are_told_once),
        cmocka_unit_test(test_what_publishing_costs_is_told),
        cmocka_unit_test(test_a_divergence_is_told_once_for_each_rise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
