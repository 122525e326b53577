// octet export: a policy as a C header or an ONNX graph.

#include "cli/cli_commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_options.h"
#include "cli/cli_text.h"
#include "cli/run/cli_folder.h"
#include "cli/run/cli_folder_env.h"
#include "common/oct_action_repeat.h"
#include "common/oct_file.h"
#include "export/export_c99.h"
#include "export/export_onnx.h"
#include "policy/policy_file.h"

#define REASON_BYTES 256

enum { KEY_C99 = 256, KEY_NAME, KEY_ONNX, KEY_SAMPLING };

typedef struct export_options {
    const char *policy;
    const char *c99;  // path of the header, NULL: none
    const char *onnx; // path of the model, NULL: none
    const char *name;
    bool sampling;
    FILE *said;             // where the report goes: not behind what is written to the output
    uint32_t action_repeat; // of the run folder, 0: not known
} export_options;

static const struct argp_option option_table[] = {
    {"c99", KEY_C99, "OUT.h", 0, "Write a C99 header", 0},
    {"onnx", KEY_ONNX, "OUT.onnx", 0, "Write an ONNX model (opset 13)", 0},
    {"sampling", KEY_SAMPLING, NULL, 0,
     "Add a function to the header that samples actions from the policy's distribution", 0},
    {"name", KEY_NAME, "NAME", 0, "Begin the header's identifiers with NAME (default: policy)", 0},
    {0},
};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    export_options *options = state->input;
    switch (key) {
    case KEY_C99:
        options->c99 = arg;
        return 0;
    case KEY_ONNX:
        options->onnx = arg;
        return 0;
    case KEY_SAMPLING:
        options->sampling = true;
        return 0;
    case KEY_NAME:
        if (!export_c99_name_is_valid(arg)) {
            cli_usage_error("export",
                            "--name is '%s'; allowed is a letter, then letters, digits and '_', "
                            "at most %d",
                            arg, EXPORT_NAME_MAX);
        }
        options->name = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (options->policy != NULL) {
            cli_usage_error("export", "two policies, '%s' and '%s'; name one", options->policy,
                            arg);
        }
        options->policy = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp export_argp = {
    .options = option_table,
    .parser = parse,
    .args_doc = "POLICY",
    .doc = "Writes a policy in a form that runs without Octet. POLICY is a policy file or a run "
           "folder.\v"
           "An existing file is replaced either completely or not at all. If a file is standard "
           "output "
           "(/dev/stdout), the report goes to standard error.\n\n"
           "Example:\n"
           "  octet export runs/pole/policy.oct --c99 pole.h --name pole",
};

// Whether path can be written, or is NULL: no folder, and not the policy itself. false after a
// message.
static bool
out_check(const char *path, const char *policy)
{
    struct stat to;
    if (path == NULL) {
        return true;
    }
    if (oct_file_stat(path, &to) == 0 && S_ISDIR(to.st_mode)) {
        cli_error("export", "'%s' is a folder; name a file in it", path);
        return false;
    }
    if (oct_file_is_same(path, policy)) {
        cli_error("export", "'%s' is the policy itself; name another file", path);
        return false;
    }
    return true;
}

static bool
is_output(const char *path)
{
    return path != NULL && oct_file_is_open(path, STDOUT_FILENO);
}

static int
file_write(const char *path, const void *bytes, size_t length)
{
    if (oct_file_write(path, bytes, length) != OCT_OK) {
        cli_error("export", "cannot write '%s': %s", path, oct_file_strerror(errno));
        return CLI_EXIT_FAILED;
    }
    return 0;
}

static cli_plain_text
environment_of(const policy_image *image)
{
    const char *env_id = image->spec.env_id;
    return cli_text_plain(env_id[0] != '\0' ? env_id : "an unknown environment", SIZE_MAX);
}

static int
write_c99(const policy_image *image, const export_options *options)
{
    char *text;
    size_t length;
    export_c99_sizes sizes;
    const export_c99_options how = {.name = options->name,
                                    .with_sampling = options->sampling,
                                    .action_repeat = options->action_repeat};
    export_c99(&text, &length, &sizes, image, &how);
    int result = file_write(options->c99, text, length);
    if (result == 0) {
        fprintf(options->said, "%s: %s policy %s for %s\n", options->c99,
                policy_precision_name(image->precision), options->name, environment_of(image).text);
        fprintf(options->said, "  flash  %zu bytes of constants, and the code\n",
                sizes.flash_bytes);
        fprintf(options->said, "  RAM    %zu bytes, one %s_work\n", sizes.ram_bytes, options->name);
    }
    free(text);
    return result;
}

static int
write_onnx(const policy_image *image, const export_options *options)
{
    uint8_t *bytes;
    size_t length;
    export_onnx(&bytes, &length, image, options->action_repeat);
    int result = file_write(options->onnx, bytes, length);
    if (result == 0) {
        bool is_box = image->spec.action_kind == POLICY_BOX;
        fprintf(options->said, "%s: %s policy for %s, %zu bytes\n", options->onnx,
                policy_precision_name(image->precision), environment_of(image).text, length);
        export_onnx_names names = export_onnx_names_of(image);
        fprintf(options->said, "  in   %s %s [batch][%u]\n",
                cli_text_plain(names.input, SIZE_MAX).text,
                image->spec.obs_dtype == POLICY_F32 ? "float32" : "uint8", image->spec.obs_count);
        fprintf(options->said, "  out  %s %s [batch]", cli_text_plain(names.action, SIZE_MAX).text,
                is_box ? "float32" : "int64");
        if (is_box) {
            fprintf(options->said, "[%u]", image->spec.action_count);
        }
        fprintf(options->said, ", outputs float32 [batch][%u]", policy_spec_outputs(&image->spec));
        if (image->spec.head == POLICY_HEAD_LOGITS) {
            fprintf(options->said, ", probabilities float32 [batch][%u]", image->spec.action_count);
        } else if (policy_spec_extra_dim(&image->spec) > 0) {
            fprintf(options->said, ", mean and log_std float32 [batch][%u]",
                    image->spec.action_count);
        }
        fprintf(options->said, "\n");
    }
    free(bytes);
    return result;
}

// How often the environment of the run folder asked the policy; 0: nobody says, and why has the
// reason.
static uint32_t
action_repeat_find(const char *policy, const policy_spec *spec, char *why, size_t why_size)
{
    cli_folder_env chosen;
    if (cli_folder_env_choose(&chosen, policy, spec->env_id, NULL, "", false, why, why_size) !=
        OCT_OK) {
        return 0;
    }
    uint32_t action_repeat = chosen.is_known ? oct_action_repeat_of(chosen.options) : 0;
    (void)snprintf(why, why_size, "%s",
                   chosen.is_known
                       ? "action_repeat in the options of the environment is not a number"
                       : "no config.yaml of a run is beside the policy");
    return action_repeat;
}

static void
action_repeat_print(const export_options *options, const char *why)
{
    if (options->action_repeat == 0) {
        fprintf(options->said, "action repeat unknown: %s\n", why);
    } else if (options->action_repeat > 1) {
        fprintf(options->said,
                "action repeat %u: run the policy once every %u control steps, as in training\n",
                options->action_repeat, options->action_repeat);
    }
}

int
cli_export(int argc, char **argv)
{
    export_options options = {0};
    cli_options_parse(&export_argp, argc, argv, &options);
    if (options.policy == NULL) {
        cli_usage_error("export", "no POLICY file given");
    }
    if (options.c99 == NULL && options.onnx == NULL) {
        cli_usage_error("export", "nothing to write; name --c99 OUT.h or --onnx OUT.onnx");
    }
    if (options.c99 != NULL && options.onnx != NULL &&
        oct_file_is_same_place(options.c99, options.onnx)) {
        cli_usage_error("export", "--c99 '%s' and --onnx '%s' are the same file; name two files",
                        options.c99, options.onnx);
    }
    if (options.sampling && options.c99 == NULL) {
        cli_usage_error("export", "--sampling is for a header; name --c99 OUT.h");
    }
    if (options.name != NULL && options.c99 == NULL) {
        cli_usage_error("export", "--name is for a header; name --c99 OUT.h");
    }
    options.name = options.name != NULL ? options.name : "policy";
    char reason[REASON_BYTES], path[CLI_PATH_MAX];
    policy_image *image;
    cli_folder_file(path, options.policy, "policy.oct");
    options.policy = path;
    if (!out_check(options.c99, path) || !out_check(options.onnx, path)) {
        return CLI_EXIT_FAILED;
    }
    if (policy_file_load(&image, options.policy, reason, sizeof(reason)) != OCT_OK) {
        cli_error("export", "'%s': %s", options.policy, reason);
        return CLI_EXIT_FAILED;
    }
    if (options.sampling && policy_spec_extra_dim(&image->spec) == 0) {
        cli_error("export", "'%s' has no distribution to sample actions from; leave out --sampling",
                  options.policy);
        policy_image_destroy(image);
        return CLI_EXIT_FAILED;
    }
    options.action_repeat = action_repeat_find(path, &image->spec, reason, sizeof(reason));
    options.said = is_output(options.c99) || is_output(options.onnx) ? stderr : stdout;
    int result = options.c99 != NULL ? write_c99(image, &options) : 0;
    if (result == 0 && options.onnx != NULL) {
        result = write_onnx(image, &options);
    }
    if (result == 0) {
        action_repeat_print(&options, reason);
    }
    policy_image_destroy(image);
    return result;
}
