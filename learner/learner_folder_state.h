#ifndef LEARNER_LEARNER_FOLDER_STATE_H
#define LEARNER_LEARNER_FOLDER_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "learner/learner_folder.h"

// The state that learner_folder.c and learner_folder_policies.c (the policies) share. No other file
// includes this header.

// The fp32 file has the second name until policy.oct has the same version.
#define LEARNER_FP32_FILE      "policy.fp32.oct"
#define LEARNER_FP32_NEXT_FILE "policy.fp32.next"

// The result of writing a checkpoint.
typedef struct learner_written {
    uint64_t number;
    int code; // errno, 0: it is on the disk
    wire_written place;
} learner_written;

struct learner_folder {
    learner_folder_options options;
    const config_experiment *config; // options.config
    learner_evals *evals;
    learner_publisher *publisher;
    bool is_abandoned;
    uint32_t task_crc;          // of the settings that returns depend on, beside the policy
    learner_checkpoint resumed; // what the run continues from; its state is freed once loaded
    bool is_resumed; // resumed is a checkpoint; false: all its fields but the run id are 0
    learner_versions versions; // versions of the checkpoint, and versions reserved since
    // policy_versions: versions up to here may have been published, also by a dead process
    uint64_t reserved_version;
    uint64_t reserve_ns;  // the reservation is not retried before this time
    bool is_holding;      // the next version waits for its reservation
    char *summary_before; // summary.json when this process resumed the run; NULL: there was none
    // environment.oct
    uint8_t *environment; // contents not written yet; NULL: there is nothing to write
    size_t environment_length;
    uint64_t environment_ns; // the file is not written again before this time
    uint64_t last_version;   // version of policy_last.oct; 0: not written yet
    // policy.oct
    learner_eval_result saved; // its evaluation; version 0: not evaluated, or there is no such file
    double saved_confirmed;
    uint32_t saved_crc; // CRC of the file's bytes; 0: there is no file
    policy_precision saved_precision;
    bool fp32_is_missing; // policy.fp32.oct could not be written, or a process was killed before it
                          // wrote it
    // curve.svg
    learner_curve_point *curve;
    uint32_t curve_count;
    uint64_t curve_ns;                   // when it was written last
    uint64_t curve_changes, curve_drawn; // learner_curve_is_due
    // the thread that writes checkpoints
    bool writer_started;
    atomic_int writer_busy;
    pthread_t writer;
    uint64_t writer_begin_ns;
    uint64_t writer_number;           // number of the checkpoint begun last, from 1
    bool writer_missed;               // a checkpoint was requested while another was being written
    learner_written writing;          // owned by the writer thread until it has ended
    learner_written written;          // the last checkpoint whose writing has ended
    atomic_int failed[LEARNER_FILES]; // errno of the last write, or 0; the writer sets it, too
    atomic_ullong failures;           // count of all failures
    int policies_errno;               // last error of the policies being written
    char trouble[256];
};

// Writes the path of a file in the run folder.
void learner_folder_path(const learner_folder *folder, const char *name,
                         char out[OCT_FILE_PATH_MAX]);

#endif // LEARNER_LEARNER_FOLDER_STATE_H
