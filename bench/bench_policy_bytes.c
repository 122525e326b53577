// A policy to bytes and back: complete, and as the change of the version before.
// usage: bench_policy_bytes [quick | n=REPEATS]
//
// Every result is compared before it is timed. One JSON line for each net, precision and step:
// bytes, milliseconds of CPU time, and the ratio to copying the complete policy's bytes once. The
// change is made up: a third of the codes moves by one or two, one row of 300 gets another scale.

#include <unistd.h>

#include "bench/bench_sort.h"
#include "common/oct_bytes.h"
#include "common/oct_clock.h"
#include "common/oct_commit.h"
#include "policy/codec/codec_receiver.h"
#include "tests/policy/next_policy.h"
#include "tests/policy/random_policy.h"

#define REPEATS_MAX 501

static const uint32_t hiddens[] = {512, 2048};
static const policy_precision precisions[] = {POLICY_INT8, POLICY_INT4};

typedef struct bench_case {
    policy_image *base;
    policy_image *next;
    policy_image *got;
    codec_coder *sender;
    codec_coder *receiver;
    uint8_t *complete;
    size_t complete_bytes;
    uint8_t *copy;
    const uint8_t *change;
    size_t change_bytes;
    uint32_t sum; // so that nothing is optimised away
} bench_case;

static void
step_copy(bench_case *c)
{
    memcpy(c->copy, c->complete, c->complete_bytes);
    c->sum += c->copy[c->complete_bytes / 2];
}

static void
step_crc32(bench_case *c)
{
    c->sum += oct_crc32(0, c->complete, c->complete_bytes);
}

static void
step_crc32_table(bench_case *c)
{
    c->sum += oct_crc32_table(0, c->complete, c->complete_bytes);
}

static void
step_encode(bench_case *c)
{
    policy_encode(c->next, c->copy);
}

static void
step_decode(bench_case *c)
{
    policy_image *image;
    T_OK(policy_decode(&image, c->complete, c->complete_bytes, NULL));
    c->sum += (uint32_t)image->origin.version;
    policy_image_destroy(image);
}

static void
step_decode_into(bench_case *c)
{
    T_OK(policy_decode_into(c->got, c->complete, c->complete_bytes, NULL));
}

static void
step_delta_encode(bench_case *c)
{
    T_OK(codec_delta_encode(c->sender, c->base, c->next, &c->change, &c->change_bytes));
}

static void
step_delta_decode(bench_case *c)
{
    T_OK(codec_delta_decode(c->receiver, c->got, c->base, c->change, c->change_bytes, NULL));
}

typedef struct bench_step {
    const char *name;
    void (*run)(bench_case *c);
    bool is_change;
} bench_step;

static const bench_step steps[] = {
    {"copy", step_copy, false},
    {"crc32", step_crc32, false},
    {"crc32 by table", step_crc32_table, false},
    {"encode", step_encode, false},
    {"decode", step_decode, false},
    {"decode into", step_decode_into, false},
    {"delta encode", step_delta_encode, true},
    {"delta decode", step_delta_decode, true},
};

static bench_case
case_of(uint32_t hidden, policy_precision precision)
{
    const uint32_t widths[] = {24, hidden, hidden, hidden, 6};
    oct_rng rng;
    oct_rng_init(&rng, 1, 1);
    policy_spec spec = random_spec(widths, 5, POLICY_RELU, false);
    bench_case c = {.base = random_image(&spec, precision, false, &rng)};
    T_OK(policy_image_create(&c.next, &spec, precision));
    T_OK(policy_image_create(&c.got, &spec, precision));
    policy_step(c.next, c.base, 300, &rng);
    c.sender = codec_coder_create(&spec, precision);
    c.receiver = codec_coder_create(&spec, precision);
    c.complete_bytes = policy_encoded_size(c.next);
    c.complete = oct_alloc(c.complete_bytes);
    c.copy = oct_alloc(c.complete_bytes);
    policy_encode(c.next, c.complete);
    return c;
}

static void
case_end(bench_case *c)
{
    policy_image_destroy(c->base);
    policy_image_destroy(c->next);
    policy_image_destroy(c->got);
    codec_coder_destroy(c->sender);
    codec_coder_destroy(c->receiver);
    free(c->complete);
    free(c->copy);
}

// Both ways give the next version.
static void
check(bench_case *c)
{
    for (int is_change = 0; is_change < 2; is_change++) {
        if (is_change) {
            step_delta_encode(c);
            step_delta_decode(c);
        } else {
            step_decode_into(c);
        }
        policy_encode(c->got, c->copy);
        assert_memory_equal(c->copy, c->complete, c->complete_bytes);
    }
    assert_int_equal(oct_crc32(0, c->complete, c->complete_bytes),
                     oct_crc32_table(0, c->complete, c->complete_bytes));
}

static void
measure(bench_case *c, uint32_t hidden, uint32_t repeats)
{
    double ms[REPEATS_MAX], copy_ms = 0.0;
    for (size_t s = 0; s < OCT_COUNTOF(steps); s++) {
        steps[s].run(c);
        for (uint32_t i = 0; i < repeats; i++) {
            uint64_t begin_ns = oct_clock_thread_cpu_ns();
            steps[s].run(c);
            ms[i] = 1e-6 * (double)(oct_clock_thread_cpu_ns() - begin_ns);
        }
        bench_sort(ms, repeats);
        copy_ms = s == 0 ? ms[repeats / 2] : copy_ms;
        printf("{\"name\":\"policy_bytes\",\"net\":\"24-%u-%u-%u-6\",\"precision\":\"%s\","
               "\"step\":\"%s\",\"bytes\":%zu,\"n\":%u,\"median\":%.3f,\"min\":%.3f,\"p99\":%.3f,"
               "\"unit\":\"ms\",\"copies\":%.2f,\"cores\":%ld,\"commit\":\"%s\"}\n",
               hidden, hidden, hidden, policy_precision_name(c->next->precision), steps[s].name,
               steps[s].is_change ? c->change_bytes : c->complete_bytes, repeats, ms[repeats / 2],
               ms[0], ms[(repeats * 99) / 100], copy_ms > 0.0 ? ms[repeats / 2] / copy_ms : 0.0,
               sysconf(_SC_NPROCESSORS_ONLN), OCT_COMMIT);
    }
}

int
main(int argc, char **argv)
{
    uint32_t repeats = 51, nets = OCT_COUNTOF(hiddens);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "quick") == 0) {
            repeats = nets = 1;
        } else if (sscanf(argv[i], "n=%u", &repeats) != 1 || repeats < 1 || repeats > REPEATS_MAX) {
            fprintf(stderr, "usage: %s [quick | n=REPEATS]\n", argv[0]);
            return 2;
        }
    }
    for (uint32_t i = 0; i < nets; i++) {
        for (size_t p = 0; p < OCT_COUNTOF(precisions); p++) {
            bench_case c = case_of(hiddens[i], precisions[p]);
            check(&c);
            measure(&c, hiddens[i], repeats);
            case_end(&c);
        }
    }
    return 0;
}
