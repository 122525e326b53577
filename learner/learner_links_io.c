// Holds the links to all replays, and passes on to the shards what one of them has said.
#include "learner/learner_links_io.h"

#include <stdlib.h>

#include "common/oct_base.h"
#include "learner/learner_link_io.h"

#define TELL_MS 1

struct learner_links_io {
    learner_links_io_options options;
    char address[OCT_SHARDS_MAX][OCT_CONFIG_TEXT_MAX];
    uint32_t shards;
    learner_link_io *link[LEARNER_ORIGINS]; // NULL: there is none
    net_timer *tell;                        // NULL: there are no shards
};

// ---- shards

static void
shards_tell(void *arg)
{
    learner_links_io *links = arg;
    for (uint32_t i = 0; i < links->shards; i++) {
        learner_link_io_tell(links->link[LEARNER_LIVE + i]);
    }
}

// A shard that was started again has the configuration's limiter, and all have the same.
static void
shards_limit(void *arg, learner_origin origin)
{
    learner_links_io *links = arg;
    for (uint32_t i = 0; i < links->shards; i++) {
        if (origin != LEARNER_DATA && origin != LEARNER_LIVE + i) {
            learner_link_io_limit(links->link[LEARNER_LIVE + i]);
        }
    }
}

// ---- life

static oct_err
link_open(learner_links_io *links, learner_origin origin, const char *url)
{
    const learner_link_io_options options = {
        .loop = links->options.loop,
        .run = links->options.run,
        .origin = origin,
        .url = url,
        .links = links->shards + (oct_config_is_mixed(links->options.config) ? 1 : 0),
        .in_turns = links->options.config->run.deterministic,
        .ended = links->options.ended,
        .ended_arg = links->options.arg,
        .counted = shards_tell,
        .limited = shards_limit,
        .arg = links,
    };
    return learner_link_io_open(&links->link[origin], &options);
}

static oct_err
all_open(learner_links_io *links)
{
    const oct_config *config = links->options.config;
    for (uint32_t i = 0; i < links->shards; i++) {
        oct_config_replay_address(config, i, links->address[i]);
        OCT_TRY(link_open(links, LEARNER_LIVE + i, links->address[i]));
    }
    return oct_config_is_mixed(config) ? link_open(links, LEARNER_DATA, config->net.data) : OCT_OK;
}

oct_err
learner_links_io_open(learner_links_io **out, const learner_links_io_options *options)
{
    learner_links_io *links = oct_alloc(sizeof(*links));
    links->options = *options;
    links->shards = oct_config_shards(options->config);
    oct_err err = all_open(links);
    if (err != OCT_OK) {
        learner_links_io_close(links);
        return err;
    }
    if (links->shards > 1) {
        links->tell = net_timer_start(options->loop, TELL_MS, TELL_MS, shards_tell, links);
    }
    *out = links;
    return OCT_OK;
}

void
learner_links_io_close(learner_links_io *links)
{
    if (links == NULL) {
        return;
    }
    net_timer_stop(links->tell);
    for (size_t i = 0; i < LEARNER_ORIGINS; i++) {
        learner_link_io_close(links->link[i]);
    }
    free(links);
}

const char *
learner_links_io_address(const learner_links_io *links, uint32_t shard)
{
    return links->address[shard];
}

// ---- all of them

void
learner_links_io_tick(learner_links_io *links)
{
    for (size_t i = 0; i < LEARNER_ORIGINS; i++) {
        if (links->link[i] != NULL) {
            learner_link_io_tick(links->link[i]);
        }
    }
}

void
learner_links_io_woke(learner_links_io *links)
{
    for (size_t i = 0; i < LEARNER_ORIGINS; i++) {
        if (links->link[i] != NULL) {
            learner_link_io_woke(links->link[i]);
        }
    }
}

void
learner_links_io_traffic(const learner_links_io *links, net_traffic *replay, net_traffic *data)
{
    *replay = *data = (net_traffic){0};
    for (uint32_t i = 0; i < links->shards; i++) {
        net_traffic one = learner_link_io_traffic(links->link[LEARNER_LIVE + i]);
        replay->sent_bytes += one.sent_bytes;
        replay->received_bytes += one.received_bytes;
    }
    if (links->link[LEARNER_DATA] != NULL) {
        *data = learner_link_io_traffic(links->link[LEARNER_DATA]);
    }
}
