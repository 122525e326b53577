// What others say of themselves moves no run: steps, evaluations, and a learner that was replaced.
#define FOLDER "test_learner_run_trust.run"
#include "common/oct_libm.h"
#include "learner/learner_environment.h"
#include "tests/learner/run_fixture.h"

// What an actor says ends no run, nor the next process of it, moves no schedule and no summary.
static void
test_run_goes_on_whatever_an_actor_says(void **state)
{
    (void)state;
    config.run.env_steps = 1000;
    for (int resumed = 0; resumed < 2; resumed++) {
        learner_run *run = run_joined(resumed != 0);
        learner_actor *actor = actor_begin(run, 5, WIRE_ROLE_ACTOR);
        T_OK(report(run, actor, 1, WIRE_COUNT_MAX));
        learner_run_tick(run);
        assert_int_equal(learner_run_phase(run), LEARNER_TRAINING);
        T_NEAR(status_of(run, "learner.env_steps"), 0, 0, 0);
        T_ERR(report(run, actor, 2, 5), OCT_EINVAL); // fewer than it said before
        T_ERR(report(run, actor, 3, 6), OCT_EINVAL);
        T_NEAR(status_of(run, "learner.bad_reports"), 2, 0, 0);
        run_stop(run, "interrupted");
        learner_checkpoint checkpoint = checkpoint_read();
        assert_int_equal(checkpoint.env_steps, 0);
        learner_checkpoint_fini(&checkpoint);
        json_t *summary = summary_read();
        assert_int_equal(json_integer_value(json_object_get(summary, "env_steps")), 0);
        json_decref(summary);
    }
}

static oct_err
answer(learner_run *run, learner_actor *actor, const learner_eval_order *order, uint32_t episodes)
{
    return run_answer(run, actor, order->publication->version, order->ticket, episodes, 60);
}

// Two answers of an actor made a policy that nobody had trained "solved".
static void
test_run_lets_only_the_evaluator_that_was_asked_answer(void **state)
{
    (void)state;
    config.run.stop_at_return = 50;
    learner_run *run = run_joined(false);
    learner_actor *actor = actor_begin(run, 5, WIRE_ROLE_ACTOR);
    learner_actor *asked = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    (void)run_published(run);
    learner_eval_order order;
    T_ERR(learner_run_order(run, 99, &order), OCT_ENOTFOUND);
    T_ERR(learner_run_order(run, actor->id, &order), OCT_EINVAL);
    T_NEAR(status_of(run, "learner.evaluations"), 0, 0, 0);
    T_OK(learner_run_order(run, asked->id, &order));
    learner_actor *other = actor_begin(run, 7, WIRE_ROLE_EVALUATOR);
    T_ERR(answer(run, actor, &order, order.episodes), OCT_EINVAL);
    T_ERR(answer(run, other, &order, order.episodes), OCT_EINVAL);
    T_ERR(answer(run, other, &order, 0), OCT_EINVAL); // that it could not be played
    T_ERR(answer(run, asked, &order, order.episodes + 1), OCT_EINVAL);
    assert_true(isnan(status_of(run, "learner.eval_return")));
    T_NEAR(status_of(run, "learner.bad_reports"), 5, 0, 0);
    T_OK(answer(run, asked, &order, order.episodes));
    T_NEAR(status_of(run, "learner.eval_return"), 60, 0, 0);
    T_OK(answer(run, asked, &order, order.episodes)); // again, or late: of no use, and no harm
    T_NEAR(status_of(run, "learner.bad_reports"), 5, 0, 0);
    assert_int_equal(learner_run_phase(run), LEARNER_TRAINING);
    run_stop(run, "interrupted");
}

static learner_actor *came; // by the last comes

static oct_err
comes(learner_run *run, const oct_holder *holder, const wire_register *request)
{
    static uint64_t libm; // which takes a while
    wire_register whole = *request;
    libm = libm != 0 ? libm : oct_libm_sum();
    whole.env = good_env;
    whole.libm = libm;
    reason.text[0] = '\0';
    return learner_run_register(run, &whole, holder, &came, &reason);
}

static oct_err
comes_with(learner_run *run, const oct_holder *holder, uint64_t label)
{
    return comes(run, holder, &(wire_register){.role = WIRE_ROLE_ACTOR, .label = label});
}

static void
test_run_gives_a_certificate_so_many_places(void **state)
{
    (void)state;
    const oct_holder crowd = {.id = {0xab, 0xcd, 1, 2, 3}, .name = "crowd"}, other = {.id = {1}};
    config.learner.actors_per_certificate = 2;
    learner_run *run = run_begin(false);
    T_OK(comes_with(run, &crowd, 5));
    T_OK(comes_with(run, &crowd, 6));
    for (int i = 1; i <= 3; i++) {
        T_ERR(comes_with(run, &crowd, 7), OCT_EAGAIN);
        assert_string_equal(reason.text,
                            "the certificate crowd (SHA-256 begins abcd0102) has as many "
                            "registered actors as it may: learner.actors_per_certificate: 2");
        T_NEAR(status_of(run, "learner.places_refused"), i, 0, 0);
    }
    T_OK(comes_with(run, &other, 7));
    T_OK(comes_with(run, NULL, 8)); // over ipc, or --insecure: none is asked for
    T_OK(comes_with(run, NULL, 9));
    T_OK(comes_with(run, NULL, 10));
    T_NEAR(status_of(run, "learner.places_refused"), 3, 0, 0);
    run_stop(run, "interrupted");
    run = run_begin(true);
    learner_run_finish(run, "interrupted", false);
    T_ERR(comes_with(run, &crowd, 7), OCT_EAGAIN);
    assert_string_equal(reason.text, "the run has ended");
    learner_run_destroy(run);
}

// A report may hold NaN, which counts as 0.
static void
test_run_counts_nothing_of_numbers_that_are_none(void **state)
{
    (void)state;
    static const char *const names[] = {"evaluation_failed", "evaluation_truncated",
                                        "evaluation_s"};
    const float returns[8] = {0};
    const uint32_t lengths[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    learner_run *run = run_joined(false);
    learner_actor *evaluator = actor_begin(run, 6, WIRE_ROLE_EVALUATOR);
    (void)run_published(run);
    learner_eval_order order;
    T_OK(learner_run_order(run, evaluator->id, &order));
    wire_report message = {.actor_id = evaluator->id,
                           .session = evaluator->session,
                           .report_sequence = 1,
                           .policy_version = order.publication->version,
                           .ticket = order.ticket,
                           .episode_count = order.episodes,
                           .episode_return = returns,
                           .episode_length = lengths,
                           .stat_count = 3,
                           .stat_name = names,
                           .stat_value = (double[]){NAN, NAN, NAN}};
    learner_admission_token(learner_run_admission(run), evaluator, message.token);
    T_OK(learner_run_report(run, &message));
    T_NEAR(status_of(run, "learner.eval_return"), 0, 0, 0);
    T_NEAR(status_of(run, "learner.eval_failed"), 0, 0, 0);
    T_NEAR(status_of(run, "learner.eval_truncated"), 0, 0, 0);
    T_NEAR(status_of(run, "learner.eval_played_s"), 0, 0, 0);
    run_stop(run, "interrupted");
}

// A certificate whose evaluators take evaluations and answer none gets no more; another does.
static void
test_run_bounds_the_evaluations_that_a_certificate_leaves_unanswered(void **state)
{
    (void)state;
    enum { ANSWERED = 5 };
    const oct_holder crowd = {.id = {1}, .name = "crowd"}, other = {.id = {2}, .name = "other"};
    learner_eval_order order;
    learner_run *run = run_joined(false);
    (void)run_published(run);
    T_OK(comes(run, &crowd, &(wire_register){.role = WIRE_ROLE_EVALUATOR, .label = 50}));
    learner_run_finish(run, "interrupted", true);
    for (uint64_t i = 0; i <= LEARNER_TICKETS_MAX; i++) {
        T_OK(comes(run, &crowd, &(wire_register){.role = WIRE_ROLE_EVALUATOR, .label = 100 + i}));
        T_OK(learner_run_order(run, came->id, &order));
        uint64_t ticket = order.ticket;
        T_OK(learner_run_order(run, came->id, &order)); // the request was repeated
        assert_int_equal(order.ticket, ticket);
        if (i == ANSWERED) {
            T_OK(answer(run, came, &order, order.episodes));
        }
        came->seen_ns = 0; // it is silent from here on, which loses its order
    }
    T_OK(comes(run, &crowd, &(wire_register){.role = WIRE_ROLE_EVALUATOR, .label = 999}));
    T_ERR(learner_run_order(run, came->id, &order), OCT_EAGAIN);
    T_NEAR(status_of(run, "learner.tickets_refused"), 1, 0, 0);
    T_OK(comes(run, &other, &(wire_register){.role = WIRE_ROLE_EVALUATOR, .label = 5}));
    T_OK(learner_run_order(run, came->id, &order));
    for (uint64_t i = 0; i <= LEARNER_TICKETS_MAX; i++) { // over ipc: no certificate is bounded
        came->seen_ns = 0;
        T_OK(comes(run, NULL, &(wire_register){.role = WIRE_ROLE_EVALUATOR, .label = 2000 + i}));
        T_OK(learner_run_order(run, came->id, &order));
    }
    T_NEAR(status_of(run, "learner.tickets_refused"), 1, 0, 0);
    learner_run_destroy(run);
}

static void
test_run_says_that_all_places_are_taken(void **state)
{
    (void)state;
    learner_run *run = run_begin(false);
    wire_register who = {.role = WIRE_ROLE_EVALUATOR}; // who need not prove that it acts
    for (who.label = 1; who.label <= LEARNER_ACTORS_MAX; who.label++) {
        T_OK(comes(run, NULL, &who));
    }
    T_ERR(comes(run, NULL, &who), OCT_EAGAIN);
    assert_string_equal(reason.text, "no room for another actor: all 16384 slots are taken");
    who.label = 1; // it is there
    T_OK(comes(run, NULL, &who));
    run_stop(run, "interrupted");
}

// An actor gives up its own place, and no other.
static void
test_run_lets_actors_leave_by_themselves(void **state)
{
    (void)state;
    const oct_holder crowd = {.id = {1}, .name = "crowd"};
    config.learner.actors_per_certificate = 2;
    learner_run *run = run_begin(false);
    T_OK(comes_with(run, &crowd, 5));
    learner_actor *one = came;
    T_OK(comes_with(run, &crowd, 6));
    learner_actor *two = came;
    one->has_inserted = two->has_inserted = true;
    wire_report message = {
        .actor_id = one->id, .session = one->session, .report_sequence = 1, .leaves = true};
    T_ERR(learner_run_report(run, &message), OCT_ENOTFOUND); // without a token
    learner_admission_token(learner_run_admission(run), two, message.token);
    T_ERR(learner_run_report(run, &message), OCT_ENOTFOUND); // with another's
    message.actor_id = two->id;
    T_ERR(learner_run_report(run, &message), OCT_ENOTFOUND); // in another session
    T_ERR(comes_with(run, &crowd, 7), OCT_EAGAIN);
    message.session = two->session;
    T_OK(learner_run_report(run, &message));
    T_ERR(learner_run_report(run, &message), OCT_ENOTFOUND); // it has left
    T_OK(comes_with(run, &crowd, 7));
    assert_ptr_equal(learner_actors_find(learner_run_actors(run), one->id), one);
    run_stop(run, "interrupted");
}

// Who knows another's session, its label, or both, does not become it; who has its token does, at
// the next process of the learner, too.
static void
test_run_gives_a_session_to_who_has_its_token(void **state)
{
    (void)state;
    const oct_holder mine = {.id = {1}, .name = "mine"}, other = {.id = {2}, .name = "other"};
    learner_run *run = run_begin(false);
    T_OK(comes_with(run, &mine, 5));
    wire_register request = {.role = WIRE_ROLE_ACTOR, .label = 5, .session = came->session};
    uint8_t token[WIRE_TOKEN_BYTES];
    learner_admission_token(learner_run_admission(run), came, token);
    const learner_actor *victim = came;
    T_OK(comes(run, &other, &request)); // no token
    assert_ptr_not_equal(came, victim);
    learner_admission_token(learner_run_admission(run), came, request.token);
    T_OK(comes(run, &other, &request)); // its own, not that of the session
    assert_true(came != victim && came->session != request.session);
    request.session = came->session; // with which it stays itself, whatever the label
    request.label = 6;
    const learner_actor *thief = came;
    T_OK(comes(run, &other, &request));
    assert_ptr_equal(came, thief);
    request = (wire_register){.role = WIRE_ROLE_EVALUATOR, .session = victim->session};
    memcpy(request.token, token, sizeof(token));
    T_ERR(comes(run, &mine, &request), OCT_EINVAL);
    assert_string_equal(reason.text, "its session is registered in another role");
    request.role = WIRE_ROLE_ACTOR;
    T_OK(comes(run, &mine, &request));
    assert_ptr_equal(came, victim);
    run_stop(run, "interrupted");
    run = run_begin(true);
    T_OK(comes(run, &mine, &request));
    assert_true(came->session == request.session);
    request.token[0] ^= 1;
    T_OK(comes(run, &mine, &request));
    assert_true(came->session != request.session);
    run_stop(run, "interrupted");
}

// In lock-step a session follows from the index, and everybody can tell it: it is for the
// certificate that was there first.
static void
test_run_in_lock_step_gives_a_place_to_one_certificate(void **state)
{
    (void)state;
    const oct_holder mine = {.id = {1}, .name = "mine"}, other = {.id = {2}, .name = "other"};
    config.run.deterministic = true;
    config.actor.count = 2;
    learner_run *run = run_begin(false);
    const wire_register first = {.role = WIRE_ROLE_ACTOR, .label = 5, .place = 1};
    T_OK(comes(run, &mine, &first));
    const learner_actor *victim = came;
    const wire_register again = {.role = WIRE_ROLE_ACTOR, .label = 6, .place = 1};
    T_ERR(comes(run, &other, &again), OCT_EAGAIN);
    assert_string_equal(reason.text, "an actor with another certificate has index 0");
    T_ERR(comes(run, NULL, &again), OCT_EAGAIN);
    T_OK(comes(run, &mine, &again)); // it was started again
    assert_ptr_equal(came, victim);
    T_OK(comes(run, &other, &(wire_register){.role = WIRE_ROLE_ACTOR, .label = 7, .place = 2}));
    assert_ptr_not_equal(came, victim);
    run_stop(run, "interrupted");
}

// What this process would still write is another's by then.
static void
test_run_that_another_learner_has_writes_nothing(void **state)
{
    (void)state;
    learner_run *run = run_joined(false);
    run_train(run, 2);
    (void)run_published(run);
    assert_int_equal(unlink(FOLDER "/checkpoint.oct"), 0);
    learner_run_checkpoint(run);
    for (int i = 0; i < 2; i++) { // it is made, and not yet written
        uint32_t reserved = run_request(run);
        wire_sampled sampled = fixture_sampled(&rows, reserved * FIXTURE_B, &rng);
        run_sampled(run, reserved, &sampled);
        fixture_listen(&bell);
    }
    (void)unlink(FOLDER "/policy_last.oct");
    (void)unlink(FOLDER "/policy.oct");
    learner_run_abandon(run, "another learner has taken over");
    assert_int_equal(learner_run_phase(run), LEARNER_DONE);
    learner_run_collect(run);
    learner_run_save(run);
    learner_run_destroy(run);
    assert_false(folder_has(FOLDER, "checkpoint.oct"));
    assert_false(folder_has(FOLDER, "policy_last.oct"));
    assert_false(folder_has(FOLDER, "policy.oct"));
    assert_false(folder_has(FOLDER, "summary.json"));
}

static wire_env_spec
other_env(void)
{
    wire_env_spec env = good_env;
    env.obs_count = FIXTURE_OBS + 1;
    return env;
}

// The experiment's environment is known: who comes first decides nothing.
static void
test_run_refuses_a_first_actor_with_another_environment(void **state)
{
    (void)state;
    const wire_env_spec other = other_env();
    environment = FOLDER "/known.oct";
    learner_run *run = NULL;
    T_ERR(run_create(&run, false), OCT_ENOTFOUND);
    assert_non_null(strstr(reason.text, "known.oct"));
    T_OK(folder_write_env(environment, &good_env));
    run = run_begin(false);
    T_ERR(learner_run_begin(run, &other, &reason), OCT_EINVAL);
    assert_non_null(strstr(reason.text, "this run trains on Fixture-v0: observations 4 float32"));
    assert_non_null(strstr(reason.text, "this actor has Fixture-v0: observations 5 float32"));
    assert_int_equal(learner_run_phase(run), LEARNER_WAITING);
    T_OK(learner_run_begin(run, &good_env, &reason));
    assert_int_equal(learner_run_spec(run)->obs_count, FIXTURE_OBS);
    T_ERR(learner_run_begin(run, &other, &reason), OCT_EINVAL);
    run_train(run, 1); // it disturbs nobody
    run_stop(run, "interrupted");
}

// Nobody has said what it is: the first says it, for the next processes of the run, too.
static void
test_run_keeps_the_environment_of_the_first_actor(void **state)
{
    (void)state;
    const wire_env_spec other = other_env();
    learner_run *run = run_joined(false);
    T_ERR(learner_run_begin(run, &other, &reason), OCT_EINVAL);
    run_stop(run, "interrupted");
    assert_true(folder_has(FOLDER, LEARNER_ENVIRONMENT_FILE));
    run = run_begin(true);
    T_ERR(learner_run_begin(run, &other, &reason), OCT_EINVAL);
    assert_non_null(strstr(reason.text, "this actor has Fixture-v0: observations 5 float32"));
    T_OK(learner_run_begin(run, &good_env, &reason));
    run_stop(run, "interrupted");
    // A run that begins asks its own first actor.
    assert_int_equal(unlink(FOLDER "/checkpoint.oct"), 0);
    run = run_begin(false);
    T_OK(learner_run_begin(run, &other, &reason));
    run_stop(run, "interrupted");
    T_OK(oct_file_write(FOLDER "/environment.oct", "nonsense", 8));
    T_ERR(run_create(&run, true), OCT_EPROTO);
    assert_non_null(strstr(reason.text, "environment.oct"));
}

static void
assert_last_refused(learner_run *run, const char *want)
{
    assert_string_equal(learner_run_status(run)->refused, want);
}

// Told until an actor acts, and for some minutes at least; what is cut is still text.
static void
test_run_tells_whom_it_refused(void **state)
{
    (void)state;
    wire_register request = {.role = WIRE_ROLE_ACTOR, .label = 5, .host = "höst", .pid = 7};
    learner_run *run = run_joined(false);
    assert_last_refused(run, "");
    assert_null(learner_run_trouble(run));
    learner_admission_refuse(learner_run_admission(run), &request,
                             "this run trains on another environment");
    T_NEAR(status_of(run, "learner.actors_refused"), 1, 0, 0);
    assert_last_refused(run, "höst/7: this run trains on another environment");
    assert_string_equal(
        learner_run_trouble(run),
        "no actor is running, and the last one was refused: höst/7: this run trains on "
        "another environment");
    T_OK(comes(run, NULL, &request));
    assert_null(learner_run_trouble(run)); // one acts
    assert_last_refused(run, "höst/7: this run trains on another environment");
    char longer[1 + 2 * 140 + 1] = "x";
    for (size_t i = 0; i < 140; i++) {
        memcpy(longer + 1 + 2 * i, "ö", sizeof("ö"));
    }
    for (int i = 0; i < 2; i++) { // of one of them a byte is at the end of the room
        learner_admission_refuse(learner_run_admission(run), &request, longer + i);
        const char *told = learner_run_status(run)->refused;
        json_t *text = json_string(told); // NULL: it is no UTF-8
        assert_non_null(text);
        assert_string_equal(told + strlen(told) - 3, "...");
        json_decref(text);
    }
    run_stop(run, "interrupted");
}

// What an actor has of another run is that run's environment: also where it would fit, it begins
// nothing and gets no place.
static void
test_run_takes_nothing_of_an_actor_of_another_run(void **state)
{
    (void)state;
    wire_register request = {.role = WIRE_ROLE_ACTOR, .label = 5};
    learner_run *run = run_begin(false);
    request.run_id = learner_run_id(run) + 1;
    T_ERR(comes(run, NULL, &request), OCT_ESTALE);
    assert_non_null(strstr(reason.text, "the configuration of run"));
    assert_int_equal(learner_run_phase(run), LEARNER_WAITING);
    assert_false(folder_has(FOLDER, LEARNER_ENVIRONMENT_FILE));
    assert_null(learner_actors_at(learner_run_actors(run), 0));
    request.run_id = learner_run_id(run);
    T_OK(comes(run, NULL, &request));
    assert_int_equal(learner_run_phase(run), LEARNER_TRAINING);
    assert_true(folder_has(FOLDER, LEARNER_ENVIRONMENT_FILE));
    request.run_id++;
    T_ERR(comes(run, NULL, &request), OCT_ESTALE); // later, too
    run_stop(run, "interrupted");
}

int
main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_run_goes_on_whatever_an_actor_says),
        T(test_run_lets_only_the_evaluator_that_was_asked_answer),
        T(test_run_counts_nothing_of_numbers_that_are_none),
        T(test_run_gives_a_certificate_so_many_places),
        T(test_run_bounds_the_evaluations_that_a_certificate_leaves_unanswered),
        T(test_run_says_that_all_places_are_taken),
        T(test_run_lets_actors_leave_by_themselves),
        T(test_run_gives_a_session_to_who_has_its_token),
        T(test_run_in_lock_step_gives_a_place_to_one_certificate),
        T(test_run_that_another_learner_has_writes_nothing),
        T(test_run_refuses_a_first_actor_with_another_environment),
        T(test_run_keeps_the_environment_of_the_first_actor),
        T(test_run_tells_whom_it_refused),
        T(test_run_takes_nothing_of_an_actor_of_another_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
