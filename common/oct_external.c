// The memory and the packets that a learner shares with an external learning process: where the
// columns lie, and what is valid.
#include "common/oct_external.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/oct_base.h"

#define ALIGNMENT 64u // bytes, of every column
// of the whole memory, 1 TiB: a bound against overflow, far above what is used
#define BYTES_MAX  ((uint64_t)1 << 40)
#define ROWS_MAX   (1u << 28) // of a batch
#define NUMBER_MAX (1u << 28) // of an observation, of outputs of a layer

// A hole would be sent with what the stack holds.
static_assert(sizeof(oct_external_packet) == 256, "has no holes");

// ---- the spec

// Returns true if all offsets of all layers lie within the parameters.
static bool
layers_are_sound(const octet_learner_spec *spec)
{
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const octet_learner_layer *layer = &spec->layers[l];
        uint64_t count = spec->param_count, weights = (uint64_t)layer->rows * layer->columns;
        bool norm = layer->layer_norm != 0;
        if (layer->rows > NUMBER_MAX || layer->columns > NUMBER_MAX || weights > count ||
            layer->weight > count - weights || layer->rows > count ||
            layer->bias > count - layer->rows ||
            (norm && (layer->outputs > count || layer->gain > count - layer->outputs ||
                      layer->offset > count - layer->outputs))) {
            return false;
        }
    }
    return true;
}

static bool
spec_is_sound(const octet_learner_spec *spec)
{
    uint64_t rows = (uint64_t)spec->batch_size * OCT_MAX(spec->steps, 1u);
    return spec->size == sizeof(*spec) && spec->window >= OCTET_LEARNER_N_STEP &&
           spec->window <= OCTET_LEARNER_ROLLOUT &&
           (spec->steps == 0) == (spec->window == OCTET_LEARNER_N_STEP) && rows >= 1 &&
           rows <= ROWS_MAX && spec->obs_count >= 1 && spec->obs_count <= NUMBER_MAX &&
           spec->obs_rank <= OCTET_LEARNER_RANK_MAX && spec->action_count >= 1 &&
           spec->action_count <= OCTET_LEARNER_ACTIONS_MAX &&
           spec->extra_count <= 1 + OCTET_LEARNER_ACTIONS_MAX && spec->layer_count >= 1 &&
           spec->layer_count <= OCTET_LEARNER_LAYERS_MAX &&
           spec->number_count <= OCTET_LEARNER_NUMBERS_MAX && spec->param_count >= 1 &&
           spec->param_count <= BYTES_MAX / sizeof(float) && layers_are_sound(spec);
}

oct_err
oct_external_lay_out(oct_external_layout *out, const octet_learner_spec *spec)
{
    if (!spec_is_sound(spec)) {
        return OCT_EINVAL;
    }
    bool n_step = spec->window == OCTET_LEARNER_N_STEP;
    // Bytes of a row of each column; 0: this kind of window has no such column.
    uint64_t rows = OCT_MAX(spec->steps, 1u), obs = spec->obs_count * sizeof(float);
    uint64_t action = spec->action_kind == OCTET_LEARNER_BOX ? spec->action_count : 1;
    const uint64_t row[OCT_EXTERNAL_COLUMNS] = {
        [OCT_EXTERNAL_OBS] = (uint64_t)(spec->steps + 1) * obs,
        [OCT_EXTERNAL_NEXT] = n_step ? obs : 0,
        [OCT_EXTERNAL_ACTION] = rows * action * 4,
        [OCT_EXTERNAL_REWARD] = rows * sizeof(float),
        [OCT_EXTERNAL_DISCOUNT] = n_step ? sizeof(float) : 0,
        [OCT_EXTERNAL_FLAGS] = n_step ? 0 : rows,
        [OCT_EXTERNAL_VERSION_OF] = n_step ? 0 : rows * sizeof(uint32_t),
        [OCT_EXTERNAL_EXTRA] = rows * spec->extra_count * sizeof(float),
        [OCT_EXTERNAL_IMPORTANCE] = sizeof(float),
        [OCT_EXTERNAL_PRIORITY] = sizeof(float),
        [OCT_EXTERNAL_NUMBERS] = OCTET_LEARNER_NUMBERS_MAX * sizeof(float),
        [OCT_EXTERNAL_PARAMS] = spec->param_count * sizeof(float),
    };
    uint64_t at = sizeof(oct_external_head);
    for (int k = 0; k < OCT_EXTERNAL_COLUMNS; k++) {
        // the numbers and the parameters exist once, not once a window
        uint64_t windows = k < OCT_EXTERNAL_NUMBERS ? spec->batch_size : 1;
        at = (at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        if (row[k] > BYTES_MAX / windows || at > BYTES_MAX) {
            return OCT_EINVAL;
        }
        out->at[k] = at;
        out->row[k] = row[k];
        at += windows * row[k];
    }
    out->bytes = at;
    return at <= BYTES_MAX ? OCT_OK : OCT_EINVAL;
}

// ---- packets

oct_external_packet
oct_external_packet_of(oct_external_kind kind, uint64_t number, const char *text)
{
    oct_external_packet packet = {.magic = OCT_EXTERNAL_MAGIC,
                                  .version = OCT_EXTERNAL_VERSION,
                                  .kind = kind,
                                  .number = number};
    (void)snprintf(packet.text, sizeof(packet.text), "%s", text != NULL ? text : "");
    return packet;
}

bool
oct_external_packet_read(oct_external_packet *out, const void *bytes, size_t length)
{
    if (length != sizeof(*out)) {
        return false;
    }
    memcpy(out, bytes, sizeof(*out));
    out->text[sizeof(out->text) - 1] = '\0';
    return out->magic == OCT_EXTERNAL_MAGIC && out->version == OCT_EXTERNAL_VERSION;
}

// The path of a run folder may be longer than a socket's address (108 bytes), so the address goes
// through the open folder.
void
oct_external_address(struct sockaddr_un *out, int folder_fd)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    (void)snprintf(out->sun_path, sizeof(out->sun_path), "/proc/self/fd/%d/%s", folder_fd,
                   OCT_EXTERNAL_SOCKET);
}
