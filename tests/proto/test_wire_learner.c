// Messages of the service Learner come back unchanged; bad values are refused with the reason.
#include <stdlib.h>

#include "config/config_text.h"
#include "proto/octet.pb-c.h"
#include "tests/proto/wire_examples.h"
#include "tests/proto/wire_refused.h"

#define THROUGH(plain, out, in) plain##_through((out), arena, (in))

// A name or text of length letters.
static const char *
letters(size_t length)
{
    static char text[WIRE_TEXT_MAX + 2];
    memset(text, 'n', length);
    text[length] = '\0';
    return text;
}

// An experiment with texts as long as they may be, in which every byte is escaped.
static char *
longest_experiment(void)
{
    static config_experiment config;
    config_default(&config);
    char *const texts[] = {config.run.name,    config.env.id,           config.env.mjcf_dir,
                           config.replay.path, config.replay.data,      config.net.learner,
                           config.net.data,    config.learner.init_from};
    for (size_t i = 0; i < OCT_COUNTOF(texts); i++) {
        memset(texts[i], '"', CONFIG_TEXT_MAX - 1);
    }
    memset(config.env.options, '"', sizeof(config.env.options) - 1);
    memset(config.net.replay, '"', sizeof(config.net.replay) - 1);
    return config_print_for_peers(&config);
}

// ---- register

static void
test_register_refuses_bad_roles_and_names(void **state)
{
    (void)state;
    wire_register message = wire_example_register(false);
    message.role = (wire_role)0;
    REFUSED(wire_register, &message, "register.role: unknown");
    message.role = (wire_role)5;
    REFUSED(wire_register, &message, "register.role: unknown");
    message.role = (wire_role)-1;
    REFUSED(wire_register, &message, "register.role: unknown");
    message = wire_example_register(false);
    message.place = WIRE_PLACES_MAX + 1;
    REFUSED(wire_register, &message, "register.place: outside 0 .. 16384");
    message = wire_example_register(true);
    message.place = WIRE_PLACES_MAX;
    wire_register out;
    T_OK(THROUGH(wire_register, &out, &message));
    assert_true(out.libm == message.libm);
    message = wire_example_register(false);
    message.host = letters(WIRE_NAME_MAX + 1);
    REFUSED(wire_register, &message, "register.host: no name, or longer than 256 bytes");
    message.host = "evil\x1b[2J";
    REFUSED(wire_register, &message, "register.host: no name, or longer than 256 bytes");
    message = wire_example_register(false);
    message.env.env_id = "";
    REFUSED(wire_register, &message, "register.env_id: is empty");
    message.env.env_id = "Cart\nPole";
    REFUSED(wire_register, &message, "register.env_id: no name, or longer than 256 bytes");
}

static void
test_register_refuses_bad_shapes(void **state)
{
    (void)state;
    const char *obs_reason = "register.obs_count: is 0, or more than an observation may hold";
    wire_register message = wire_example_register(false);
    message.env.obs_dtype = 0;
    REFUSED(wire_register, &message, "register.obs_dtype: unknown");
    message.env.obs_dtype = 3;
    REFUSED(wire_register, &message, "register.obs_dtype: unknown");
    message = wire_example_register(false);
    message.env.obs_count = 0;
    REFUSED(wire_register, &message, obs_reason);
    message.env.obs_count = WIRE_OBS_BYTES_MAX / 4 + 1;
    REFUSED(wire_register, &message, obs_reason);
    message = wire_example_register(false);
    message.env.action_kind = 3;
    REFUSED(wire_register, &message, "register.action_kind: unknown");
    message = wire_example_register(false);
    message.env.action_count = 0;
    REFUSED(wire_register, &message, "register.action_count: outside 1 .. 256");
    message.env.action_count = WIRE_ACTIONS_MAX + 1;
    REFUSED(wire_register, &message, "register.action_count: outside 1 .. 256");
}

static void
test_register_refuses_a_bound_that_is_none_of_bytes(void **state)
{
    (void)state;
    const char *words = "register.obs_high: above 255, or not of bytes";
    wire_register message = wire_example_register(false), out;
    message.env.obs_high = 1; // of floats
    REFUSED(wire_register, &message, words);
    message.env.obs_dtype = 2;
    message.env.obs_high = 256;
    REFUSED(wire_register, &message, words);
    message.env.obs_high = 255;
    T_OK(THROUGH(wire_register, &out, &message));
    assert_int_equal(out.env.obs_high, 255);
}

static void
test_register_refuses_sizes_that_do_not_make_the_count(void **state)
{
    (void)state;
    static const uint32_t sizes[][2] = {{4, 2}, {2, 1}, {0, 4}, {65536, 65536}, {5, 1}};
    const char *product = "register.obs_shape: does not make obs_count";
    wire_register message = wire_example_register(false), out;
    message.env.obs_rank = 2;
    for (size_t i = 0; i < OCT_COUNTOF(sizes); i++) {
        message.env.obs_shape = sizes[i];
        REFUSED(wire_register, &message, product);
    }
    static const uint32_t wraps[] = {4, 242243305, 49477, 384773}; // 2^64 + 4
    message.env.obs_shape = wraps;
    message.env.obs_rank = 4;
    REFUSED(wire_register, &message, product);
    static const uint32_t many[7] = {4, 1, 1, 1, 1, 1, 1};
    message.env.obs_shape = many;
    message.env.obs_rank = 7;
    REFUSED(wire_register, &message, "register.obs_shape: more than 6");
    message.env.obs_rank = 6;
    T_OK(THROUGH(wire_register, &out, &message));
}

static void
test_register_refuses_bad_action_bounds(void **state)
{
    (void)state;
    const char *lengths = "register.action_low, action_high: one per dimension of a box, none "
                          "otherwise";
    wire_register message = wire_example_register(true);
    wire_register out;
    Octet__Registration generated;
    wire_register_to(&generated, &message);
    generated.n_action_low--;
    T_ERR(wire_register_reparse(&out, arena, &generated), OCT_EPROTO);
    assert_string_equal(wire_arena_reason(arena), lengths);
    wire_register_to(&generated, &message);
    generated.n_action_high = 0;
    T_ERR(wire_register_reparse(&out, arena, &generated), OCT_EPROTO);
    assert_string_equal(wire_arena_reason(arena), lengths);
    wire_register_to(&generated, &message);
    generated.action_kind = OCTET__ACTION_KIND__ACTION_DISCRETE;
    T_ERR(wire_register_reparse(&out, arena, &generated), OCT_EPROTO);
    assert_string_equal(wire_arena_reason(arena), lengths);
    float low[3] = {0.0f, NAN, 0.0f};
    message.env.action_low = low;
    REFUSED(wire_register, &message, "register.action_low: not finite");
    low[1] = 0.6f; // above high
    REFUSED(wire_register, &message, "register.action_low: above action_high");
    message = wire_example_register(true);
    message.env.reward_threshold = -INFINITY;
    REFUSED(wire_register, &message, "register.reward_threshold: infinite");
    message = wire_example_register(true);
    message.host = "a\" pid=\"1"; // logs have it in quotation marks
    REFUSED(wire_register, &message, "register.host: a quotation mark");
}

static void
test_register_brings_bounds_and_sizes_of_a_box_alone(void **state)
{
    (void)state;
    wire_register in = wire_example_register(true), out;
    T_OK(THROUGH(wire_register, &out, &in));
    assert_int_equal(out.env.obs_rank, 2);
    assert_memory_equal(out.env.obs_shape, in.env.obs_shape, 2 * sizeof(uint32_t));
    assert_memory_equal(out.env.action_low, in.env.action_low, 3 * sizeof(float));
    assert_memory_equal(out.env.action_high, in.env.action_high, 3 * sizeof(float));
    in = wire_example_register(false);
    T_OK(THROUGH(wire_register, &out, &in));
    assert_int_equal(out.env.obs_rank, 0);
    assert_null(out.env.action_low);
    assert_null(out.env.action_high);
}

static void
test_register_without_an_environment_ignores_its_fields(void **state)
{
    (void)state;
    wire_register in = wire_example_register(true), out;
    in.has_env = false;
    in.host = NULL;
    T_OK(THROUGH(wire_register, &out, &in));
    assert_false(out.has_env);
    assert_string_equal(out.host, "");
    assert_string_equal(out.env.env_id, "");
    assert_true(isnan(out.env.reward_threshold));
}

static void
test_register_at_its_bounds_survives_the_wire(void **state)
{
    (void)state;
    wire_register in = wire_example_register(false), out;
    in.host = letters(WIRE_NAME_MAX);
    in.env.obs_count = WIRE_OBS_BYTES_MAX / 4;
    in.env.action_count = WIRE_ACTIONS_MAX;
    in.env.reward_threshold = NAN;
    T_OK(THROUGH(wire_register, &out, &in));
    assert_int_equal(strlen(out.host), WIRE_NAME_MAX);
    assert_true(isnan(out.env.reward_threshold));
    in.env.obs_dtype = 2;
    in.env.obs_count = WIRE_OBS_BYTES_MAX;
    T_OK(THROUGH(wire_register, &out, &in));
}

// ---- registered

static void
test_registered_refuses_bad_text(void **state)
{
    (void)state;
    wire_registered message = wire_example_registered();
    message.config = letters(WIRE_TEXT_MAX + 1);
    REFUSED(wire_registered, &message, "registered.config: no text, or longer than 64 KiB");
    message = wire_example_registered();
    message.reason = "\xff";
    REFUSED(wire_registered, &message, "registered.reason: no text, or longer than 64 KiB");
    message = wire_example_registered();
    message.policy_address = "tcp://a\nb";
    REFUSED(wire_registered, &message,
            "registered.policy_address: no name, or longer than 256 bytes");
    message = wire_example_registered();
    message.replay_address = letters(WIRE_NAME_MAX + 1);
    REFUSED(wire_registered, &message,
            "registered.replay_address: no name, or longer than 256 bytes");
}

static void
test_registered_without_an_actor_has_no_token(void **state)
{
    (void)state;
    wire_registered out;
    wire_registered in =
        (wire_registered){.reason = "another observation shape", .config = letters(WIRE_TEXT_MAX)};
    T_OK(THROUGH(wire_registered, &out, &in));
    assert_false(out.accepted);
    assert_string_equal(out.reason, in.reason);
    assert_int_equal(strlen(out.config), WIRE_TEXT_MAX);
    assert_string_equal(out.policy_address, "");
    char *config = longest_experiment();
    in.config = config;
    T_OK(THROUGH(wire_registered, &out, &in));
    assert_string_equal(out.config, config);
    free(config);
    static const uint8_t none[WIRE_TOKEN_BYTES]; // no actor id yet, and so no token
    assert_memory_equal(out.token, none, sizeof(none));
    in = wire_example_registered();
    in.session = 0;
    REFUSED(wire_registered, &in, "registered.session: 0 with an actor_id, or not 0 without");
    in = (wire_registered){.session = 9};
    REFUSED(wire_registered, &in, "registered.session: 0 with an actor_id, or not 0 without");
}

static void
test_registered_refuses_shards_that_there_cannot_be(void **state)
{
    (void)state;
    wire_registered in = wire_example_registered(), out;
    const char *many[WIRE_SHARDS_MAX + 1];
    for (size_t i = 0; i < OCT_COUNTOF(many); i++) {
        many[i] = "tcp://h:1";
    }
    in.shard = WIRE_SHARDS_MAX - 1;
    in.shard_address = many;
    in.shard_count = WIRE_SHARDS_MAX;
    T_OK(THROUGH(wire_registered, &out, &in));
    in.shard = WIRE_SHARDS_MAX;
    REFUSED(wire_registered, &in, "registered.shard: outside 0 .. 15");
    in = wire_example_registered();
    in.shard_address = many;
    in.shard_count = WIRE_SHARDS_MAX + 1;
    REFUSED(wire_registered, &in, "registered.shard_address: more than 16");
    in.shard_count = 2;
    many[1] = letters(WIRE_NAME_MAX + 1);
    REFUSED(wire_registered, &in, "registered.shard_address: no name, or longer than 256 bytes");
}

// ---- bytes that are copied as many as there have to be

static void
test_tokens_keys_and_signatures_are_whole(void **state)
{
    (void)state;
    Octet__Registration registration;
    wire_register newcomer = wire_example_register(false);
    newcomer.session = 7;
    wire_register_to(&registration, &newcomer);
    registration.token.len--;
    REFUSED_GENERATED(wire_register, &registration, "register.token: length is 15, not 16");
    wire_register_to(&registration, &newcomer);
    registration.session = 0;
    REFUSED_GENERATED(wire_register, &registration, "register.token: length is 16, not 0");
    Octet__Registered registered;
    wire_registered welcome = wire_example_registered();
    welcome.has_signature = true;
    wire_registered_to(&registered, &welcome);
    registered.token.len--;
    REFUSED_GENERATED(wire_registered, &registered, "registered.token: length is 15, not 16");
    wire_registered_to(&registered, &welcome);
    registered.signature.len--;
    REFUSED_GENERATED(wire_registered, &registered, "registered.signature: length is 63, not 64");
    wire_registered_to(&registered, &welcome);
    registered.public_key.len--;
    REFUSED_GENERATED(wire_registered, &registered, "registered.public_key: length is 31, not 32");
    registered.signature.len = 0;
    registered.public_key.len = 32;
    REFUSED_GENERATED(wire_registered, &registered, "registered.public_key: length is 32, not 0");
    Octet__PolicyRequest asked;
    wire_get_policy request = wire_example_get_policy();
    wire_get_policy_to(&asked, &request);
    asked.token.len--;
    REFUSED_GENERATED(wire_get_policy, &asked, "get_policy.token: length is 15, not 16");
    Octet__GotPolicy got;
    wire_got_policy policy = wire_example_got_policy();
    policy.policy.has_signature = true;
    wire_got_policy_to(&got, &policy);
    got.signature.len--;
    REFUSED_GENERATED(wire_got_policy, &got, "got_policy.signature: length is 63, not 64");
    Octet__Report said;
    wire_report report = wire_example_report(1, 1);
    wire_report_to(&said, &report);
    said.token.len--;
    REFUSED_GENERATED(wire_report, &said, "report.token: length is 15, not 16");
}

// ---- get_policy, got_policy

static void
test_get_policy_refuses_an_unknown_purpose(void **state)
{
    (void)state;
    wire_get_policy message = wire_example_get_policy(), out;
    message.purpose = (wire_policy_purpose)0;
    REFUSED(wire_get_policy, &message, "get_policy.purpose: unknown");
    message.purpose = (wire_policy_purpose)3;
    REFUSED(wire_get_policy, &message, "get_policy.purpose: unknown");
    message = wire_example_get_policy();
    T_OK(THROUGH(wire_get_policy, &out, &message));
    assert_int_equal(out.actor_id, message.actor_id);
    assert_int_equal(out.purpose, WIRE_PURPOSE_EVALUATE);
    assert_int_equal(out.have_version, message.have_version);
    assert_memory_equal(out.token, message.token, WIRE_TOKEN_BYTES);
}

static void
test_got_policy_refuses_a_bad_policy(void **state)
{
    (void)state;
    wire_got_policy message = wire_example_got_policy();
    message.policy.version = 0;
    REFUSED(wire_got_policy, &message, "policy.version: is 0");
    message = wire_example_got_policy();
    message.policy.length = 0;
    REFUSED(wire_got_policy, &message, "policy.data: is empty");
    message = wire_example_got_policy();
    message.episodes = WIRE_EPISODES_MAX + 1;
    REFUSED(wire_got_policy, &message, "got_policy.episodes: outside 0 .. 65536");
}

static void
test_got_policy_without_one_ignores_its_fields(void **state)
{
    (void)state;
    wire_got_policy in = wire_example_got_policy(), out;
    in.has_policy = false;
    T_OK(THROUGH(wire_got_policy, &out, &in));
    assert_false(out.has_policy);
    assert_null(out.policy.bytes);
    assert_int_equal(out.policy.version, 0);
}

// ---- report, status, stop, empty

static void
test_report_refuses_bad_columns(void **state)
{
    (void)state;
    wire_report message = wire_example_report(4, 2);
    wire_report out;
    Octet__Report generated;
    wire_report_to(&generated, &message);
    generated.n_episode_length = 3;
    T_ERR(wire_report_reparse(&out, arena, &generated), OCT_EPROTO);
    assert_string_equal(wire_arena_reason(arena), "report.episode_length: length is 3, not 4");
    wire_report_to(&generated, &message);
    generated.n_stat_value = 3;
    T_ERR(wire_report_reparse(&out, arena, &generated), OCT_EPROTO);
    assert_string_equal(wire_arena_reason(arena), "report.stat_value: length is 3, not 2");
    const float returns[4] = {0, 1, INFINITY, 3};
    message.episode_return = returns;
    REFUSED(wire_report, &message, "report.episode_return: not finite");
    message = wire_example_report(WIRE_EPISODES_MAX + 1, 0);
    REFUSED(wire_report, &message, "report.episode_return: more than 65536");
    for (int i = 0; i < 4; i++) {
        message = wire_example_report(1, 1);
        uint64_t *counts[] = {&message.report_sequence, &message.policy_version, &message.env_steps,
                              &message.ticket};
        *counts[i] = WIRE_COUNT_MAX;
        T_OK(THROUGH(wire_report, &out, &message));
        *counts[i] = WIRE_COUNT_MAX + 1;
        T_ERR(THROUGH(wire_report, &out, &message), OCT_EPROTO);
        assert_non_null(strstr(wire_arena_reason(arena), ": a count beyond 2^53"));
    }
    static const double wide[] = {INFINITY, -INFINITY, 1e16, -1e16};
    for (size_t i = 0; i < OCT_COUNTOF(wide); i++) {
        message = wire_example_report(0, 1);
        message.stat_value = &wide[i];
        REFUSED(wire_report, &message, "report.stat_value: beyond 2^53");
    }
    message = wire_example_report(0, WIRE_STATS_MAX + 1);
    REFUSED(wire_report, &message, "report.stat_name: more than 512");
    const char *names[2] = {"good", ""};
    message = wire_example_report(0, 2);
    message.stat_name = names;
    REFUSED(wire_report, &message, "stats: a name is empty");
    names[1] = letters(WIRE_NAME_MAX + 1);
    REFUSED(wire_report, &message, "report.stat_name: no name, or longer than 256 bytes");
    names[1] = "a\tb";
    REFUSED(wire_report, &message, "report.stat_name: no name, or longer than 256 bytes");
    message = wire_example_report(0, 0);
    message.unreached = "tcp://evil\x1b[2J";
    REFUSED(wire_report, &message, "report.unreached: no name, or longer than 256 bytes");
}

static void
test_status_survives_the_wire_with_nan(void **state)
{
    (void)state;
    wire_status in = wire_example_status(3), out;
    T_OK(THROUGH(wire_status, &out, &in));
    assert_true(isnan(out.stat_value[1]));
    in.refused = NULL;
    T_OK(THROUGH(wire_status, &out, &in));
    assert_string_equal(out.refused, "");
    in.refused = "two\nlines";
    REFUSED(wire_status, &in, "status.refused: no name, or longer than 256 bytes");
    in = wire_example_status(3);
    in.state = "two\nlines";
    REFUSED(wire_status, &in, "status.state: no name, or longer than 256 bytes");
}

static void
test_stop_written_and_empty_survive_the_wire(void **state)
{
    (void)state;
    wire_stop in = {.reason = "solved"}, out;
    T_OK(THROUGH(wire_stop, &out, &in));
    assert_string_equal(out.reason, "solved");
    in.reason = letters(WIRE_TEXT_MAX + 1);
    REFUSED(wire_stop, &in, "stop.reason: no text, or longer than 64 KiB");
    wire_written written = {.updates = 300, .env_steps = UINT64_MAX}, read;
    T_OK(THROUGH(wire_written, &read, &written));
    assert_true(read.updates == 300 && read.env_steps == UINT64_MAX);
    wire_empty empty = {0}, back;
    T_OK(THROUGH(wire_empty, &back, &empty));
    const uint8_t garbage[] = {0xff, 0xff};
    T_ERR(wire_empty_unpack_bytes(&back, arena, garbage, sizeof(garbage)), OCT_EPROTO);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_register_refuses_bad_roles_and_names, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_register_refuses_bad_shapes, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_register_refuses_a_bound_that_is_none_of_bytes,
                                        arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_register_refuses_sizes_that_do_not_make_the_count,
                                        arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_register_refuses_bad_action_bounds, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_register_brings_bounds_and_sizes_of_a_box_alone,
                                        arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_register_without_an_environment_ignores_its_fields,
                                        arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_register_at_its_bounds_survives_the_wire, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_registered_refuses_bad_text, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_registered_refuses_shards_that_there_cannot_be,
                                        arena_setup, arena_teardown),
        cmocka_unit_test_setup_teardown(test_registered_without_an_actor_has_no_token, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_tokens_keys_and_signatures_are_whole, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_get_policy_refuses_an_unknown_purpose, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_got_policy_refuses_a_bad_policy, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_got_policy_without_one_ignores_its_fields, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_report_refuses_bad_columns, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_status_survives_the_wire_with_nan, arena_setup,
                                        arena_teardown),
        cmocka_unit_test_setup_teardown(test_stop_written_and_empty_survive_the_wire, arena_setup,
                                        arena_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
