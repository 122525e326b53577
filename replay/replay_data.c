// Maps data sets, and checks every byte of them: header, notes, blocks, and the rows in the blocks.
#include "replay/replay_data.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/oct_base.h"
#include "common/oct_box.h"
#include "common/oct_bytes.h"
#include "common/oct_file.h"
#include "common/oct_pulse.h"
#include "common/oct_reason.h"
#include "proto/wire_check.h"
#include "proto/wire_env.h"

#define ARENA_BYTES     (64u << 10) // for unpacking an environment
#define DTYPE_F32       1u          // policy_dtype
#define ACTION_DISCRETE 1u          // policy_action_kind
#define REASON_MAX      128         // of what is wrong with a header

static const char magic[8] = {'O', 'C', 'T', 'E', 'T', 'D', 'A', 'T'};

static_assert(sizeof(replay_data_header) <= REPLAY_DATA_PAGE, "it is page 0");
static_assert(sizeof(replay_data_header) == 2536, "the header of version 1");

// ---- the environment

void
replay_data_env_view(wire_env_spec *out, const replay_data_env *env)
{
    bool is_box = env->action_kind != ACTION_DISCRETE;
    *out = (wire_env_spec){
        .env_id = env->id,
        .obs_dtype = env->obs_dtype,
        .obs_count = env->obs_count,
        .action_kind = env->action_kind,
        .action_count = env->action_count,
        .action_low = is_box ? env->action_low : NULL,
        .action_high = is_box ? env->action_high : NULL,
        .max_episode_steps = env->max_episode_steps,
        .reward_threshold = env->reward_threshold,
        .obs_rank = env->obs_rank,
        .obs_shape = env->obs_shape,
    };
}

oct_err
replay_data_env_make(replay_data_env *out, const wire_env_spec *spec)
{
    memset(out, 0, sizeof(*out));
    size_t length = strlen(spec->env_id);
    bool is_box = spec->action_kind != ACTION_DISCRETE;
    if (length >= sizeof(out->id) || spec->obs_rank > WIRE_RANK_MAX ||
        (is_box && spec->action_count > WIRE_ACTIONS_MAX)) {
        return OCT_EINVAL;
    }
    memcpy(out->id, spec->env_id, length);
    out->reward_threshold = spec->reward_threshold;
    out->obs_dtype = spec->obs_dtype;
    out->obs_count = spec->obs_count;
    out->obs_rank = spec->obs_rank;
    out->action_kind = spec->action_kind;
    out->action_count = spec->action_count;
    out->max_episode_steps = spec->max_episode_steps;
    for (uint32_t i = 0; i < spec->obs_rank; i++) {
        out->obs_shape[i] = spec->obs_shape[i];
    }
    for (uint32_t i = 0; is_box && i < spec->action_count; i++) {
        out->action_low[i] = spec->action_low[i];
        out->action_high[i] = spec->action_high[i];
    }
    return OCT_OK;
}

static bool
obs_is_float(const replay_data_env *env)
{
    return env->obs_dtype == DTYPE_F32;
}

static bool
action_is_float(const replay_data_env *env)
{
    return env->action_kind != ACTION_DISCRETE;
}

static uint32_t
obs_bytes_of(const replay_data_env *env)
{
    return env->obs_count * (obs_is_float(env) ? 4 : 1);
}

static uint32_t
action_bytes_of(const replay_data_env *env)
{
    return 4 * (action_is_float(env) ? env->action_count : 1);
}

oct_err
replay_data_env_fit(const replay_data_env *env, const wire_configure *table, oct_reason *why)
{
    static const char *const obs[] = {"not float32", "float32"};
    static const char *const action[] = {"int32", "float32"};
    uint32_t obs_bytes = obs_bytes_of(env), action_bytes = action_bytes_of(env);
    if (obs_bytes == table->obs_bytes && obs_is_float(env) == table->obs_is_float &&
        action_bytes == table->action_bytes && action_is_float(env) == table->action_is_float) {
        return OCT_OK;
    }
    return oct_refuse(why,
                      "observations of %s have %" PRIu32 " bytes (%s) and actions %" PRIu32
                      " (%s), the table's have %" PRIu32 " (%s) and %" PRIu32 " (%s)",
                      env->id, obs_bytes, obs[obs_is_float(env)], action_bytes,
                      action[action_is_float(env)], table->obs_bytes, obs[table->obs_is_float],
                      table->action_bytes, action[table->action_is_float]);
}

// Checks the environment like a registration of an actor. Returns NULL, or what is wrong with it.
static const char *
env_fault(const replay_data_env *env, char text[REASON_MAX])
{
    if (memchr(env->id, 0, sizeof(env->id)) == NULL || env->obs_rank > WIRE_RANK_MAX ||
        env->action_count > WIRE_ACTIONS_MAX) {
        return "more than its memory holds";
    }
    wire_env_spec spec;
    replay_data_env_view(&spec, env);
    size_t length;
    uint8_t *bytes = wire_env_pack(&spec, &length);
    wire_arena *arena = wire_arena_create(ARENA_BYTES);
    wire_env_spec checked;
    bool is_good = wire_env_unpack(&checked, arena, bytes, length) == OCT_OK;
    size_t used = strnlen(wire_arena_reason(arena), REASON_MAX - 1);
    memcpy(text, wire_arena_reason(arena), used);
    text[used] = 0;
    wire_arena_destroy(arena);
    free(bytes);
    return is_good ? NULL : text;
}

// ---- the header

static uint64_t
page_end(uint64_t bytes)
{
    return (bytes + REPLAY_DATA_PAGE - 1) / REPLAY_DATA_PAGE * REPLAY_DATA_PAGE;
}

replay_layout
replay_data_header_make(replay_data_header *header)
{
    const replay_data_env *env = &header->env;
    memcpy(header->magic, magic, sizeof(magic));
    header->version = REPLAY_DATA_VERSION;
    header->byte_order = REPLAY_BYTE_ORDER;
    header->block_layout = REPLAY_BLOCK_LAYOUT;
    header->obs_bytes = obs_bytes_of(env);
    header->action_bytes = action_bytes_of(env);
    header->reserved = 0;
    replay_layout layout = replay_layout_make(header->block_rows, header->obs_bytes,
                                              header->action_bytes, header->extra_dim);
    header->notes_at = REPLAY_DATA_PAGE;
    header->blocks_at = page_end(header->notes_at + header->notes_bytes);
    header->file_bytes = header->blocks_at + header->blocks * (uint64_t)layout.bytes;
    header->crc = oct_crc32(0, header, offsetof(replay_data_header, crc));
    return layout;
}

// Returns NULL, or what is wrong with the header. text is memory for the answer.
static const char *
header_fault(const replay_data_header *header, replay_layout *layout, char text[REASON_MAX])
{
    uint32_t rows = header->block_rows;
    const char *fault = env_fault(&header->env, text);
    if (fault) {
        return fault;
    }
    if (rows < REPLAY_BLOCK_ROWS_MIN || rows > REPLAY_BLOCK_ROWS_MAX || (rows & (rows - 1)) != 0 ||
        header->blocks == 0 || (uint64_t)header->blocks * rows > UINT32_MAX ||
        header->extra_dim > WIRE_EXTRA_MAX || header->notes_bytes > REPLAY_DATA_NOTES_MAX) {
        return "its numbers are out of range";
    }
    if (memchr(header->made_by, 0, sizeof(header->made_by)) == NULL ||
        !wire_check_name(header->made_by, strlen(header->made_by), sizeof(header->made_by))) {
        return "its maker is not a name";
    }
    replay_data_header wanted = *header;
    *layout = replay_data_header_make(&wanted);
    return memcmp(&wanted, header, sizeof(wanted)) == 0 ? NULL
                                                        : "its numbers contradict each other";
}

static oct_err
header_check(replay_data *data, oct_reason *why)
{
    const replay_data_header *header = data->header;
    char text[REASON_MAX];
    if (data->bytes < REPLAY_DATA_PAGE || memcmp(header->magic, magic, sizeof(magic)) != 0) {
        return oct_refuse(why, "%s is not a data set of Octet", data->path);
    }
    OCT_TRY(replay_block_readable(data->path, header->byte_order, header->version,
                                  REPLAY_DATA_VERSION, header->block_layout, why));
    if (oct_crc32(0, header, offsetof(replay_data_header, crc)) != header->crc) {
        return oct_refuse(why, "%s: its header is damaged", data->path);
    }
    const char *fault = header_fault(header, &data->layout, text);
    if (fault) {
        return oct_refuse(why, "%s: its header is invalid: %s", data->path, fault);
    }
    if (data->bytes != header->file_bytes) {
        return oct_refuse(why, "%s is %" PRIu64 " bytes long, its header says %" PRIu64, data->path,
                          data->bytes, header->file_bytes);
    }
    return OCT_OK;
}

static bool
is_zero(const uint8_t *from, const uint8_t *to)
{
    uint8_t all = 0;
    for (; from < to; from++) {
        all |= *from;
    }
    return all == 0;
}

// Checks the notes, and that all bytes between the regions are 0.
static oct_err
notes_check(const replay_data *data, oct_reason *why)
{
    uint32_t bytes = data->header->notes_bytes;
    const uint8_t *notes = (const uint8_t *)data->notes;
    if (oct_crc32(0, notes, bytes) != data->header->notes_crc ||
        !wire_check_text(data->notes, bytes, REPLAY_DATA_NOTES_MAX) ||
        !is_zero(data->base + sizeof(*data->header), notes) ||
        !is_zero(notes + bytes, data->blocks)) {
        return oct_refuse(why, "%s: its notes are damaged", data->path);
    }
    return OCT_OK;
}

// ---- open and close

static replay_data *
data_make(const char *path, const uint8_t *bytes, uint64_t length)
{
    replay_data *data = oct_alloc(sizeof(*data));
    data->path = strdup(path);
    OCT_ASSERT(data->path);
    data->base = bytes;
    data->bytes = length;
    data->header = (const replay_data_header *)(const void *)bytes;
    return data;
}

static oct_err
data_begin(replay_data *data, oct_reason *why)
{
    OCT_TRY(header_check(data, why));
    data->notes = (const char *)data->base + data->header->notes_at;
    data->blocks = data->base + data->header->blocks_at;
    return notes_check(data, why);
}

static void
data_free(replay_data *data)
{
    free(data->path);
    free(data);
}

oct_err
replay_data_view(replay_data **out, const char *path, const uint8_t *bytes, uint64_t length,
                 oct_reason *why)
{
    OCT_ASSERT((uintptr_t)bytes % 64 == 0);
    replay_data *data = data_make(path, bytes, length);
    oct_err err = data_begin(data, why);
    if (err != OCT_OK) {
        data_free(data);
        return err;
    }
    *out = data;
    return OCT_OK;
}

// Maps a whole file for reading. The caller unmaps it.
static oct_err
file_map(const char *path, const uint8_t **bytes, uint64_t *length, oct_reason *reason)
{
    int descriptor = oct_file_open(path, O_RDONLY, 0, NULL);
    if (descriptor < 0) {
        int why = errno;
        bool is_other = why == EISDIR || why == ENOTSUP || why == ELOOP;
        (void)oct_refuse(reason, "%s cannot be opened: %s", path, oct_file_strerror(why));
        return is_other ? OCT_EINVAL : why == ENOENT ? OCT_ENOTFOUND : OCT_EIO;
    }
    struct stat status;
    if (fstat(descriptor, &status) != 0 || status.st_size == 0) {
        (void)close(descriptor);
        return oct_refuse(reason, "%s is not a data set of Octet", path);
    }
    void *base = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, descriptor, 0);
    int code = errno;
    (void)close(descriptor);
    if (base == MAP_FAILED) {
        return oct_fail(reason, OCT_EIO, "%s cannot be mapped: %s", path, oct_file_strerror(code));
    }
    *bytes = base;
    *length = (uint64_t)status.st_size;
    return OCT_OK;
}

oct_err
replay_data_open(replay_data **out, const char *path, oct_reason *why)
{
    const uint8_t *bytes = NULL;
    uint64_t length = 0;
    OCT_TRY(file_map(path, &bytes, &length, why));
    replay_data *data = data_make(path, bytes, length);
    data->is_mapped = true;
    oct_err err = data_begin(data, why);
    if (err != OCT_OK) {
        replay_data_close(data);
        return err;
    }
    *out = data;
    return OCT_OK;
}

void
replay_data_close(replay_data *data)
{
    if (!data) {
        return;
    }
    if (data->is_mapped) {
        (void)munmap((void *)(uintptr_t)data->base, data->bytes);
    }
    data_free(data);
}

// ---- blocks

uint32_t
replay_data_block_sum(const replay_layout *layout, const replay_block *block)
{
    const size_t first = sizeof(block->checksum);
    return oct_crc32(0, (const uint8_t *)block + first, layout->bytes - first);
}

// Checks the header of a block by itself.
static const char *
place_fault(const replay_data *data, const replay_block *block, uint32_t index)
{
    return block->layout != REPLAY_BLOCK_LAYOUT || block->serial != index ? "it is another block"
           : block->count == 0 || block->count > data->layout.rows ? "its number of rows is invalid"
           : block->first > INT64_MAX - REPLAY_BLOCK_ROWS_MAX ||
                   block->stream >= WIRE_STREAMS_MAX || block->session == 0 ||
                   block->renewed != 0 ||
                   (block->episode_age != REPLAY_BLOCK_AGE_UNKNOWN &&
                    block->episode_age > block->first)
               ? "it belongs to no stream"
               : NULL;
}

// Checks the links between a block and the one before it; each link is checked from the later
// block.
static const char *
link_fault(const replay_data *data, const replay_block *block, uint32_t index)
{
    const replay_block *before = index > 0 ? replay_data_block(data, index - 1) : NULL;
    uint64_t back = before && before->next == index ? index - 1u : REPLAY_BLOCK_NONE;
    bool is_last = index + 1 == data->header->blocks;
    if (block->previous != back ||
        (block->next != REPLAY_BLOCK_NONE && (block->next != (uint64_t)index + 1 || is_last))) {
        return "its links are wrong";
    }
    if (back == REPLAY_BLOCK_NONE) {
        return NULL;
    }
    return replay_block_is_behind(&data->layout, block, before)
               ? NULL
               : "it does not follow the block before it";
}

// Returns true if all actions of a box are within their bounds, as algorithms require. End rows
// have no action.
static bool
are_inside(const replay_data_env *env, const replay_layout *layout, const replay_block *block)
{
    const uint8_t *flags = replay_block_flags(layout, block, 0);
    const float *actions = (const float *)(const void *)replay_block_action(layout, block, 0);
    bool inside = true;
    for (uint32_t i = 0; i < env->action_count; i++) {
        for (size_t row = 0; row < block->count; row++) {
            float action = actions[row * env->action_count + i];
            inside &= oct_box_holds(action, env->action_low[i], env->action_high[i]) ||
                      (flags[row] & WIRE_END) != 0;
        }
    }
    return inside;
}

const char *
replay_data_numbers_fault(const replay_data_env *env, const replay_layout *layout,
                          const replay_block *block)
{
    size_t count = block->count;
    const float *obs = (const float *)(const void *)replay_block_obs(layout, block, 0);
    const float *box = (const float *)(const void *)replay_block_action(layout, block, 0);
    if (env->obs_dtype == DTYPE_F32 && !wire_check_finite(obs, count * env->obs_count)) {
        return "an observation is not finite";
    }
    if (!wire_check_finite(replay_block_reward(layout, block, 0), count) ||
        !wire_check_finite(replay_block_extra(layout, block, 0), count * layout->extra_dim)) {
        return "a reward, or a number stored with an action, is not finite";
    }
    if (env->action_kind != ACTION_DISCRETE) {
        return !wire_check_finite(box, count * env->action_count) ? "an action is not finite"
               : !are_inside(env, layout, block)
                   ? "an action is outside the environment's bounds (octet data import "
                     "--clip-actions clips such actions)"
                   : NULL;
    }
    for (uint32_t row = 0; row < count; row++) {
        int32_t action;
        memcpy(&action, replay_block_action(layout, block, row), sizeof(action));
        if (action < 0 || (uint32_t)action >= env->action_count) {
            return "an action that the environment does not have";
        }
    }
    return NULL;
}

// Returns how many rows of its episode precede the row after a block.
static uint32_t
age_behind(const replay_layout *layout, const replay_block *block)
{
    const uint8_t *flags = replay_block_flags(layout, block, 0);
    for (uint32_t row = block->count; row > 0; row--) {
        if ((flags[row - 1] & WIRE_FIRST) != 0) {
            return block->count - (row - 1);
        }
    }
    return block->episode_age < REPLAY_BLOCK_AGE_UNKNOWN - block->count
               ? block->episode_age + block->count
               : REPLAY_BLOCK_AGE_UNKNOWN;
}

// Checks the flags of a block's rows, and the age of its first row.
static const char *
flags_fault(const replay_data *data, const replay_block *block)
{
    const replay_layout *layout = &data->layout;
    const uint8_t *flags = replay_block_flags(layout, block, 0);
    const replay_block *before = block->previous != REPLAY_BLOCK_NONE
                                     ? replay_data_block(data, (uint32_t)block->previous)
                                     : NULL;
    if (!wire_check_flags(flags, replay_block_reward(layout, block, 0), block->count)) {
        return "a row has invalid flags";
    }
    bool is_first = (flags[0] & WIRE_FIRST) != 0;
    uint32_t age = is_first ? 0 : before ? age_behind(layout, before) : block->episode_age;
    if (block->episode_age != age || (!is_first && age == 0)) {
        return "it begins at another step of its episode";
    }
    const char *fault = NULL;
    uint32_t last =
        before ? *replay_block_flags(layout, before, layout->rows - 1) : REPLAY_FLAGS_UNKNOWN;
    for (uint32_t row = 0; row < block->count && !fault; row++) {
        fault = replay_flags_fault(last, flags[row]);
        last = flags[row];
    }
    return fault;
}

oct_err
replay_data_check(const replay_data *data, oct_reason *why)
{
    for (uint32_t i = 0; i < data->header->blocks; i++) {
        oct_pulse_beat(OCT_PULSE_LOOP, OCT_PULSE_WORKS);
        const replay_block *block = replay_data_block(data, i);
        const char *fault = replay_data_block_sum(&data->layout, block) != block->checksum
                                ? "its checksum differs"
                                : place_fault(data, block, i);
        fault = fault ? fault : link_fault(data, block, i);
        fault = fault ? fault : replay_data_numbers_fault(&data->header->env, &data->layout, block);
        fault = fault ? fault : flags_fault(data, block);
        if (fault) {
            return oct_refuse(why, "%s: block %" PRIu32 " of %" PRIu32 ": %s", data->path, i,
                              data->header->blocks, fault);
        }
    }
    return OCT_OK;
}

// ---- as a table

oct_err
replay_data_fit(wire_configure *out, const replay_data *data, const wire_configure *wanted,
                oct_reason *reason)
{
    const replay_data_header *header = data->header;
    oct_reason why;
    if (replay_data_env_fit(&header->env, wanted, &why) != OCT_OK) {
        return oct_refuse(reason, "replay.data: %s: %s", data->path, why.text);
    }
    // The extras of n-step windows are not read.
    bool is_read = wanted->extra_dim > 0 && wanted->window != WIRE_WINDOW_N_STEP;
    bool has_extra = wanted->extra_dim == header->extra_dim;
    if (is_read && !has_extra) {
        return oct_refuse(reason,
                          "replay.data: %s has %" PRIu32
                          " more numbers with each action, but algo.name needs %" PRIu32,
                          data->path, header->extra_dim, wanted->extra_dim);
    }
    if (wanted->sampler == WIRE_SAMPLER_FIFO) {
        return oct_refuse(
            reason,
            "replay.data: %s is sampled repeatedly, which replay.sampler: fifo does not allow",
            data->path);
    }
    *out = *wanted;
    out->capacity = (uint64_t)header->blocks * header->block_rows;
    out->extra_dim = has_extra ? wanted->extra_dim : 0;
    out->streams = 1;
    out->min_size = 1;
    out->samples_per_insert = 0;
    out->tolerance = 0;
    return OCT_OK;
}
