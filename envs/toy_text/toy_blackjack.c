// Blackjack-v1 as Gymnasium 1.4 defines it (Sutton and Barto 2018, example 5.1): cards from an
// endless deck; a hand wins with a higher sum than the dealer's, but not above 21. Observation:
// (sum * 11 + dealer's first card) * 2 + usable ace, for Gymnasium's three numbers with 32, 11 and
// 2 values.
#include <math.h>

#include "common/oct_base.h"
#include "envs/env_registry.h"
#include "envs/toy_text/toy_text.h"

#define DEALERS   11 // values of the dealer's card, with 0
#define SUMS      32
#define LIMIT     21
#define DEALER_TO 17 // the dealer draws below this sum
#define SUITS     4
#define FACES     3

enum { STICK, HIT };
enum { NATURAL, SAB };

// The numbers of the state. Sums count an ace as 1. Suit and face of the dealer's first card are
// for pictures only.
enum { SUM, HAS_ACE, CARDS, DEALER_FIRST, DEALER_SECOND, SUIT, FACE, STATE_COUNT };

_Static_assert(STATE_COUNT <= ENV_NATIVE_STATE_MAX, "the numbers of a state");

typedef struct hand {
    int sum; // an ace counts as 1
    bool has_ace;
    int cards;
} hand;

static hand
with_card(hand h, int card)
{
    return (hand){h.sum + card, h.has_ace || card == 1, h.cards + 1};
}

// Draws a card: ace to nine count 1 to 9, ten and the faces count 10.
static int
card_draw(oct_pcg64 *rng)
{
    int card = (int)oct_pcg64_below(rng, 13) + 1;
    return OCT_MIN(card, 10);
}

static bool
has_usable_ace(hand h)
{
    return h.has_ace && h.sum + 10 <= LIMIT;
}

static int
total(hand h)
{
    return has_usable_ace(h) ? h.sum + 10 : h.sum;
}

static int
score(hand h)
{
    return total(h) > LIMIT ? 0 : total(h);
}

static bool
is_natural(hand h)
{
    return h.cards == 2 && total(h) == LIMIT;
}

static hand
player_of(const double *state)
{
    return (hand){(int)state[SUM], state[HAS_ACE] != 0, (int)state[CARDS]};
}

static void
player_set(double *state, hand h)
{
    state[SUM] = h.sum;
    state[HAS_ACE] = h.has_ace;
    state[CARDS] = h.cards;
}

static void
reset(const env_native_task *task, oct_pcg64 *rng, double *state)
{
    (void)task;
    state[DEALER_FIRST] = card_draw(rng);
    state[DEALER_SECOND] = card_draw(rng);
    hand player = with_card((hand){0}, card_draw(rng));
    player_set(state, with_card(player, card_draw(rng)));
    state[SUIT] = oct_pcg64_below(rng, SUITS);
    state[FACE] = state[DEALER_FIRST] == 10 ? oct_pcg64_below(rng, FACES) : 0;
}

static double
stick(const env_native_task *task, oct_pcg64 *rng, const double *state)
{
    hand player = player_of(state);
    hand dealer =
        with_card(with_card((hand){0}, (int)state[DEALER_FIRST]), (int)state[DEALER_SECOND]);
    while (total(dealer) < DEALER_TO) {
        dealer = with_card(dealer, card_draw(rng));
    }
    int mine = score(player), its = score(dealer);
    double reward = (mine > its) - (mine < its);
    if (task->options[SAB] != 0 && is_natural(player) && !is_natural(dealer)) {
        reward = 1;
    } else if (task->options[SAB] == 0 && task->options[NATURAL] != 0 && is_natural(player) &&
               reward == 1) {
        reward = 1.5;
    }
    return reward;
}

static double
step(const env_native_task *task, oct_pcg64 *rng, double *state, env_native_turn *turn)
{
    if (turn->index == STICK) {
        turn->terminated = true;
        return stick(task, rng, state);
    }
    hand player = with_card(player_of(state), card_draw(rng));
    player_set(state, player);
    turn->terminated = total(player) > LIMIT;
    return turn->terminated ? -1 : 0;
}

static void
observe(const double *state, void *obs)
{
    hand player = player_of(state);
    int32_t *index = obs;
    *index = (int32_t)((total(player) * DEALERS + (int)state[DEALER_FIRST]) * 2 +
                       has_usable_ace(player));
}

// Returns true if cards can make this hand; a sum above the limit needs an episode that has ended.
static bool
is_hand(hand h, bool has_ended)
{
    int low = h.has_ace ? h.cards : 2 * h.cards;
    int high = h.has_ace ? 10 * h.cards - 9 : 10 * h.cards;
    return h.sum >= low && h.sum <= high && (has_ended || h.sum <= LIMIT);
}

static bool
is_sane(const env_native_task *task, const double *state, bool has_ended)
{
    (void)task;
    static const double low[STATE_COUNT] = {
        [SUM] = 2, [CARDS] = 2, [DEALER_FIRST] = 1, [DEALER_SECOND] = 1};
    static const double high[STATE_COUNT] = {
        [SUM] = SUMS - 1,     [HAS_ACE] = 1,      [CARDS] = SUMS,    [DEALER_FIRST] = 10,
        [DEALER_SECOND] = 10, [SUIT] = SUITS - 1, [FACE] = FACES - 1};
    bool sane = true;
    for (int k = 0; k < STATE_COUNT; k++) {
        sane = sane && state[k] >= low[k] && state[k] <= high[k] && state[k] == floor(state[k]);
    }
    return sane && is_hand(player_of(state), has_ended) &&
           (state[FACE] == 0 || state[DEALER_FIRST] == 10);
}

static int
configure(const octet_env_config *config, env_native_task *task, octet_env_spec *spec, char *error,
          uint32_t error_size)
{
    (void)config;
    (void)error;
    (void)error_size;
    bool pays_naturals = task->options[NATURAL] != 0 && task->options[SAB] == 0;
    spec->reward_high = pays_naturals ? 1.5 : 1;
    return 0;
}

static const env_native_class class = {
    .spec = {.size = sizeof(octet_env_spec),
             .id = "Blackjack-v1",
             .obs = TOY_DISCRETE(SUMS * DEALERS * 2),
             .action = TOY_DISCRETE(2),
             .reward_threshold = NAN,
             .reward_low = -1,
             .reward_high = 1,
             .capabilities = ENV_NATIVE_CAPABILITIES,
             .state_count = STATE_COUNT},
    .options =
        {
            [NATURAL] = {.key = "natural", .low = 0, .high = 1, .whole = true},
            [SAB] = {.key = "sab", .initial = 1, .low = 0, .high = 1, .whole = true},
        },
    .configure = configure,
    .reset = reset,
    .step = step,
    .observe = observe,
    .is_sane = is_sane,
};

ENV_NATIVE_API(env_blackjack_api, class);
