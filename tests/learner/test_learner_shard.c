// Which shard a session is of. The known answers are of another program (Python, of the formula in
// the header):
//
//   M = 2**64 - 1
//   def mix(state, number):
//       z = ((state ^ number) + 0x9e3779b97f4a7c15) & M
//       z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & M
//       z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & M
//       return z ^ (z >> 31)
//   def shard(session, shards):
//       return max(range(shards), key=lambda i: mix(mix(0, session), i))
#include "tests/support/oct_test.h"

#include "common/oct_rng.h"
#include "learner/learner_shard.h"

static void
test_shard_of_known_sessions(void **state)
{
    (void)state;
    static const uint32_t shards[] = {1, 2, 3, 5, 8, 16};
    static const struct {
        uint64_t session;
        uint32_t of[OCT_COUNTOF(shards)];
    } known[] = {
        {0x1, {0, 1, 1, 1, 1, 15}},
        {0x2, {0, 1, 1, 1, 1, 8}},
        {0x3, {0, 1, 1, 1, 1, 1}},
        {0xfedcba9876543210, {0, 0, 0, 0, 5, 5}},
        {0x0123456789abcdef, {0, 1, 1, 1, 1, 9}},
        {0xffffffffffffffff, {0, 1, 1, 1, 6, 14}},
        {0x8000000000000000, {0, 0, 0, 0, 7, 11}},
        {0x2a, {0, 1, 1, 3, 3, 9}},
    };
    for (size_t i = 0; i < OCT_COUNTOF(known); i++) {
        for (size_t k = 0; k < OCT_COUNTOF(shards); k++) {
            assert_int_equal(learner_shard_of(known[i].session, shards[k]), known[i].of[k]);
        }
    }
}

// One more shard takes its part from all others, and nothing else moves.
static void
test_shard_that_is_added_takes_its_part_and_no_other_moves(void **state)
{
    (void)state;
    enum { SESSIONS = 60000, MOST = 6 };
    oct_rng rng;
    oct_rng_init(&rng, 5, 1);
    uint32_t held[MOST + 1][MOST] = {{0}};
    for (uint32_t i = 0; i < SESSIONS; i++) {
        uint64_t session = oct_rng_u64(&rng);
        for (uint32_t shards = 1; shards <= MOST; shards++) {
            uint32_t now = learner_shard_of(session, shards);
            assert_true(now < shards);
            held[shards][now]++;
            assert_true(shards == 1 || now == shards - 1 ||
                        now == learner_shard_of(session, shards - 1));
        }
    }
    for (uint32_t shards = 1; shards <= MOST; shards++) {
        for (uint32_t s = 0; s < shards; s++) { // 5 deviations of the binomial
            double mean = (double)SESSIONS / shards;
            T_NEAR(held[shards][s], mean, 5 * sqrt(mean), 0);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shard_of_known_sessions),
        cmocka_unit_test(test_shard_that_is_added_takes_its_part_and_no_other_moves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
