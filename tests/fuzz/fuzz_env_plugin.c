// The spec that a plug-in tells, and options of an environment: the first byte of an input picks
// one. A spec is made of the input's bytes, its texts too; pointers lead to memory of the sizes
// that the interface demands. What is accepted may be used; what is not is refused in words.
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_bytes.h"
#include "common/oct_reason.h"
#include "envs/env_options.h"
#include "envs/env_plugin.h"
#include "tests/fuzz/fuzz.h"

enum { IS_OPTIONS = 1, HAS_NAMES = 2, HAS_METRICS = 4, HAS_BOUNDS = 8 };
enum { NAMES = 128, BOUNDS = 64 };

static void
read_options(const uint8_t *bytes, size_t size)
{
    oct_reason why = {""};
    char *text = fuzz_text(bytes, size);
    env_options options;
    oct_err err = env_options_init(&options, text, &why);
    OCT_ASSERT((err == OCT_OK) == (why.text[0] == '\0'));
    if (err == OCT_OK) {
        OCT_ASSERT(options.count <= ENV_OPTIONS_MAX);
        for (uint32_t i = 0; i < options.count; i++) {
            OCT_ASSERT(options.items[i].key[0] != '\0' && options.items[i].value[0] != '\0');
        }
        err = env_options_decode(&options, &why);
        OCT_ASSERT((err == OCT_OK) == (why.text[0] == '\0'));
        for (uint32_t i = 0; err == OCT_OK && i < options.count; i++) {
            OCT_ASSERT(options.items[i].key[0] != '\0');
        }
        env_options_fini(&options);
        fuzz_accept();
    }
    free(text);
}

// Bounds are as long as the space says, which only one that is small can say truly.
static void
space_make(octet_env_space *space, oct_reader *in, double bounds[2][BOUNDS], bool has_bounds)
{
    *space = (octet_env_space){.size = oct_read_u8(in) % 8 == 0 ? oct_read_u32(in)
                                                                : (uint32_t)sizeof(*space)};
    space->n = oct_read_u8(in) % 4 == 0 ? oct_read_u32(in) : 0;
    space->dtype = oct_read_u8(in) % 6;
    space->rank = oct_read_u8(in) % (OCTET_ENV_RANK_MAX + 2);
    uint64_t count = 1;
    for (uint32_t d = 0; d < OCTET_ENV_RANK_MAX; d++) {
        uint8_t wide = oct_read_u8(in);
        space->shape[d] = wide % 8 == 0 ? oct_read_u32(in) : wide % 8;
        count *= d < space->rank ? space->shape[d] : 1;
    }
    if (has_bounds && count <= BOUNDS) {
        for (uint32_t k = 0; k < BOUNDS; k++) {
            bounds[0][k] = oct_read_f32(in);
            bounds[1][k] = oct_read_f32(in);
        }
        space->low = bounds[0];
        space->high = bounds[1];
    }
}

static void
read_spec(uint8_t what, oct_reader *in)
{
    static const char *const named[NAMES] = {"a", "b", NULL};
    double obs_bounds[2][BOUNDS], action_bounds[2][BOUNDS];
    oct_reason why = {""};
    octet_env_api api = {.size = oct_read_u8(in) % 4 == 0 ? 0 : (uint32_t)sizeof(api)};
    octet_env_spec spec = {
        .size = oct_read_u8(in) % 4 == 0 ? oct_read_u16(in) : (uint32_t)sizeof(spec),
        .max_episode_steps = oct_read_u32(in),
        .reward_threshold = oct_read_f64(in),
        .reward_low = oct_read_f64(in),
        .reward_high = oct_read_f64(in),
        .metric_count = oct_read_u8(in) % 3,
        .capabilities = oct_read_u32(in),
        .state_count = oct_read_u8(in) % 3,
        .step_seconds = oct_read_f64(in),
    };
    spec.size = OCT_MIN(spec.size, (uint32_t)sizeof(spec)); // no more is there
    space_make(&spec.obs, in, obs_bounds, (what & HAS_BOUNDS) != 0);
    space_make(&spec.action, in, action_bounds, (what & HAS_BOUNDS) != 0);
    spec.metric_names = (what & HAS_METRICS) != 0 ? named : NULL;
    spec.state_names = (what & HAS_NAMES) != 0 ? named : NULL;
    char *id = fuzz_text(in->at, in->left);
    spec.id = id;
    octet_env_spec read;
    oct_err err = env_plugin_spec_read(&read, &api, &spec, &why);
    OCT_ASSERT((err == OCT_OK) == (why.text[0] == '\0'));
    if (err == OCT_OK) {
        OCT_ASSERT(strcmp(read.id, id) == 0 && read.reward_low <= read.reward_high);
        fuzz_accept();
    }
    free(id);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oct_reader in = {.at = data, .left = size};
    uint8_t what = oct_read_u8(&in);
    if ((what & IS_OPTIONS) != 0) {
        read_options(in.at, in.left);
    } else {
        read_spec(what, &in);
    }
    return 0;
}

// A spec in the order of read_spec: four numbers seen, two actions.
static void
seed_spec(uint8_t what, const char *id)
{
    uint8_t seed[512] = {0};
    oct_writer out = {.base = seed, .capacity = sizeof(seed)};
    oct_write_u8(&out, what);
    oct_write_u8(&out, 1); // sizes as they are
    oct_write_u8(&out, 1);
    oct_write_u32(&out, 500);
    oct_write_f64(&out, 475);
    oct_write_f64(&out, -1);
    oct_write_f64(&out, 1);
    oct_write_u8(&out, 2); // metrics
    oct_write_u32(&out, 0);
    oct_write_u8(&out, 2); // numbers of the state
    oct_write_f64(&out, 0.02);
    for (int space = 0; space < 2; space++) {
        oct_write_u8(&out, 1);
        oct_write_u8(&out, (uint8_t)(space == 0)); // the action's n follows
        if (space == 1) {
            oct_write_u32(&out, 2);
        }
        oct_write_u8(&out, OCTET_ENV_F32);
        oct_write_u8(&out, 1);
        for (uint32_t d = 0; d < OCTET_ENV_RANK_MAX; d++) {
            oct_write_u8(&out, 4);
        }
        for (uint32_t k = 0; k < 2 * BOUNDS && (what & HAS_BOUNDS) != 0 && space == 0; k++) {
            oct_write_u8(&out, 0); // a quarter of a float: all are 0
        }
    }
    oct_write_bytes(&out, id, strlen(id));
    OCT_ASSERT(!out.failed);
    fuzz_seed(seed, out.used);
}

void
fuzz_seeds(void)
{
    static const char options[] = "\001sticky_actions=0,difficulty=1";
    fuzz_seed(options, sizeof(options) - 1);
    seed_spec(HAS_METRICS | HAS_NAMES, "Test-v0");
    seed_spec(HAS_METRICS, "Other-v1");
}
