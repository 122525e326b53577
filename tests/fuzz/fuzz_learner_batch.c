// Sample replies as a learner's batches, of every algorithm: an input is which algorithm, the
// reply's shape, and its columns; what the wire refuses is left out, as it never gets here. The
// batch is refused, or the algorithm makes an update of it, or refuses that without a trace.
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "proto/wire.h"
#include "proto/wire_check.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_algos.h"
#include "tests/learner/batch_fixture.h"

enum { OTHER_T = 1, OTHER_COUNT = 2, OTHER_EXTRA = 4, LARGE = 8, SECOND = 16 };
enum { WINDOWS = 4 };

static learner_batch *batches[FUZZ_ALGOS];

// Small numbers of one byte, or any finite ones.
static float
number(oct_reader *in, bool is_large)
{
    float value = is_large ? oct_read_f32(in) : (float)(int8_t)oct_read_u8(in) / 32;
    return isfinite(value) ? value : 0;
}

static float *
numbers(oct_reader *in, size_t count, bool is_large)
{
    float *out = oct_alloc((count + 1) * sizeof(*out));
    for (size_t i = 0; i < count; i++) {
        out[i] = number(in, is_large);
    }
    return out;
}

static uint8_t *
some_bytes(oct_reader *in, size_t count)
{
    uint8_t *out = oct_alloc(count + 1);
    for (size_t i = 0; i < count && in->left > 0; i++) {
        out[i] = oct_read_u8(in);
    }
    return out;
}

// Observations of either type, as many as there are numbers.
static uint8_t *
observations(oct_reader *in, const policy_spec *spec, size_t rows, bool is_large)
{
    size_t count = rows * spec->obs_count;
    return spec->obs_dtype == POLICY_F32 ? (uint8_t *)numbers(in, count, is_large)
                                         : some_bytes(in, count);
}

static uint8_t *
actions(oct_reader *in, const policy_spec *spec, size_t rows, bool is_large)
{
    if (spec->action_kind == POLICY_BOX) {
        return (uint8_t *)numbers(in, rows * spec->action_count, is_large);
    }
    int32_t *out = oct_alloc((rows + 1) * sizeof(*out));
    for (size_t i = 0; i < rows; i++) {
        out[i] = (int8_t)oct_read_u8(in);
    }
    return (uint8_t *)out;
}

static wire_sampled
sampled_read(const fuzz_algo *experiment, oct_reader *in, uint8_t what)
{
    const policy_spec *spec = &experiment->spec;
    uint32_t T = experiment->T ^ ((what & OTHER_T) != 0 ? 1u : 0u);
    uint32_t count = (what & OTHER_COUNT) != 0 ? FUZZ_ALGO_B - 1 : WINDOWS;
    size_t rows = (size_t)count * OCT_MAX(T, 1u);
    bool is_large = (what & LARGE) != 0;
    wire_sampled out = {
        .configured = true,
        .count = count,
        .window_steps = T,
        .obs_bytes = (uint32_t)policy_spec_obs_bytes(spec),
        .action_bytes = (uint32_t)policy_spec_action_bytes(spec),
        .extra_dim = policy_spec_extra_dim(spec) + ((what & OTHER_EXTRA) != 0 ? 1 : 0),
        .size = 1 + oct_read_u16(in),
    };
    out.flags = some_bytes(in, rows);
    out.action = actions(in, spec, rows, is_large);
    out.extra = numbers(in, rows * out.extra_dim, is_large);
    out.reward = numbers(in, rows, is_large);
    out.obs = observations(in, spec, count * ((size_t)T + 1), is_large);
    out.next = observations(in, spec, count, is_large);
    float *discount = numbers(in, count, false), *probability = numbers(in, count, is_large);
    uint32_t *version = oct_alloc((rows + 1) * sizeof(*version));
    for (size_t i = 0; i < rows; i++) {
        version[i] = oct_read_u8(in);
    }
    for (uint32_t i = 0; i < count; i++) {
        discount[i] = OCT_MIN(fabsf(discount[i]), 1.0f);
        probability[i] = OCT_MAX(OCT_MIN(fabsf(probability[i]), 1.0f), FLT_MIN);
    }
    out.discount = discount;
    out.probability = probability;
    out.version = version;
    out.key = oct_alloc(count * sizeof(*out.key));
    return out;
}

static void
sampled_free(const wire_sampled *sampled)
{
    const void *const columns[] = {
        sampled->obs,   sampled->next,    sampled->action, sampled->reward, sampled->discount,
        sampled->flags, sampled->version, sampled->extra,  sampled->key,    sampled->probability};
    for (size_t i = 0; i < OCT_COUNTOF(columns); i++) {
        free((void *)(uintptr_t)columns[i]);
    }
}

static void
learn(fuzz_algo *experiment, learner_batch *batch)
{
    size_t before_length, after_length;
    uint8_t *before = fuzz_algo_save(experiment->a, &before_length);
    oct_err err = algo_update(experiment->a, &batch->view, 1e-3f, batch->priority, batch->numbers);
    if (err != OCT_OK) {
        OCT_ASSERT(err == OCT_EINTERNAL || err == OCT_EINVAL);
        uint8_t *after = fuzz_algo_save(experiment->a, &after_length);
        OCT_ASSERT(after_length == before_length && memcmp(after, before, after_length) == 0);
        free(after);
    } else {
        for (uint32_t i = 0; i < batch->view.B && experiment->T == 0; i++) {
            OCT_ASSERT(isfinite(batch->priority[i]) && batch->priority[i] >= 0);
        }
        fuzz_accept();
        oct_reader reader = {.at = before, .left = before_length}; // inputs do not depend on others
        err = algo_load(experiment->a, &reader);
        OCT_ASSERT(err == OCT_OK);
    }
    free(before);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oct_reader in = {.at = data, .left = size};
    uint32_t which = oct_read_u8(&in) % FUZZ_ALGOS;
    uint8_t what = oct_read_u8(&in);
    fuzz_algo *experiment = fuzz_algo_get(which);
    if (batches[which] == NULL) {
        batches[which] = learner_batch_create(&experiment->spec, FUZZ_ALGO_B, experiment->T);
    }
    wire_sampled sampled = sampled_read(experiment, &in, what);
    size_t rows = (size_t)sampled.count * sampled.window_steps;
    uint32_t first = (what & SECOND) != 0 ? FUZZ_ALGO_B : 0;
    if (wire_check_flags(sampled.flags, sampled.reward, rows) &&
        wire_check_windows(sampled.flags, sampled.count, sampled.window_steps) &&
        batch_fill(batches[which], &experiment->spec, &sampled, first, 0.5) == OCT_OK) {
        float probe[WINDOWS * 3];
        OCT_ASSERT(learner_batch_probe(batches[which], WINDOWS, probe) <= WINDOWS);
        learn(experiment, batches[which]);
    }
    sampled_free(&sampled);
    return 0;
}

// Windows of states that a table can have, one-hot, with ends of episodes; other shapes.
void
fuzz_seeds(void)
{
    enum { ROOM = 512 };
    for (uint8_t i = 0; i < FUZZ_ALGOS; i++) {
        const fuzz_algo *experiment = fuzz_algo_get(i);
        const policy_spec *spec = &experiment->spec;
        uint8_t good[ROOM] = {i, 0, 9, 0};
        uint32_t T = experiment->T, rows = WINDOWS * OCT_MAX(T, 1u);
        for (uint32_t k = 0; k < WINDOWS && T > 0; k++) {
            fuzz_algo_flags(good + 4 + k * T, T, 1 + k % 2,
                            k < 2 ? ALGO_TRUNCATED : ALGO_TERMINATED);
        }
        size_t actions_count = spec->action_kind == POLICY_BOX ? spec->action_count : 1;
        size_t obs = 4 + rows * (1 + actions_count + policy_spec_extra_dim(spec) + 1);
        size_t end = obs + WINDOWS * (T + 2) * spec->obs_count; // of obs and next
        OCT_ASSERT(end <= ROOM);
        for (size_t at = obs; at < end; at += spec->obs_count) {
            good[at] = 1;
        }
        fuzz_seed(good, end);
        good[1] = SECOND;
        fuzz_seed(good, end);
        const uint8_t steps[] = {i, OTHER_T}, count[] = {i, OTHER_COUNT};
        const uint8_t extra[] = {i, OTHER_EXTRA};
        fuzz_seed_bad(steps, sizeof(steps));
        fuzz_seed_bad(count, sizeof(count));
        fuzz_seed_bad(extra, sizeof(extra));
    }
}
