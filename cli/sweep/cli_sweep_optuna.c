// Talks to octet_optuna.py, with one line of JSON in each direction.

#include "cli/sweep/cli_sweep_optuna.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "cli/cli_json.h"
#include "cli/cli_python.h"
#include "cli/run/cli_folder.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"

#define PROGRAM    "octet_optuna.py"
#define LINE_BYTES (1u << 16) // of an answer
#define ANSWER_MS  60000

struct cli_sweep_optuna {
    cli_python python;
    const cli_space *space;
    char line[LINE_BYTES];
};

// Describes a key to the program: a list of values, or a range with its scale.
static json_t *
key_json(const cli_space_key *key)
{
    static const char *const kinds[] = {"list", "linear", "log"};
    json_t *values = json_array();
    for (size_t i = 0; i < key->count; i++) {
        cli_json_append(values, cli_json_text(key->value[i]));
    }
    return CLI_JSON_OBJECT(
        {"name", cli_json_text(key->name)}, {"kind", cli_json_text(kinds[key->kind])},
        {"whole", json_boolean(key->is_whole)}, {"low", cli_json_number(key->low)},
        {"high", cli_json_number(key->high)}, {"values", values});
}

// The process has ended or is useless. Returns OCT_ECLOSED.
static oct_err
ended(cli_sweep_optuna *optuna, const char *how, oct_reason *why)
{
    (void)optuna;
    return oct_fail(why, OCT_ECLOSED, PROGRAM " %s", how);
}

// Reads until the end of a line, or until a deadline passes between two parts of the line.
static oct_err
line_read(cli_sweep_optuna *optuna, oct_reason *why)
{
    size_t used = 0;
    for (;;) {
        struct pollfd waiting = {.fd = optuna->python.socket, .events = POLLIN};
        int ready = poll(&waiting, 1, ANSWER_MS);
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        if (ready <= 0) {
            return ended(optuna, "has not answered for a minute", why);
        }
        ssize_t got = recv(optuna->python.socket, optuna->line + used, LINE_BYTES - 1 - used, 0);
        if (got <= 0 && !(got < 0 && errno == EINTR)) {
            return ended(optuna, "has ended; its output is above", why);
        }
        used += (size_t)OCT_MAX(got, 0);
        optuna->line[used] = '\0';
        if (strchr(optuna->line, '\n') != NULL) {
            return OCT_OK;
        }
        if (used == LINE_BYTES - 1) {
            return ended(optuna, "sent a reply that is too long", why);
        }
    }
}

// OCT_ECLOSED: the program cannot be used any more. OCT_EINVAL: it refused this request.
static oct_err
answer_read(cli_sweep_optuna *optuna, json_t **out, oct_reason *why)
{
    OCT_TRY(line_read(optuna, why));
    *out = json_loads(optuna->line, 0, NULL);
    const char *error = json_string_value(json_object_get(*out, "error"));
    if (*out == NULL || error != NULL) {
        (void)oct_refuse(why, "%s",
                         error != NULL ? error : PROGRAM " sent a reply that is not JSON");
        json_decref(*out);
        return OCT_EINVAL;
    }
    return OCT_OK;
}

// Sends a request, which is freed, and reads its answer.
static oct_err
call(cli_sweep_optuna *optuna, json_t *request, json_t **out, oct_reason *why)
{
    char *text = json_dumps(request, JSON_COMPACT);
    json_decref(request);
    OCT_ASSERT(text != NULL);
    size_t length = strlen(text);
    text[length] = '\n'; // replaces the zero byte
    ssize_t sent = send(optuna->python.socket, text, length + 1, MSG_NOSIGNAL);
    free(text);
    if (sent != (ssize_t)(length + 1)) {
        return ended(optuna, "has ended", why);
    }
    return answer_read(optuna, out, why);
}

// Waits for the program's greeting, because importing optuna may fail, and takes seconds.
oct_err
cli_sweep_optuna_start(cli_sweep_optuna **out, const char *folder, const cli_sweep_plan *plan,
                       oct_reason *why)
{
    char journal[CLI_PATH_MAX + 16], seed[32];
    json_t *keys = json_array(), *hello;
    for (size_t i = 0; i < plan->space.count; i++) {
        cli_json_append(keys, key_json(&plan->space.key[i]));
    }
    char *space = json_dumps(keys, JSON_COMPACT);
    json_decref(keys);
    OCT_ASSERT(space != NULL);
    (void)snprintf(journal, sizeof(journal), "%s/" CLI_SWEEP_OPTUNA_JOURNAL, folder);
    // 32 bits, and another seed after each resume, because the estimator starts with a new
    // generator.
    (void)snprintf(seed, sizeof(seed), "%u",
                   (unsigned)((plan->draw_seed + plan->count) & 0xFFFFFFFF));
    cli_sweep_optuna *optuna = oct_alloc(sizeof(*optuna));
    optuna->space = &plan->space;
    const char *arguments[] = {journal, space, seed, NULL};
    oct_err err = cli_python_start(&optuna->python, PROGRAM, arguments, why);
    free(space);
    if (err == OCT_OK) {
        err = answer_read(optuna, &hello, why);
    }
    if (err != OCT_OK) {
        cli_sweep_optuna_stop(optuna);
        return err;
    }
    json_decref(hello);
    *out = optuna;
    return OCT_OK;
}

static json_t *
request_json(const char *operation, uint32_t trial)
{
    return CLI_JSON_OBJECT({"op", cli_json_text(operation)}, {"trial", json_integer(trial)});
}

// Each request has one answer, in order. A null answer means that no further trial is possible
// (OCT_ENOTFOUND).
oct_err
cli_sweep_optuna_ask(cli_sweep_optuna *optuna, uint32_t trial, cli_point *out, oct_reason *why)
{
    json_t *answer;
    OCT_TRY(call(optuna, request_json("ask", trial), &answer, why));
    const json_t *values = json_object_get(answer, "values");
    oct_err err = json_is_null(values) ? OCT_ENOTFOUND : OCT_OK;
    for (size_t i = 0; i < optuna->space->count && err == OCT_OK; i++) {
        const char *value = json_string_value(json_array_get(values, i));
        if (value == NULL || strlen(value) >= CLI_SPACE_VALUE_MAX) {
            err = oct_refuse(why, PROGRAM " sent no value for %s", optuna->space->key[i].name);
        } else {
            (void)snprintf(out->value[i], CLI_SPACE_VALUE_MAX, "%s", value);
        }
    }
    json_decref(answer);
    return err;
}

oct_err
cli_sweep_optuna_report(cli_sweep_optuna *optuna, uint32_t trial, uint32_t step, double value,
                        bool *is_pruned, oct_reason *why)
{
    json_t *answer, *request = request_json("report", trial);
    cli_json_put(request, "step", json_integer(step));
    cli_json_put(request, "value", cli_json_number(value));
    OCT_TRY(call(optuna, request, &answer, why));
    *is_pruned = json_is_true(json_object_get(answer, "prune"));
    json_decref(answer);
    return OCT_OK;
}

oct_err
cli_sweep_optuna_tell(cli_sweep_optuna *optuna, uint32_t trial, double value, bool is_pruned,
                      oct_reason *why)
{
    json_t *answer, *request = request_json("tell", trial);
    cli_json_put(request, "value", cli_json_number(value));
    cli_json_put(request, "pruned", json_boolean(is_pruned));
    OCT_TRY(call(optuna, request, &answer, why));
    json_decref(answer);
    return OCT_OK;
}

void
cli_sweep_optuna_stop(cli_sweep_optuna *optuna)
{
    if (optuna != NULL) {
        cli_python_stop(&optuna->python);
        free(optuna);
    }
}
