// octet export: converts a policy to a C header or an ONNX graph.

#include "cli/cli_commands.h"

#include <assert.h>
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
#include "common/oct_reason.h"
#include "policy/export/export_c99.h"
#include "policy/export/export_onnx.h"
#include "policy/policy_file.h"

typedef struct export_options {
    const char *policy;
    const char *c99;  // path of the header; NULL: none
    const char *onnx; // path of the model; NULL: none
    const char *name;
    bool sampling;
    FILE *said;             // where the report is printed: stderr if a file is written to stdout
    uint32_t action_repeat; // of the run folder; 0: unknown
} export_options;

static_assert(EXPORT_NAME_MAX == 40, "the text of what is allowed");

static const oct_arg export_rows[] = {
    {OCT_ARG_OPERAND("policies", export_options, policy), .missing = "no POLICY file given"},
    {OCT_ARG_PATH("c99", "OUT.h", export_options, c99), .help = "Write a C99 header"},
    {OCT_ARG_PATH("onnx", "OUT.onnx", export_options, onnx),
     .help = "Write an ONNX model (opset 13)"},
    {OCT_ARG_FLAG("sampling", export_options, sampling),
     .help = "Add a function to the header that samples actions from the policy's distribution"},
    {OCT_ARG_TEXT("name", "NAME", export_options, name), .check = export_c99_name_is_valid,
     .allowed = "is a letter, then letters, digits and '_', at most 40",
     .help = "Begin the header's identifiers with NAME (default: policy)"},
    {0},
};

static const oct_args export_args = {
    .rows = export_rows,
    .usage = "POLICY",
    .doc = "Writes a policy in a form that runs without Octet. POLICY is a policy file or a run "
           "folder.\v"
           "An existing file is replaced either completely or not at all. If a file is standard "
           "output "
           "(/dev/stdout), the report goes to standard error.\n\n"
           "Example:\n"
           "  octet export runs/pole/policy.oct --c99 pole.h --name pole",
};

// Returns true if path is NULL or can be written: it is neither a folder nor the policy itself.
// False after a message.
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

// Returns true if path is standard output, such as /dev/stdout: then the report must go elsewhere.
static bool
is_output(const char *path)
{
    return path != NULL && oct_file_is_open(path, STDOUT_FILENO);
}

static int
file_write(const char *path, const void *bytes, size_t length)
{
    if (oct_file_write(path, bytes, length) != OCT_OK) {
        return cli_error("export", "cannot write '%s': %s", path, oct_file_strerror(errno));
    }
    return 0;
}

static cli_plain_text
environment_of(const policy_image *image)
{
    const char *env_id = image->spec.env_id;
    return cli_text_plain(env_id[0] != '\0' ? env_id : "an unknown environment", SIZE_MAX);
}

// Writes the header, and reports what it needs on a microcontroller.
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

// Writes the model, and reports the names and shapes of its inputs and outputs.
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

// Returns for how many steps the run repeated each action. 0: unknown, and why says the reason.
static uint32_t
action_repeat_find(const char *policy, const policy_spec *spec, oct_reason *why)
{
    cli_folder_env chosen;
    if (cli_folder_env_choose(&chosen, policy, spec->env_id, NULL, "", false, why) != OCT_OK) {
        return 0;
    }
    uint32_t action_repeat = chosen.is_known ? oct_action_repeat_of(chosen.options) : 0;
    oct_reason_set(why, "%s",
                   chosen.is_known
                       ? "action_repeat in the options of the environment is not a number"
                       : "no config.yaml of a run is beside the policy");
    return action_repeat;
}

// The exported policy does not repeat actions itself, so the caller has to know how often.
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
    cli_args_parse(&export_args, argc, argv, &options);
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
    oct_reason why;
    char path[CLI_PATH_MAX];
    policy_image *image;
    cli_folder_file(path, options.policy, "policy.oct");
    options.policy = path;
    if (!out_check(options.c99, path) || !out_check(options.onnx, path)) {
        return CLI_EXIT_FAILED;
    }
    if (policy_file_load(&image, options.policy, &why) != OCT_OK) {
        return cli_error("export", "'%s': %s", options.policy, why.text);
    }
    if (options.sampling && policy_spec_extra_dim(&image->spec) == 0) {
        cli_error("export", "'%s' has no distribution to sample actions from; leave out --sampling",
                  options.policy);
        policy_image_destroy(image);
        return CLI_EXIT_FAILED;
    }
    options.action_repeat = action_repeat_find(path, &image->spec, &why);
    options.said = is_output(options.c99) || is_output(options.onnx) ? stderr : stdout;
    int result = options.c99 != NULL ? write_c99(image, &options) : 0;
    if (result == 0 && options.onnx != NULL) {
        result = write_onnx(image, &options);
    }
    if (result == 0) {
        action_repeat_print(&options, why.text);
    }
    policy_image_destroy(image);
    return result;
}
