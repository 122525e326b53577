// Observations of batches from replay, normalised by the statistics of all batches before.
#include "algos/algo_observed.h"

#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"

void
algo_observed_init(algo_observed *o, nn_context *context, const config_experiment *config,
                   const policy_spec *policy)
{
    *o = (algo_observed){0};
    if (config->algo.normalise_observations) {
        size_t numbers = (size_t)config->learner.batch_size * policy->obs_count;
        algo_normaliser_init(&o->normaliser, context, policy->obs_count);
        o->obs = nn_context_alloc(context, numbers * sizeof(float));
        o->next = nn_context_alloc(context, numbers * sizeof(float));
        o->raw = nn_context_alloc(context, policy_spec_params(policy) * sizeof(float));
    }
}

void
algo_observed_fini(algo_observed *o)
{
    algo_normaliser_fini(&o->normaliser);
    free(o->obs);
    free(o->next);
    free(o->raw);
    *o = (algo_observed){0};
}

algo_batch
algo_observed_take(algo_observed *o, group *all, const algo_batch *batch)
{
    algo_batch seen = *batch;
    if (o->normaliser.count > 0) {
        size_t bytes = (size_t)batch->B * o->normaliser.count * sizeof(float);
        memcpy(o->obs, batch->obs, bytes);
        memcpy(o->next, batch->next, bytes);
        algo_normaliser_take(&o->normaliser, all, o->obs, batch->B);
        algo_normaliser_apply(&o->normaliser, o->next, batch->B);
        seen.obs = o->obs;
        seen.next = o->next;
    }
    return seen;
}

// Converts the networks whose bit is set in kept, and their targets.
static void
kept_bring(const algo_normaliser *n, algo *a, uint32_t kept,
           void (*bring)(const algo_normaliser *n, const nn_net *net, float *params))
{
    algo_network networks[ALGO_NETWORKS_MAX];
    uint32_t count = kept != 0 ? a->ops->networks(a, networks) : 0;
    for (uint32_t i = 0; i < count; i++) {
        nn_net *nets[] = {networks[i].net, networks[i].target};
        for (size_t k = 0; (kept >> i & 1) != 0 && k < OCT_COUNTOF(nets) && nets[k] != NULL; k++) {
            bring(n, nets[k], nets[k]->params);
            nn_net_changed(nets[k]);
        }
    }
}

void
algo_observed_renew(algo_observed *o, algo *a)
{
    algo_normaliser *n = &o->normaliser;
    if (n->count > 0) {
        uint32_t kept = algo_normaliser_kept(n);
        kept_bring(n, a, kept, algo_normaliser_leave);
        algo_normaliser_renew(n);
        kept_bring(n, a, kept, algo_normaliser_enter);
    }
}

const float *
algo_observed_policy(const algo_observed *o, const nn_net *policy)
{
    const algo_normaliser *n = algo_observed_inside(o);
    return n != NULL ? algo_normaliser_raw(n, policy, o->raw) : policy->fetched;
}

void
algo_observed_project(algo_observed *o, const algo_projection *projection, const nn_net *net,
                      float *weights)
{
    algo_normaliser_project(algo_observed_inside(o), projection, net, o->raw, weights);
}

size_t
algo_observed_bytes(const algo_observed *o)
{
    return o->normaliser.count > 0 ? algo_normaliser_bytes(&o->normaliser) : 0;
}

void
algo_observed_save(const algo_observed *o, oct_writer *writer)
{
    if (o->normaliser.count > 0) {
        algo_normaliser_save(&o->normaliser, writer);
    }
}

oct_err
algo_observed_read(algo_observed *o, oct_reader *reader)
{
    return o->normaliser.count > 0 ? algo_normaliser_read(&o->normaliser, reader) : OCT_OK;
}
