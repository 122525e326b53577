/* A learner of your own in C: deep Q-learning with one hidden layer, on Octet's actors and replay.
 *
 *     cc -O3 -o q_learner q_learner.c $(pkg-config --cflags --libs octet) -lm
 *     octet train q_learner.yaml --run-dir run &
 *     ./q_learner run
 *
 * octet-learner hands each batch to this program, and quantises, publishes and evaluates the
 * parameters that it answers with. Octet knows nothing of the target network, the loss or Adam:
 * they are the functions q_values, gradient_add and adam below. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <math.h>
#include <octet/learner.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HIDDEN_MAX    256
#define TARGET_PERIOD 100 /* updates between copies of the network into the target network */

/* Q(s, .) of the network whose parameters begin at w: a layer of ReLU, then a linear one. */
static void q_values(const octet_learner_layer *l, const float *w, const float *s, float *h,
                     float *q)
{
    for (uint32_t i = 0; i < l[0].outputs; i++) {
        const float *row = w + l[0].weight + i * l[0].inputs;
        h[i] = w[l[0].bias + i];
        for (uint32_t j = 0; j < l[0].inputs; j++) h[i] += row[j] * s[j];
        h[i] = fmaxf(h[i], 0);
    }
    for (uint32_t a = 0; a < l[1].outputs; a++) {
        const float *row = w + l[1].weight + a * l[1].inputs;
        q[a] = w[l[1].bias + a];
        for (uint32_t i = 0; i < l[1].inputs; i++) q[a] += row[i] * h[i];
    }
}

/* Adds the gradient of slope * Q(s, a) to g. h: the hidden layer's output for s. */
static void gradient_add(const octet_learner_layer *l, const float *w, const float *s,
                         const float *h, int a, float slope, float *g)
{
    g[l[1].bias + a] += slope;
    for (uint32_t i = 0; i < l[1].inputs; i++) {
        size_t k = l[1].weight + (size_t)a * l[1].inputs + i;
        float back = h[i] > 0 ? slope * w[k] : 0;
        g[k] += slope * h[i];
        g[l[0].bias + i] += back;
        for (uint32_t j = 0; j < l[0].inputs; j++)
            g[l[0].weight + i * l[0].inputs + j] += back * s[j];
    }
}

/* One step of Adam on n parameters; m and v are its moments, t counts the steps from 1. */
static void adam(float *w, const float *g, float *m, float *v, size_t n, float rate, double t)
{
    float scale = rate * (float)(sqrt(1 - pow(0.999, t)) / (1 - pow(0.9, t)));
    for (size_t k = 0; k < n; k++) {
        m[k] += 0.1f * (g[k] - m[k]);
        v[k] += 0.001f * (g[k] * g[k] - v[k]);
        w[k] -= scale * m[k] / (sqrtf(v[k]) + 1e-8f);
    }
}

static int largest(const float *q, uint32_t count)
{
    int best = 0;
    for (uint32_t a = 1; a < count; a++) best = q[a] > q[best] ? (int)a : best;
    return best;
}

static int failed(const char *why)
{
    fprintf(stderr, "q_learner: %s\n", why);
    return 1;
}

int main(int argc, char **argv)
{
    octet_learner *learner = NULL;
    char error[OCTET_LEARNER_ERROR_BYTES] = "usage: q_learner RUN_FOLDER";
    int code = argc == 2 ? OCTET_LEARNER_EAGAIN : OCTET_LEARNER_EINVAL;
    while (code == OCTET_LEARNER_EAGAIN) { /* the run has not begun yet */
        code = octet_learner_open(&learner, argv[1], error, sizeof(error));
        if (code == OCTET_LEARNER_EAGAIN) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    if (code != OCTET_LEARNER_OK) return failed(error);
    if (octet_learner_wait(learner, -1) != OCTET_LEARNER_OK)
        return failed(octet_learner_error(learner));

    const octet_learner_spec *spec = octet_learner_get_spec(learner);
    const octet_learner_layer *l = spec->layers;
    if (spec->layer_count != 2 || l[0].outputs > HIDDEN_MAX ||
        spec->window != OCTET_LEARNER_N_STEP || spec->head != OCTET_LEARNER_HEAD_VALUES ||
        l[0].kind != OCTET_LEARNER_DENSE)
        return failed("this learner needs Q-values and one hidden layer: network.hidden: [64]");
    size_t n = spec->param_count;
    float *w = octet_learner_params(learner), h[HIDDEN_MAX], q[OCTET_LEARNER_ACTIONS_MAX];
    float *target = malloc(n * sizeof(*target)), *g = malloc(n * sizeof(*g));
    float *m = calloc(n, sizeof(*m)), *v = calloc(n, sizeof(*v));
    float *td = malloc(spec->batch_size * sizeof(*td)); /* the priorities */
    if (target == NULL || g == NULL || m == NULL || v == NULL || td == NULL)
        return failed("out of memory");

    octet_learner_batch batch = {.size = sizeof(batch)};
    for (uint64_t t = 1; octet_learner_next(learner, -1, &batch) == OCTET_LEARNER_OK; t++) {
        if (t % TARGET_PERIOD == 1) memcpy(target, w, n * sizeof(*w));
        memset(g, 0, n * sizeof(*g));
        for (uint32_t b = 0; b < batch.B; b++) {
            const float *s = batch.obs + (size_t)b * spec->obs_count;
            const float *next = batch.next_obs + (size_t)b * spec->obs_count;
            int a = ((const int32_t *)batch.action)[b];
            /* Double Q-learning: the network chooses the action, the target network values it. */
            q_values(l, w, next, h, q);
            int best = largest(q, spec->action_count);
            q_values(l, target, next, h, q);
            float wanted = batch.reward[b] + batch.discount[b] * q[best];
            q_values(l, w, s, h, q);
            float slope = fmaxf(-1, fminf(1, q[a] - wanted)); /* of the Huber loss */
            td[b] = fabsf(q[a] - wanted);
            gradient_add(l, w, s, h, a, batch.importance[b] * slope / (float)batch.B, g);
        }
        adam(w, g, m, v, n, batch.learning_rate, (double)t);
        octet_learner_answer answer = {.size = sizeof(answer), .priorities = td};
        answer.has_params = t % spec->publish_period == 0;
        if (octet_learner_update(learner, &answer) != OCTET_LEARNER_OK) break;
    }
    int has_ended = octet_learner_has_ended(learner);
    printf("q_learner: %s\n", has_ended ? "the run has ended" : octet_learner_error(learner));
    octet_learner_close(learner);
    free(target), free(g), free(m), free(v), free(td);
    return has_ended ? 0 : 1;
}
