#ifndef QUANTIZER_QUANTIZER_STAGE_H
#define QUANTIZER_QUANTIZER_STAGE_H

#include <stdbool.h>

#include "policy/policy_format.h"
#include "quantizer/quantizer_convert.h"

// The learner's publishing stage: a thread of its own that turns a consistent snapshot of the
// weights into one encoded policy per version.
//
// Threads: three. The training thread offers snapshots (copied whole, so no read is ever torn), the
// stage's own thread quantises and encodes, the loop thread takes publications. notify is called on
// the stage's thread and must only wake the loop.
// Owns: its buffers; a publication belongs to the loop thread and is counted (retain, release).
// Full: while one snapshot is being worked on and another waits, offers are declined; when the loop
// thread is far behind, a publication is dropped before it gets a version.
typedef struct quantizer_stage quantizer_stage;

// One policy version, encoded, and what it cost.
typedef struct quantizer_publication {
    uint32_t references; // loop thread only
    uint64_t version;
    uint64_t updates;
    uint64_t env_steps;
    uint64_t made_ns; // oct_clock_ns
    uint8_t *bytes;   // a policy file, whole (policy_format.h)
    size_t length;
    uint32_t layer_count;
    quantizer_layer_error error[POLICY_LAYERS_MAX]; // of the weights, per layer (zero for fp32)
    double encode_s;                                // convert and encode
    bool probed;           // whether the three below were measured for this version
    double agreement;      // share of probe rows where int8 and fp32 choose the same action
    double divergence;     // ||y_int8 - y_fp32||_2 / ||y_fp32||_2 over the probe rows
    double divergence_max; // max |y_int8 - y_fp32|
} quantizer_publication;

typedef struct quantizer_stage_options {
    const policy_spec *spec; // borrowed until destroy
    policy_precision precision;
    bool per_tensor;
    uint64_t run_id;
    const char *run_name;
    uint64_t last_version; // the first publication is last_version + 1
    double probe_period_s; // between divergence probes
} quantizer_stage_options;

typedef void (*quantizer_notify_fn)(void *arg);

// OCT_EIO: no thread could be made.
OCT_CHECKED oct_err quantizer_stage_create(quantizer_stage **out,
                                           const quantizer_stage_options *options,
                                           quantizer_notify_fn notify, void *arg);
// Ends the thread (after the snapshot in work) and frees what was not taken.
void quantizer_stage_destroy(quantizer_stage *stage); // NULL is a no-op

// Training thread. False: busy, nothing was taken; offer again later. Weights equal to the last
// version's are taken but not published.
bool quantizer_stage_offer(quantizer_stage *stage, const float *params, uint64_t updates,
                           uint64_t env_steps);
// Loop thread. Observations [rows][obs_count] for the divergence probe, copied.
void quantizer_stage_set_probe(quantizer_stage *stage, const float *obs, uint32_t rows);
// Loop thread. The next publication in order of versions, with one reference, or NULL.
quantizer_publication *quantizer_stage_take(quantizer_stage *stage);
uint64_t quantizer_stage_failures(const quantizer_stage *stage); // snapshots that were not finite

quantizer_publication *quantizer_publication_retain(quantizer_publication *publication);
void quantizer_publication_release(quantizer_publication *publication); // NULL is a no-op

#endif // QUANTIZER_QUANTIZER_STAGE_H
