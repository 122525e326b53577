// What goes wrong in the Control Suite: models that explode, MuJoCo's own errors, files and modules
// that are missing or no good. Nothing may print, write a file, ask for a key or exit.
#include "common/oct_reason.h"
#include "tests/envs/env_test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "envs/dmc/dmc_env.h"
#include "envs/dmc/dmc_guard.h"
#include "envs/dmc/dmc_model.h"
#include "envs/dmc/dmc_sim.h"
#include "tests/envs/dmc/dmc_rig.h"

static char folder[64];

static const char *
path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void
file_write(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int
folder_make(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/octet_dmc_XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int
folder_remove(void **state)
{
    (void)state;
    const char *const names[] = {"pendulum.xml", "beside.xml", "finger.xml",
                                 "env_dmc.so",   "python3",    "asked"};
    for (size_t k = 0; k < OCT_COUNTOF(names); k++) {
        (void)unlink(path_of(names[k]));
    }
    return rmdir(folder);
}

// A pendulum as dm_control writes its models: common files included, a texture, materials.
#define PENDULUM(gear, extra)                                                                      \
    "<mujoco model='pendulum'>\n"                                                                  \
    "  <include file='./common/visual.xml'/>\n"                                                    \
    "  <include file='./common/skybox.xml'/>\n"                                                    \
    "  <include file='./common/materials.xml'/>\n"                                                 \
    "  <asset><texture type='skybox' builtin='gradient' width='800' height='800'\n"                \
    "    rgb1='.4 .6 .8' rgb2='0 0 0'/></asset>\n"                                                 \
    "  <option timestep='0.02'><flag contact='disable'/></option>" extra "\n"                      \
    "  <worldbody><geom name='floor' type='plane' material='grid' size='2 2 .2'/>\n"               \
    "    <body name='pole' pos='0 0 .6'><joint name='hinge' axis='0 1 0' damping='0.1'/>\n"        \
    "      <geom name='mass' material='effector' pos='0 0 .5' size='.05' mass='1'/>\n"             \
    "    </body></worldbody>\n"                                                                    \
    "  <actuator><motor name='torque' joint='hinge' gear='" gear                                   \
    "' ctrlrange='-1 1' ctrllimited='true'/></actuator>\n"                                         \
    "</mujoco>\n"

static env *
pendulum_opened(uint32_t count, bool autoreset)
{
    char options[96];
    snprintf(options, sizeof(options), "mjcf_dir=%s", folder);
    return env_opened("dmc:pendulum_swingup", options, count, 1, autoreset);
}

static void
open_says(const char *options, const char *want)
{
    oct_reason why = {""};
    env *e;
    env_request request = {.id = "dmc:pendulum_swingup", .options = options, .count = 1};
    assert_int_not_equal(env_open(&e, &request, &why), OCT_OK);
    T_SAYS(why.text, want);
    assert_null(strchr(why.text, '\n'));
}

static void
test_dmc_model_files_of_a_folder_are_used_without_their_textures(void **state)
{
    (void)state;
    file_write("pendulum.xml", PENDULUM("1", ""));
    oct_reason why;
    mjModel *m = NULL;
    if (!dmc_model_load(&m, "pendulum", folder, &why)) {
        fail_msg("%s", why.text);
    }
    assert_int_equal(m->ntex, 0);
    assert_true(m->nbuffer < 100000);
    assert_int_not_equal(mj_name2id(m, mjOBJ_MATERIAL, "grid"), -1);
    mj_deleteModel(m);
    // What else it includes is beside it, wherever this program stands.
    file_write("beside.xml", "<mujoco><option gravity='0 0 -1'/></mujoco>");
    file_write("pendulum.xml", PENDULUM("1", "<include file='beside.xml'/>"));
    if (!dmc_model_load(&m, "pendulum", folder, &why)) {
        fail_msg("%s", why.text);
    }
    assert_float_equal(m->opt.gravity[2], -1, 0);
    mj_deleteModel(m);

    env *e = pendulum_opened(2, true);
    struct rows r;
    rows_init(&r);
    float push[2] = {1, -1};
    r.io.action = push;
    r.io.action_stride = sizeof(float);
    T_OK(env_reset(e, NULL, NULL, &r.io));
    for (int t = 0; t < 100; t++) {
        T_OK(env_step(e, &r.io));
        assert_int_equal(r.flags[0] | r.flags[1], 0);
    }
    env_close(e);

    env_request request = {.id = "dmc:pendulum_swingup", .count = 1, .mjcf_dir = folder};
    T_OK(env_open(&e, &request, &why));
    env_close(e);
}

static void
test_dmc_bad_models_are_named_with_what_mujoco_says(void **state)
{
    (void)state;
    char options[96];
    snprintf(options, sizeof(options), "mjcf_dir=%s", folder);
    (void)unlink(path_of("pendulum.xml"));
    open_says(options, "pendulum.xml: No such file");
    const char *const cases[][2] = {
        {"", "not an MJCF file"},
        {"<mujoco><worldbody>", "pendulum.xml: XML"},
        {"<mujoco><world/></mujoco>", "unrecognized element"},
        {PENDULUM("one", ""), "pendulum.xml: XML Error"},
        {PENDULUM("1", "<include file='elsewhere.xml'/>"), "elsewhere.xml"},
        {"<mujoco><worldbody><body name='pole'/></worldbody></mujoco>", "the model has 0 joint"},
        {PENDULUM("1", "<size nstack='10'/>"), "Stack overflow"},
    };
    for (size_t k = 0; k < OCT_COUNTOF(cases); k++) {
        file_write("pendulum.xml", cases[k][0]);
        open_says(options, cases[k][1]);
        open_says(options, "pendulum");
    }
    open_says("mjcf_dir=/nonexistent", "/nonexistent/pendulum.xml: No such file");
}

// Rows have a fixed length: a model of another shape would be written over their ends.
static void
test_dmc_model_of_another_shape_is_refused(void **state)
{
    (void)state;
    char options[96], text[16384], more[12288] = "";
    snprintf(options, sizeof(options), "mjcf_dir=%s", folder);
    for (int k = 0; k < 126; k++) { // 127 joints: 2 + 127 numbers are observed
        size_t used = strlen(more);
        snprintf(more + used, sizeof(more) - used,
                 "<body><joint/><geom size='.1' pos='%d 0 9'/></body>", k);
    }
    snprintf(text, sizeof(text),
             "<mujoco><worldbody>%s<body name='pole'><joint name='hinge'/><geom size='.1'/></body>"
             "</worldbody><actuator><motor joint='hinge'/></actuator></mujoco>",
             more);
    file_write("pendulum.xml", text);
    open_says(options, "pendulum.xml: the model has 127 joint positions, 127 velocities, 1 "
                       "actuators and 0 activations; the task needs 1, 1, 1 and 0");
    file_write("pendulum.xml",
               "<mujoco><worldbody><body name='pole'><joint type='slide' name='hinge'/>"
               "<geom size='.1'/></body></worldbody>"
               "<actuator><motor joint='hinge'/></actuator></mujoco>");
    open_says(options, "pendulum.xml: joint 0 is not of the type that the task needs");
}

static void
test_dmc_sensor_of_another_size_is_refused(void **state)
{
    (void)state;
    static const char own[] = "<framepos name=\"tip\" objtype=\"site\" objname=\"tip\"/>";
    static const char other[] = "<jointpos name=\"tip\" joint=\"hinge\"/>";
    oct_reason why = {""};
    char *text = strdup(dmc_model_text("finger"));
    assert_non_null(text);
    char *at = strstr(text, own);
    assert_non_null(at);
    memset(at, ' ', strlen(own));
    memcpy(at, other, strlen(other));
    file_write("finger.xml", text);
    free(text);
    mjModel *m = NULL;
    assert_false(dmc_model_load(&m, "finger", folder, &why));
    T_SAYS(why.text, "finger.xml: sensor tip has 1 numbers; the task needs 3");
}

// dm_control's swimmer.xml is a head only; its task adds the links.
static void
test_dmc_swimmer_has_no_model_file(void **state)
{
    (void)state;
    static const char *const ids[] = {"dmc:swimmer_swimmer6", "dmc:swimmer_swimmer15"};
    for (size_t i = 0; i < OCT_COUNTOF(ids); i++) {
        oct_reason why = {""};
        env *e = NULL;
        env_request request = {.id = ids[i], .count = 1, .mjcf_dir = folder};
        T_ERR(env_open(&e, &request, &why), OCT_EINVAL);
        T_SAYS(why.text, ids[i]);
        T_SAYS(why.text,
               "has no model file: dm_control builds this model in code; leave mjcf_dir out");
    }
}

// A motor of 1e20: the first push makes a state that MuJoCo gives up.
static void
explodes(bool autoreset)
{
    file_write("pendulum.xml", PENDULUM("1e20", ""));
    env *e = pendulum_opened(2, autoreset);
    struct rows r;
    rows_init(&r);
    float push[2] = {0, 0};
    r.io.action = push;
    r.io.action_stride = sizeof(float);
    T_OK(env_reset(e, NULL, NULL, &r.io));
    T_OK(env_step(e, &r.io));
    assert_int_equal(r.flags[0] | r.flags[1], 0);
    push[1] = 1;
    T_OK(env_step(e, &r.io));
    while (r.flags[1] == 0) {
        T_OK(env_step(e, &r.io));
    }
    assert_int_equal(r.flags[0], 0);
    assert_int_equal(r.flags[1], OCTET_ENV_FAILED | OCTET_ENV_TRUNCATED |
                                     (autoreset ? OCTET_ENV_OBS_IS_RESET : 0));
    assert_true(r.reward[1] == 0 && r.reward64[1] == 0 && r.ep_return[1] == 0);
    assert_int_equal(r.ep_length[1], 0);
    assert_int_equal(env_failures(e), 1);
    T_SAYS(env_failure(e), "environment 1 failed: ");
    T_SAYS(env_failure(e), "unstable"); // MuJoCo's word
    push[1] = 0;
    if (!autoreset) { // it stays at its end until reset
        T_OK(env_step(e, &r.io));
        assert_int_equal(r.flags[1], OCTET_ENV_FAILED | OCTET_ENV_TRUNCATED);
        const uint8_t mask[2] = {0, 1};
        T_OK(env_reset(e, mask, NULL, &r.io));
    }
    assert_true(hypotf(r.obs[1][0], r.obs[1][1]) > 0.999f); // a pole's cosine and sine
    for (int t = 0; t < 50; t++) {
        T_OK(env_step(e, &r.io));
        assert_int_equal(r.flags[0] | r.flags[1], 0);
    }
    env_close(e);
}

static void
test_dmc_state_that_explodes_is_a_failure_and_recovers(void **state)
{
    (void)state;
    explodes(true);
    explodes(false);
}

struct fixture {
    dmc_sim sim;
    oct_pcg64 rng;
};

static void
fixture_open(struct fixture *f, const char *id)
{
    oct_reason why;
    mjModel *m = NULL;
    const dmc_task *task = rig_task(id);
    oct_pcg64_init(&f->rng, 1);
    assert_true(dmc_model_load(&m, task->model, NULL, &why));
    assert_true(dmc_sim_init(&f->sim, task, m, &f->rng, &why));
    mj_deleteModel(m);
    assert_true(dmc_sim_reset(&f->sim));
}

static void
test_dmc_velocity_that_is_not_finite_is_a_failure_and_recovers(void **state)
{
    (void)state;
    const double wrong[] = {NAN, INFINITY, 1e11};
    const float rest[32] = {0};
    struct fixture f;
    fixture_open(&f, "dmc:humanoid_stand");
    for (size_t k = 0; k < OCT_COUNTOF(wrong); k++) {
        f.sim.d->qvel[5] = wrong[k];
        assert_false(dmc_sim_step(&f.sim, rest));
        assert_true(f.sim.broken);
        T_SAYS(dmc_sim_fault(), "unstable");
        assert_true(dmc_sim_reset(&f.sim));
        assert_false(f.sim.broken);
        assert_true(dmc_sim_step(&f.sim, rest));
    }
    dmc_sim_fini(&f.sim);
}

// MuJoCo's answer to a full stack is mju_error, in the middle of a step.
static void
test_dmc_error_of_mujoco_is_a_failure_and_recovers(void **state)
{
    (void)state;
    const float rest[32] = {0};
    struct fixture f;
    fixture_open(&f, "dmc:cheetah_run");
    int whole = f.sim.d->nstack;
    f.sim.d->nstack = 20;
    assert_false(dmc_sim_step(&f.sim, rest));
    T_SAYS(dmc_sim_fault(), "Stack overflow");
    assert_false(dmc_sim_reset(&f.sim));
    f.sim.d->nstack = whole;
    assert_true(dmc_sim_reset(&f.sim));
    assert_true(dmc_sim_step(&f.sim, rest));
    // The error came where actuators or sensors were switched off: they are on again.
    const float push[32] = {1, 1, 1, 1, 1, 1};
    assert_true(dmc_sim_step(&f.sim, push));
    assert_true(f.sim.d->qfrc_actuator[f.sim.m->nv - 1] != 0);
    assert_int_equal(f.sim.m->opt.disableflags, 0);
    dmc_sim_fini(&f.sim);
}

// Three environments that are stepped together, with nothing between the test and the table.
struct hoppers {
    octet_env_handle *handle;
    octet_env_io io;
    float action[3][4], obs[3][15], final_obs[3][15], reward[3], ep_return[3];
    int32_t ep_length[3];
    uint8_t flags[3];
};

static void
hoppers_open(struct hoppers *h, bool autoreset)
{
    *h = (struct hoppers){.handle = NULL};
    const octet_env_option options[] = {{"task", "hopper_stand"}, {"max_episode_steps", "3"}};
    octet_env_config config = {.size = sizeof(config),
                               .count = 3,
                               .seed = 1,
                               .autoreset = autoreset,
                               .option_count = OCT_COUNTOF(options),
                               .options = options};
    char text[256] = "";
    assert_int_equal(dmc_env_api()->create(&config, &h->handle, text, sizeof(text)), 0);
    h->io = (octet_env_io){.size = sizeof(h->io),
                           .action = h->action,
                           .action_stride = sizeof(h->action[0]),
                           .obs = h->obs,
                           .obs_stride = sizeof(h->obs[0]),
                           .final_obs = h->final_obs,
                           .final_obs_stride = sizeof(h->final_obs[0]),
                           .reward = h->reward,
                           .flags = h->flags,
                           .ep_return = h->ep_return,
                           .ep_length = h->ep_length};
    assert_int_equal(dmc_env_api()->reset(h->handle, NULL, NULL, &h->io), 0);
}

// The same among three environments that are stepped together: the others go on.
static void
test_dmc_error_of_one_environment_leaves_the_others_alone(void **state)
{
    (void)state;
    const octet_env_api *api = dmc_env_api();
    struct hoppers h;
    hoppers_open(&h, false);
    mjData *d = dmc_env_sim(h.handle, 1)->d;
    int whole = d->nstack;
    d->nstack = 20;
    assert_int_equal(api->step(h.handle, &h.io), 0);
    assert_int_equal(h.flags[0] | h.flags[2], 0);
    assert_int_equal(h.flags[1], OCTET_ENV_FAILED | OCTET_ENV_TRUNCATED);
    T_SAYS(api->last_error(h.handle), "environment 1 failed: Stack overflow");
    assert_true(dmc_env_sim(h.handle, 0)->d->time > 0 && dmc_env_sim(h.handle, 2)->d->time > 0);
    // Where no start works, that is an error, and the last word on it.
    const uint8_t mask[3] = {0, 1, 0};
    assert_int_equal(api->reset(h.handle, mask, NULL, &h.io), 1);
    T_SAYS(api->last_error(h.handle), "environment 1 cannot be reset: Stack overflow");
    d->nstack = whole;
    assert_int_equal(api->reset(h.handle, mask, NULL, &h.io), 0);
    assert_int_equal(api->step(h.handle, &h.io), 0);
    assert_int_equal(h.flags[0] | h.flags[1] | h.flags[2], 0);
    api->destroy(h.handle);
}

// An environment whose next episode cannot begin fails, step for step, until one can.
static void
test_dmc_reset_that_fails_in_a_step_leaves_the_others_alone(void **state)
{
    (void)state;
    const octet_env_api *api = dmc_env_api();
    const uint8_t failed = OCTET_ENV_FAILED | OCTET_ENV_TRUNCATED;
    const uint8_t next = OCTET_ENV_TRUNCATED | OCTET_ENV_OBS_IS_RESET;
    struct hoppers h;
    hoppers_open(&h, true);
    mjData *d = dmc_env_sim(h.handle, 1)->d;
    int whole = d->nstack;
    d->nstack = 20;
    for (int t = 1; t <= 4; t++) {
        memset(h.obs, 1, sizeof(h.obs));
        h.reward[1] = h.ep_return[1] = 7;
        h.ep_length[1] = 7;
        assert_int_equal(api->step(h.handle, &h.io), 0);
        assert_int_equal(h.flags[0], t == 3 ? next : 0);
        assert_int_equal(h.flags[2], t == 3 ? next : 0);
        assert_int_equal(h.flags[1], failed);
        T_SAYS(api->last_error(h.handle), "environment 1 cannot be reset: Stack overflow");
        assert_true(h.reward[1] == 0 && h.ep_return[1] == 0 && h.ep_length[1] == 0);
        for (int k = 0; k < 15; k++) {
            assert_true(h.obs[1][k] == 0 && h.final_obs[1][k] == 0);
        }
    }
    d->nstack = whole;
    assert_int_equal(api->step(h.handle, &h.io), 0);
    assert_int_equal(h.flags[1], failed | OCTET_ENV_OBS_IS_RESET);
    assert_true(h.obs[1][1] != 0 && h.final_obs[1][1] == 0);
    for (int t = 1; t <= 3; t++) { // a whole episode
        assert_int_equal(api->step(h.handle, &h.io), 0);
        assert_int_equal(h.flags[1], t == 3 ? next : 0);
    }
    assert_int_equal(h.ep_length[1], 3);
    api->destroy(h.handle);
}

static void
error_raise(void *arg)
{
    mju_error(arg);
}

struct nested {
    bool inner;
    char text[64];
};

static void
error_nest(void *arg)
{
    struct nested *nested = arg;
    nested->inner = dmc_guard_run(error_raise, "inner\nline", nested->text, sizeof(nested->text));
    mju_error("outer");
}

static void
test_dmc_guards_nest(void **state)
{
    (void)state;
    dmc_guard_install();
    struct nested nested = {.inner = true};
    char text[64];
    assert_false(dmc_guard_run(error_nest, &nested, text, sizeof(text)));
    assert_false(nested.inner);
    assert_string_equal(nested.text, "inner line");
    assert_string_equal(text, "outer");
}

static void
test_dmc_missing_module_is_named(void **state)
{
    (void)state;
    assert_int_equal(setenv("OCTET_PLUGIN_DIR", folder, 1), 0);
    open_says("", "no env_dmc.so in OCTET_PLUGIN_DIR, /tmp/octet_dmc_");
    file_write("env_dmc.so", "not a shared object");
    open_says("", "env_dmc.so: cannot be loaded: ");
    assert_int_equal(unlink(path_of("env_dmc.so")), 0);
    assert_int_equal(unsetenv("OCTET_PLUGIN_DIR"), 0);
    env_close(env_opened("dmc:pendulum_swingup", "", 1, 1, true));
}

// Python may have a dm_control; where it has none, auto says so.
static void
test_dmc_folder_auto_is_found_or_explained(void **state)
{
    (void)state;
    char out[1024];
    oct_reason why = {""};
    if (dmc_python_folder(out, sizeof(out), &why)) {
        assert_int_equal(out[0], '/');
        T_SAYS(out, "dm_control/suite");
        return;
    }
    open_says("mjcf_dir=auto", "mjcf_dir=auto: Python");
    open_says("mjcf_dir=auto", "leave mjcf_dir out for Octet's own");
}

static void *
auto_load(void *arg)
{
    bool *loaded = arg;
    oct_reason why;
    mjModel *m = NULL;
    *loaded = dmc_model_load(&m, "pendulum", "auto", &why);
    mj_deleteModel(m);
    return NULL;
}

// Each evaluation opens environments: a python3 that writes down that it was asked. After the test
// above, which must find what this machine has.
static void
test_dmc_folder_auto_is_asked_for_once(void **state)
{
    (void)state;
    char text[256], path[4096];
    file_write("pendulum.xml", PENDULUM("1", ""));
    snprintf(text, sizeof(text), "#!/bin/sh\necho asked >>%s/asked\necho %s\n", folder, folder);
    file_write("python3", text);
    assert_int_equal(chmod(path_of("python3"), 0700), 0);
    char *before = strdup(getenv("PATH"));
    snprintf(path, sizeof(path), "%s:%s", folder, before);
    assert_int_equal(setenv("PATH", path, 1), 0);
    pthread_t threads[4];
    bool loaded[4];
    for (int k = 0; k < 4; k++) {
        assert_int_equal(pthread_create(&threads[k], NULL, auto_load, &loaded[k]), 0);
    }
    for (int k = 0; k < 4; k++) {
        assert_int_equal(pthread_join(threads[k], NULL), 0);
        assert_true(loaded[k]);
    }
    assert_int_equal(setenv("PATH", before, 1), 0);
    free(before);
    struct stat status;
    assert_int_equal(stat(path_of("asked"), &status), 0);
    assert_int_equal(status.st_size, strlen("asked\n"));
}

// The reason comes after the path and must not be cut off by it.
static void
test_dmc_long_path_leaves_room_for_the_reason(void **state)
{
    (void)state;
    char options[320] = "mjcf_dir=/";
    oct_reason why = {""};
    memset(options + strlen(options), 'x', 245);
    env *e;
    env_request request = {.id = "dmc:pendulum_swingup", .options = options, .count = 1};
    assert_int_not_equal(env_open(&e, &request, &why), OCT_OK);
    T_SAYS(why.text, "x/pendulum.xml: No such file or directory");
}

// Runs last: all of the above went by without MuJoCo's log, which it writes where one stands.
static void
test_dmc_nothing_was_written(void **state)
{
    (void)state;
    assert_int_equal(access("MUJOCO_LOG.TXT", F_OK), -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dmc_model_files_of_a_folder_are_used_without_their_textures),
        cmocka_unit_test(test_dmc_bad_models_are_named_with_what_mujoco_says),
        cmocka_unit_test(test_dmc_model_of_another_shape_is_refused),
        cmocka_unit_test(test_dmc_sensor_of_another_size_is_refused),
        cmocka_unit_test(test_dmc_swimmer_has_no_model_file),
        cmocka_unit_test(test_dmc_state_that_explodes_is_a_failure_and_recovers),
        cmocka_unit_test(test_dmc_velocity_that_is_not_finite_is_a_failure_and_recovers),
        cmocka_unit_test(test_dmc_error_of_mujoco_is_a_failure_and_recovers),
        cmocka_unit_test(test_dmc_error_of_one_environment_leaves_the_others_alone),
        cmocka_unit_test(test_dmc_reset_that_fails_in_a_step_leaves_the_others_alone),
        cmocka_unit_test(test_dmc_guards_nest),
        cmocka_unit_test(test_dmc_missing_module_is_named),
        cmocka_unit_test(test_dmc_folder_auto_is_found_or_explained),
        cmocka_unit_test(test_dmc_folder_auto_is_asked_for_once),
        cmocka_unit_test(test_dmc_long_path_leaves_room_for_the_reason),
        cmocka_unit_test(test_dmc_nothing_was_written),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
