// environment.oct: what the run's environment is; an empty input is no file. What is accepted is a
// description that an actor could register with.
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "learner/learner_environment.h"
#include "proto/wire_env.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oct_reason why = {""};
    char words[512];
    policy_spec spec;
    oct_metric_names metrics;
    const char *path = size > 0 ? fuzz_file(data, size) : "/proc/self/fd/none";
    oct_err err = learner_environment_read(path, &spec, &metrics, &why);
    OCT_ASSERT((err == OCT_OK) == (why.text[0] == '\0'));
    if (err == OCT_OK) {
        learner_environment_words(&spec, words, sizeof(words));
        OCT_ASSERT(words[0] != '\0');
        err = learner_environment_alike(&spec, &spec, &why);
        OCT_ASSERT(err == OCT_OK);
        // Of another environment it is told in words.
        static const policy_spec other = {.env_id = "Other-v0", .obs_count = 7};
        err = learner_environment_alike(&other, &spec, &why);
        OCT_ASSERT(err == OCT_EINVAL && why.text[0] != '\0');
        policy_spec wider = spec;
        wider.action_low[0] = spec.action_low[0] == 0 ? 1 : 0;
        err = learner_environment_alike(&wider, &spec, &why);
        OCT_ASSERT(err == OCT_EINVAL && strstr(why.text, "action 0 is in [") != NULL);
        fuzz_accept();
    }
    return 0;
}

static void
seed_of(const wire_env_spec *env)
{
    size_t length;
    uint8_t *bytes = wire_env_pack(env, &length);
    fuzz_seed(bytes, length);
    free(bytes);
}

void
fuzz_seeds(void)
{
    static const float low[] = {-1, -2}, high[] = {1, 2};
    static const uint32_t shape[] = {10, 10, 4};
    static const char *const metrics[] = {"success rate", "laps"};
    seed_of(&(wire_env_spec){.env_id = "CartPole-v1",
                             .obs_dtype = 1,
                             .obs_count = 4,
                             .action_kind = 1,
                             .action_count = 2,
                             .max_episode_steps = 500,
                             .reward_threshold = 475});
    seed_of(&(wire_env_spec){.env_id = "MinAtar/Breakout-v0",
                             .obs_dtype = 2,
                             .obs_count = 400,
                             .action_kind = 1,
                             .action_count = 6,
                             .obs_rank = 3,
                             .obs_shape = shape});
    seed_of(&(wire_env_spec){.env_id = "Pendulum-v1",
                             .obs_dtype = 1,
                             .obs_count = 3,
                             .metric_count = 2,
                             .metric_name = metrics,
                             .action_kind = 2,
                             .action_count = 2,
                             .action_low = low,
                             .action_high = high,
                             .max_episode_steps = 200});
    fuzz_seed_bad("", 0);
}
