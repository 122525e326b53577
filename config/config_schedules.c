// Values that follow the budget, before and after a resumed run gets another budget.
#include <math.h>

#include "common/oct_base.h"
#include "common/oct_text.h"
#include "config/config_effects.h"
#include "config/config_text.h"

#define REASON_BYTES 256

// Returns the spent share of the budget, computed as the learner does.
static double
share_of(const config_experiment *config, uint64_t env_steps, uint64_t updates)
{
    double of_steps = (double)env_steps / (double)OCT_MAX(1u, config->run.env_steps);
    double of_updates = config->run.updates > 0 ? (double)updates / (double)config->run.updates : 0;
    return OCT_MIN(1.0, OCT_MAX(of_steps, of_updates));
}

static double
between(double first, double last, double share)
{
    return first + (last - first) * share;
}

static double
learning_rate(const config_experiment *config, double share)
{
    return between(config->algo.learning_rate, config->algo.learning_rate_final, share);
}

// Critics keep the ratio that both rates have at the start.
static double
critic_rate(const config_experiment *config, double share)
{
    return config->algo.critic_learning_rate * learning_rate(config, share) /
           config->algo.learning_rate;
}

static double
entropy_cost(const config_experiment *config, double share)
{
    return between(config->algo.entropy_cost, config->algo.entropy_cost_final, share);
}

static double
importance_exponent(const config_experiment *config, double share)
{
    return between(config->replay.importance_exponent, config->replay.importance_exponent_final,
                   share);
}

// The largest deviation of all environments. It is constant without actor.noise_final, and with
// actor.noise_steps it does not follow the budget.
static double
noise(const config_experiment *config, double share)
{
    bool is_constant = config->actor.noise_final_is_same || config->actor.noise_steps > 0;
    return is_constant ? config->actor.noise
                       : between(config->actor.noise, config->actor.noise_final, share);
}

void
config_note_schedules(const config_experiment *before, const config_experiment *now,
                      uint64_t env_steps, uint64_t updates, char *notes, size_t notes_size)
{
    static const struct schedule {
        const char *key;
        double (*value)(const config_experiment *config, double share);
    } schedules[] = {
        {"algo.learning_rate", learning_rate},
        {"algo.critic_learning_rate", critic_rate},
        {"algo.entropy_cost", entropy_cost},
        {"replay.importance_exponent", importance_exponent},
        {"actor.noise", noise},
    };
    bool is_steps = before->run.env_steps != now->run.env_steps;
    oct_text text;
    oct_text_init(&text, notes, notes_size);
    if (!is_steps && before->run.updates == now->run.updates) {
        return;
    }
    for (size_t i = 0; i < OCT_COUNTOF(schedules); i++) {
        const struct schedule *s = &schedules[i];
        char why_not[REASON_BYTES];
        double old_value = s->value(before, share_of(before, env_steps, updates));
        double new_value = s->value(now, share_of(now, env_steps, updates));
        bool is_read = config_has_effect(now, s->key, why_not, sizeof(why_not));
        if (is_read && fabs(new_value - old_value) > 1e-6 * fabs(old_value)) {
            oct_text_add(&text, "%s: %s continues at %.3g, where it was %.3g\n",
                         is_steps ? "run.env_steps" : "run.updates", s->key, new_value, old_value);
        }
    }
}
