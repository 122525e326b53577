// Losses of a student: their gradients against differences, and what counts as the same.
#include <math.h>

#include "algos/distill/distill_loss.h"
#include "tests/support/oct_test.h"

enum { ROWS = 3, ACTIONS = 4, OUTPUTS = 2 * ACTIONS };

static const float deviation[ACTIONS] = {-0.5f, 0.1f, -1.0f, -6.0f};

static distill_loss
loss_of(policy_head head, distill_kind kind)
{
    bool has_deviations = head == POLICY_HEAD_TANH_GAUSSIAN;
    return (distill_loss){.kind = kind,
                          .head = head,
                          .actions = ACTIONS,
                          .outputs = has_deviations ? OUTPUTS : ACTIONS,
                          .temperature = 0.7f,
                          .has_deviations = has_deviations,
                          .deviation = head == POLICY_HEAD_GAUSSIAN ? deviation : NULL};
}

static void
outputs_fill(float *y, size_t count, float shift)
{
    for (size_t i = 0; i < count; i++) {
        y[i] = sinf((float)i * 1.3f + shift) * 0.9f;
    }
}

static const policy_head heads[] = {POLICY_HEAD_VALUES, POLICY_HEAD_LOGITS, POLICY_HEAD_TANH,
                                    POLICY_HEAD_GAUSSIAN, POLICY_HEAD_TANH_GAUSSIAN};

static void
test_gradients_are_those_of_the_loss(void **state)
{
    (void)state;
    for (size_t h = 0; h < 2 * OCT_COUNTOF(heads); h++) {
        policy_head head = heads[h / 2];
        distill_kind kind = h % 2 == 0 ? DISTILL_KL : DISTILL_SQUARES;
        if (kind == DISTILL_KL && !distill_has_kl(head)) {
            continue;
        }
        distill_loss loss = loss_of(head, kind);
        size_t count = ROWS * loss.outputs;
        float y[ROWS * OUTPUTS], want[ROWS * OUTPUTS], dy[ROWS * OUTPUTS], other[ROWS * OUTPUTS];
        outputs_fill(y, count, 0.2f);
        outputs_fill(want, count, 1.1f);
        (void)distill_loss_of(&loss, y, want, ROWS, dy);
        for (size_t i = 0; i < count; i++) {
            const float step = 1e-3f, at = y[i];
            y[i] = at + step;
            double above = distill_loss_of(&loss, y, want, ROWS, other);
            y[i] = at - step;
            double below = distill_loss_of(&loss, y, want, ROWS, other);
            y[i] = at;
            T_NEAR((double)dy[i], (above - below) / (2 * (double)step), 2e-4, 2e-3);
        }
    }
}

// Least, and without a slope, where the student answers as the teacher.
static void
test_the_same_answers_cost_nothing(void **state)
{
    (void)state;
    for (size_t h = 0; h < 2 * OCT_COUNTOF(heads); h++) {
        distill_loss loss = loss_of(heads[h / 2], h % 2 == 0 ? DISTILL_KL : DISTILL_SQUARES);
        size_t count = ROWS * loss.outputs;
        float y[ROWS * OUTPUTS], dy[ROWS * OUTPUTS], other[ROWS * OUTPUTS];
        if (loss.kind == DISTILL_KL && !distill_has_kl(loss.head)) {
            continue;
        }
        outputs_fill(y, count, 0.4f);
        T_NEAR(distill_loss_of(&loss, y, y, ROWS, dy), 0, 1e-9, 0);
        for (size_t i = 0; i < count; i++) {
            T_NEAR((double)dy[i], 0, 1e-7, 0);
        }
        outputs_fill(other, count, 0.5f);
        assert_true(distill_loss_of(&loss, other, y, ROWS, dy) > 1e-5);
    }
}

// Softmax does not see what all actions share; squares do.
static void
test_a_common_part_counts_only_in_squares(void **state)
{
    (void)state;
    float want[ACTIONS] = {1, 2, 3, 4}, y[ACTIONS] = {11, 12, 13, 14}, dy[ACTIONS];
    distill_loss loss = loss_of(POLICY_HEAD_VALUES, DISTILL_KL);
    T_NEAR(distill_loss_of(&loss, y, want, 1, dy), 0, 1e-6, 0);
    loss.kind = DISTILL_SQUARES;
    T_NEAR(distill_loss_of(&loss, y, want, 1, dy), 50, 1e-6, 0);
}

// Where tanh is at its end the student may be anywhere beyond it, on that side.
static void
test_saturated_actions_are_alike_on_one_side(void **state)
{
    (void)state;
    float want[ACTIONS] = {20, -20, 20, 5}, y[ACTIONS] = {4, -9, -4, 2}, dy[ACTIONS];
    distill_loss loss = loss_of(POLICY_HEAD_TANH, DISTILL_SQUARES);
    (void)distill_loss_of(&loss, y, want, 1, dy);
    assert_true(dy[0] == 0 && dy[1] == 0);
    assert_true(dy[2] == -7 && dy[3] == -1);
    loss = loss_of(POLICY_HEAD_GAUSSIAN, DISTILL_SQUARES); // clipped, not squashed
    (void)distill_loss_of(&loss, y, want, 1, dy);
    assert_true(dy[0] == -16);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients_are_those_of_the_loss),
        cmocka_unit_test(test_the_same_answers_cost_nothing),
        cmocka_unit_test(test_a_common_part_counts_only_in_squares),
        cmocka_unit_test(test_saturated_actions_are_alike_on_one_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
