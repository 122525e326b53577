// octet config --algorithms: tries what each algorithm accepts, and prints the result as a table.
#include "cli/cli_algorithms.h"

#include <string.h>

#include "algos/algo.h"
#include "common/oct_base.h"
#include "common/oct_reason.h"
#include "config/config_text.h"

enum { CELL_BYTES = 64, MESSAGE_BYTES = 4096, SIDE = 10 }; // SIDE: of a picture

enum { NAME, WINDOW, ACTION, OBSERVATION, NETWORK, DATA, LEARNERS, DETERMINISTIC, OTHERS, COLUMNS };
static const char *const headings[COLUMNS] = {
    "algo.name", "learns from", "actions",       "observations", "networks",
    "data set",  "learners",    "deterministic", "other names",
};

typedef struct row {
    char cells[COLUMNS][CELL_BYTES];
} row;

// The values that are tried, in every combination.
enum { ACTIONS = 2, OBSERVATIONS = 3, NETWORKS = 2, WINDOWS = 2 };
enum { VECTOR, PICTURES, STATES };
static const policy_action_kind action_kinds[ACTIONS] = {POLICY_DISCRETE, POLICY_BOX};
static const char *const action_words[ACTIONS] = {"discrete", "box"};
static const char *const observation_words[OBSERVATIONS] = {"vector", "pictures", "states"};
static const char *const network_words[NETWORKS] = {"dense", "conv"};
static const char *const network_settings[NETWORKS] = {"network.conv=[]", "network.conv=[4]"};
static const char *const window_settings[WINDOWS] = {"algo.window=n_step", "algo.window=rollout"};

// A configuration, and the environment that it is tried with.
typedef struct attempt {
    config_experiment config;
    policy_spec spec;
} attempt;

// The assignment is this file's own, so a refusal is a mistake here.
static void
set(attempt *a, const char *assignment)
{
    char message[MESSAGE_BYTES];
    oct_err err = config_set(&a->config, assignment, message, sizeof(message));
    OCT_ASSERT(err == OCT_OK);
}

static void
attempt_init(attempt *a, const char *word)
{
    char assignment[CONFIG_NAME_MAX];
    config_default(&a->config);
    set(a, "env.id=environment");
    (void)snprintf(assignment, sizeof(assignment), "algo.name=%s", word);
    set(a, assignment);
}

// Describes an environment with these spaces. Discrete states are one-hot bytes.
static void
attempt_take_spaces(attempt *a, policy_action_kind kind, size_t observation)
{
    a->spec = (policy_spec){
        .env_id = "environment",
        .obs_dtype = observation == VECTOR ? POLICY_F32 : POLICY_U8,
        .obs_count = SIDE,
        .obs_rank = 1,
        .obs_shape = {SIDE},
        .obs_high = observation == PICTURES ? 255 : 0,
        .action_kind = kind,
        .action_count = 3,
    };
    if (observation == PICTURES) {
        a->spec.obs_rank = 3;
        a->spec.obs_shape[1] = SIDE;
        a->spec.obs_shape[2] = 3;
        a->spec.obs_count = SIDE * SIDE * 3;
    }
    for (uint32_t i = 0; kind == POLICY_BOX && i < a->spec.action_count; i++) {
        a->spec.action_low[i] = -1.0f;
        a->spec.action_high[i] = 1.0f;
    }
}

// wants, unless it is NULL, becomes what the algorithm needs of replay.
static bool
is_accepted(const attempt *a, algo_wants *wants)
{
    oct_reason message;
    policy_spec spec = a->spec;
    return config_check(&a->config, message.text, sizeof(message.text)) == OCT_OK &&
           algo_make_spec(&a->config, &spec, wants, &message) == OCT_OK;
}

// Tries two further assignments, which override earlier ones, on a copy.
static bool
is_accepted_with(const attempt *a, const char *first, const char *second)
{
    attempt changed = *a;
    set(&changed, first);
    set(&changed, second);
    return is_accepted(&changed, NULL);
}

// Adds a word to a cell, unless the cell has it.
static void
cell_add(char *cell, const char *word)
{
    size_t used = strlen(cell);
    if (strstr(cell, word) == NULL) {
        int length = snprintf(cell + used, CELL_BYTES - used, "%s%s", used > 0 ? ", " : "", word);
        OCT_ASSERT(length > 0 && (size_t)length < CELL_BYTES - used);
    }
}

// Names the kind of windows as docs/algorithms.md does.
static const char *
windows_word(const algo_wants *wants)
{
    return wants->window == ALGO_WINDOW_ROLLOUT ? "rollouts"
           : !wants->each_once                  ? "replay"
           : wants->stride == 0                 ? "episodes"
                                                : "sequences";
}

// Fills the cells of windows, spaces and networks. *works becomes the first accepted attempt.
static void
row_add_spaces(row *r, attempt *a, attempt *works)
{
    bool is_tabular = config_is_tabular(&a->config);
    algo_wants wants;
    for (size_t i = 0; i < ACTIONS * OBSERVATIONS * NETWORKS * WINDOWS; i++) {
        size_t window = i % WINDOWS, network = i / WINDOWS % NETWORKS;
        size_t observation = i / WINDOWS / NETWORKS % OBSERVATIONS;
        size_t action = i / WINDOWS / NETWORKS / OBSERVATIONS;
        attempt_take_spaces(a, action_kinds[action], observation);
        set(a, network_settings[network]);
        set(a, window_settings[window]);
        if (is_accepted(a, &wants)) {
            cell_add(r->cells[WINDOW], windows_word(&wants));
            cell_add(r->cells[ACTION], action_words[action]);
            cell_add(r->cells[OBSERVATION], observation_words[observation]);
            cell_add(r->cells[NETWORK], is_tabular ? "table" : network_words[network]);
            if (works->config.env.id[0] == 0) {
                *works = *a;
            }
        }
    }
}

// Fills the row of an algorithm. The ways of training are tried with the first attempt that is
// accepted, because they do not depend on the environment.
static void
row_fill(row *r, const char *word)
{
    static attempt a, works;
    works = (attempt){0};
    *r = (row){0};
    attempt_init(&a, word);
    cell_add(r->cells[NAME], word);
    row_add_spaces(r, &a, &works);
    bool has_data = is_accepted_with(&works, "replay.data=steps.data", "run.updates=1");
    bool has_several = is_accepted_with(&works, "learner.count=2", "learner.asynchronous=false");
    bool has_asynchronous =
        is_accepted_with(&works, "learner.count=2", "learner.asynchronous=true");
    bool is_repeatable = is_accepted_with(&works, "run.deterministic=true", "learner.count=1");
    cell_add(r->cells[DATA], has_data ? "yes" : "no");
    cell_add(r->cells[LEARNERS], has_several ? "several" : "one");
    if (has_asynchronous) {
        cell_add(r->cells[LEARNERS], "asynchronous");
    }
    cell_add(r->cells[DETERMINISTIC], is_repeatable ? "yes" : "no");
    size_t at = 0;
    for (const char *name; (name = config_algo_next_name(word, &at)) != NULL;) {
        cell_add(r->cells[OTHERS], name);
    }
}

static void
print_markdown(FILE *out, const row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < COLUMNS; k++) {
            const char *mark = k == NAME && i > 0 ? "`" : "";
            fprintf(out, "| %s%s%s ", mark, rows[i].cells[k], mark);
        }
        fputs("|\n", out);
        for (size_t k = 0; i == 0 && k < COLUMNS; k++) {
            fputs(k + 1 < COLUMNS ? "|---" : "|---|\n", out);
        }
    }
}

// Other names need more room than a line has, and follow the table.
static void
print_text(FILE *out, const row *rows, size_t count)
{
    int widths[COLUMNS] = {0};
    for (size_t i = 0; i < count * COLUMNS; i++) {
        int length = (int)strlen(rows[i / COLUMNS].cells[i % COLUMNS]);
        widths[i % COLUMNS] = OCT_MAX(widths[i % COLUMNS], length);
    }
    for (size_t i = 0; i < count; i++) {
        for (int k = 0; k + 1 < OTHERS; k++) {
            fprintf(out, "%-*s  ", widths[k], rows[i].cells[k]);
        }
        fprintf(out, "%s\n", rows[i].cells[OTHERS - 1]);
    }
    fputs("\n", out);
    for (size_t i = 1; i < count; i++) {
        size_t at = 0;
        for (const char *name; (name = config_algo_next_name(rows[i].cells[NAME], &at)) != NULL;) {
            char made_of[CONFIG_VALUE_MAX];
            fprintf(out, "%s: %s\n", name, config_algo_made_of(name, made_of));
        }
    }
}

void
cli_algorithms_print(FILE *out, bool markdown)
{
    static row rows[1 + CONFIG_ALGOS];
    for (size_t k = 0; k < COLUMNS; k++) {
        cell_add(rows[0].cells[k], headings[k]);
    }
    for (size_t i = 0; i < CONFIG_ALGOS; i++) {
        row_fill(&rows[1 + i], config_algo_word((config_algo_name)i));
    }
    (markdown ? print_markdown : print_text)(out, rows, OCT_COUNTOF(rows));
}
