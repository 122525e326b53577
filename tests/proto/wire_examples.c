// One valid message of each kind with every field set, for tests and as seeds of the fuzzer.
#include "tests/proto/wire_examples.h"

#include <math.h>
#include <stdio.h>

#include "common/oct_base.h"

#define ITEMS_MAX 70000
#define RUN_ROWS  5

static uint8_t bytes_a[ITEMS_MAX * 16];
static uint8_t bytes_b[ITEMS_MAX * 16];
static uint8_t bytes_c[ITEMS_MAX * 16];
static uint8_t flags[ITEMS_MAX];
static uint32_t run_stream[ITEMS_MAX];
static uint64_t run_first[ITEMS_MAX];
static uint32_t run_rows[ITEMS_MAX];
static uint32_t run_version[ITEMS_MAX];
static float reward[ITEMS_MAX];
static float discount[ITEMS_MAX];
static float probability[ITEMS_MAX];
static float extra[ITEMS_MAX * 2];
// Of statistics and of peers.
#define NAMES_MAX (OCT_MAX(WIRE_STATS_MAX, WIRE_PEERS_MAX) + 1)

static uint64_t keys[ITEMS_MAX];
static uint32_t lengths[ITEMS_MAX];
#define TOKEN                                                                                      \
    {                                                                                              \
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16                                      \
    }
static double stat_values[NAMES_MAX];
static char stat_text[NAMES_MAX][16];
static const char *stat_names[NAMES_MAX];

static const char *const metric_names[] = {"success rate", "laps"};
static const double metric_sums[] = {-0.5, 0};
static const uint32_t metric_episodes[] = {1, 0};

static void
columns_fill(void)
{
    static bool is_done;
    if (is_done) {
        return;
    }
    is_done = true;
    // Four episodes: terminated; cut after one step; failed; both at once.
    static const uint8_t some_flags[] = {
        WIRE_FIRST,
        WIRE_RANDOM,
        WIRE_TERMINATED,
        WIRE_END,
        WIRE_FIRST | WIRE_TRUNCATED,
        WIRE_END,
        WIRE_FIRST | WIRE_RANDOM,
        0,
        WIRE_END | WIRE_FAILED,
        WIRE_FIRST,
        WIRE_TERMINATED | WIRE_TRUNCATED | WIRE_RANDOM,
        WIRE_END,
    };
    for (uint32_t i = 0; i < sizeof(bytes_a); i++) {
        bytes_a[i] = (uint8_t)(i * 7);
        bytes_b[i] = (uint8_t)(i * 11 + 1);
        bytes_c[i] = (uint8_t)(i * 13 + 2);
    }
    for (uint32_t i = 0; i < ITEMS_MAX; i++) {
        flags[i] = some_flags[i % OCT_COUNTOF(some_flags)];
        reward[i] = (flags[i] & WIRE_END) != 0 ? 0.0f : (float)i * 0.5f - 100.0f;
        discount[i] = (flags[i] & WIRE_TERMINATED) != 0 ? 0.0f : 0.96059601f;
        // Two runs of each stream, one behind the other.
        run_stream[i] = i / 2;
        run_first[i] = i < 2 ? i * RUN_ROWS : (uint64_t)100000000 * (i / 2) + i % 2 * RUN_ROWS;
        run_version[i] = 12 + i % 2;
        probability[i] = 1.0f / (float)(i + 1);
        extra[2 * i] = -(float)i;
        extra[2 * i + 1] = 0.25f;
        keys[i] = 0x0123456789abcdefu + i;
        lengths[i] = i * 3;
    }
    for (uint32_t i = 0; i < NAMES_MAX; i++) {
        (void)snprintf(stat_text[i], sizeof(stat_text[i]), "stat_%u", i);
        stat_names[i] = stat_text[i];
        stat_values[i] = i == 1 ? NAN : (double)i * 1.5;
    }
}

wire_batch
wire_example_batch(uint32_t count, uint32_t extra_dim)
{
    columns_fill();
    uint32_t runs = (count + RUN_ROWS - 1) / RUN_ROWS;
    for (uint32_t k = 0; k < runs; k++) {
        run_rows[k] = OCT_MIN(count - k * RUN_ROWS, (uint32_t)RUN_ROWS);
    }
    return (wire_batch){
        .actor_id = 7,
        .session = 0xfedcba9876543210u,
        .sequence = 41,
        .first_unacked = 39,
        .env_steps = 123456789,
        .run_count = runs,
        .run_stream = run_stream,
        .run_first = run_first,
        .run_rows = run_rows,
        .run_version = run_version,
        .count = count,
        .obs_bytes = 16,
        .obs = bytes_a,
        .action_bytes = 4,
        .action = bytes_b,
        .reward = reward,
        .flags = flags,
        .extra_dim = extra_dim,
        .extra = extra,
        .token = TOKEN,
    };
}

wire_ack
wire_example_ack(void)
{
    return (wire_ack){.actor_id = 7,
                      .session = 0xfedcba9876543210u,
                      .sequence = 40,
                      .incarnation = 0x1122334455667788u,
                      .credit = 9};
}

wire_policy
wire_example_policy(size_t length)
{
    columns_fill();
    return (wire_policy){.topic = 0x80000005u,
                         .run_id = 0xabcdef0123456789u,
                         .version = 12,
                         .base_version = 11,
                         .updates = 2400,
                         .bytes = bytes_c,
                         .length = length};
}

wire_register
wire_example_register(bool is_box)
{
    static const float low[] = {-2.0f, -0.5f, 0.0f};
    static const float high[] = {2.0f, 0.5f, 0.0f};
    static const uint32_t shape[] = {2, 2};
    return (wire_register){
        .role = WIRE_ROLE_EVALUATOR,
        .label = 0xf1e2d3c4b5a69788u,
        .session = 3,
        .token = TOKEN,
        .host = "höst-1.example",
        .pid = 4711,
        .has_env = true,
        .env = {.env_id = "CartPole-v1",
                .metric_count = 2,
                .metric_name = metric_names,
                .obs_dtype = 1,
                .obs_count = 4,
                .action_kind = is_box ? 2 : 1,
                .action_count = is_box ? 3 : 2,
                .action_low = is_box ? low : NULL,
                .action_high = is_box ? high : NULL,
                .max_episode_steps = 500,
                .reward_threshold = 475.0,
                .obs_rank = is_box ? 2 : 0,
                .obs_shape = is_box ? shape : NULL},
        .place = is_box ? 7 : 0,
        .libm = is_box ? 0x2122232425262728u : 0,
        .relay_address = is_box ? "tls+tcp://rack-1.example:5570" : "",
        .relay_above = is_box ? "tls+tcp://top.example:5570" : "",
        .relay_number = is_box ? UINT64_C(0x1122334455667788) : 0,
        .relay_above_number = is_box ? UINT64_C(0xffeeddccbbaa9988) : 0,
        .relay_sessions = is_box ? 32 : 0,
        .relay_lost = is_box,
        .knows_shards = is_box,
        .knows_newest = is_box,
        .run_id = is_box ? UINT64_C(0x8877665544332211) : 0,
    };
}

wire_registered
wire_example_registered(void)
{
    static const char *const shards[] = {"tcp://0.0.0.0:7000", "tls+tcp://höst-2.example:7000"};
    return (wire_registered){.accepted = true,
                             .reason = "",
                             .run_id = 5,
                             .actor_id = 6,
                             .actor_index = 5,
                             .incarnation = 3,
                             .policy_topic = 0x80000005u,
                             .session = 0x3132333435363738u,
                             .config = "env: CartPole-v1\n\tx: 1\n",
                             .policy_address = "ipc:///tmp/run/policy",
                             .replay_address = "tcp://0.0.0.0:7000",
                             .is_relayed = true,
                             .shard = 3,
                             .shard_count = 2,
                             .shard_address = shards,
                             .names_newest = true,
                             .newest_version = UINT64_C(1) << 53,
                             .token = TOKEN};
}

wire_get_policy
wire_example_get_policy(void)
{
    return (wire_get_policy){
        .actor_id = 6, .purpose = WIRE_PURPOSE_EVALUATE, .have_version = 11, .token = TOKEN};
}

wire_got_policy
wire_example_got_policy(void)
{
    return (wire_got_policy){.has_policy = true,
                             .policy = wire_example_policy(100),
                             .ticket = 8,
                             .episodes = 100,
                             .seed = 99};
}

wire_report
wire_example_report(uint32_t episodes, uint32_t stats)
{
    columns_fill();
    return (wire_report){.actor_id = 6,
                         .session = 3,
                         .report_sequence = 17,
                         .policy_version = 12,
                         .env_steps = 1u << 30,
                         .ticket = 8,
                         .episode_count = episodes,
                         .episode_return = reward,
                         .episode_length = lengths,
                         .stat_count = stats,
                         .stat_name = stat_names,
                         .stat_value = stat_values,
                         .metric_count = episodes > 0 ? 2 : 0,
                         .metric_name = metric_names,
                         .metric_sum = metric_sums,
                         .metric_episodes = metric_episodes,
                         .token = TOKEN};
}

wire_status
wire_example_status(uint32_t stats)
{
    columns_fill();
    return (wire_status){.run_id = 5,
                         .state = "training",
                         .stat_count = stats,
                         .stat_name = stat_names,
                         .stat_value = stat_values,
                         .refused = "höst-1.example/4711: it has another environment"};
}

wire_peers
wire_example_peers(uint32_t count)
{
    static uint32_t roles[WIRE_PEERS_MAX + 1], is_silent[WIRE_PEERS_MAX + 1];
    static uint32_t health[WIRE_PEERS_MAX + 1];
    columns_fill();
    for (uint32_t i = 0; i <= WIRE_PEERS_MAX; i++) {
        roles[i] = i % 3 == 0 ? WIRE_ROLE_EVALUATOR : WIRE_ROLE_ACTOR;
        is_silent[i] = i % 2;
        health[i] = i % WIRE_PEER_HEALTH_COUNT;
    }
    return (wire_peers){
        .run_id = 5,
        .policy_version = 12,
        .actors = 3000,
        .evaluators = 2,
        .silent = 7,
        .gone = 4,
        .env_steps_per_s = 81234.5,
        .lag_mean = 0.25,
        .count = count,
        .id = lengths,
        .role = roles,
        .pid = lengths,
        .is_silent = is_silent,
        .host = stat_names,
        .version = keys,
#define X(name) .name = stat_values,
        WIRE_PEER_NUMBERS(X)
#undef X
            .stuck = 3,
        .health = health,
#define X(name) .name = stat_values,
        WIRE_PEER_LATER_NUMBERS(X)
#undef X
            .unreached = stat_names,
        .certificate = stat_names,
        .certificate_id = lengths,
        .places = lengths,
        .places_max = 1024,
        .relay = is_silent,
        .relays = {.count = count > 0 ? 2 : 0,
                   .host = stat_names,
                   .pid = lengths,
                   .address = stat_names,
                   .above = stat_names,
                   .is_silent = is_silent,
                   .actors = lengths,
                   .sessions = lengths,
                   .heard_s = stat_values},
    };
}

wire_configure
wire_example_configure(void)
{
    return (wire_configure){.run_id = 5,
                            .epoch = 0x0102030405060708u,
                            .capacity = 1000000,
                            .streams = 64,
                            .obs_bytes = 16,
                            .obs_is_float = true,
                            .action_bytes = 4,
                            .action_count = 6,
                            .extra_dim = 2,
                            .sampler = WIRE_SAMPLER_PRIORITIZED,
                            .priority_exponent = 0.6,
                            .window = WIRE_WINDOW_SEQUENCE,
                            .window_steps = 20,
                            .window_stride = 10,
                            .discount = 0.99,
                            .reward_clip = 1.5,
                            .min_size = 1000,
                            .samples_per_insert = 32.0,
                            .tolerance = 0.1,
                            .seed = 77,
                            .limiter_only = false,
                            .limiter_parts = 3,
                            .others = {123, 456, -78.5, 50, 128},
                            .table = 0x0807060504030201u,
                            .samples = 123456,
                            .turn_actors = 4,
                            .turn = 200,
                            .turn_digest = {4, 5, 6, [WIRE_HASH_BYTES - 1] = 254},
                            .token_key = TOKEN};
}

wire_configured
wire_example_configured(void)
{
    return (wire_configured){.incarnation = 0x1112131415161718u,
                             .table = 0x0807060504030201u,
                             .steps = 1 << 20,
                             .inserts = 99999,
                             .samples = 234567,
                             .returned = 111111,
                             .libm = 0x2122232425262728u,
                             .balance = -1234.5};
}

wire_sample
wire_example_sample(void)
{
    columns_fill();
    return (wire_sample){
        .run_id = 5,
        .batch_size = 256,
        .batches = 8,
        .timeout_ms = 1000,
        .version_min = 11,
        .epoch = 0x0102030405060708u,
        .turn = 201,
        .turn_first = 6,
        .turn_actor_count = 4,
        .turn_actor = lengths,
        .others = {123456, 654321, -7.25, 500, 2048},
    };
}

wire_sampled
wire_example_sampled(uint32_t count, uint32_t window_steps, uint32_t extra_dim)
{
    columns_fill();
    return (wire_sampled){.incarnation = 0x1122334455667788u,
                          .configured = true,
                          .count = count,
                          .window_steps = window_steps,
                          .obs_bytes = 16,
                          .action_bytes = 8,
                          .extra_dim = extra_dim,
                          .obs = bytes_a,
                          .next = bytes_b,
                          .action = bytes_c,
                          .reward = reward,
                          .discount = discount,
                          .flags = flags,
                          .version = run_version,
                          .extra = extra,
                          .probability = probability,
                          .key = keys,
                          .size = 100,
                          .inserts = 200,
                          .samples = 300,
                          .given_up = 4,
                          .steps = 5,
                          .turn = 201,
                          .turn_batches = 31,
                          .insert_chunk = 72,
                          .sample_chunk = 1024};
}

wire_priorities
wire_example_priorities(uint32_t count)
{
    columns_fill();
    return (wire_priorities){
        .incarnation = 0x1122334455667788u,
        .count = count,
        .key = keys,
        .priority = probability,
        .run_id = 5,
        .epoch = 0x0102030405060708u,
    };
}

wire_digest_request
wire_example_digest_request(void)
{
    return (wire_digest_request){.run_id = 5, .epoch = 0x0102030405060708u, .turn = 200, .keep = 3};
}

wire_digest
wire_example_digest(void)
{
    return (wire_digest){.turn = 200, .sha256 = {1, 2, 3, [WIRE_HASH_BYTES - 1] = 255}};
}

wire_sessions
wire_example_sessions(uint32_t count)
{
    static uint32_t actor_id[WIRE_PLACES_MAX];
    static uint64_t session[WIRE_PLACES_MAX];
    for (uint32_t i = 0; i < count; i++) {
        actor_id[i] = 7 * i + 1;
        session[i] = 0x1020304050607080u * i + 3;
    }
    return (wire_sessions){.run_id = 5, .count = count, .actor_id = actor_id, .session = session};
}
