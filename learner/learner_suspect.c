// Finds the window with the largest number in the batch of a refused update, and keeps replay's
// answer about it.
#include "learner/learner_suspect.h"

#include <math.h>

#include "common/oct_base.h"

// Returns the largest magnitude of numbers[count], and its index in *at. NaN is passed over.
static double
largest(const float *numbers, size_t count, size_t *at)
{
    double most = -1;
    *at = 0;
    for (size_t i = 0; i < count; i++) {
        double magnitude = fabs((double)numbers[i]);
        if (magnitude > most) { // false for NaN
            most = magnitude;
            *at = i;
        }
    }
    return most;
}

uint32_t
learner_suspect_note(learner_suspect *suspect, const learner_batch *batch, uint64_t now_ns)
{
    const algo_batch *view = &batch->view;
    size_t rows = view->T + 1, actions = OCT_MAX(view->T, 1u), at;
    double obs = -1, number = -1;
    uint32_t window = 0;
    for (uint32_t i = 0; i < view->B; i++) {
        double of_obs =
            largest(view->obs + i * rows * batch->obs_count, rows * batch->obs_count, &at);
        if (of_obs > obs) {
            obs = of_obs;
            suspect->obs_index = (uint32_t)(at % batch->obs_count);
        }
        double of_reward = largest(view->reward + i * actions, actions, &at);
        double of_next =
            view->T == 0 ? largest(view->next + i * (size_t)batch->obs_count, batch->obs_count, &at)
                         : -1;
        double most = fmax(fmax(of_obs, of_next), of_reward);
        if (most > number) {
            number = most;
            window = i;
        }
    }
    suspect->obs = fmax(obs, 0);
    suspect->number = fmax(number, 0);
    suspect->key = batch->key[window];
    suspect->is_wanted = suspect->asked_ns == 0 ||
                         now_ns - suspect->asked_ns >= LEARNER_SUSPECT_PERIOD_S * 1000000000ull;
    return window;
}

bool
learner_suspect_ask(learner_suspect *suspect, uint64_t run_id, uint64_t epoch, uint64_t now_ns,
                    wire_priorities *out)
{
    static const float unused[1];
    if (!suspect->is_wanted || suspect->is_asked) {
        return false;
    }
    suspect->is_wanted = false;
    suspect->is_asked = true;
    suspect->asked_ns = now_ns;
    suspect->asked_number = suspect->number;
    *out = (wire_priorities){.incarnation = suspect->incarnation,
                             .count = 1,
                             .key = &suspect->key,
                             .priority = unused,
                             .run_id = run_id,
                             .epoch = epoch};
    return true;
}

bool
learner_suspect_answered(learner_suspect *suspect, const wire_sessions *answer)
{
    suspect->is_asked = false;
    if (answer == NULL || answer->count == 0 || answer->session[0] == 0) {
        return false;
    }
    bool is_new = answer->session[0] != suspect->session;
    suspect->session = answer->session[0];
    suspect->actor_id = answer->actor_id[0];
    suspect->session_number = suspect->asked_number;
    return is_new;
}
