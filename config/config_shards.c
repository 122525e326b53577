// The shards that share the actors' rows: their count, capacity, addresses and file names.
#include <stdio.h>
#include <string.h>

#include "common/oct_base.h"
#include "config/config.h"

// Finds the next address of the list *at, without blanks around it, and moves *at behind it. *at is
// NULL after the last address. Returns false if there is none.
static bool
address_next(const char **at, const char **begin, size_t *length)
{
    if (*at == NULL) {
        return false;
    }
    size_t all = strcspn(*at, ",");
    *begin = *at + strspn(*at, " ");
    *length = *begin < *at + all ? (size_t)(*at + all - *begin) : 0;
    while (*length > 0 && (*begin)[*length - 1] == ' ') {
        (*length)--;
    }
    *at = (*at)[all] == ',' ? *at + all + 1 : NULL;
    return true;
}

uint32_t
config_shards(const config_experiment *config)
{
    const char *at = config->net.replay, *begin;
    size_t length;
    uint32_t count = 0;
    while (address_next(&at, &begin, &length)) {
        count++;
    }
    return OCT_MAX(count, config->replay.shards);
}

uint64_t
config_shard_capacity(const config_experiment *config)
{
    uint32_t shards = config_shards(config);
    return (config->replay.capacity + shards - 1) / shards;
}

size_t
config_replay_address(const config_experiment *config, uint32_t shard, char out[CONFIG_TEXT_MAX])
{
    const char *at = config->net.replay, *begin;
    size_t length;
    out[0] = '\0';
    for (uint32_t i = 0; address_next(&at, &begin, &length); i++) {
        if (i == shard) {
            if (length < CONFIG_TEXT_MAX) {
                memcpy(out, begin, length);
                out[length] = '\0';
            }
            return length;
        }
    }
    return 0;
}

void
config_shard_name(const char *name, uint32_t shard, char *out, size_t size)
{
    const char *slash = strrchr(name, '/'), *dot = strrchr(name, '.');
    bool has_suffix = dot != NULL && dot != name && (slash == NULL || dot > slash + 1);
    int stem = has_suffix ? (int)(dot - name) : (int)strlen(name);
    if (shard == 0) {
        (void)snprintf(out, size, "%s", name);
    } else {
        (void)snprintf(out, size, "%.*s-%u%s", stem, name, shard, name + stem);
    }
}
