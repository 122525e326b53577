#ifndef TESTS_ACTOR_ACTOR_SESSION_H
#define TESTS_ACTOR_ACTOR_SESSION_H

#include <stdlib.h>
#include <string.h>

#include "actor/actor_run.h"
#include "tests/actor/actor_fixture.h"

// A session of the acting core whose batches all go over the wire; what came out is kept as rows of
// streams, and compared with the same environments stepped by hand.

enum { SESSION_ENVS = 3, SESSION_ROWS = 4096, SESSION_OBS = 4, SESSION_EXTRA = 4 };

typedef struct session_row {
    float obs[SESSION_OBS];
    int32_t action;
    float box; // the same bytes as a number
    float reward;
    uint8_t flags;
    uint32_t version;
    float extra[SESSION_EXTRA];
} session_row;

typedef struct session {
    actor_run *run;
    actor_batch *batch;
    policy_net *net;
    config_experiment config;
    actor_seed seed;
    wire_arena *arena;
    char options[128];
    uint64_t sequence;
    uint32_t steps; // of each environment
    uint32_t envs;
    session_row rows[SESSION_ENVS][SESSION_ROWS];
    uint32_t count[SESSION_ENVS];
} session;

// Takes net. The configuration is the caller's to change before.
static inline session *
session_open(const config_experiment *config, const char *options, uint32_t envs, policy_net *net,
             actor_seed seed)
{
    session *s = oct_alloc(sizeof(*s));
    s->config = *config;
    s->net = net;
    s->seed = seed;
    s->envs = envs;
    s->arena = wire_arena_create(1u << 20);
    (void)snprintf(s->options, sizeof(s->options), "%s", options);
    env *e = fixture_env(config->env.id, options, envs, 10);
    T_OK(actor_run_create(&s->run, e, &s->config, policy_net_spec(net), &seed));
    actor_run_set_policy(s->run, net);
    s->batch = actor_batch_create(actor_run_shape(s->run));
    actor_run_open_batch(s->run, s->batch);
    return s;
}

static inline void
session_close(session *s)
{
    actor_run_destroy(s->run);
    actor_batch_destroy(s->batch);
    policy_net_destroy(s->net);
    wire_arena_destroy(s->arena);
    free(s);
}

static inline void
session_keep(session *s, const wire_batch *batch)
{
    uint32_t row = 0;
    assert_true(batch->extra_dim <= SESSION_EXTRA &&
                batch->obs_bytes <= sizeof(float[SESSION_OBS]));
    for (uint32_t k = 0; k < batch->run_count; k++) {
        uint32_t stream = batch->run_stream[k];
        assert_true(stream < s->envs);
        assert_int_equal(batch->run_first[k], s->count[stream]); // no gap, nothing twice
        for (uint32_t n = 0; n < batch->run_rows[k]; n++, row++) {
            assert_true(s->count[stream] < SESSION_ROWS);
            session_row *kept = &s->rows[stream][s->count[stream]++];
            memcpy(kept->obs, batch->obs + (size_t)row * batch->obs_bytes, batch->obs_bytes);
            memcpy(&kept->action, batch->action + (size_t)row * batch->action_bytes, 4);
            memcpy(&kept->box, batch->action + (size_t)row * batch->action_bytes, 4);
            for (uint32_t e = 0; e < batch->extra_dim; e++) {
                kept->extra[e] = batch->extra[row * batch->extra_dim + e];
            }
            kept->reward = batch->reward[row];
            kept->flags = batch->flags[row];
            kept->version = batch->run_version[k];
        }
    }
}

static inline void
session_seal(session *s)
{
    actor_batch_seal(s->batch);
    s->batch->sequence = ++s->sequence;
    wire_batch view = actor_batch_view(s->batch, 1, 2, 1), got;
    size_t length = wire_batch_size(&view);
    uint8_t *bytes = oct_alloc(length);
    wire_batch_pack(&view, bytes);
    oct_err err = wire_batch_unpack(&got, s->arena, bytes, length);
    assert_string_equal(wire_arena_reason(s->arena), "");
    T_OK(err);
    assert_int_equal(got.env_steps, (uint64_t)s->steps * s->envs);
    session_keep(s, &got);
    wire_arena_reset(s->arena);
    free(bytes);
    actor_run_open_batch(s->run, s->batch);
}

// Seals where a batch is full and, when every > 0, after so many steps; then what is left.
static inline void
session_steps(session *s, uint32_t steps, uint32_t every)
{
    for (uint32_t t = 0; t < steps; t++) {
        if (!actor_batch_has_room(s->batch, actor_run_shape(s->run)) ||
            (every > 0 && t > 0 && t % every == 0)) {
            session_seal(s);
        }
        T_OK(actor_run_step(s->run, s->batch));
        s->steps++;
    }
    session_seal(s);
}

// Complete rollouts of so many steps, a batch each.
static inline void
session_rollouts(session *s, uint32_t rollouts, uint32_t steps)
{
    for (uint32_t rollout = 0; rollout < rollouts; rollout++) {
        for (uint32_t t = 0; t < steps; t++) {
            T_OK(actor_run_step(s->run, s->batch));
            s->steps++;
        }
        actor_run_end_rollout(s->run, s->batch);
        session_seal(s);
    }
}

// ---- the same by hand

typedef struct session_twin {
    env *e;
    octet_env_io io;
    uint32_t at[SESSION_ENVS]; // row that comes next
    bool is_first[SESSION_ENVS];
    int32_t action[SESSION_ENVS];
    float obs[SESSION_ENVS][SESSION_OBS], final_obs[SESSION_ENVS][SESSION_OBS];
    float reward[SESSION_ENVS];
    uint8_t flags[SESSION_ENVS];
} session_twin;

static inline const session_row *
session_row_next(const session *s, session_twin *twin, uint32_t i)
{
    assert_true(twin->at[i] < s->count[i]);
    return &s->rows[i][twin->at[i]++];
}

// What environment i did in this step, from the observation before it, against its rows.
static inline void
twin_compare(const session *s, session_twin *twin, uint32_t i, const float *before)
{
    size_t obs_bytes = policy_spec_obs_bytes(policy_net_spec(s->net));
    uint8_t flags = twin->flags[i];
    if ((flags & OCTET_ENV_FAILED) != 0) {
        if (!twin->is_first[i]) {
            const session_row *end = session_row_next(s, twin, i);
            assert_int_equal(end->flags, WIRE_END | WIRE_FAILED);
            assert_memory_equal(end->obs, before, obs_bytes);
            assert_true(end->reward == 0);
        }
        twin->is_first[i] = true;
        return;
    }
    const session_row *row = session_row_next(s, twin, i);
    assert_memory_equal(row->obs, before, obs_bytes);
    assert_true(row->reward == twin->reward[i]);
    assert_int_equal((row->flags & WIRE_FIRST) != 0, twin->is_first[i]);
    assert_int_equal((row->flags & WIRE_TERMINATED) != 0, (flags & OCTET_ENV_TERMINATED) != 0);
    assert_int_equal((row->flags & WIRE_TRUNCATED) != 0, (flags & OCTET_ENV_TRUNCATED) != 0);
    assert_int_equal(row->flags & (WIRE_END | WIRE_FAILED), 0);
    twin->is_first[i] = false;
    if ((flags & (OCTET_ENV_TERMINATED | OCTET_ENV_TRUNCATED)) != 0) {
        const session_row *end = session_row_next(s, twin, i);
        assert_int_equal(end->flags, WIRE_END);
        assert_memory_equal(end->obs, twin->final_obs[i], obs_bytes);
        assert_true(end->reward == 0);
        assert_int_equal(end->action, 0);
        twin->is_first[i] = true;
    }
}

// Every step of the session again, with the actions that its rows tell: they say all of it, and
// nothing more.
static inline void
session_compare(const session *s)
{
    session_twin *twin = oct_alloc(sizeof(*twin));
    twin->e = fixture_env(s->config.env.id, s->options, s->envs, 99);
    twin->io = (octet_env_io){.size = sizeof(twin->io),
                              .action = twin->action,
                              .action_stride = 4,
                              .obs = twin->obs,
                              .obs_stride = sizeof(twin->obs[0]),
                              .final_obs = twin->final_obs,
                              .final_obs_stride = sizeof(twin->final_obs[0]),
                              .reward = twin->reward,
                              .flags = twin->flags};
    uint64_t seeds[SESSION_ENVS];
    for (uint32_t i = 0; i < s->envs; i++) {
        seeds[i] = actor_seed_of(&s->seed, ACTOR_SEED_ENV, i);
        twin->is_first[i] = true;
    }
    T_OK(env_reset(twin->e, NULL, seeds, &twin->io));
    for (uint32_t t = 0; t < s->steps; t++) {
        float before[SESSION_ENVS][SESSION_OBS];
        memcpy(before, twin->obs, sizeof(before));
        for (uint32_t i = 0; i < s->envs; i++) {
            const session_row *row = &s->rows[i][twin->at[i]];
            bool acted = twin->at[i] < s->count[i] && (row->flags & WIRE_END) == 0;
            twin->action[i] = acted ? row->action : 0; // of a step that failed nothing is known
        }
        T_OK(env_step(twin->e, &twin->io));
        for (uint32_t i = 0; i < s->envs; i++) {
            twin_compare(s, twin, i, before[i]);
        }
    }
    for (uint32_t i = 0; i < s->envs; i++) {
        assert_int_equal(twin->at[i], s->count[i]);
    }
    env_close(twin->e);
    free(twin);
}

#endif // TESTS_ACTOR_ACTOR_SESSION_H
