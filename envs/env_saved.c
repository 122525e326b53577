// The beginning and the end of a saved state, which all of our environments share.
#include "envs/env_saved.h"

#include <math.h>

#define SAVE_VERSION 2u

static uint32_t
id_checksum(const char *id)
{
    return oct_crc32(0, id, strlen(id));
}

void
env_saved_begin(oct_writer *writer, const char *id)
{
    oct_write_u32(writer, SAVE_VERSION);
    oct_write_u32(writer, id_checksum(id));
}

bool
env_saved_is_of(oct_reader *reader, const char *id)
{
    bool known = oct_read_u32(reader) == SAVE_VERSION;
    return oct_read_u32(reader) == id_checksum(id) && known;
}

void
env_saved_end(oct_writer *writer, const env_episode *episode)
{
    oct_write_u32(writer, episode->elapsed);
    oct_write_u32(writer, episode->ended);
    oct_write_f64(writer, episode->episode_return);
    oct_write_u64(writer, episode->rng.state_high);
    oct_write_u64(writer, episode->rng.state_low);
    oct_write_u64(writer, episode->rng.increment_high);
    oct_write_u64(writer, episode->rng.increment_low);
    oct_write_u32(writer, episode->rng.has_half);
    oct_write_u32(writer, episode->rng.half);
}

bool
env_saved_read_end(oct_reader *reader, env_episode *out, uint8_t allowed_flags)
{
    out->elapsed = env_episode_steps(oct_read_u32(reader));
    uint32_t ended = oct_read_u32(reader);
    out->ended = (uint8_t)(ended & allowed_flags);
    out->episode_return = oct_read_f64(reader);
    out->rng.state_high = oct_read_u64(reader);
    out->rng.state_low = oct_read_u64(reader);
    out->rng.increment_high = oct_read_u64(reader);
    out->rng.increment_low = oct_read_u64(reader);
    uint32_t has_half = oct_read_u32(reader);
    out->rng.has_half = has_half == 1;
    out->rng.half = oct_read_u32(reader);
    return !reader->failed && reader->left == 0 && out->ended == ended && has_half <= 1 &&
           (out->rng.increment_low & 1) == 1 && isfinite(out->episode_return);
}
