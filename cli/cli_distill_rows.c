// Reads recorded observations, and plays for new ones.
#include "cli/cli_distill_rows.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli_lines.h"
#include "cli/cli_options.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "replay/data/data_source.h"

// Adds the observations of --obs, lines of text.
static bool
lines_take(quantizer_reservoir *reservoir, const policy_spec *spec, const char *path)
{
    FILE *in = oct_file_stream(path, "r");
    if (in == NULL) {
        cli_error(CLI_DISTILL, "--obs: '%s': %s", path, oct_file_strerror(errno));
        return false;
    }
    cli_lines lines = {.command = CLI_DISTILL,
                       .name = path,
                       .in = in,
                       .is_bytes = spec->obs_dtype == POLICY_U8,
                       .obs_count = spec->obs_count,
                       .env_id = spec->env_id};
    cli_lines_begin(&lines);
    while (cli_lines_next(&lines)) {
        quantizer_reservoir_add(reservoir, lines.row, policy_spec_obs_bytes(spec), 1);
    }
    bool is_whole = !lines.failed;
    cli_lines_end(&lines);
    (void)fclose(in);
    return is_whole;
}

// Adds the observations of all rows, also of those that end an episode.
static void
blocks_take(quantizer_reservoir *reservoir, const data_source *source)
{
    const replay_layout *layout = data_source_layout(source);
    for (uint32_t b = 0; b < data_source_blocks(source); b++) {
        const replay_block *block = data_source_block(source, b);
        quantizer_reservoir_add(reservoir, replay_block_obs(layout, block, 0), layout->obs_bytes,
                                block->count);
    }
}

// Adds the observations of --replay, a data set or a replay file.
static bool
replay_take(quantizer_reservoir *reservoir, const policy_spec *spec,
            const cli_distill_options *options)
{
    oct_reason why = {""};
    data_source_place place;
    data_source *source;
    if (data_source_find(&place, options->replay, &why) != OCT_OK ||
        data_source_open_place(&source, &place, options->environment, &why) != OCT_OK) {
        cli_error(CLI_DISTILL, "--replay: %s", why.text);
        return false;
    }
    const replay_data_env *from = &data_source_header(source)->env;
    bool fits = from->obs_count == spec->obs_count && from->obs_dtype == (uint32_t)spec->obs_dtype;
    if (fits) {
        blocks_take(reservoir, source);
    } else {
        cli_error(CLI_DISTILL,
                  "--replay: %s has observations of %u number%s (%.100s), but the teacher reads %u "
                  "of %s (%.100s)",
                  place.path, from->obs_count, oct_text_plural(from->obs_count), from->id,
                  spec->obs_count, spec->obs_dtype == POLICY_U8 ? "uint8" : "float32",
                  spec->env_id);
    }
    data_source_close(source);
    return fits;
}

// An empty file is an error, because the user would wonder why the student learned nothing from it.
bool
cli_distill_recorded(quantizer_reservoir *reservoir, const policy_spec *spec,
                     const cli_distill_options *options)
{
    if ((options->lines != NULL && !lines_take(reservoir, spec, options->lines)) ||
        (options->replay != NULL && !replay_take(reservoir, spec, options))) {
        return false;
    }
    if ((options->lines != NULL || options->replay != NULL) &&
        quantizer_reservoir_count(reservoir) == 0) {
        cli_error(CLI_DISTILL, "%s has no observations",
                  options->lines != NULL ? options->lines : options->replay);
        return false;
    }
    return true;
}

// ---- new observations

typedef struct fresh {
    quantizer_reservoir *reservoir;
    uint32_t wanted;
    _Atomic(int) is_full; // the evaluation ends when it is set
} fresh;

// actor_evaluate_request's observe.
static void
fresh_add(void *arg, const void *obs)
{
    fresh *f = arg;
    if (quantizer_reservoir_count(f->reservoir) < f->wanted) {
        quantizer_reservoir_add(f->reservoir, obs, 0, 1);
    }
    bool is_full = quantizer_reservoir_count(f->reservoir) == f->wanted;
    atomic_store_explicit(&f->is_full, is_full, memory_order_relaxed);
}

// Plays until the reservoir has one observation for each wanted episode; long episodes fill it
// early, and then the evaluation is stopped.
oct_err
cli_distill_fresh(quantizer_reservoir *reservoir, const actor_evaluate_request *play,
                  const policy_image *acts, oct_reason *why)
{
    policy_net *net;
    oct_err err = policy_net_create(&net, acts, POLICY_ISA_BEST);
    if (err != OCT_OK) {
        oct_reason_set(why, "cannot run policies here: %s", policy_isa_refused().text);
        return err;
    }
    fresh f = {.reservoir = reservoir, .wanted = play->episodes};
    actor_evaluate_request request = *play;
    request.stop = &f.is_full;
    request.observe = fresh_add;
    request.observe_arg = &f;
    actor_evaluate_result result = {0};
    err = actor_evaluate(net, &request, &result, why);
    policy_net_destroy(net);
    // the evaluation was stopped because enough was observed
    bool is_enough = err == OCT_ECLOSED && quantizer_reservoir_count(reservoir) == f.wanted;
    return is_enough ? OCT_OK : err;
}
