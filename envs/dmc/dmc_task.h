#ifndef ENVS_DMC_DMC_TASK_H
#define ENVS_DMC_DMC_TASK_H

#include <mujoco/mujoco.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/oct_pcg64.h"

// One task of dm_control's suite (Tassa et al. 2018): its model, the start of an episode,
// observation and reward. dmc_env.c does stepping, resets, limits, failures and saving; a task is
// one const dmc_task in dmc_<domain>.c and one row in dmc_tasks.c.
//
// Threads: a sim is used by one thread at a time; tasks are const.
// Owns: the handle owns the sims; a task's functions keep nothing.

#define DMC_VALUES_MAX 16 // numbers that reset draws besides qpos and qvel
#define DMC_IDS_MAX    32 // ids that a task looks up

typedef struct dmc_task dmc_task;

// A name that a task looks up in its model. The id of a sensor is its address in sensordata, that
// of a joint the address of its qpos; all others are MuJoCo's ids.
typedef struct dmc_name {
    mjtObj type;
    const char *name;
} dmc_name;

// One environment: a model of its own (tasks write into it), its data, its generator.
typedef struct dmc_sim {
    const dmc_task *task;
    mjModel *m;
    mjData *d;
    oct_pcg64 *rng;               // reset draws from it
    int ids[DMC_IDS_MAX];         // of the task's names
    double drawn[DMC_VALUES_MAX]; // last values written into the model by reset or place; with
                                  // settle_steps the core keeps qpos before settling here
    double *raw_qpos;             // [nq] before MuJoCo last normalised its quaternions
    int ncam, nlight;             // of the model while it steps without them (dmc_sim_cameras)
    int disableflags;             // of the model's options, where nothing is switched off meanwhile
    bool broken;                  // an error of MuJoCo since the last start: reset it
} dmc_sim;

struct dmc_task {
    const char *id;    // "dmc:cheetah_run"
    const char *model; // name of the MJCF text, "cheetah" (dmc_model_text)
    uint32_t substeps; // physics steps in one control step
    uint32_t obs_count;
    const char *const *obs_names;   // [obs_count] dm_control's key and index, "position[0]"; the
                                    // order is that of dm_control's dictionary
    const char *reward_name;        // column of recorded trajectories, "r_run"
    uint32_t value_count;           // numbers that reset draws into the model, e.g. the target
    const char *const *value_names; // [value_count] "model.target_xy[0]"
    uint32_t settle_steps;          // cheetah: physics steps without control inside the reset; then
                                    // value_count is nq, the values are qpos before settling,
                                    // and place is NULL
    bool collision_check;           // reset runs one more forward, to find contacts
    bool has_no_file;               // dm_control builds this model in code: always Octet's own
    double parameter[3];            // of the functions below (radius, speed …)
    const dmc_name *names;          // [name_count] looked up in the model
    uint32_t name_count;
    // Sets constants of the model after the names were looked up. False: the model lacks something,
    // whose name is in missing. NULL: nothing to set.
    bool (*prepare)(dmc_sim *sim, const char **missing);
    // Draws an episode's start: model values, qpos, qvel. Runs after mj_resetData and a forward
    // without actuation; another such forward follows. May call dmc_forward_passive.
    void (*reset)(dmc_sim *sim);
    // Writes drawn[value_count] into the model (also used to replay recorded trajectories).
    void (*place)(dmc_sim *sim, const double *values);
    void (*observe)(const dmc_sim *sim, double *obs);
    double (*reward)(const dmc_sim *sim);
};

// These are in dmc_common.c, except the next two, and dmc_forward_passive, which is in dmc_sim.c.

// Returns the tasks, NULL-terminated.
const dmc_task *const *dmc_tasks(void);
// Returns the MJCF text of a model, from envs/dmc/models/NAME.xml at build time; NULL: there is
// none.
const char *dmc_model_text(const char *name);

// Looks up the task's names and calls its prepare; once per sim, after loading. False: missing gets
// the first name that the model lacks.
bool dmc_prepare(dmc_sim *sim, const char **missing);
// Runs mj_forward with actuation disabled, as dm_control does in resets.
void dmc_forward_passive(dmc_sim *sim);
// Draws every limited hinge and slide uniformly in its range, unlimited hinges in [-pi, pi), and
// the orientation of free joints as a normalised quaternion of four numbers from [0, 1). Positions
// of free joints and unlimited slides stay.
void dmc_randomise_joints(dmc_sim *sim);

// dm_control's reward shapes (Tassa et al. 2018): 1 within [low, high], and falling outside it to
// value_at_margin at a distance of margin; margin 0: 0 outside.
typedef enum dmc_shape { DMC_GAUSSIAN, DMC_LINEAR, DMC_QUADRATIC, DMC_LONG_TAIL } dmc_shape;
double dmc_tolerance(double x, double low, double high, double margin, dmc_shape shape,
                     double value_at_margin);

#endif // ENVS_DMC_DMC_TASK_H
