// Notes why updates were refused, and which session may be the cause.
#include "learner/learner_refusals.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/oct_base.h"
#include "common/oct_box.h"
#include "common/oct_clock.h"
#include "common/oct_log.h"

#define OBS_LARGE 1e6 // larger observations are blamed before the learning rate

struct learner_refusals {
    uint64_t count;                            // in this process
    oct_err code;                              // of the last refusal, …
    char why[128];                             // … its reason, …
    learner_suspect suspect;                   // … and the actor that inserted its rows
    char certificate[OCT_HOLDER_NAME_MAX + 1]; // of that actor; "": not known
};

learner_refusals *
learner_refusals_create(void)
{
    return oct_alloc(sizeof(learner_refusals));
}

void
learner_refusals_destroy(learner_refusals *refusals)
{
    free(refusals);
}

// ---- a refused update

// Finds the first number of a box action that is beyond its bounds by more than rounding. Returns
// false if there is none.
static bool
action_outside(const policy_spec *spec, const algo_batch *batch, uint32_t *index, float *value)
{
    const float *action = batch->action;
    size_t rows = spec->action_kind == POLICY_BOX ? (size_t)batch->B * OCT_MAX(batch->T, 1) : 0;
    for (size_t i = 0; i < rows * spec->action_count; i++) {
        *index = (uint32_t)(i % spec->action_count);
        *value = action[i];
        bool is_end = batch->T > 0 && (batch->flags[i / spec->action_count] & ALGO_END) != 0;
        float low = spec->action_low[*index], high = spec->action_high[*index];
        if (!is_end && !oct_box_holds(*value, low, high)) {
            return true;
        }
    }
    return false;
}

static void
why_describe(learner_refusals *refusals, const learner_batch *batch, const policy_spec *spec)
{
    uint32_t index;
    float value;
    char *out = refusals->why;
    const size_t size = sizeof(refusals->why);
    if (batch->refused == OCT_EINTERNAL) {
        (void)snprintf(out, size, "loss or gradient is not finite");
    } else if (batch->refused != OCT_EINVAL) {
        (void)snprintf(out, size, "%s", oct_strerror(batch->refused));
    } else if (action_outside(spec, &batch->view, &index, &value)) {
        (void)snprintf(out, size, "number %u of an action is %g, outside its bounds [%g, %g]",
                       index, (double)value, (double)spec->action_low[index],
                       (double)spec->action_high[index]);
    } else {
        (void)snprintf(out, size,
                       "the batch does not fit algo.name, or one learner's part has far fewer "
                       "steps than another's");
    }
}

void
learner_refusals_note(learner_refusals *refusals, const learner_batch *batch,
                      const policy_spec *spec, const learner_batches *batches)
{
    refusals->code = batch->refused;
    why_describe(refusals, batch, spec);
    if (refusals->count++ == 0) {
        oct_log_warn(
            "LEARNER-UPDATE-REFUSED",
            "an update was refused: %s; later refusals are only counted (learner.updates_refused)",
            refusals->why);
    }
    learner_suspect *suspect = &refusals->suspect;
    uint32_t window = learner_suspect_note(suspect, batch, oct_clock_ns());
    suspect->member = learner_batches_origin(batches, batch, window, &suspect->incarnation);
}

uint64_t
learner_refusals_count(const learner_refusals *refusals)
{
    return refusals->count;
}

// ---- the session of its rows

bool
learner_refusals_ask(learner_refusals *refusals, uint32_t member, uint64_t run_id, uint64_t epoch,
                     wire_priorities *out)
{
    return refusals->suspect.member == member &&
           learner_suspect_ask(&refusals->suspect, run_id, epoch, oct_clock_ns(), out);
}

void
learner_refusals_answered(learner_refusals *refusals, const wire_sessions *answer,
                          const learner_actors *actors)
{
    learner_suspect *suspect = &refusals->suspect;
    if (!learner_suspect_answered(suspect, answer)) {
        return;
    }
    const learner_actor *actor = learner_actors_of(actors, suspect->session);
    (void)snprintf(refusals->certificate, sizeof(refusals->certificate), "%s",
                   actor != NULL ? actor->holder.name : "");
    oct_log_warn(
        "LEARNER-UPDATE-ROWS",
        "session=%016" PRIx64 " actor=%" PRIu32
        " certificate=\"%s\" number=%g: the largest number in the rows of a refused update "
        "is of this session",
        suspect->session, suspect->actor_id, refusals->certificate, suspect->session_number);
}

// ---- divergence

// Describes the actor of the rows in the last refused updates, if their numbers may be the reason.
static void
rows_describe(const learner_refusals *refusals, char out[256])
{
    bool may_be = refusals->code != OCT_EINTERNAL || refusals->suspect.session_number > OBS_LARGE;
    out[0] = '\0';
    if (refusals->suspect.session != 0 && may_be) {
        (void)snprintf(out, 256,
                       "; the largest number in their rows, %g, is of session %016" PRIx64
                       " (certificate \"%s\"): octet data drop RUN --session %016" PRIx64
                       " removes its rows",
                       refusals->suspect.session_number, refusals->suspect.session,
                       refusals->certificate, refusals->suspect.session);
    }
}

void
learner_refusals_log(const learner_refusals *refusals, const policy_spec *spec, uint32_t in_a_row)
{
    char rows[256];
    rows_describe(refusals, rows);
    if (refusals->code != OCT_EINTERNAL) {
        oct_log_error("LEARNER-DIVERGED",
                      "training diverged: %u updates in a row were refused: %s%s", in_a_row,
                      refusals->why, rows);
    } else if (refusals->suspect.obs > OBS_LARGE) {
        oct_log_error("LEARNER-DIVERGED",
                      "env.id: %s: number %u of an observation reaches %g, and %u updates in a row "
                      "were not finite; scale the environment's observations%s",
                      spec->env_id, refusals->suspect.obs_index, refusals->suspect.obs, in_a_row,
                      rows);
    } else {
        oct_log_error("LEARNER-DIVERGED",
                      "training diverged: %u updates in a row were not finite; lower "
                      "algo.learning_rate or set algo.grad_norm_max%s",
                      in_a_row, rows);
    }
}
