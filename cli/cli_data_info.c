// octet data info: prints recorded steps in numbers and words.

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli_data.h"
#include "cli/cli_text.h"
#include "common/oct_base.h"
#include "common/oct_text.h"
#include "policy/policy_spec.h"
#include "replay/data/data_numbers.h"

#define ACTIONS_SHOWN 16 // actions that are listed

static void
print_environment(const replay_data_env *env)
{
    printf("environment %s\n", cli_text_plain(env->id, SIZE_MAX).text);
    printf("observation ");
    for (uint32_t i = 0; i < env->obs_rank; i++) {
        printf("%s%" PRIu32, i > 0 ? " x " : "", env->obs_shape[i]);
    }
    if (env->obs_rank == 0) {
        printf("%" PRIu32, env->obs_count);
    }
    printf(" %s\n", env->obs_dtype == POLICY_U8 ? "uint8" : "float32");
    printf("action      %s%" PRIu32 "\n",
           env->action_kind == POLICY_DISCRETE ? "discrete, " : "box of ", env->action_count);
}

static void
print_origin(const data_source *source)
{
    const replay_data_header *header = data_source_header(source);
    printf("kind        %s\n",
           data_source_is_data_set(source) ? "data set" : "replay file of a run");
    if (data_source_is_data_set(source)) {
        printf("made by     %s\n", cli_text_plain(header->made_by, SIZE_MAX).text);
    }
    if (header->run_id != 0) {
        printf("recorded by run %016" PRIx64 ", seed %" PRIu64 "\n", header->run_id, header->seed);
    }
}

static void
print_spread(const char *name, const data_spread *s)
{
    printf(
        "%-11s mean %s, sd %s; min %s, lower quartile %s, median %s, upper quartile %s, max %s\n",
        name, cli_text_value(s->mean).text, cli_text_value(s->sd).text,
        cli_text_value(s->least).text, cli_text_value(s->q25).text, cli_text_value(s->median).text,
        cli_text_value(s->q75).text, cli_text_value(s->most).text);
}

static void
print_episodes(const data_numbers *n)
{
    printf("episodes    %" PRIu64 " complete: %" PRIu64 " terminated, %" PRIu64
           " truncated, %" PRIu64 " failed\n",
           n->episodes, n->terminated, n->truncated, n->failed);
    if (n->incomplete > 0) {
        printf("parts       %" PRIu64 " episode%s whose beginning or end is missing, %" PRIu64
               " steps\n",
               n->incomplete, oct_text_plural((double)n->incomplete), n->steps_of_parts);
    }
    if (n->episodes > 0) {
        print_spread("returns", &n->returns);
        print_spread("lengths", &n->lengths);
    }
}

static void
print_actions(const data_numbers *n, const replay_data_env *env)
{
    uint32_t shown = OCT_MIN(env->action_count, ACTIONS_SHOWN);
    printf("actions    ");
    for (uint32_t i = 0; i < shown; i++) {
        if (env->action_kind == POLICY_DISCRETE) {
            printf(" %" PRIu32 ": %s", i,
                   cli_text_share((double)n->action_steps[i] / (double)n->steps).text);
        } else {
            printf(" [%g, %g]", n->action[i].least, n->action[i].most);
        }
    }
    printf("%s\n", shown < env->action_count ? " …" : "");
}

void
cli_data_print(const char *path, const data_source *source)
{
    const replay_data_env *env = &data_source_header(source)->env;
    data_episodes episodes;
    data_numbers n;
    data_episodes_find(&episodes, source);
    data_numbers_find(&n, source, &episodes);
    printf("file        %s\n", path);
    print_origin(source);
    print_environment(env);
    printf("steps       %" PRIu64 " in %" PRIu64 " contiguous segment%s\n", n.steps, n.streams,
           oct_text_plural((double)n.streams));
    print_episodes(&n);
    if (n.steps > 0) {
        printf("rewards     [%g, %g]\n", n.reward.least, n.reward.most);
        print_actions(&n, env);
        printf("observed    [%g, %g]\n", n.obs.least, n.obs.most);
        printf("random      %s of the actions\n",
               cli_text_share((double)n.random / (double)n.steps).text);
        printf("policies    version %" PRIu32 " to %" PRIu32 "\n", n.version_least, n.version_most);
    }
    data_numbers_free(&n);
    data_episodes_free(&episodes);
}
