// What a checkpoint keeps of evaluations (its sections WORK, FP32 and METR), changed anywhere: an
// input is which state, which of them, where it is cut, and the edits. What is accepted is written,
// read and written again as the same bytes; evaluations then go on with it.
#include "learner/learner_evals.h"

#include <stdlib.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_edits.h"
#include "tests/learner/random_publication.h"

enum { STATE_MASK = 3, IS_CUT = 4, IS_FINISHING = 8, ARE_WEIGHTS = 16, ARE_METRICS = 32 };
enum { STATES = 4, EPISODES = 4, SCREEN = 2, REGIONS = 2, EVALUATORS = 2, ORDERS = 8 };
#define SECOND UINT64_C(1000000000)

static config_experiment config;
static struct {
    uint8_t *bytes;
    size_t length, policies;
    uint8_t *weights;
    size_t weights_length;
    uint8_t *metrics;
    size_t metrics_length;
} states[STATES];
static size_t parameters; // of each policy

static const oct_metric_names measured = {.count = 2, .name = {"success rate", "laps"}};

static void
newest(learner_evals *evals, uint64_t version)
{
    static const uint32_t widths[] = {2, 3, 2};
    policy_spec spec = random_spec(widths, 3, POLICY_RELU, false);
    quantizer_publication *publication = random_publication(&spec, version);
    parameters = policy_spec_params(&spec);
    publication->params = oct_alloc(parameters * sizeof(float));
    for (size_t i = 0; i < parameters; i++) {
        publication->params[i] = (float)i;
    }
    learner_evals_newest(evals, publication);
    quantizer_publication_release(publication);
}

static void
answer(learner_evals *evals, uint32_t evaluator, const learner_eval_order *order, float mean)
{
    float returns[EPISODES];
    uint32_t lengths[EPISODES];
    learner_eval_result result;
    const oct_metric metrics[OCT_METRICS_MAX] = {{(double)mean, 1}};
    for (uint32_t k = 0; k < order->episodes; k++) {
        returns[k] = mean + (float)k;
        lengths[k] = 10 + k;
    }
    oct_err err = learner_evals_report(
        evals, evaluator, order->ticket, order->publication->version,
        &(learner_eval_answer){order->episodes, returns, lengths, metrics, 0, 0}, &result);
    OCT_ASSERT(err == OCT_OK || err == OCT_EAGAIN);
}

// Evaluators ask and answer by turns; of answers at most.
static void
play(learner_evals *evals, uint32_t answers, float mean)
{
    uint64_t now_ns = 1000 * SECOND;
    for (uint32_t i = 0; i < ORDERS; i++, now_ns += SECOND) {
        learner_eval_order order;
        uint32_t evaluator = 1 + i % EVALUATORS;
        if (learner_evals_order(evals, now_ns, now_ns, evaluator, &order) != OCT_OK) {
            continue;
        }
        OCT_ASSERT(order.publication != NULL && order.episodes > 0);
        (void)learner_evals_progress(evals, now_ns, evaluator, order.ticket, 1 + i, 1);
        if (i < answers && order.episodes <= EPISODES) {
            answer(evals, evaluator, &order, mean);
        } else if (i % 3 == 2) {
            learner_eval_stage stage;
            oct_err err = learner_evals_failed(evals, evaluator, order.ticket,
                                               order.publication->version, &stage);
            OCT_ASSERT(err == OCT_OK && stage < LEARNER_EVAL_STAGES);
        }
    }
}

static void
write(const learner_evals *evals, bool are_weights, oct_writer *writer)
{
    if (are_weights) {
        learner_evals_write_weights(evals, parameters, writer);
    } else {
        learner_evals_write(evals, writer);
    }
}

static uint8_t *
written(const learner_evals *evals, bool are_weights, size_t *length)
{
    oct_writer measure = {0};
    write(evals, are_weights, &measure);
    oct_writer writer = {.base = oct_alloc(measure.used), .capacity = measure.used};
    write(evals, are_weights, &writer);
    OCT_ASSERT(!writer.failed && writer.used == measure.used);
    *length = writer.used;
    return writer.base;
}

static uint8_t *
metrics_written(const learner_evals *evals, size_t *length)
{
    oct_writer measure = {0};
    learner_evals_write_metrics(evals, &measured, &measure);
    oct_writer writer = {.base = oct_alloc(measure.used), .capacity = measure.used};
    learner_evals_write_metrics(evals, &measured, &writer);
    OCT_ASSERT(!writer.failed && writer.used == measure.used);
    *length = writer.used;
    return writer.base;
}

static size_t
policies_bytes(const uint8_t *bytes, size_t length)
{
    oct_reader in = {.at = bytes, .left = length};
    for (uint32_t left = oct_read_u32(&in); left > 0; left--) {
        (void)oct_read_bytes(&in, oct_read_u64(&in));
    }
    OCT_ASSERT(!in.failed);
    return length - in.left;
}

static void
expect_round_trip(const learner_evals *evals)
{
    size_t length, again_length;
    uint8_t *bytes = written(evals, false, &length);
    learner_evals *again = learner_evals_create(&config, NULL);
    oct_reader reader = {.at = bytes, .left = length};
    oct_err err = learner_evals_read(again, &reader, 500 * SECOND);
    OCT_ASSERT(err == OCT_OK);
    uint8_t *again_bytes = written(again, false, &again_length);
    size_t tickets = policies_bytes(bytes, length) + sizeof(uint64_t); // they are counted on
    memcpy(again_bytes + tickets, bytes + tickets, sizeof(uint64_t));
    OCT_ASSERT(again_length == length && memcmp(again_bytes, bytes, length) == 0);
    learner_evals_destroy(again);
    free(again_bytes);
    free(bytes);
}

// A version is being looked at; several were, and one is evaluated in parts; a run that ends; one
// that ends, and of which a version that was only screened waits.
static void
states_make(void)
{
    config_default(&config);
    config.run.stop_at_return = 20;
    config.evaluation.episodes = EPISODES;
    config.evaluation.screen_episodes = SCREEN;
    config.evaluation.period_s = 0;
    config.evaluation.final_share = 2;
    for (int i = 0; i < STATES; i++) {
        learner_evals *evals = learner_evals_create(&config, NULL);
        learner_evals_set_evaluators(evals, EVALUATORS);
        newest(evals, 1);
        play(evals, i == 0 ? 0 : ORDERS, 5);
        newest(evals, 2);
        play(evals, i == 0 ? 0 : ORDERS - 2, i == 3 ? 4 : 15);
        newest(evals, 3);
        if (i >= 2) {
            learner_evals_finish(evals);
            play(evals, 2, 25);
        }
        learner_eval_order order;
        oct_err err = OCT_EAGAIN;
        for (uint32_t k = 1; k <= EVALUATORS; k++) { // is played while the checkpoint is written
            err = learner_evals_order(evals, 1100 * SECOND, 1100 * SECOND, k, &order);
            OCT_ASSERT(err == OCT_OK || err == OCT_EAGAIN);
        }
        expect_round_trip(evals);
        states[i].bytes = written(evals, false, &states[i].length);
        states[i].weights = written(evals, true, &states[i].weights_length);
        states[i].metrics = metrics_written(evals, &states[i].metrics_length);
        states[i].policies = policies_bytes(states[i].bytes, states[i].length);
        if (err == OCT_OK) { // its part; another's is not there yet
            answer(evals, EVALUATORS, &order, 20);
            expect_round_trip(evals);
        }
        learner_evals_destroy(evals);
    }
}

// By everything that asks for them.
static void
go_on(learner_evals *evals, bool is_finishing)
{
    learner_eval_result best, last;
    learner_evals_saved saved;
    learner_eval_stage stage;
    uint32_t done, episodes;
    double mean;
    bool has_best = learner_evals_best(evals, &best) != NULL;
    learner_evals_save(evals, &saved);
    OCT_ASSERT(has_best || saved.best.version == 0);
    (void)learner_evals_last(evals, &last);
    (void)learner_evals_solved(evals);
    (void)learner_evals_screens(evals, &mean);
    if (learner_evals_at_work(evals, &stage, &done, &episodes)) {
        OCT_ASSERT(stage < LEARNER_EVAL_STAGES && done <= episodes);
    }
    OCT_ASSERT(learner_evals_quiet_s(evals, 2000 * SECOND) >= 0);
    OCT_ASSERT(learner_evals_patience_s(evals) >= LEARNER_EVAL_PATIENCE_S);
    learner_evals_set_evaluators(evals, EVALUATORS);
    newest(evals, 4);
    if (is_finishing) {
        learner_evals_finish(evals);
    }
    play(evals, ORDERS - 1, 30);
}

// What was accepted is written as the same bytes, but for the order of the policies.
static bool
weights_read(learner_evals *evals, const uint8_t *bytes, size_t length)
{
    size_t again_length;
    oct_reader reader = {.at = bytes, .left = length};
    oct_err err = learner_evals_read_weights(evals, &reader);
    OCT_ASSERT(err == OCT_OK || err == OCT_EPROTO);
    uint8_t *again = written(evals, true, &again_length);
    OCT_ASSERT(err == OCT_OK ? again_length == length : again_length <= length);
    free(again);
    return err == OCT_OK;
}

// What was accepted is written as the same bytes; names of another environment are no error.
static bool
metrics_read(learner_evals *evals, const uint8_t *bytes, size_t length)
{
    size_t again_length, names = measured.count * sizeof(measured.name[0]);
    oct_reader reader = {.at = bytes, .left = length};
    oct_err err = learner_evals_read_metrics(evals, &measured, &reader);
    OCT_ASSERT(err == OCT_OK || err == OCT_EPROTO);
    bool are_its = length >= names && memcmp(bytes, measured.name, names) == 0;
    uint8_t *again = metrics_written(evals, &again_length);
    OCT_ASSERT(err != OCT_OK || !are_its ||
               (again_length == length && memcmp(again, bytes, length) == 0));
    free(again);
    return err == OCT_OK && are_its;
}

// The state of an input, edited and cut; the caller frees it.
static uint8_t *
edited(const uint8_t *bytes, size_t *length, size_t policies, bool is_cut, oct_reader *in)
{
    size_t whole = *length;
    if (is_cut) {
        *length = oct_read_u16(in) % whole;
    }
    uint8_t *all = fuzz_copy(bytes, whole);
    const fuzz_region regions[REGIONS] = {{policies, whole - policies}, {0, policies}};
    fuzz_edit(all, whole, regions, REGIONS, in);
    uint8_t *exact = fuzz_copy(all, *length);
    free(all);
    return exact;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (states[0].bytes == NULL) {
        states_make();
    }
    oct_reader in = {.at = data, .left = size};
    uint8_t what = oct_read_u8(&in);
    int which = (what & STATE_MASK) % STATES;
    bool are_weights = (what & ARE_WEIGHTS) != 0, is_cut = (what & IS_CUT) != 0;
    bool are_metrics = !are_weights && (what & ARE_METRICS) != 0;
    bool are_others = are_weights || are_metrics;
    const uint8_t *bytes = are_weights   ? states[which].weights
                           : are_metrics ? states[which].metrics
                                         : states[which].bytes;
    size_t length = are_weights   ? states[which].weights_length
                    : are_metrics ? states[which].metrics_length
                                  : states[which].length;
    uint8_t *exact =
        edited(bytes, &length, are_others ? length / 2 : states[which].policies, is_cut, &in);
    learner_evals *evals = learner_evals_create(&config, NULL);
    oct_reader reader = {.at = are_others ? states[which].bytes : exact,
                         .left = are_others ? states[which].length : length};
    oct_err err = learner_evals_read(evals, &reader, 500 * SECOND);
    if (err == OCT_OK) {
        bool is_taken = are_weights   ? weights_read(evals, exact, length)
                        : are_metrics ? metrics_read(evals, exact, length)
                                      : true;
        expect_round_trip(evals);
        go_on(evals, (what & IS_FINISHING) != 0);
        if (is_taken) {
            fuzz_accept();
        }
    } else {
        OCT_ASSERT(err == OCT_EPROTO && learner_evals_policy(evals) == NULL);
    }
    learner_evals_destroy(evals);
    free(exact);
    return 0;
}

void
fuzz_seeds(void)
{
    for (uint8_t i = 0; i < STATES; i++) {
        const uint8_t as_written[] = {i}, finishing[] = {i | IS_FINISHING};
        const uint8_t cut[] = {i | IS_CUT, 100, 0}, other[] = {i, 0, 0, 0, 7};
        const uint8_t weights[] = {i | ARE_WEIGHTS}, metrics[] = {i | ARE_METRICS};
        const uint8_t metrics_cut[] = {i | ARE_METRICS | IS_CUT, 140, 0};
        const uint8_t short_of_one[] = {i | ARE_WEIGHTS | IS_CUT, 30, 0};
        fuzz_seed(as_written, sizeof(as_written));
        fuzz_seed(finishing, sizeof(finishing));
        fuzz_seed(other, sizeof(other)); // another number of evaluations
        fuzz_seed(weights, sizeof(weights));
        fuzz_seed(metrics, sizeof(metrics));
        fuzz_seed_bad(metrics_cut, sizeof(metrics_cut));
        fuzz_seed_bad(cut, sizeof(cut));
        fuzz_seed_bad(short_of_one, sizeof(short_of_one));
    }
}
