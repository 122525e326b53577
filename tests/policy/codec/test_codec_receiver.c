// The receiver of policies takes each version once, never goes back, and repairs gaps with complete
// policies.
#include "common/oct_reason.h"
#include "policy/codec/codec_receiver.h"

#include "tests/policy/next_policy.h"
#include "tests/policy/random_policy.h"

#define VERSIONS 51

typedef struct message {
    uint8_t *bytes;
    size_t length;
} message;

// A run: every version complete, and as the change of the one before.
typedef struct history {
    policy_image *images[VERSIONS];
    message complete[VERSIONS];
    message change[VERSIONS]; // [0] is empty
} history;

static policy_spec
small_spec(void)
{
    const uint32_t widths[] = {9, 33, 20, 4};
    return random_spec(widths, 4, POLICY_RELU, true);
}

static message
message_complete(const policy_image *image)
{
    message m = {.length = policy_encoded_size(image)};
    m.bytes = malloc(m.length);
    policy_encode(image, m.bytes);
    return m;
}

static void
history_init(history *h, const policy_spec *spec, policy_precision precision, uint32_t count)
{
    oct_rng rng;
    oct_rng_init(&rng, 5, (uint64_t)precision);
    *h = (history){.images = {random_image(spec, precision, false, &rng)}};
    h->complete[0] = message_complete(h->images[0]);
    codec_coder *coder = codec_coder_create(spec, precision);
    for (uint32_t v = 1; v < count; v++) {
        T_OK(policy_image_create(&h->images[v], spec, precision));
        policy_step(h->images[v], h->images[v - 1], 8, &rng);
        h->complete[v] = message_complete(h->images[v]);
        const uint8_t *bytes;
        if (policy_is_integer(precision)) {
            T_OK(codec_delta_encode(coder, h->images[v - 1], h->images[v], &bytes,
                                    &h->change[v].length));
            h->change[v].bytes = malloc(h->change[v].length);
            memcpy(h->change[v].bytes, bytes, h->change[v].length);
        }
    }
    codec_coder_destroy(coder);
}

static void
history_fini(history *h)
{
    for (uint32_t v = 0; v < VERSIONS; v++) {
        policy_image_destroy(h->images[v]);
        free(h->complete[v].bytes);
        free(h->change[v].bytes);
    }
}

static oct_err
take(codec_receiver *receiver, message m, const policy_image **image)
{
    oct_reason why = {""};
    oct_err err = codec_receiver_take(receiver, m.bytes, m.length, image, &why);
    assert_true((err == OCT_OK || err == OCT_EAGAIN) == (why.text[0] == '\0'));
    return err;
}

static const policy_image *
expect_taken(codec_receiver *receiver, message m, const message *complete)
{
    const policy_image *image = NULL;
    T_OK(take(receiver, m, &image));
    message again = message_complete(image);
    assert_int_equal(again.length, complete->length);
    assert_memory_equal(again.bytes, complete->bytes, again.length);
    assert_int_equal(codec_receiver_version(receiver), image->origin.version);
    free(again.bytes);
    return image;
}

static void
test_a_change_without_a_policy_is_not_found(void **state)
{
    (void)state;
    history h;
    policy_spec spec = small_spec();
    history_init(&h, &spec, POLICY_INT8, 3);
    codec_receiver *receiver = codec_receiver_create();
    const policy_image *image = NULL;
    T_ERR(take(receiver, h.change[1], &image), OCT_ENOTFOUND);
    assert_null(image);
    assert_int_equal(codec_receiver_version(receiver), 0);
    codec_receiver_destroy(receiver);
    history_fini(&h);
}

static void
test_bytes_that_are_no_policy_leave_what_is_held(void **state)
{
    (void)state;
    history h;
    policy_spec spec = small_spec();
    history_init(&h, &spec, POLICY_INT4, 3);
    codec_receiver *receiver = codec_receiver_create();
    (void)expect_taken(receiver, h.complete[0], &h.complete[0]);
    const policy_image *image = NULL;
    h.change[1].bytes[h.change[1].length / 2] ^= 4;
    T_ERR(take(receiver, h.change[1], &image), OCT_EPROTO);
    h.change[1].bytes[h.change[1].length / 2] ^= 4;
    h.complete[2].bytes[4] = 9;
    T_ERR(take(receiver, h.complete[2], &image), OCT_EINVAL);
    h.complete[2].bytes[4] = 2;
    // Sound in form, but the last bias is not a number.
    h.images[2]->bias[2][3] = NAN;
    policy_encode(h.images[2], h.complete[2].bytes);
    T_ERR(take(receiver, h.complete[2], &image), OCT_EPROTO);
    assert_null(image);
    assert_int_equal(codec_receiver_version(receiver), 7);
    (void)expect_taken(receiver, h.change[1], &h.complete[1]);
    codec_receiver_destroy(receiver);
    history_fini(&h);
}

static void
test_a_policy_without_a_version_is_refused(void **state)
{
    (void)state;
    history h;
    policy_spec spec = small_spec();
    history_init(&h, &spec, POLICY_INT8, 1);
    h.images[0]->origin.version = 0;
    policy_encode(h.images[0], h.complete[0].bytes);
    codec_receiver *receiver = codec_receiver_create();
    const policy_image *image = NULL;
    T_ERR(take(receiver, h.complete[0], &image), OCT_EPROTO);
    assert_null(image);
    codec_receiver_destroy(receiver);
    history_fini(&h);
}

static void
test_duplicates_and_older_versions_are_not_taken(void **state)
{
    (void)state;
    history h;
    policy_spec spec = small_spec();
    history_init(&h, &spec, POLICY_INT8, 4);
    codec_receiver *receiver = codec_receiver_create();
    (void)expect_taken(receiver, h.complete[1], &h.complete[1]);
    const policy_image *image = NULL;
    T_ERR(take(receiver, h.complete[1], &image), OCT_EAGAIN);
    T_ERR(take(receiver, h.change[1], &image), OCT_EAGAIN);
    assert_int_equal(codec_receiver_older(receiver), 0); // the same one
    T_ERR(take(receiver, h.complete[0], &image), OCT_EAGAIN);
    assert_int_equal(codec_receiver_older(receiver), 1);
    assert_null(image);
    (void)expect_taken(receiver, h.change[2], &h.complete[2]);
    T_ERR(take(receiver, h.change[2], &image), OCT_EAGAIN);
    T_ERR(take(receiver, h.complete[1], &image), OCT_EAGAIN);
    assert_int_equal(codec_receiver_older(receiver), 2);
    (void)expect_taken(receiver, h.change[3], &h.complete[3]);
    codec_receiver_destroy(receiver);
    history_fini(&h);
}

static void
test_another_run_waits_for_a_reset(void **state)
{
    (void)state;
    history h;
    policy_spec spec = small_spec();
    history_init(&h, &spec, POLICY_INT8, 3);
    codec_receiver *receiver = codec_receiver_create();
    (void)expect_taken(receiver, h.complete[0], &h.complete[0]);
    const policy_image *image = NULL;
    for (uint32_t v = 1; v < 3; v++) {
        h.images[v]->origin.run_id++;
        policy_encode(h.images[v], h.complete[v].bytes);
    }
    codec_coder *coder = codec_coder_create(&spec, POLICY_INT8);
    message change;
    const uint8_t *bytes;
    T_OK(codec_delta_encode(coder, h.images[1], h.images[2], &bytes, &change.length));
    change.bytes = memcpy(malloc(change.length), bytes, change.length);
    T_ERR(take(receiver, h.complete[1], &image), OCT_EPROTO);
    T_ERR(take(receiver, change, &image), OCT_ENOTFOUND);
    assert_int_equal(codec_receiver_version(receiver), 7);
    codec_receiver_reset(receiver);
    assert_int_equal(codec_receiver_version(receiver), 0);
    T_ERR(take(receiver, change, &image), OCT_ENOTFOUND);
    (void)expect_taken(receiver, h.complete[1], &h.complete[1]);
    (void)expect_taken(receiver, change, &h.complete[2]);
    free(change.bytes);
    codec_coder_destroy(coder);
    codec_receiver_destroy(receiver);
    history_fini(&h);
}

static void
test_another_network_waits_for_a_reset(void **state)
{
    (void)state;
    history h, other;
    policy_spec spec = small_spec(), wider = small_spec();
    const uint32_t hidden[] = {90, 40};
    T_OK(policy_spec_set_mlp(&wider, hidden, 2, POLICY_TANH, false, 4));
    history_init(&h, &spec, POLICY_INT8, 3);
    history_init(&other, &wider, POLICY_INT8, 4); // the same run id
    codec_receiver *receiver = codec_receiver_create();
    (void)expect_taken(receiver, h.complete[0], &h.complete[0]);
    (void)expect_taken(receiver, h.change[1], &h.complete[1]);
    const policy_image *image = NULL;
    T_ERR(take(receiver, other.complete[2], &image), OCT_EPROTO);
    T_ERR(take(receiver, other.change[2], &image), OCT_EPROTO);
    (void)expect_taken(receiver, h.change[2], &h.complete[2]);
    codec_receiver_reset(receiver);
    (void)expect_taken(receiver, other.complete[2], &other.complete[2]);
    (void)expect_taken(receiver, other.change[3], &other.complete[3]);
    codec_receiver_destroy(receiver);
    history_fini(&h);
    history_fini(&other);
}

static void
test_a_missed_version_is_repaired_by_a_complete_policy(void **state)
{
    (void)state;
    history h;
    policy_spec spec = small_spec();
    history_init(&h, &spec, POLICY_INT4, 6);
    codec_receiver *receiver = codec_receiver_create();
    (void)expect_taken(receiver, h.complete[0], &h.complete[0]);
    const policy_image *image = NULL;
    T_ERR(take(receiver, h.change[2], &image), OCT_ENOTFOUND);
    T_ERR(take(receiver, h.change[3], &image), OCT_ENOTFOUND);
    (void)expect_taken(receiver, h.change[1], &h.complete[1]);
    (void)expect_taken(receiver, h.complete[4], &h.complete[4]);
    T_ERR(take(receiver, h.change[3], &image), OCT_EAGAIN);
    (void)expect_taken(receiver, h.change[5], &h.complete[5]);
    codec_receiver_destroy(receiver);
    history_fini(&h);
}

static void
test_another_precision_may_follow_when_complete(void **state)
{
    (void)state;
    history a, b, c;
    policy_spec spec = small_spec();
    history_init(&a, &spec, POLICY_INT8, 3);
    history_init(&b, &spec, POLICY_INT4, 4);
    history_init(&c, &spec, POLICY_BF16, 5);
    for (uint32_t v = 0; v < 5; v++) {
        c.images[v]->origin.run_id = a.images[0]->origin.run_id;
        policy_encode(c.images[v], c.complete[v].bytes);
    }
    for (uint32_t v = 0; v < 4; v++) {
        b.images[v]->origin.run_id = a.images[0]->origin.run_id;
        policy_encode(b.images[v], b.complete[v].bytes);
    }
    codec_coder *coder = codec_coder_create(&spec, POLICY_INT4);
    message change;
    const uint8_t *bytes;
    T_OK(codec_delta_encode(coder, b.images[2], b.images[3], &bytes, &change.length));
    change.bytes = memcpy(malloc(change.length), bytes, change.length);
    codec_receiver *receiver = codec_receiver_create();
    (void)expect_taken(receiver, a.complete[0], &a.complete[0]);
    (void)expect_taken(receiver, a.change[1], &a.complete[1]);
    (void)expect_taken(receiver, b.complete[2], &b.complete[2]);
    (void)expect_taken(receiver, change, &b.complete[3]);
    (void)expect_taken(receiver, c.complete[4], &c.complete[4]);
    free(change.bytes);
    codec_coder_destroy(coder);
    codec_receiver_destroy(receiver);
    history_fini(&a);
    history_fini(&b);
    history_fini(&c);
}

static void
test_fifty_changes_give_the_complete_policy_bit_for_bit(void **state)
{
    (void)state;
    const policy_precision precisions[] = {POLICY_INT8, POLICY_INT4};
    for (size_t i = 0; i < OCT_COUNTOF(precisions); i++) {
        history h;
        policy_spec spec = small_spec();
        history_init(&h, &spec, precisions[i], VERSIONS);
        codec_receiver *receiver = codec_receiver_create();
        const policy_image *images[2] = {expect_taken(receiver, h.complete[0], &h.complete[0]),
                                         expect_taken(receiver, h.change[1], &h.complete[1])};
        for (uint32_t v = 2; v < VERSIONS; v++) {
            const message *m = v % 10 == 0 ? &h.complete[v] : &h.change[v];
            // Two images are all that it takes.
            assert_ptr_equal(expect_taken(receiver, *m, &h.complete[v]), images[v % 2]);
        }
        codec_receiver_destroy(receiver);
        history_fini(&h);
    }
}

static void
test_floats_are_taken_complete_each_time(void **state)
{
    (void)state;
    const policy_precision precisions[] = {POLICY_FP32, POLICY_BF16, POLICY_FP16};
    for (size_t i = 0; i < OCT_COUNTOF(precisions); i++) {
        oct_rng rng;
        oct_rng_init(&rng, 2, 2);
        policy_spec spec = small_spec();
        codec_receiver *receiver = codec_receiver_create();
        for (uint64_t v = 1; v < 4; v++) {
            policy_image *image = random_image(&spec, precisions[i], false, &rng);
            image->origin.run_id = 1;
            image->origin.version = v;
            message m = message_complete(image);
            (void)expect_taken(receiver, m, &m);
            free(m.bytes);
            policy_image_destroy(image);
        }
        codec_receiver_destroy(receiver);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_change_without_a_policy_is_not_found),
        cmocka_unit_test(test_bytes_that_are_no_policy_leave_what_is_held),
        cmocka_unit_test(test_a_policy_without_a_version_is_refused),
        cmocka_unit_test(test_duplicates_and_older_versions_are_not_taken),
        cmocka_unit_test(test_another_run_waits_for_a_reset),
        cmocka_unit_test(test_another_network_waits_for_a_reset),
        cmocka_unit_test(test_a_missed_version_is_repaired_by_a_complete_policy),
        cmocka_unit_test(test_another_precision_may_follow_when_complete),
        cmocka_unit_test(test_fifty_changes_give_the_complete_policy_bit_for_bit),
        cmocka_unit_test(test_floats_are_taken_complete_each_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
