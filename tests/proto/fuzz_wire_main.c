// A fuzzer that needs no compiler support: valid inputs of every decoder, mutated at random from a
// fixed seed. usage: fuzz_wire [ITERATIONS [SEED]] | fuzz_wire --corpus DIR (for libFuzzer)

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "proto/wire_token.h"
#include "tests/proto/fuzz_wire.h"
#include "tests/proto/wire_bytes.h"
#include "tests/proto/wire_examples.h"

#define SEEDS_MAX 128
#define INPUT_MAX 8192

typedef struct input {
    uint8_t bytes[INPUT_MAX];
    size_t size;
} input;

static input seeds[SEEDS_MAX];
static size_t seed_count;
static uint64_t random_state;

// xorshift64*: the inputs are the same on every machine.
static uint32_t
random_below(size_t bound)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (uint32_t)((random_state * 0x2545f4914f6cdd1du >> 32) % (bound == 0 ? 1 : bound));
}

// ---- seeds

static void
seed_add(unsigned decoder, const uint8_t *head, size_t head_size, const uint8_t *bytes, size_t size)
{
    OCT_ASSERT(seed_count < SEEDS_MAX && 1 + head_size + size <= INPUT_MAX);
    input *seed = &seeds[seed_count++];
    seed->bytes[0] = (uint8_t)decoder;
    if (head_size != 0) {
        memcpy(seed->bytes + 1, head, head_size);
    }
    if (size != 0) {
        memcpy(seed->bytes + 1 + head_size, bytes, size);
    }
    seed->size = 1 + head_size + size;
}

// One payload as a request and one as a reply of each method, bare and as a frame.
#define X(method, request, reply, roles)                                                           \
    static void seed_##method(unsigned service, uint16_t code, const request *question,            \
                              const reply *answer)                                                 \
    {                                                                                              \
        uint8_t frame[WIRE_FRAME_BYTES];                                                           \
        size_t size;                                                                               \
        uint8_t *bytes = request##_pack_bytes(&size, question);                                    \
        seed_add(FUZZ_REQUEST_##method, NULL, 0, bytes, size);                                     \
        wire_frame_pack(WIRE_REQUEST, code, 0, frame);                                             \
        seed_add(service, frame, sizeof(frame), bytes, size);                                      \
        free(bytes);                                                                               \
        bytes = reply##_pack_bytes(&size, answer);                                                 \
        seed_add(FUZZ_REPLY_##method, NULL, 0, bytes, size);                                       \
        wire_frame_pack(WIRE_REPLY, OCT_OK, 0, frame);                                             \
        seed_add(FUZZ_REPLY_FRAME_##method, frame, sizeof(frame), bytes, size);                    \
        free(bytes);                                                                               \
    }
WIRE_LEARNER_METHODS(X)
WIRE_REPLAY_METHODS(X)
#undef X

static void
seed_rpc(void)
{
    const wire_empty empty = {0};
    const wire_register registration = wire_example_register(true);
    const wire_registered registered = wire_example_registered();
    const wire_get_policy get_policy = wire_example_get_policy();
    const wire_got_policy got_policy = wire_example_got_policy();
    const wire_report report = wire_example_report(5, 3);
    const wire_status status = wire_example_status(20);
    const wire_stop stop = {.reason = "interrupted"};
    const wire_get_peers get_peers = {.count_max = 9};
    const wire_peers peers = wire_example_peers(9);
    const wire_configure configure = wire_example_configure();
    const wire_sample sample = wire_example_sample();
    const wire_sampled sampled = wire_example_sampled(9, 0, 2);
    const wire_sampled sequences = wire_example_sampled(3, 4, 1);
    const wire_priorities priorities = wire_example_priorities(7);
    seed_register_actor(FUZZ_LEARNER_SERVER, 0x100, &registration, &registered);
    seed_get_policy(FUZZ_LEARNER_SERVER, 0x101, &get_policy, &got_policy);
    seed_report_episodes(FUZZ_LEARNER_SERVER, 0x102, &report, &empty);
    seed_learner_status(FUZZ_LEARNER_SERVER, 0x103, &empty, &status);
    seed_checkpoint(FUZZ_LEARNER_SERVER, 0x104, &empty, &empty);
    seed_stop(FUZZ_LEARNER_SERVER, 0x105, &stop, &empty);
    seed_learner_peers(FUZZ_LEARNER_SERVER, 0x106, &get_peers, &peers);
    seed_configure(FUZZ_REPLAY_SERVER, 0x200, &configure, &empty);
    seed_sample(FUZZ_REPLAY_SERVER, 0x201, &sample, &sampled);
    seed_sample(FUZZ_REPLAY_SERVER, 0x201, &sample, &sequences);
    seed_update_priorities(FUZZ_REPLAY_SERVER, 0x202, &priorities, &empty);
    seed_replay_status(FUZZ_REPLAY_SERVER, 0x203, &empty, &status);
}

static void
seed_streams(void)
{
    uint8_t bytes[INPUT_MAX];
    for (uint32_t count = 0; count < 24; count += 6) {
        wire_batch batch = wire_example_batch(count, count / 6);
        wire_batch_pack(&batch, bytes);
        seed_add(FUZZ_BATCH, NULL, 0, bytes, wire_batch_size(&batch));
    }
    wire_ack ack = wire_example_ack();
    wire_ack_pack(&ack, bytes);
    seed_add(FUZZ_ACK, NULL, 0, bytes, wire_ack_size(&ack));
    const wire_claim claim = {.actor_id = 300, .session = UINT64_MAX};
    seed_add(FUZZ_ACK, NULL, 0, bytes, wire_ack_request_pack(&claim, bytes));
    seed_add(FUZZ_FRAME, NULL, 0, bytes, WIRE_FRAME_BYTES);
    wire_policy policy = wire_example_policy(300);
    wire_policy_pack(&policy, bytes);
    seed_add(FUZZ_POLICY, NULL, 0, bytes, wire_policy_size(&policy));
}

// ---- mutations

static void
replace_range(input *in, size_t at, size_t removed, const uint8_t *bytes, size_t inserted)
{
    removed = OCT_MIN(removed, in->size - at);
    inserted = OCT_MIN(inserted, INPUT_MAX - (in->size - removed));
    memmove(in->bytes + at + inserted, in->bytes + at + removed, in->size - at - removed);
    if (inserted != 0) {
        memcpy(in->bytes + at, bytes, inserted);
    }
    in->size = in->size - removed + inserted;
}

// Byte 0 picks the decoder and stays.
static void
mutate(input *in)
{
    static const uint8_t words[][8] = {
        {0},
        {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
        {0x00, 0x00, 0xc0, 0x7f, 0x00, 0x00, 0x80, 0x7f}, // NaN, infinity
        {0x00, 0x00, 0x00, 0x80, 0x01, 0x00, 0x00, 0x00}, // -0, the smallest float
        {0xff, 0xff, 0xff, 0xff, 0x07, 0x08, 0x01, 0x00}, // a varint of 2^31 - 1
        {0x80, 0x80, 0x04, 0x81, 0x80, 0x04, 0x80, 0x01}, // varints of 65536, 65537, 128
    };
    uint8_t copy[64];
    size_t at = 1 + random_below(in->size - 1);
    size_t length = 1 + random_below(8);
    switch (in->size == 1 ? 3 : random_below(7)) {
    case 0:
        in->bytes[at] ^= (uint8_t)(1u << random_below(8));
        break;
    case 1:
        in->bytes[at] = (uint8_t)random_below(256);
        break;
    case 2:
        replace_range(in, at, length, words[random_below(OCT_COUNTOF(words))], length);
        break;
    case 3:
        replace_range(in, at, 0, words[random_below(OCT_COUNTOF(words))], length);
        break;
    case 4:
        replace_range(in, at, 1 + random_below(32), NULL, 0);
        break;
    case 5:
        length = OCT_MIN(sizeof(copy), in->size - at);
        memcpy(copy, in->bytes + at, length);
        replace_range(in, 1 + random_below(in->size - 1), 0, copy, length);
        break;
    default: {
        const input *other = &seeds[random_below(seed_count)];
        size_t from = random_below(other->size);
        replace_range(in, at, random_below(64), other->bytes + from,
                      OCT_MIN(other->size - from, (size_t)random_below(64)));
    }
    }
}

static void
input_run(const input *in)
{
    (void)LLVMFuzzerTestOneInput(in->bytes, in->size);
}

static void
corpus_write(const char *folder)
{
    for (size_t i = 0; i < seed_count; i++) {
        char path[4096];
        (void)snprintf(path, sizeof(path), "%s/seed_%03zu", folder, i);
        FILE *file = fopen(path, "wb");
        OCT_ASSERT(file != NULL);
        OCT_ASSERT(fwrite(seeds[i].bytes, 1, seeds[i].size, file) == seeds[i].size);
        OCT_ASSERT(fclose(file) == 0);
    }
}

int
main(int argc, char **argv)
{
    seed_rpc();
    seed_streams();
    if (argc == 3 && strcmp(argv[1], "--corpus") == 0) {
        corpus_write(argv[2]);
        return 0;
    }
    uint64_t iterations = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    random_state = argc > 2 ? strtoull(argv[2], NULL, 10) : 20260101;
    OCT_ASSERT(random_state != 0);
    for (size_t i = 0; i < seed_count; i++) {
        uint64_t before = fuzz_wire_accepted[seeds[i].bytes[0]];
        input_run(&seeds[i]);
        uint64_t after = fuzz_wire_accepted[seeds[i].bytes[0]];
        OCT_ASSERT(after == before + 1); // every seed is a good message
    }
    for (uint64_t i = 0; i < iterations; i++) {
        static input in;
        in = seeds[random_below(seed_count)];
        for (uint32_t n = 1 + random_below(4); n > 0; n--) {
            mutate(&in);
        }
        input_run(&in);
    }
    uint64_t accepted = 0;
    for (size_t i = 0; i < FUZZ_DECODERS; i++) {
        accepted += fuzz_wire_accepted[i];
    }
    printf("%llu inputs, %llu accepted\n", (unsigned long long)(iterations + seed_count),
           (unsigned long long)accepted);
    // Too few or too many accepted: the fuzzer has stopped reaching what it tests.
    OCT_ASSERT(accepted > iterations / 50 && accepted < iterations);
    return 0;
}
