// The toy-text environments against what Gymnasium did from the same seeds and generators, bit for
// bit: every observation, reward, flag, hidden number and state of the generator. The data and
// where they come from: tests/data/toy_text/README.md.
#include "tests/envs/env_test.h"

#include "common/oct_bytes.h"
#include "envs/env_saved.h"
#include "tests/envs/toy_reference.h"

#define SAVED_MAX 512

typedef struct rig {
    env *e;
    int32_t action, obs;
    double reward;
    uint8_t flags;
    octet_env_io io;
} rig;

static void
rig_open(rig *r, const toy_variant *variant)
{
    r->e = env_opened(variant->id, variant->options, 1, 0, false);
    r->io = (octet_env_io){.size = sizeof(r->io),
                           .action = &r->action,
                           .obs = &r->obs,
                           .reward64 = &r->reward,
                           .flags = &r->flags,
                           .action_stride = sizeof(r->action),
                           .obs_stride = sizeof(r->obs)};
}

// The generator of a saved state, and where it lies there.
static size_t
generator_offset(uint32_t length)
{
    return length - 40;
}

static oct_pcg64
generator_of(rig *r)
{
    uint8_t saved[SAVED_MAX];
    uint32_t length = sizeof(saved);
    T_OK(env_save(r->e, 0, saved, &length));
    oct_reader reader = {.at = saved + generator_offset(length), .left = 40};
    oct_pcg64 rng = {.state_high = oct_read_u64(&reader)};
    rng.state_low = oct_read_u64(&reader);
    rng.increment_high = oct_read_u64(&reader);
    rng.increment_low = oct_read_u64(&reader);
    rng.has_half = oct_read_u32(&reader) != 0;
    rng.half = oct_read_u32(&reader);
    return rng;
}

static void
generator_set(rig *r, const oct_pcg64 *rng)
{
    uint8_t saved[SAVED_MAX];
    uint32_t length = sizeof(saved);
    T_OK(env_save(r->e, 0, saved, &length));
    oct_writer writer = {.base = saved + generator_offset(length), .capacity = 40};
    oct_write_u64(&writer, rng->state_high);
    oct_write_u64(&writer, rng->state_low);
    oct_write_u64(&writer, rng->increment_high);
    oct_write_u64(&writer, rng->increment_low);
    oct_write_u32(&writer, rng->has_half);
    oct_write_u32(&writer, rng->half);
    T_OK(env_load(r->e, 0, saved, length));
}

static void
generator_is(rig *r, const char *where, oct_pcg64 want)
{
    oct_pcg64 got = generator_of(r);
    if (!toy_generators_equal(&got, &want)) {
        fail_msg("%s: the generator differs", where);
    }
}

static void
obs_is(const rig *r, const char *where, int32_t want)
{
    if (r->obs != want) {
        fail_msg("%s: observation %d, want %d", where, r->obs, want);
    }
}

// "11", or Blackjack's "20 6 0" in one cell or three.
static int32_t
obs_read(const char *a, const char *b, const char *c)
{
    int sum, dealer, ace;
    char text[64];
    snprintf(text, sizeof(text), "%.15s %.15s %.15s", a, b, c);
    if (sscanf(text, "%d %d %d", &sum, &dealer, &ace) == 3) {
        return (sum * 11 + dealer) * 2 + ace;
    }
    return (int32_t)strtol(a, NULL, 10);
}

// "fickle_step=0", "player=7+4 dealer=10+9 top=DJ", or nothing.
static void
hidden_is(const rig *r, const char *want)
{
    double state[8];
    uint32_t step;
    T_OK(env_state_get(r->e, 0, state, &step));
    int armed, player[2], dealer[2];
    char suit, top[8];
    if (sscanf(want, "fickle_step=%d", &armed) == 1) {
        assert_int_equal(state[1], armed);
    } else if (want[0] != '\0') {
        assert_int_equal(sscanf(want, "player=%d+%d dealer=%d+%d top=%c%3s", &player[0], &player[1],
                                &dealer[0], &dealer[1], &suit, top),
                         6);
        static const char *const faces[] = {"J", "Q", "K"};
        char mine[8];
        snprintf(mine, sizeof(mine), "%d", dealer[0]);
        const char *face = dealer[0] == 10 ? faces[(int)state[6]] : dealer[0] == 1 ? "A" : mine;
        assert_int_equal(state[0], player[0] + player[1]);
        assert_int_equal(state[1], player[0] == 1 || player[1] == 1);
        assert_int_equal(state[3], dealer[0]);
        assert_int_equal(state[4], dealer[1]);
        assert_int_equal("CDHS"[(int)state[5]], suit);
        assert_string_equal(face, top);
    }
}

static void
stepped(rig *r, const char *action)
{
    r->action = (int32_t)strtol(action, NULL, 10);
    T_OK(env_step(r->e, &r->io));
}

// The rows of one episode; rows stands on its first and is left on the next one's.
static unsigned
episode_is(rig *r, toy_table *rows, bool *more, const char *where)
{
    const char(*cell)[TOY_CELL_BYTES] = (const char(*)[TOY_CELL_BYTES])rows->cell;
    unsigned columns = rows->count, steps = 0;
    bool is_cards = columns == 9;
    char episode[TOY_CELL_BYTES];
    memcpy(episode, cell[0], sizeof(episode));
    for (; *more && strcmp(cell[0], episode) == 0; *more = toy_table_next(rows)) {
        assert_int_equal(rows->count, columns);
        if (cell[2][0] != '\0') {
            stepped(r, cell[2]);
            double want = strtod(cell[columns - 3], NULL);
            assert_memory_equal(&r->reward, &want, sizeof(want));
            uint8_t flags = (uint8_t)((cell[columns - 2][0] == '1' ? OCTET_ENV_TERMINATED : 0) |
                                      (cell[columns - 1][0] == '1' ? OCTET_ENV_TRUNCATED : 0));
            assert_int_equal(r->flags, flags);
            steps++;
        }
        obs_is(r, where,
               is_cards ? obs_read(cell[3], cell[4], cell[5]) : obs_read(cell[3], "", ""));
    }
    return steps;
}

static unsigned
variant_replay(const toy_variant *variant)
{
    static toy_table seeds, rows;
    char name[80], where[128];
    unsigned episodes = 0;
    snprintf(name, sizeof(name), "%.60s.csv", variant->file);
    toy_table_open(&rows, name);
    toy_table_open(&seeds, "reset_seeds.csv");
    bool more = toy_table_next(&rows);
    rig r = {0};
    rig_open(&r, variant);
    const char(*cell)[TOY_CELL_BYTES] = (const char(*)[TOY_CELL_BYTES])seeds.cell;
    while (toy_table_next(&seeds)) {
        if (strcmp(cell[0], variant->file) != 0) {
            continue;
        }
        snprintf(where, sizeof(where), "%.60s, episode %.8s", variant->file, cell[1]);
        assert_string_equal(cell[1], rows.cell[0]);
        uint64_t seed = strtoull(cell[3], NULL, 10);
        T_OK(env_reset(r.e, NULL, &seed, &r.io));
        obs_is(&r, where, obs_read(cell[4], cell[5], cell[6]));
        hidden_is(&r, cell[7]);
        generator_is(&r, where, toy_generator(cell[10], cell[9], cell[11], cell[12]));
        assert_int_equal(episode_is(&r, &rows, &more, where), strtoul(cell[13], NULL, 10));
        generator_is(&r, where, toy_generator(cell[14], cell[9], cell[15], cell[16]));
        episodes++;
    }
    assert_false(more); // every episode of the file has a seed
    env_close(r.e);
    toy_table_close(&seeds);
    toy_table_close(&rows);
    return episodes;
}

static void
test_toy_episodes_from_their_seeds(void **state)
{
    (void)state;
    toy_variant variants[TOY_VARIANTS_MAX];
    unsigned count = toy_variants(variants);
    assert_true(count > 0);
    for (unsigned i = 0; i < count; i++) {
        if (variant_replay(&variants[i]) == 0) {
            fail_msg("%s has no episodes in reset_seeds.csv", variants[i].file);
        }
    }
}

static void
test_toy_seeding_is_numpys(void **state)
{
    (void)state;
    static toy_table seeds;
    toy_table_open(&seeds, "reset_seeds.csv");
    unsigned rows = 0;
    for (; toy_table_next(&seeds); rows++) {
        oct_pcg64 got, want = toy_generator(seeds.cell[8], seeds.cell[9], "0", "0");
        oct_pcg64_init(&got, strtoull(seeds.cell[3], NULL, 10));
        assert_true(toy_generators_equal(&got, &want));
    }
    assert_true(rows > 0);
    toy_table_close(&seeds);
}

static void
continued_is(const toy_variant *variant, const char (*cell)[TOY_CELL_BYTES])
{
    char where[128];
    rig r = {0};
    rig_open(&r, variant);
    snprintf(where, sizeof(where), "%s, continued %.8s", variant->file, cell[1]);
    oct_pcg64 begin = toy_generator(cell[2], cell[3], cell[4], cell[5]);
    generator_set(&r, &begin);
    T_OK(env_reset(r.e, NULL, NULL, &r.io));
    obs_is(&r, where, obs_read(cell[6], "", ""));
    hidden_is(&r, cell[7]);
    double sum = 0;
    uint8_t flags = 0;
    for (const char *action = cell[8]; *action != '\0'; action++) {
        assert_int_equal(flags, 0);
        stepped(&r, (char[]){*action, '\0'});
        sum += r.reward;
        flags = r.flags;
    }
    obs_is(&r, where, obs_read(cell[9], "", ""));
    assert_true(sum == strtod(cell[10], NULL));
    assert_int_equal(flags != 0, cell[11][0] == '1');
    generator_is(&r, where, toy_generator(cell[12], cell[3], cell[13], cell[14]));
    env_close(r.e);
}

static void
test_toy_resets_without_a_seed_go_on_with_the_generator(void **state)
{
    (void)state;
    static toy_table table;
    toy_variant variants[TOY_VARIANTS_MAX];
    unsigned count = toy_variants(variants), rows = 0;
    toy_table_open(&table, "continued.csv");
    for (; toy_table_next(&table); rows++) {
        continued_is(toy_variant_find(variants, count, table.cell[0]),
                     (const char(*)[TOY_CELL_BYTES])table.cell);
    }
    assert_true(rows > 0);
    toy_table_close(&table);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_toy_seeding_is_numpys),
        cmocka_unit_test(test_toy_episodes_from_their_seeds),
        cmocka_unit_test(test_toy_resets_without_a_seed_go_on_with_the_generator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
