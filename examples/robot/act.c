/* A control loop with a policy file of Octet. Plain C99, nothing of Octet but its public header:
 *
 *     cc -std=c99 act.c -loctet_policy -lm -pthread -o act
 *     octet train presets/cartpole.yaml --run-dir runs/pole
 *     ./act runs/pole/policy.oct
 *
 * The machine here is a simulated pole on a cart; in place of cart_sense and cart_push stand the
 * sensors and motors of a real one. */

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include <octet/policy.h>

#define STEPS_MAX 500

typedef struct cart {
    float x, x_dot, theta, theta_dot;
} cart;

static void
cart_sense(const cart *c, float observation[4])
{
    observation[0] = c->x;
    observation[1] = c->x_dot;
    observation[2] = c->theta;
    observation[3] = c->theta_dot;
}

/* One fiftieth of a second: a cart of 1 kg, a pole of 0.1 kg and 1 m, a push of 10 N. */
static void
cart_push(cart *c, int32_t to_the_right)
{
    const float mass = 1.1f, pole_moment = 0.05f, half_length = 0.5f, gravity = 9.8f, dt = 0.02f;
    float force = to_the_right ? 10.0f : -10.0f;
    float sine = sinf(c->theta), cosine = cosf(c->theta);
    float pull = (force + pole_moment * c->theta_dot * c->theta_dot * sine) / mass;
    float turn = (gravity * sine - cosine * pull) /
                 (half_length * (4.0f / 3.0f - 0.1f * cosine * cosine / mass));
    float move = pull - pole_moment * turn * cosine / mass;
    c->x += dt * c->x_dot;
    c->x_dot += dt * move;
    c->theta += dt * c->theta_dot;
    c->theta_dot += dt * turn;
}

static int
cart_has_fallen(const cart *c)
{
    return fabsf(c->x) > 2.4f || fabsf(c->theta) > 0.2095f;
}

/* How many steps the pole stays up. */
static int
balance(octet_policy *policy)
{
    cart c = {0.02f, 0.0f, 0.03f, 0.0f};
    int steps = 0;
    while (steps < STEPS_MAX && !cart_has_fallen(&c)) {
        float observation[4];
        int32_t action;
        cart_sense(&c, observation);
        if (octet_policy_act(policy, observation, &action) != OCTET_POLICY_OK) {
            fprintf(stderr, "a sensor value is not a number\n");
            break;
        }
        cart_push(&c, action);
        steps++;
    }
    return steps;
}

int
main(int argc, char **argv)
{
    char error[256];
    octet_policy *policy;
    octet_policy_info info;
    if (argc != 2) {
        fprintf(stderr, "usage: act POLICY\n");
        return 2;
    }
    if (octet_policy_load(&policy, argv[1], error, sizeof(error)) != OCTET_POLICY_OK) {
        fprintf(stderr, "act: %s\n", error);
        return 1;
    }
    info.size = sizeof(info);
    (void)octet_policy_get_info(policy, &info);
    const char *environment = info.env_id[0] != '\0' ? info.env_id : "an unknown environment";
    if (info.obs_dtype != OCTET_POLICY_F32 || info.obs_count != 4 ||
        info.action_kind != OCTET_POLICY_DISCRETE || info.action_count != 2) {
        fprintf(stderr, "act: %s is for %s, not for a pole on a cart\n", argv[1], environment);
        octet_policy_free(policy);
        return 1;
    }
    printf("%s, version %lu, %s kernel\n", environment, (unsigned long)info.version, info.isa);
    printf("%d steps\n", balance(policy));
    octet_policy_free(policy);
    return 0;
}
