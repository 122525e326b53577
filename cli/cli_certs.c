// octet certs: the commands init, issue, revoke and list, their options and what they take.

#include "cli/cli_certs.h"

#include <arpa/inet.h>
#include <regex.h>
#include <string.h>

#include "cli/cli_commands.h"
#include "cli/cli_options.h"
#include "cli/cli_text.h"
#include "common/oct_role.h"
#include "common/oct_suggest.h"
#include "common/oct_text.h"

#define DAYS     397
#define CA_DAYS  3650
#define DAYS_MAX 36500
#define HOST_MAX 253

// ---- names

static bool
matches(const char *text, const char *pattern)
{
    regex_t compiled;
    OCT_ASSERT(regcomp(&compiled, pattern, REG_EXTENDED | REG_ICASE | REG_NOSUB) == 0);
    bool found = regexec(&compiled, text, 0, NULL, 0) == 0;
    regfree(&compiled);
    return found;
}

bool
cli_certs_name_is_valid(const char *name)
{
    return matches(name, "^[a-z0-9_][a-z0-9._-]{0,62}$") &&
           !matches(name, "^(ca\\.(crt|key)|(crl|issued|pending)\\.pem)$");
}

const char *
cli_certs_host_kind(const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    bool is_address = inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
    return is_address ? "IP" : "DNS";
}

// A name is labels between dots. The last one is no number: 10.0.0.256 is a mistyped address.
bool
cli_certs_host_is_valid(const char *host)
{
#define LABEL "[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
    return strcmp(cli_certs_host_kind(host), "IP") == 0 ||
           (strlen(host) <= HOST_MAX && matches(host, "^(" LABEL "\\.)*" LABEL "$") &&
            !matches(host, "(^|\\.)[0-9]+$"));
}

// ---- the commands

enum { KEY_DIR = 256, KEY_DAYS, KEY_NAME, KEY_HOST, KEY_RENEW, KEY_REVOKE_OLD };

#define OPTION_DIR                                                                                 \
    {                                                                                              \
        "dir", KEY_DIR, "FOLDER", 0, "Use the CA in FOLDER (default: octet-certs)", 0              \
    }

static const struct argp_option init_options[] = {
    OPTION_DIR,
    {"days", KEY_DAYS, "N", 0, "Make the CA valid for N days (default: 3650)", 0},
    {"name", KEY_NAME, "TEXT", 0, "Name the CA (default: Octet CA)", 0},
    {0},
};

static const struct argp_option issue_options[] = {
    OPTION_DIR,
    {"host", KEY_HOST, "HOST", 0,
     "Add a DNS name or IP address by which others reach the daemon, besides NAME; may be repeated",
     0},
    {"days", KEY_DAYS, "N", 0, "Make the certificate valid for N days (default: 397)", 0},
    {"renew", KEY_RENEW, NULL, 0,
     "Make a new key and certificate for a NAME that already has one; without --host, for the same "
     "hosts",
     0},
    {"revoke-old", KEY_REVOKE_OLD, NULL, 0, "With --renew, revoke the previous certificate of NAME",
     0},
    {0},
};

static const struct argp_option dir_options[] = {OPTION_DIR, {0}};

typedef struct settings {
    const char *command;  // "certs revoke"
    const char *words[2]; // ROLE NAME, or NAME
    size_t words_max;
    cli_certs_options options;
    oct_text hosts; // of options
} settings;

// Ends the process unless value is valid.
static const char *
checked(const settings *s, const char *what, const char *value, bool is_valid, const char *allowed)
{
    if (!is_valid) {
        cli_usage_error(s->command, "%s is '%s'; allowed %s", what,
                        cli_text_plain(value, strlen(value)).text, allowed);
    }
    return value;
}

// Whether hosts, ",DNS:a,IP:1.2.3.4", has this one.
static bool
has_host(const char *hosts, const char *kind, const char *host)
{
    char one[CLI_CERTS_HOSTS_BYTES_MAX];
    int length = snprintf(one, sizeof(one), ",%s:%s", kind, host);
    for (const char *at = hosts; length > 0 && (at = strstr(at, one)) != NULL; at++) {
        if (at[length] == ',' || at[length] == '\0') {
            return true;
        }
    }
    return false;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    settings *s = state->input;
    cli_certs_options *options = &s->options;
    if (key == KEY_DIR) {
        options->folder = arg;
    } else if (key == KEY_DAYS) {
        options->days = (uint32_t)cli_option_number(s->command, "--days", arg, 1, DAYS_MAX);
    } else if (key == KEY_NAME) {
        options->title = checked(s, "--name", arg, matches(arg, "^[a-z0-9 ._-]{1,48}$"),
                                 "are letters, digits, spaces, '.', '_' and '-', at most 48");
    } else if (key == KEY_HOST) {
        (void)checked(s, "--host", arg, cli_certs_host_is_valid(arg),
                      "is a DNS name or an IP address, without a port");
        if (!has_host(s->options.hosts, cli_certs_host_kind(arg), arg)) {
            oct_text_add(&s->hosts, ",%s:%s", cli_certs_host_kind(arg), arg);
        }
        if (s->hosts.truncated) {
            cli_usage_error(s->command, "too many hosts");
        }
    } else if (key == KEY_RENEW) {
        options->renew = true;
    } else if (key == KEY_REVOKE_OLD) {
        options->revoke_old = true;
    } else if (key == ARGP_KEY_ARG && state->arg_num == s->words_max) {
        cli_usage_error(s->command, "unexpected argument '%s'", arg);
    } else if (key == ARGP_KEY_ARG) {
        s->words[state->arg_num] = arg;
    } else {
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

// ROLE NAME, or NAME.
static void
take_words(settings *s, const char *usage)
{
    static const char *const roles[] = {"learner",  "replay", "actor", "evaluator",
                                        "operator", "relay",  NULL};
    const char *role = s->words[0], *name = s->words[s->words_max - 1];
    if (name == NULL) {
        cli_usage_error(s->command, "usage: octet %s %s", s->command, usage);
    }
    if (s->words_max > 1 && oct_role_from_name(role) == OCT_ROLE_NONE) {
        const char *near = oct_suggest(role, roles);
        cli_usage_error(
            s->command,
            "unknown role '%s'%s%s%s\n  allowed: learner replay actor evaluator operator relay",
            role, near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
            near != NULL ? "'?" : "");
    }
    s->options.role = role;
    s->options.name = checked(s, "NAME", name, cli_certs_name_is_valid(name),
                              "are letters, digits, '.', '_' and '-', at most 63, without '.' or "
                              "'-' at the start and not the name of a file of the CA");
}

static const struct command {
    const char *name, *help;
    cli_certs_command *run;
    uint32_t days;
    size_t word_count;
    const char *words;
    const struct argp_option *options;
    const char *doc;
} commands[] = {
    {"init", "make a certificate authority (CA) in a new folder", cli_certs_init, CA_DAYS, 0, NULL,
     init_options,
     "Makes a certificate authority (CA) in a new folder: a key, a certificate and an empty "
     "revocation list.\v"
     "Example:\n"
     "  octet certs init --name \"Octet of our lab\""},
    {"issue", "make a key and a certificate for a daemon or a person", cli_certs_issue, DAYS, 2,
     "ROLE NAME", issue_options,
     "Makes a key and a certificate in FOLDER/NAME, the folder to give to a daemon's --tls. ROLE "
     "is learner, replay, actor, evaluator, relay or operator (for people and Prometheus).\v"
     "Example:\n"
     "  octet certs issue learner learner --host train.example.org --host 10.0.0.5"},
    {"revoke", "revoke the certificates of a name, which can then no longer connect",
     cli_certs_revoke, 0, 1, "NAME", dir_options,
     "Revokes every valid certificate of NAME, writes a new crl.pem and copies it to the folder of "
     "every "
     "name.\v"
     "Example:\n"
     "  octet certs revoke actor-3"},
    {"list", "list all certificates and when they expire", cli_certs_list, 0, 0, NULL, dir_options,
     "Lists all certificates, oldest first, and when they expire.\v"
     "Example:\n"
     "  octet certs list"},
};

static int
run(int argc, char **argv)
{
    const struct command *command = commands;
    while (strcmp(command->name, strchr(argv[0], ' ') + 1) != 0) { // argv[0]: "certs init"
        command++;
    }
    const struct argp argp = {.options = command->options,
                              .parser = parse,
                              .args_doc = command->words,
                              .doc = command->doc};
    settings s = {.command = argv[0], .words_max = command->word_count};
    s.options =
        (cli_certs_options){.folder = "octet-certs", .title = "Octet CA", .days = command->days};
    oct_text_init(&s.hosts, s.options.hosts, sizeof(s.options.hosts));
    cli_options_parse(&argp, argc, argv, &s);
    if (s.words_max > 0) {
        take_words(&s, command->words);
    }
    if (s.options.revoke_old && !s.options.renew) {
        cli_usage_error(s.command, "--revoke-old needs --renew");
    }
    return cli_certs_do(command->run, &s.options) == OCT_OK ? 0 : CLI_EXIT_FAILED;
}

int
cli_certs_run(int argc, char **argv)
{
    cli_command list[OCT_COUNTOF(commands)];
    for (size_t i = 0; i < OCT_COUNTOF(list); i++) {
        list[i] = (cli_command){commands[i].name, run, commands[i].help};
    }
    const cli_family family = {
        .name = "certs",
        .about = "Makes, lists and revokes certificates for daemons on separate hosts.",
        .list = list,
        .count = OCT_COUNTOF(list),
        .start = "octet certs init"};
    return cli_family_run(&family, argc, argv);
}
