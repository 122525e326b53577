// Signatures of policies and registrations: equal to those that others compute, and of no other
// message or key.
#include "proto/wire_sign.h"

#include "tests/proto/wire_examples.h"
#include "tests/support/oct_test.h"

#define LABEL 0xfedcba9876543210u

static const uint8_t seed[WIRE_SIGNING_SEED_BYTES] = {
    0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c, 0xc4,
    0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60};

// RFC 8032, 7.1, test 1.
static void
test_public_key_is_that_of_the_standard(void **state)
{
    (void)state;
    static const uint8_t want[WIRE_PUBLIC_KEY_BYTES] = {
        0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe,
        0xd3, 0xc9, 0x64, 0x07, 0x3a, 0x0e, 0xe1, 0x72, 0xf3, 0xda, 0xa6,
        0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a};
    uint8_t got[WIRE_PUBLIC_KEY_BYTES];
    wire_signer *signer = wire_signer_create(seed);
    wire_signer_public_key(signer, got);
    assert_memory_equal(got, want, sizeof(want));
    wire_signer_destroy(signer);
    wire_signer_destroy(NULL);
}

typedef struct signed_both {
    uint8_t key[WIRE_PUBLIC_KEY_BYTES];
    wire_policy policy;
    wire_registered registered;
} signed_both;

static signed_both
both_signed(void)
{
    signed_both out = {.policy = wire_example_policy(300), .registered = wire_example_registered()};
    wire_signer *signer = wire_signer_create(seed);
    wire_signer_public_key(signer, out.key);
    wire_sign_policy(signer, &out.policy);
    wire_sign_registered(signer, LABEL, &out.registered);
    wire_signer_destroy(signer);
    return out;
}

static void
test_what_was_signed_is_accepted_again_and_after_the_wire(void **state)
{
    (void)state;
    signed_both s = both_signed();
    assert_memory_equal(s.registered.public_key, s.key, sizeof(s.key));
    assert_true(wire_is_signed_registered(s.key, LABEL, &s.registered));
    assert_true(wire_is_signed_policy(s.key, &s.policy));
    uint8_t bytes[1024];
    size_t length = wire_policy_size(&s.policy);
    assert_true(length <= sizeof(bytes));
    wire_policy_pack(&s.policy, bytes);
    wire_arena *arena = wire_arena_create(1 << 16);
    wire_policy out;
    T_OK(wire_policy_unpack(&out, arena, bytes, length));
    assert_true(wire_is_signed_policy(s.key, &out));
    s.policy.has_signature = false;
    assert_int_equal(length - wire_policy_size(&s.policy), WIRE_SIGNATURE_BYTES + 2);
    wire_arena_destroy(arena);
}

static void
test_any_change_of_a_policy_is_noticed(void **state)
{
    (void)state;
    const signed_both s = both_signed();
    wire_policy changed[8];
    uint8_t data[300];
    for (size_t i = 0; i < OCT_COUNTOF(changed); i++) {
        changed[i] = s.policy;
    }
    changed[0].run_id ^= 1;
    changed[1].topic ^= 1;
    changed[2].version++;
    changed[3].base_version--;
    changed[4].updates++;
    memcpy(data, s.policy.bytes, sizeof(data));
    data[299] ^= 0x80;
    changed[5].bytes = data;
    changed[6].length--;
    changed[7].has_signature = false;
    for (size_t i = 0; i < OCT_COUNTOF(changed); i++) {
        assert_false(wire_is_signed_policy(s.key, &changed[i]));
    }
    for (size_t bit = 0; bit < 8 * WIRE_SIGNATURE_BYTES; bit += 37) {
        wire_policy other = s.policy;
        other.signature[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(wire_is_signed_policy(s.key, &other));
    }
}

static void
test_any_change_of_a_registration_is_noticed(void **state)
{
    (void)state;
    const signed_both s = both_signed();
    wire_registered changed[16];
    for (size_t i = 0; i < OCT_COUNTOF(changed); i++) {
        changed[i] = s.registered;
    }
    changed[0].run_id++;
    changed[1].actor_id++;
    changed[2].actor_index++;
    changed[3].incarnation++;
    changed[4].policy_topic++;
    changed[5].token[15] ^= 1;
    changed[6].config = "env: CartPole-v1\n\tx: 2\n";
    changed[7].policy_address = changed[8].replay_address = "ipc:///tmp/another";
    changed[9].has_signature = false;
    changed[10].session++;
    changed[11].shard++;
    changed[12].shard = 0;
    changed[13].newest_version++;
    changed[14].newest_version = 0;
    changed[15].names_newest = false;
    for (size_t i = 0; i < OCT_COUNTOF(changed); i++) {
        assert_false(wire_is_signed_registered(s.key, LABEL, &changed[i]));
    }
    assert_false(wire_is_signed_registered(s.key, LABEL ^ 1, &s.registered));
}

static void
test_another_key_has_signed_nothing(void **state)
{
    (void)state;
    const signed_both s = both_signed();
    uint8_t key[WIRE_PUBLIC_KEY_BYTES];
    for (size_t bit = 0; bit < 8 * sizeof(key); bit++) {
        memcpy(key, s.key, sizeof(key));
        key[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(wire_is_signed_policy(key, &s.policy));
        assert_false(wire_is_signed_registered(key, LABEL, &s.registered));
    }
    static const uint8_t zero[WIRE_PUBLIC_KEY_BYTES];
    assert_false(wire_is_signed_policy(zero, &s.policy));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_public_key_is_that_of_the_standard),
        cmocka_unit_test(test_what_was_signed_is_accepted_again_and_after_the_wire),
        cmocka_unit_test(test_any_change_of_a_policy_is_noticed),
        cmocka_unit_test(test_any_change_of_a_registration_is_noticed),
        cmocka_unit_test(test_another_key_has_signed_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
