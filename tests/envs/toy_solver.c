// Dynamic programming: value iteration, returns within a time limit, and Blackjack's hands.
#include "tests/envs/toy_solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

#define RESIDUAL 1e-13

static double
outcome_value(const toy_choice *choice, double discount, const double *v)
{
    double value = 0;
    for (uint32_t i = 0; i < choice->count; i++) {
        const toy_outcome *o = &choice->outcome[i];
        value += o->probability * (o->reward + (o->terminated ? 0 : discount * v[o->next]));
    }
    return value;
}

static double
best_of(const double *q, uint32_t count)
{
    double best = q[0];
    for (uint32_t a = 1; a < count; a++) {
        best = OCT_MAX(best, q[a]);
    }
    return best;
}

void
toy_solve(const toy_model *model, double discount, double *v, double *q)
{
    memset(v, 0, model->states * sizeof(*v));
    for (double moved = 1; moved > RESIDUAL;) {
        moved = 0;
        for (uint32_t s = 0; s < model->states; s++) {
            for (uint32_t a = 0; a < model->actions; a++) {
                q[s * model->actions + a] =
                    outcome_value(toy_model_choice(model, s, a), discount, v);
            }
            double best = best_of(q + (size_t)s * model->actions, model->actions);
            moved = OCT_MAX(moved, fabs(best - v[s]));
            v[s] = best;
        }
    }
}

// policy NULL: the best.
static double
return_within(const toy_model *model, const uint32_t *policy, uint32_t limit)
{
    double *now = oct_alloc(model->states * sizeof(double));
    double *then = oct_alloc(model->states * sizeof(double));
    for (uint32_t left = 0; left < limit; left++) {
        for (uint32_t s = 0; s < model->states; s++) {
            now[s] = -INFINITY;
            for (uint32_t a = 0; a < model->actions; a++) {
                if (policy == NULL || policy[s] == a) {
                    double value = outcome_value(toy_model_choice(model, s, a), 1, then);
                    now[s] = OCT_MAX(now[s], value);
                }
            }
        }
        double *swapped = now;
        now = then;
        then = swapped;
    }
    double mean = 0;
    for (uint32_t s = 0; s < model->states; s++) {
        mean += model->first[s] * then[s];
    }
    free(now);
    free(then);
    return mean;
}

double
toy_return(const toy_model *model, const uint32_t *policy, uint32_t limit)
{
    return return_within(model, policy, limit);
}

double
toy_return_best(const toy_model *model, uint32_t limit)
{
    return return_within(model, NULL, limit);
}

// ---- Blackjack

// A hand after one more card; an ace is usable while it counts as 11.
typedef struct held {
    int total;
    int usable;
} held;

static held
held_with(held h, int card)
{
    held now = {h.total + card, h.usable};
    if (card == 1 && now.total + 10 <= 21) {
        now = (held){now.total + 10, 1};
    }
    if (now.total > 21 && now.usable) {
        now = (held){now.total - 10, 0};
    }
    return now;
}

static double
card_probability(int card)
{
    return card == 10 ? 4.0 / 13.0 : 1.0 / 13.0;
}

// Of a dealer who holds this, the mean of the sign of total - what it ends with (0 above 21).
static double
against(int total, held dealer)
{
    if (dealer.total > 21) {
        return 1;
    }
    if (dealer.total >= 17) {
        return (total > dealer.total) - (total < dealer.total);
    }
    double mean = 0;
    for (int card = 1; card <= 10; card++) {
        mean += card_probability(card) * against(total, held_with(dealer, card));
    }
    return mean;
}

// What is known of the hands against one dealer's card.
typedef struct memory {
    int dealer;
    const uint32_t *policy; // NULL: the best
    bool has[32][2];
    double q[32][2][2]; // of total, usable: stick, hit
} memory;

static const double *values_of(memory *m, held h);

static double
value_of(memory *m, held h)
{
    const double *q = values_of(m, h);
    if (m->policy == NULL) {
        return OCT_MAX(q[0], q[1]);
    }
    return q[m->policy[(h.total * 11 + m->dealer) * 2 + h.usable]];
}

// The hands behind a hit come later: totals grow, or an ace is used up.
static const double *
values_of(memory *m, held h)
{
    double *q = m->q[h.total][h.usable];
    if (!m->has[h.total][h.usable]) {
        q[0] = against(h.total, held_with((held){0}, m->dealer));
        q[1] = 0;
        for (int card = 1; card <= 10; card++) {
            held next = held_with(h, card);
            q[1] += card_probability(card) * (next.total > 21 ? -1 : value_of(m, next));
        }
        m->has[h.total][h.usable] = true;
    }
    return q;
}

void
toy_blackjack(int total, int dealer, int usable_ace, double q[2])
{
    memory m = {.dealer = dealer};
    memcpy(q, values_of(&m, (held){total, usable_ace}), 2 * sizeof(*q));
}

// Of a natural, which wins unless the dealer has one too: the second card decides that.
static double
natural_value(memory *m)
{
    const double *q = values_of(m, (held){21, 1});
    int other = m->dealer == 1 ? 10 : m->dealer == 10 ? 1 : 0;
    double stick = other != 0 ? 1 - card_probability(other) : 1;
    return m->policy[(21 * 11 + m->dealer) * 2 + 1] == 0 ? stick : q[1];
}

double
toy_blackjack_return(const uint32_t *policy)
{
    double mean = 0;
    for (int dealer = 1; dealer <= 10; dealer++) {
        memory m = {.dealer = dealer, .policy = policy};
        for (int a = 1; a <= 10; a++) {
            for (int b = 1; b <= 10; b++) {
                held h = held_with(held_with((held){0}, a), b);
                double value = h.total == 21 ? natural_value(&m) : value_of(&m, h);
                mean +=
                    card_probability(dealer) * card_probability(a) * card_probability(b) * value;
            }
        }
    }
    return mean;
}
