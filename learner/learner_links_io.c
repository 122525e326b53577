// Holds the links to all replays, and asks shards for counters when those of another shard arrived.
#include "learner/learner_links_io.h"

#include <stdlib.h>

#include "common/oct_base.h"
#include "learner/learner_link_io.h"

#define TELL_MS 1

struct learner_links_io {
    learner_links_io_options options;
    char address[CONFIG_SHARDS_MAX][CONFIG_TEXT_MAX];
    uint32_t shards;
    uint32_t members;
    learner_link_io *link[LEARNER_MEMBERS_MAX]; // [members]
    net_timer *tell;                            // NULL: there is one live replay
};

// ---- shards

static void
shards_tell(void *arg)
{
    learner_links_io *links = arg;
    for (uint32_t i = 0; i < links->shards; i++) {
        learner_link_io_tell(links->link[i]);
    }
}

// Sets the limiter of the other shards after a shard was restarted with the configuration's.
static void
shards_limit(void *arg, uint32_t member)
{
    learner_links_io *links = arg;
    for (uint32_t i = 0; member < links->shards && i < links->shards; i++) {
        if (i != member) {
            learner_link_io_limit(links->link[i]);
        }
    }
}

// ---- life

static oct_err
link_open(learner_links_io *links, const char *url)
{
    uint32_t member = links->members;
    const learner_link_io_options options = {
        .loop = links->options.loop,
        .run = links->options.run,
        .member = member,
        .is_data = member == links->shards,
        .url = url,
        .links = links->shards + (config_is_mixed(links->options.config) ? 1 : 0),
        .ended = links->options.ended,
        .ended_arg = links->options.arg,
        .counted = shards_tell,
        .limited = shards_limit,
        .arg = links,
    };
    OCT_TRY(learner_link_io_open(&links->link[member], &options));
    links->members++;
    return OCT_OK;
}

static oct_err
all_open(learner_links_io *links)
{
    const config_experiment *config = links->options.config;
    for (uint32_t i = 0; i < links->shards; i++) {
        config_replay_address(config, i, links->address[i]);
        OCT_TRY(link_open(links, links->address[i]));
    }
    return config_is_mixed(config) ? link_open(links, config->net.data) : OCT_OK;
}

oct_err
learner_links_io_open(learner_links_io **out, const learner_links_io_options *options)
{
    learner_links_io *links = oct_alloc(sizeof(*links));
    links->options = *options;
    links->shards = config_shards(options->config);
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
    for (uint32_t i = 0; i < links->members; i++) {
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
    for (uint32_t i = 0; i < links->members; i++) {
        learner_link_io_tick(links->link[i]);
    }
}

void
learner_links_io_woke(learner_links_io *links)
{
    for (uint32_t i = 0; i < links->members; i++) {
        learner_link_io_woke(links->link[i]);
    }
}

void
learner_links_io_traffic(const learner_links_io *links, net_traffic *replay, net_traffic *data)
{
    *replay = *data = (net_traffic){0};
    for (uint32_t i = 0; i < links->members; i++) {
        net_traffic one = learner_link_io_traffic(links->link[i]);
        net_traffic *sum = i < links->shards ? replay : data;
        sum->sent_bytes += one.sent_bytes;
        sum->received_bytes += one.received_bytes;
    }
}
