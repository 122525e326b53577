// octet certs: the commands init, issue, revoke and list. It reads and checks their options;
// cli_certs_ca.c and octet_certs.sh do the work.

#include "cli/cli_certs.h"

#include <arpa/inet.h>
#include <regex.h>
#include <string.h>

#include "cli/cli_commands.h"
#include "cli/cli_options.h"
#include "cli/cli_text.h"
#include "common/oct_reason.h"
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

// A host name is labels between dots. Its last label is not a number, because 10.0.0.256 would be a
// mistyped address.
bool
cli_certs_host_is_valid(const char *host)
{
#define LABEL "[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
    return strcmp(cli_certs_host_kind(host), "IP") == 0 ||
           (strlen(host) <= HOST_MAX && matches(host, "^(" LABEL "\\.)*" LABEL "$") &&
            !matches(host, "(^|\\.)[0-9]+$"));
}

// ---- the commands

typedef struct settings {
    const char *command; // "certs revoke"
    const char *role, *name;
    cli_certs_options options;
    oct_text hosts; // of options
} settings;

// Returns true if hosts, a list such as ",DNS:a,IP:1.2.3.4", contains this host.
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

static bool
is_title(const char *text)
{
    return matches(text, "^[a-z0-9 ._-]{1,48}$");
}

// Appends a host to the list, without duplicates. field: an oct_text.
static oct_err
take_host(const oct_arg_given *given)
{
    oct_text *hosts = given->field;
    const char *kind = cli_certs_host_kind(given->text);
    if (!cli_certs_host_is_valid(given->text)) {
        return OCT_EINVAL;
    }
    if (!has_host(hosts->out, kind, given->text)) {
        oct_text_add(hosts, ",%s:%s", kind, given->text);
    }
    return !hosts->truncated ? OCT_OK : oct_refuse(given->why, "too many hosts");
}

static const oct_arg init_rows[] = {
    {OCT_ARG_PATH("dir", "FOLDER", settings, options.folder),
     .help = "Use the CA in FOLDER (default: octet-certs)"},
    {OCT_ARG_COUNT("days", "N", settings, options.days, 1, DAYS_MAX),
     .help = "Make the CA valid for N days (default: 3650)"},
    {OCT_ARG_TEXT("name", "TEXT", settings, options.title), .check = is_title,
     .allowed = "are letters, digits, spaces, '.', '_' and '-', at most 48",
     .help = "Name the CA (default: Octet CA)"},
    {0},
};

static const oct_arg issue_rows[] = {
    {OCT_ARG_OPERAND("roles", settings, role)},
    {OCT_ARG_OPERAND("names", settings, name)},
    {OCT_ARG_PATH("dir", "FOLDER", settings, options.folder),
     .help = "Use the CA in FOLDER (default: octet-certs)"},
    {OCT_ARG_TAKE("host", "HOST", settings, hosts, take_host),
     .allowed = "is a DNS name or an IP address, without a port",
     .help = "Add a DNS name or IP address by which others reach the daemon, besides NAME; may be "
             "repeated"},
    {OCT_ARG_COUNT("days", "N", settings, options.days, 1, DAYS_MAX),
     .help = "Make the certificate valid for N days (default: 397)"},
    {OCT_ARG_FLAG("renew", settings, options.renew),
     .help = "Make a new key and certificate for a NAME that already has one; without --host, for "
             "the same hosts"},
    {OCT_ARG_FLAG("revoke-old", settings, options.revoke_old),
     .help = "With --renew, revoke the previous certificate of NAME"},
    {0},
};

static const oct_arg list_rows[] = {
    {OCT_ARG_PATH("dir", "FOLDER", settings, options.folder),
     .help = "Use the CA in FOLDER (default: octet-certs)"},
    {0},
};

static const oct_arg revoke_rows[] = {
    {OCT_ARG_OPERAND("names", settings, name)},
    {OCT_ARG_PATH("dir", "FOLDER", settings, options.folder),
     .help = "Use the CA in FOLDER (default: octet-certs)"},
    {0},
};

// Returns value, or ends the process with a message if it is not valid.
static const char *
checked(const settings *s, const char *what, const char *value, bool is_valid, const char *allowed)
{
    if (!is_valid) {
        cli_usage_error(s->command, "%s is '%s'; allowed %s", what,
                        cli_text_plain(value, strlen(value)).text, allowed);
    }
    return value;
}

// Takes the operands ROLE NAME, or only NAME.
static void
take_words(settings *s, const char *usage)
{
    static const char *const roles[] = {"learner",  "replay", "actor", "evaluator",
                                        "operator", "relay",  NULL};
    const char *role = s->role, *name = s->name;
    if (name == NULL) {
        cli_usage_error(s->command, "usage: octet %s %s", s->command, usage);
    }
    if (role != NULL && oct_role_from_name(role) == OCT_ROLE_NONE) {
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
    const char *words; // operands; NULL: none
    const oct_arg *rows;
    const char *doc;
} commands[] = {
    {"init", "make a certificate authority (CA) in a new folder", cli_certs_init, CA_DAYS, NULL,
     init_rows,
     "Makes a certificate authority (CA) in a new folder: a key, a certificate and an empty "
     "revocation list.\v"
     "Example:\n"
     "  octet certs init --name \"Octet of our lab\""},
    {"issue", "make a key and a certificate for a daemon or a person", cli_certs_issue, DAYS,
     "ROLE NAME", issue_rows,
     "Makes a key and a certificate in FOLDER/NAME, the folder to give to a daemon's --tls. ROLE "
     "is learner, replay, actor, evaluator, relay or operator (for people and Prometheus).\v"
     "Example:\n"
     "  octet certs issue learner learner --host train.example.org --host 10.0.0.5"},
    {"revoke", "revoke the certificates of a name, which can then no longer connect",
     cli_certs_revoke, 0, "NAME", revoke_rows,
     "Revokes every valid certificate of NAME, writes a new crl.pem and copies it to the folder of "
     "every "
     "name.\v"
     "Example:\n"
     "  octet certs revoke actor-3"},
    {"list", "list all certificates and when they expire", cli_certs_list, 0, NULL, list_rows,
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
    const oct_args args = {.rows = command->rows, .usage = command->words, .doc = command->doc};
    settings s = {.command = argv[0]};
    s.options =
        (cli_certs_options){.folder = "octet-certs", .title = "Octet CA", .days = command->days};
    oct_text_init(&s.hosts, s.options.hosts, sizeof(s.options.hosts));
    cli_args_parse(&args, argc, argv, &s);
    if (command->words != NULL) {
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
