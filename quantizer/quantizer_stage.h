#ifndef QUANTIZER_QUANTIZER_STAGE_H
#define QUANTIZER_QUANTIZER_STAGE_H

#include <stdbool.h>

#include "policy/policy_format.h"
#include "quantizer/quantizer_convert.h"
#include "quantizer/quantizer_probe.h"
#include "quantizer/quantizer_scaling.h"

// The learner's publishing stage: a thread of its own that turns a consistent snapshot of the
// weights into one policy version, encoded twice: complete, and as the change from the version
// before where that is shorter. Versions of one stage form one chain: each delta changes the
// publication before it, and applying it gives the complete one bit for bit. A publication for
// other actors than the one before it has no delta, for they do not have that one.
//
// What is quantised is the network as quantizer_fold.h makes it, with the scaling that was set last
// where the spec has normalise. A new scaling gives all weights of the first layer another meaning:
// it begins with a complete policy (a key frame), converted anew.
//
// Threads: three. The training thread offers snapshots (copied whole, so no read is ever torn), the
// stage's own thread quantises and encodes, the loop thread takes publications. notify is called on
// the stage's thread and must only wake the loop.
// Owns: its buffers, which released publications give back to it: in steady state nothing is
// allocated. A publication belongs to the loop thread and is counted (retain, release); it may
// outlive the stage.
// Full: offers are declined while one snapshot is being worked on and another waits, and while the
// budget is overdrawn; when the loop thread is far behind, a snapshot is dropped before it gets a
// version.
typedef struct quantizer_stage quantizer_stage;

// One policy version, encoded, and what it cost.
typedef struct quantizer_publication {
    uint32_t references; // loop thread only
    uint64_t version;
    uint64_t updates;
    uint64_t env_steps;
    bool noisy;        // drawn around the policy of these updates, to explore with
    uint32_t audience; // 0: all actors, else those whose number this is
    uint64_t made_ns;  // oct_clock_ns of the snapshot
    uint8_t *bytes;    // a policy file, whole (policy_format.h)
    size_t length;
    const uint8_t *delta; // the same as a change of base_version (codec_delta.h), NULL: the
    size_t delta_length;  // complete policy is to be sent
    uint64_t base_version;
    quantizer_changes changes; // against the version before; a first version changes everything
    float *params;             // the snapshot in fp32, in policy_spec order, not folded
    uint32_t layer_count;
    quantizer_layer_error error[POLICY_LAYERS_MAX]; // of the weights, as last measured (fp32: zero)
    double encode_s;                                // quantise and encode both, wall time
} quantizer_publication;

typedef struct quantizer_stage_options {
    const policy_spec *spec; // borrowed until destroy
    policy_precision precision;
    const quantizer_method *method; // copied; NULL: QUANTIZER_METHOD_DEFAULT
    bool delta;                     // integer precisions: encode changes, too
    uint32_t key_frame_period;      // one publication in so many has no delta; 0: as long as the
                                    // delta is shorter
    uint64_t run_id;
    const char *run_name;
    uint64_t last_version;   // the first publication is last_version + 1
    bool publish_all;        // also what changes nothing
    double core_share;       // most of one core for snapshots and encoding; 0: no limit
    double bytes_per_s;      // most that is sent to all listeners together; 0: no limit
    double probe_period_s;   // between measurements of errors and divergence
    double probe_core_share; // most of one core for those; 0: no limit
} quantizer_stage_options;

typedef void (*quantizer_notify_fn)(void *arg);

// OCT_EIO: no thread could be made.
OCT_CHECKED oct_err quantizer_stage_create(quantizer_stage **out,
                                           const quantizer_stage_options *options,
                                           quantizer_notify_fn notify, void *arg);
// Ends the thread (after the snapshot in work) and frees what was not taken.
void quantizer_stage_destroy(quantizer_stage *stage); // NULL is a no-op

// Training thread. Whether an offer would be taken now: parameters need not be made for one that
// would not.
bool quantizer_stage_is_open(const quantizer_stage *stage);
// Training thread. False: busy, or over budget; nothing was taken, offer again later. A snapshot
// that changes no code, scale or bias is taken but not published, unless publish_all is set.
bool quantizer_stage_offer(quantizer_stage *stage, const float *params, uint64_t updates,
                           uint64_t env_steps);
// The same for some of the actors, or with parameters to explore with (algo_behaviour_params).
typedef struct quantizer_offer {
    const float *params; // copied
    uint64_t updates;
    uint64_t env_steps;
    bool noisy;
    bool anew; // converted without regard to what was published before
    bool last; // taken whatever the budget says
    uint32_t audience;
} quantizer_offer;
bool quantizer_stage_offer_to(quantizer_stage *stage, const quantizer_offer *offer);
// Training thread, or who has joined it. Waits until nothing that was offered is left to be
// published: the next offer finds room.
void quantizer_stage_settle(quantizer_stage *stage);
// Training thread. The scaling of what is offered from now on, copied; none: mean 0, deviation 1.
// Nothing happens where the spec has no normalise.
void quantizer_stage_set_scaling(quantizer_stage *stage, const quantizer_scaling *scaling);
// Loop thread. Observations [rows][obs_count] for the divergence probe, copied.
void quantizer_stage_set_probe(quantizer_stage *stage, const float *obs, uint32_t rows);
// Loop thread. To how many each publication is sent, for bytes_per_s; 1 until told.
void quantizer_stage_set_listeners(quantizer_stage *stage, uint32_t count);
// Loop thread. The next publication in order of versions, with one reference, or NULL.
quantizer_publication *quantizer_stage_take(quantizer_stage *stage);

// Loop thread. How far a published version is from the fp32 one, measured after it was published,
// so that nothing waits for it.
typedef struct quantizer_measurement {
    uint64_t version;
    quantizer_divergence divergence;
} quantizer_measurement;
// False: nothing newer than the last one that was taken.
bool quantizer_stage_take_measurement(quantizer_stage *stage, quantizer_measurement *out);

uint64_t quantizer_stage_failures(const quantizer_stage *stage);  // snapshots that were not finite
uint64_t quantizer_stage_unchanged(const quantizer_stage *stage); // that changed nothing
// Seconds of a core that snapshots and encoding took so far, what was not published included.
double quantizer_stage_core_s(const quantizer_stage *stage);

// One of no stage, all zero but its one reference: for who stands in for a stage.
quantizer_publication *quantizer_publication_create(void);
quantizer_publication *quantizer_publication_retain(quantizer_publication *publication);
void quantizer_publication_release(quantizer_publication *publication); // NULL is a no-op

#endif // QUANTIZER_QUANTIZER_STAGE_H
