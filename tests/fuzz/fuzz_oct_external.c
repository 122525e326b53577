// What a learner and the process that learns for it read of each other: a packet, and the spec in
// their shared memory. An input says how long the packet is, then edits a sound spec: what is
// accepted lies within the memory.
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_external.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_edits.h"

static octet_learner_spec
sound(void)
{
    octet_learner_spec spec = {.size = sizeof(spec),
                               .window = OCTET_LEARNER_N_STEP,
                               .batch_size = 32,
                               .obs_count = 4,
                               .action_kind = OCTET_LEARNER_DISCRETE,
                               .action_count = 2,
                               .extra_count = 1,
                               .layer_count = 1,
                               .param_count = 10,
                               .number_count = 3};
    spec.layers[0] = (octet_learner_layer){
        .kind = OCTET_LEARNER_DENSE, .inputs = 4, .outputs = 2, .rows = 2, .columns = 4, .bias = 8};
    return spec;
}

static void
lay_out(const octet_learner_spec *spec)
{
    oct_external_layout at;
    if (oct_external_lay_out(&at, spec) != OCT_OK) {
        return;
    }
    for (int k = 0; k < OCT_EXTERNAL_COLUMNS; k++) {
        size_t windows = k < OCT_EXTERNAL_NUMBERS ? spec->batch_size : 1;
        size_t end = k + 1 < OCT_EXTERNAL_COLUMNS ? at.at[k + 1] : at.bytes;
        OCT_ASSERT(at.at[k] % 64 == 0 && at.at[k] >= sizeof(oct_external_head));
        OCT_ASSERT(at.at[k] <= at.bytes && at.row[k] * windows <= end - at.at[k]);
    }
    for (uint32_t l = 0; l < spec->layer_count; l++) {
        const octet_learner_layer *layer = &spec->layers[l];
        uint64_t weights = (uint64_t)layer->rows * layer->columns;
        OCT_ASSERT(layer->weight + weights <= spec->param_count);
        OCT_ASSERT(layer->bias + layer->rows <= spec->param_count);
    }
    fuzz_accept();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    oct_reader in = {.at = data, .left = size};
    octet_learner_spec spec = sound();
    oct_external_packet packet;
    size_t length = oct_read_u16(&in);
    uint8_t *bytes = fuzz_copy(in.at, OCT_MIN(length, in.left));
    if (oct_external_packet_read(&packet, bytes, OCT_MIN(length, in.left))) {
        OCT_ASSERT(strlen(packet.text) < sizeof(packet.text));
        fuzz_accept();
    }
    free(bytes);
    const fuzz_region regions[] = {{0, offsetof(octet_learner_spec, layers)},
                                   {offsetof(octet_learner_spec, layers), sizeof(spec.layers[0])}};
    fuzz_edit((uint8_t *)&spec, sizeof(spec), regions, OCT_COUNTOF(regions), &in);
    lay_out(&spec);
    return 0;
}

void
fuzz_seeds(void)
{
    uint8_t whole[2 + sizeof(oct_external_packet)] = {0, 1};
    oct_external_packet packet = oct_external_packet_of(OCT_EXTERNAL_ENDED, 7, "solved");
    memset(packet.text, 'x', sizeof(packet.text)); // no end
    memcpy(whole + 2, &packet, sizeof(packet));
    fuzz_seed(whole, sizeof(whole));
    const uint8_t nothing[] = {0, 0};
    fuzz_seed(nothing, sizeof(nothing)); // the sound spec
}
