#ifndef QUANTIZER_QUANTIZER_STAGE_H
#define QUANTIZER_QUANTIZER_STAGE_H

#include <stdbool.h>

#include "policy/policy_format.h"
#include "quantizer/quantizer_convert.h"
#include "quantizer/quantizer_probe.h"
#include "quantizer/quantizer_scaling.h"

// The learner's publishing stage. Its own thread turns a consistent snapshot of the weights into
// one policy version, encoded twice: complete, and as the change from the previous version if that
// is shorter. The versions of one stage form a chain: each delta changes the previous publication,
// and applying it gives the complete policy bit for bit. A publication with another audience than
// the previous one has no delta, because its receivers do not have the previous one.
//
// The stage quantises the network that quantizer_fold.h makes, with the last scaling that was set
// if the spec has normalise. A new scaling changes the meaning of all weights of the first layer,
// so its first policy is converted from scratch and has no delta (a key frame).
//
// Threads: three. The training thread offers snapshots, which are copied as a whole, so the stage
// never reads a mixture of two updates. The stage's own thread quantises and encodes. The loop
// thread takes publications. notify is called on the stage's thread and must only wake the loop.
// Owns: its buffers. Released publications return theirs, so in steady state nothing is allocated.
// A publication belongs to the loop thread and is counted (retain, release); it may outlive the
// stage.
// Full: an offer is declined while one snapshot is being worked on and another one waits, and while
// the budget is overdrawn. If the loop thread is far behind, a snapshot is dropped before it gets a
// version.
typedef struct quantizer_stage quantizer_stage;

// One policy version, encoded, and its cost.
typedef struct quantizer_publication {
    uint32_t references; // loop thread only
    uint64_t version;
    uint64_t updates;   // learner updates of the snapshot
    uint64_t env_steps; // environment steps that the learner had received at the snapshot
    bool noisy;         // its parameters are drawn around the policy of these updates, to explore
    uint32_t audience;  // 0: all actors; else only the actors with this number
    uint64_t made_ns;   // oct_clock_ns of the snapshot
    uint8_t *bytes;     // [length], a complete policy file (policy_format.h)
    size_t length;
    const uint8_t *delta; // the same policy as a change of base_version (codec_delta.h); NULL: send
    size_t delta_length;  // the complete policy
    uint64_t base_version;     // 0 without a delta
    quantizer_changes changes; // against the previous version; a key frame changes everything
    float *params;             // [policy_spec_params], the snapshot in fp32, not folded
    uint32_t layer_count;
    quantizer_layer_error error[POLICY_LAYERS_MAX]; // of the weights, last measured; fp32: 0
    double encode_s; // seconds of wall time to quantise and to encode
} quantizer_publication;

typedef struct quantizer_stage_options {
    const policy_spec *spec; // borrowed until destroy
    policy_precision precision;
    const quantizer_method *method; // copied; NULL: QUANTIZER_METHOD_DEFAULT
    bool delta;                     // integer precisions: also encode changes
    uint32_t key_frame_period;      // every n-th publication has no delta; 0: each may have one
    uint64_t run_id;
    const char *run_name;    // borrowed until destroy
    uint64_t last_version;   // the first publication has version last_version + 1
    bool publish_all;        // also publish policies that are equal to the previous one
    double core_share;       // limit for snapshots and encoding, in cores; 0: none
    double bytes_per_s;      // limit for the bytes sent to all listeners together; 0: none
    double probe_period_s;   // at least this time between measurements of errors and divergence
    double probe_core_share; // limit for these measurements, in cores; 0: none
} quantizer_stage_options;

typedef void (*quantizer_notify_fn)(void *arg);

// Starts the stage's thread. Errors: those of policy_image_create; OCT_EIO if no thread can be
// started.
OCT_CHECKED oct_err quantizer_stage_create(quantizer_stage **out,
                                           const quantizer_stage_options *options,
                                           quantizer_notify_fn notify, void *arg);
// Ends the thread after the offered snapshots, and frees publications that were not taken. No other
// thread uses the stage any more; publications that were taken stay valid.
void quantizer_stage_destroy(quantizer_stage *stage); // NULL is a no-op

// Training thread. Returns true if an offer would be taken now, so that the caller prepares
// parameters only for such an offer.
bool quantizer_stage_is_open(const quantizer_stage *stage);
// Training thread. Offers a snapshot to all actors. Returns false, and takes nothing, if the stage
// is busy or over budget; offer again later. A snapshot that changes no code, scale or bias is
// taken but not published, unless publish_all is set.
bool quantizer_stage_offer(quantizer_stage *stage, const float *params, uint64_t updates,
                           uint64_t env_steps);
// An offer for some of the actors, or with parameters to explore with (algo_behaviour_params).
typedef struct quantizer_offer {
    const float *params; // [policy_spec_params], copied
    uint64_t updates;
    uint64_t env_steps;
    bool noisy;
    bool from_scratch; // convert from scratch, independently of earlier publications (a key frame)
    bool last;         // take the offer even over budget
    uint32_t audience;
} quantizer_offer;
// Training thread. Does the same as quantizer_stage_offer.
bool quantizer_stage_offer_to(quantizer_stage *stage, const quantizer_offer *offer);
// Training thread, or a thread that has joined it. Waits until every offered snapshot has been
// published or dropped, so that the next offer finds room.
void quantizer_stage_settle(quantizer_stage *stage);
// Training thread. Sets the scaling of the following offers; copied. Before the first call it is
// mean 0, deviation 1. Does nothing if the spec has no normalise.
void quantizer_stage_set_scaling(quantizer_stage *stage, const quantizer_scaling *scaling);
// Loop thread. Sets the observations [rows][obs_count] for the divergence probe; copied. Does
// nothing for 0 rows or an fp32 stage. No divergence is measured before the
// first call.
void quantizer_stage_set_probe(quantizer_stage *stage, const float *obs, uint32_t rows);
// Loop thread. Sets how many receivers get each publication, for bytes_per_s; 1 before the first
// call.
void quantizer_stage_set_listeners(quantizer_stage *stage, uint32_t count);
// Loop thread. Returns the next publication in order of versions, with one reference, or NULL.
quantizer_publication *quantizer_stage_take(quantizer_stage *stage);

// The divergence of a published version from its fp32 weights. It is measured after the version was
// published, so that no actor waits for it.
typedef struct quantizer_measurement {
    uint64_t version;
    quantizer_divergence divergence;
} quantizer_measurement;
// Loop thread. Takes the newest measurement. Returns false if there is none since the last call.
bool quantizer_stage_take_measurement(quantizer_stage *stage, quantizer_measurement *out);

// Any thread. Counters since create.
uint64_t quantizer_stage_failures(const quantizer_stage *stage);  // snapshots that were not finite
uint64_t quantizer_stage_unchanged(const quantizer_stage *stage); // snapshots that changed nothing
// Seconds of one core for snapshots and encoding, including snapshots that were not published.
double quantizer_stage_core_s(const quantizer_stage *stage);

// Returns a publication without a stage, all zero except for its one reference, for code that
// replaces a stage.
quantizer_publication *quantizer_publication_create(void);
// Loop thread. Add and drop a reference; the last release returns the buffers to the stage.
quantizer_publication *quantizer_publication_retain(quantizer_publication *publication);
void quantizer_publication_release(quantizer_publication *publication); // NULL is a no-op

#endif // QUANTIZER_QUANTIZER_STAGE_H
