// Compiles MuJoCo models: Octet's own MJCF, or dm_control's files with their textures left out.
#include "envs/dmc/dmc_model.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/oct_base.h"
#include "common/oct_file.h"
#include "common/oct_reason.h"
#include "common/oct_text.h"
#include "envs/dmc/dmc_guard.h"
#include "envs/dmc/dmc_task.h"

// Enough for every model of the suite: the most that occurred, with bent and thrown starts, were
// 123 rows, 31 contacts and 3237 numbers of stack. MuJoCo's own choice takes 13 MB for each
// environment.
#define ROWS_MAX       250
#define STACK_MAX      30000
#define FILE_BYTES_MAX (4u << 20)
#define FOLDER_BYTES   1024

static pthread_mutex_t compiler = PTHREAD_MUTEX_INITIALIZER;

// Replaces dm_control's materials, whose names the models use.
#define MATERIAL(name) "<material name='" name "'/>"
static const char materials_text[] =
    "<mujoco><asset>" MATERIAL("grid") MATERIAL("self") MATERIAL("self_default")
        MATERIAL("self_highlight") MATERIAL("effector") MATERIAL("effector_default")
            MATERIAL("effector_highlight") MATERIAL("decoration") MATERIAL("eye") MATERIAL("target")
                MATERIAL("target_default") MATERIAL("target_highlight") MATERIAL("site")
                    MATERIAL("site_default") MATERIAL("site_highlight") "</asset></mujoco>";
static const char empty_text[] = "<mujoco><asset/></mujoco>";

struct compile {
    mjVFS *files;
    const char *name, *path, *text; // MuJoCo searches included files beside path
    mjModel *model;
    char error[400];
};

static void
file_add(mjVFS *files, const char *name, const char *text)
{
    size_t bytes = strlen(text);
    if (bytes > 0 && mj_makeEmptyFileVFS(files, name, (int)bytes) == 0) {
        memcpy(files->filedata[files->nfile - 1], text, bytes);
    }
}

static void
compile_work(void *arg)
{
    struct compile *compile = arg;
    file_add(compile->files, compile->name, compile->text);
    file_add(compile->files, "materials.xml", materials_text);
    file_add(compile->files, "skybox.xml", empty_text);
    file_add(compile->files, "visual.xml", empty_text);
    compile->model =
        mj_loadXML(compile->path, compile->files, compile->error, sizeof(compile->error));
    mj_freeLastXML();
}

static void
one_line(char *text)
{
    oct_text_tame(text, strlen(text), ' ');
}

// Compiles text; origin is the path it came from, for messages and included files.
static bool
text_compile(mjModel **out, const char *name, const char *origin, const char *text, oct_reason *why)
{
    mjVFS *files = oct_alloc(sizeof(*files)); // 2 MB
    mj_defaultVFS(files);
    struct compile compile = {.files = files, .name = name, .path = origin, .text = text};
    OCT_ASSERT(pthread_mutex_lock(&compiler) == 0);
    (void)dmc_guard_run(compile_work, &compile, compile.error, sizeof(compile.error));
    OCT_ASSERT(pthread_mutex_unlock(&compiler) == 0);
    mj_deleteVFS(files);
    free(files);
    if (compile.model == NULL) {
        one_line(compile.error);
        oct_reason_set(why, "%s: %s", origin, compile.error);
        return false;
    }
    mjModel *m = compile.model;
    m->njmax = OCT_MIN(m->njmax, ROWS_MAX);
    m->nconmax = OCT_MIN(m->nconmax, DMC_CONTACTS_MAX);
    m->nstack = OCT_MIN(m->nstack, STACK_MAX);
    *out = m;
    return true;
}

static char *
file_read(const char *path, oct_reason *why)
{
    FILE *file = oct_file_stream(path, "r");
    if (file == NULL) {
        oct_reason_set(why, "%s: %s", path, oct_file_strerror(errno));
        return NULL;
    }
    char *text = oct_alloc(FILE_BYTES_MAX + 1);
    size_t bytes = fread(text, 1, FILE_BYTES_MAX + 1, file);
    bool failed = ferror(file) != 0;
    (void)fclose(file);
    if (failed || bytes == 0 || bytes > FILE_BYTES_MAX || memchr(text, '\0', bytes) != NULL) {
        oct_reason_set(why, "%s: %s", path,
                       failed ? "cannot be read" : "not an MJCF file of up to 4 MB");
        free(text);
        return NULL;
    }
    text[bytes] = '\0';
    return text;
}

// Blanks the textures of skyboxes, and keeps lines and columns for messages.
static void
skyboxes_cut(char *text)
{
    for (char *at = strstr(text, "<texture"); at != NULL; at = strstr(at + 1, "<texture")) {
        char *end = strchr(at, '>');
        if (end == NULL) {
            return;
        }
        *end = '\0';
        bool skybox = strstr(at, "skybox") != NULL;
        *end = '>';
        for (char *c = at; skybox && end[-1] == '/' && c <= end; c++) {
            *c = *c == '\n' ? '\n' : ' ';
        }
    }
}

// The tasks write rows of a fixed length and address sensors and joints by index, so a file may
// differ from Octet's own model in numbers, not in shape.
static bool
shapes_are_equal(const mjModel *m, const mjModel *own, const char *path, oct_reason *why)
{
    if (m->nq != own->nq || m->nv != own->nv || m->nu != own->nu || m->na != own->na) {
        oct_reason_set(why,
                       "%s: the model has %d joint positions, %d velocities, %d actuators and %d "
                       "activations; the task needs %d, %d, %d and %d",
                       path, m->nq, m->nv, m->nu, m->na, own->nq, own->nv, own->nu, own->na);
        return false;
    }
    // The counts are equal, so no joint can be left over.
    for (int k = 0; k < OCT_MIN(m->njnt, own->njnt); k++) {
        if (m->jnt_type[k] != own->jnt_type[k]) {
            oct_reason_set(why, "%s: joint %d is not of the type that the task needs", path, k);
            return false;
        }
    }
    for (int k = 0; k < own->nsensor; k++) {
        const char *name = mj_id2name(own, mjOBJ_SENSOR, k);
        // A missing sensor is reported by prepare if the task needs it.
        int theirs = mj_name2id(m, mjOBJ_SENSOR, name);
        if (theirs >= 0 && m->sensor_dim[theirs] != own->sensor_dim[k]) {
            oct_reason_set(why, "%s: sensor %s has %d numbers; the task needs %d", path, name,
                           m->sensor_dim[theirs], own->sensor_dim[k]);
            return false;
        }
    }
    return true;
}

static bool
own_load(mjModel **out, const char *name, const char *file, oct_reason *why)
{
    const char *text = dmc_model_text(name);
    OCT_ASSERT(text != NULL);
    return text_compile(out, file, file, text, why);
}

static bool
file_fits(const mjModel *m, const char *name, const char *file, const char *path, oct_reason *why)
{
    mjModel *own;
    if (!own_load(&own, name, file, why)) {
        return false;
    }
    bool fits = shapes_are_equal(m, own, path, why);
    mj_deleteModel(own);
    return fits;
}

// Finds the folder for "auto": asks python3 once per process.
static bool
auto_folder(char *out, size_t out_size, oct_reason *why)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static char known[FOLDER_BYTES];
    OCT_ASSERT(pthread_mutex_lock(&mutex) == 0);
    bool found = known[0] != '\0' || dmc_python_folder(known, sizeof(known), why);
    if (found) {
        snprintf(out, out_size, "%s", known);
    } else {
        known[0] = '\0'; // asked again later: dm_control may be installed by then
    }
    OCT_ASSERT(pthread_mutex_unlock(&mutex) == 0);
    return found;
}

bool
dmc_model_load(mjModel **out, const char *name, const char *folder, oct_reason *why)
{
    dmc_guard_install();
    char file[64];
    snprintf(file, sizeof(file), "%s.xml", name);
    if (folder == NULL || folder[0] == '\0') {
        return own_load(out, name, file, why);
    }
    char found[FOLDER_BYTES];
    if (strcmp(folder, "auto") == 0) {
        if (!auto_folder(found, sizeof(found), why)) {
            return false;
        }
        folder = found;
    }
    char path[1200];
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, file) >= sizeof(path)) {
        oct_reason_set(why, "mjcf_dir: a path of more than %zu bytes", sizeof(path) - 1);
        return false;
    }
    char *text = file_read(path, why);
    if (text == NULL) {
        return false;
    }
    skyboxes_cut(text);
    mjModel *m = NULL;
    bool loaded = text_compile(&m, file, path, text, why);
    free(text);
    if (loaded && !file_fits(m, name, file, path, why)) {
        mj_deleteModel(m);
        return false;
    }
    *out = loaded ? m : *out;
    return loaded;
}
