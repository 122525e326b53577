// octet certs: the options of init, issue, revoke and list, and what they print.

#include "cli/cli_certs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/cli_commands.h"
#include "cli/cli_openssl.h"
#include "cli/cli_options.h"
#include "cli/cli_suggest.h"
#include "cli/cli_text.h"
#include "common/oct_base.h"

#define FOLDER_BYTES_MAX 1024
#define TITLE_MAX        48
#define SOON_DAYS        30
#define DAY_S            86400

enum { KEY_DIR = 256, KEY_DAYS, KEY_NAME, KEY_HOST, KEY_RENEW, KEY_REVOKE_OLD };

typedef struct settings {
    const char *command; // "certs issue"
    const char *folder;
    const char *title;
    const char *words[2]; // ROLE NAME, or NAME
    size_t word_count, words_max;
    const char *hosts[CLI_CERTS_HOSTS_MAX];
    size_t host_count;
    cli_certs_request request;
} settings;

#define DIR_OPTION                                                                                 \
    {                                                                                              \
        "dir", KEY_DIR, "FOLDER", 0, "Folder of the CA (default: octet-certs)", 0                  \
    }

static const struct argp_option init_options[] = {
    DIR_OPTION,
    {"days", KEY_DAYS, "N", 0, "How long the CA is good (default: 3650)", 0},
    {"name", KEY_NAME, "TEXT", 0, "What the CA calls itself (default: Octet CA)", 0},
    {0},
};

static const struct argp_option issue_options[] = {
    DIR_OPTION,
    {"host", KEY_HOST, "HOST", 0,
     "A DNS name or an IP address by which others reach it, beside NAME; may be repeated", 0},
    {"days", KEY_DAYS, "N", 0, "How long the certificate is good (default: 397)", 0},
    {"renew", KEY_RENEW, NULL, 0,
     "A new key and certificate for a NAME that has one; without --host for the same hosts", 0},
    {"revoke-old", KEY_REVOKE_OLD, NULL, 0, "With --renew: revoke what NAME had before", 0},
    {0},
};

static const struct argp_option dir_options[] = {DIR_OPTION, {0}};

static void
take_title(settings *s, const char *text)
{
    bool is_good = text[0] != '\0' && strlen(text) <= TITLE_MAX;
    for (const char *at = text; *at != '\0'; at++) {
        is_good = is_good && strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                    "0123456789 ._-",
                                    *at) != NULL;
    }
    if (!is_good) {
        cli_usage_error(s->command,
                        "--name is '%s'; allowed are letters, digits, spaces, '.', '_' and '-', "
                        "at most %d",
                        text, TITLE_MAX);
    }
    s->title = text;
}

static void
take_host(settings *s, const char *text)
{
    if (!cli_certs_host_is_valid(text)) {
        cli_usage_error(s->command,
                        "--host is '%s'; allowed is a DNS name or an IP address, without a port",
                        text);
    }
    if (s->host_count == CLI_CERTS_HOSTS_MAX) {
        cli_usage_error(s->command, "more than %d hosts", CLI_CERTS_HOSTS_MAX);
    }
    s->hosts[s->host_count++] = text;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    settings *s = state->input;
    switch (key) {
    case KEY_DIR:
        if (arg[0] == '\0' || strlen(arg) >= FOLDER_BYTES_MAX) {
            cli_usage_error(s->command, "--dir is '%s'; allowed is the path of a folder", arg);
        }
        s->folder = arg;
        return 0;
    case KEY_DAYS:
        s->request.days =
            (uint32_t)cli_option_number(s->command, "--days", arg, 1, CLI_CERTS_DAYS_MAX);
        return 0;
    case KEY_NAME:
        take_title(s, arg);
        return 0;
    case KEY_HOST:
        take_host(s, arg);
        return 0;
    case KEY_RENEW:
        s->request.renew = true;
        return 0;
    case KEY_REVOKE_OLD:
        s->request.revoke_old = true;
        return 0;
    case ARGP_KEY_ARG:
        if (s->word_count == s->words_max) {
            cli_usage_error(s->command, "'%s' is one word too many", arg);
        }
        s->words[s->word_count++] = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// ---- wrong use

static const cli_certs_role *
take_role(const settings *s, const char *name)
{
    const char *names[8] = {NULL};
    char allowed[128] = "";
    OCT_ASSERT(cli_certs_role_count < OCT_COUNTOF(names));
    for (size_t i = 0; i < cli_certs_role_count; i++) {
        size_t used = strlen(allowed);
        names[i] = cli_certs_roles[i].name;
        (void)snprintf(allowed + used, sizeof(allowed) - used, " %s", names[i]);
    }
    const cli_certs_role *role = cli_certs_role_find(name);
    if (role != NULL) {
        return role;
    }
    const char *near = cli_suggest(name, names);
    if (near != NULL) {
        cli_usage_error(s->command, "unknown role '%s'; did you mean '%s'?\n  allowed:%s", name,
                        near, allowed);
    }
    cli_usage_error(s->command, "unknown role '%s'\n  allowed:%s", name, allowed);
}

static const char *
take_name(const settings *s, const char *name)
{
    if (!cli_certs_name_is_valid(name)) {
        cli_usage_error(s->command,
                        "NAME is '%s'; allowed are letters, digits, '.', '_' and '-', at most %d, "
                        "the first no '.' or '-', and no file of the CA",
                        cli_text_plain(name, strlen(name)).text, CLI_CERTS_NAME_MAX);
    }
    return name;
}

// NAME comes first.
static void
request_hosts(settings *s)
{
    bool fits = cli_certs_host_add(&s->request, s->request.name);
    for (size_t i = 0; i < s->host_count; i++) {
        fits = fits && cli_certs_host_add(&s->request, s->hosts[i]);
    }
    OCT_ASSERT(fits);
    s->request.keep_hosts = s->request.renew && s->host_count == 0;
}

// ---- commands

static oct_err
run_init(settings *s)
{
    uint32_t days = s->request.days > 0 ? s->request.days : CLI_CERTS_CA_DAYS;
    OCT_TRY(cli_certs_init(s->folder, s->title, days));
    printf("%s: a CA for %" PRIu32 " days. Anyone with %s/ca.key can make certificates: keep the "
           "folder off the hosts that train.\n  next: octet certs issue learner NAME --host HOST\n",
           s->folder, days, s->folder);
    return OCT_OK;
}

static void
print_names(char **names, size_t count, const char *but)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], but) != 0) {
            printf(" %s", names[i]);
        }
    }
    printf("\n");
}

// Where the new crl.pem has to go. The revoked one's own host would not use it.
static oct_err
print_crl(const settings *s, const char *but)
{
    char **names;
    size_t count;
    OCT_TRY(cli_certs_names(&names, &count));
    if (count == 0 || (count == 1 && strcmp(names[0], but) == 0)) {
        printf("  no other host has a folder here that needs the new crl.pem\n");
    } else {
        printf("  now copy %s/NAME/crl.pem to the host of each NAME of:", s->folder);
        print_names(names, count, but);
    }
    cli_certs_names_free(names, count);
    return OCT_OK;
}

static oct_err
run_issue(settings *s, cli_certs *certs)
{
    cli_certs_request *request = &s->request;
    const char *name = request->name;
    OCT_TRY(cli_certs_issue(certs, request));
    printf("%s/%s: %s certificate for", s->folder, name, request->role->name);
    for (size_t i = 0; i < request->host_count; i++) {
        printf("%s %s", i > 0 ? "," : "", request->hosts[i]);
    }
    printf("; good for %" PRIu32 " days\n", request->days);
    if (request->renew) {
        printf(
            "  copy node.key and node.crt of %s/%s over those on its host; a daemon takes them up "
            "without a restart\n",
            s->folder, name);
        return request->revoke_old ? print_crl(s, "") : OCT_OK;
    }
    printf("  copy the folder %s/%s to its host (scp -rp %s/%s HOST:tls); start there with: %s "
           "--tls tls\n",
           s->folder, name, s->folder, name, request->role->start);
    return OCT_OK;
}

static oct_err
run_revoke(settings *s, cli_certs *certs)
{
    const char *name = s->request.name;
    const cli_certs_entry *entry = cli_certs_find(certs, name);
    if (entry == NULL) {
        cli_error(s->command, "no certificate of '%s'; octet certs list shows all", name);
        return OCT_ENOTFOUND;
    }
    bool is_revoked = entry->status == 'R';
    size_t revoked;
    OCT_TRY(cli_certs_revoke(certs, name, NULL, &revoked));
    if (revoked == 0 && !is_revoked) {
        printf("%s: expired, nothing to revoke\n", name);
        return OCT_OK;
    }
    if (revoked == 0) {
        printf("%s: was revoked before; %s/crl.pem and its copies are new\n", name, s->folder);
    } else {
        printf("%s: %zu certificate%s revoked; %s/crl.pem and its copies are new\n", name, revoked,
               revoked == 1 ? "" : "s", s->folder);
    }
    return print_crl(s, name);
}

static void
print_state(char *out, size_t out_size, const cli_certs_entry *entry, int64_t now_s)
{
    int64_t left = (entry->until_s - now_s + DAY_S - 1) / DAY_S; // begun days
    const char *replaced = entry->is_latest ? "" : ", replaced";
    if (entry->status == 'R') {
        (void)snprintf(out, out_size, "revoked");
    } else if (!cli_certs_is_good(entry, now_s)) {
        (void)snprintf(out, out_size, "expired");
    } else if (left <= SOON_DAYS) {
        (void)snprintf(out, out_size, "expires in %" PRId64 " day%s%s", left, left == 1 ? "" : "s",
                       replaced);
    } else {
        (void)snprintf(out, out_size, "valid%s", replaced);
    }
}

static oct_err
run_list(settings *s, cli_certs *certs)
{
    (void)s;
    int64_t now_s = time(NULL);
    int width = 4;
    for (size_t i = 0; i < certs->count; i++) {
        width = OCT_MAX(width, (int)strlen(certs->entries[i].name));
    }
    printf("%-*s  %-8s  %-40s  %-16s  state\n", width, "name", "role", "serial", "valid until");
    for (size_t i = 0; i < certs->count; i++) {
        const cli_certs_entry *entry = &certs->entries[i];
        char until[32], state[64];
        time_t then = (time_t)entry->until_s;
        struct tm utc;
        (void)strftime(until, sizeof(until), "%Y-%m-%d %H:%MZ", gmtime_r(&then, &utc));
        print_state(state, sizeof(state), entry, now_s);
        printf("%-*s  %-8s  %-40s  %-16s  %s\n", width,
               cli_text_plain(entry->name, strlen(entry->name)).text,
               cli_text_plain(entry->role, strlen(entry->role)).text, entry->serial, until, state);
    }
    return OCT_OK;
}

typedef struct command {
    const char *name;
    const struct argp argp;
    size_t words;
    oct_err (*run)(settings *s, cli_certs *certs); // NULL: init, which has no CA yet
    const char *help;
} command;

static const command commands[] = {
    {"init",
     {.options = init_options,
      .parser = parse,
      .doc =
          "Makes a certificate authority in a new folder: a key, a certificate, an empty list of "
          "what is revoked.\v"
          "Example: octet certs init --name \"Octet of our lab\""},
     0,
     NULL,
     "make a certificate authority (CA) in a new folder"},
    {"issue",
     {.options = issue_options,
      .parser = parse,
      .args_doc = "ROLE NAME",
      .doc =
          "Makes a key and a certificate in FOLDER/NAME, the folder that --tls of a daemon wants. "
          "ROLE is learner, replay, actor (evaluators, too) or operator (people, and "
          "Prometheus).\v"
          "Example: octet certs issue learner learner --host train.example.org --host 10.0.0.5"},
     2,
     run_issue,
     "a key and a certificate for a daemon, or a person"},
    {"revoke",
     {.options = dir_options,
      .parser = parse,
      .args_doc = "NAME",
      .doc = "Revokes every certificate of NAME that is still good, renews crl.pem and copies it "
             "into the folder of every name.\v"
             "Example: octet certs revoke actor-3"},
     1,
     run_revoke,
     "a name that may no longer connect"},
    {"list",
     {.options = dir_options,
      .parser = parse,
      .doc = "Shows every certificate, the oldest first.\v"
             "Example: octet certs list"},
     0,
     run_list,
     "every certificate, and when it expires"},
};

static int
run(const command *which, int argc, char **argv)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "certs %s", which->name);
    settings s = {
        .command = name, .folder = "octet-certs", .title = "Octet CA", .words_max = which->words};
    argv[0] = name;
    cli_options_parse(&which->argp, argc, argv, &s);
    if (s.word_count < which->words) {
        cli_usage_error(name, "usage: octet %s %s", name, which->argp.args_doc);
    }
    if (which->words == 2) {
        s.request.role = take_role(&s, s.words[0]);
    }
    if (which->words > 0) {
        s.request.name = take_name(&s, s.words[which->words - 1]);
        request_hosts(&s);
    }
    if (s.request.revoke_old && !s.request.renew) {
        cli_usage_error(name, "--revoke-old needs --renew");
    }
    (void)umask(077);
    cli_openssl_guard();
    oct_err err;
    if (which->run == NULL) {
        err = run_init(&s);
    } else {
        cli_certs certs;
        s.request.days = s.request.days > 0 ? s.request.days : CLI_CERTS_DAYS;
        err = cli_certs_open(&certs, s.folder);
        if (err == OCT_OK) {
            err = which->run(&s, &certs);
            cli_certs_close(&certs);
        }
    }
    return err == OCT_OK               ? 0
           : cli_openssl_signal() != 0 ? 128 + cli_openssl_signal()
                                       : CLI_EXIT_FAILED;
}

static void
print_help(FILE *out)
{
    fprintf(out, "Usage: octet certs COMMAND [OPTION...]\n"
                 "Certificates for daemons on separate hosts, by the program openssl.\n\n");
    for (size_t i = 0; i < OCT_COUNTOF(commands); i++) {
        fprintf(out, "  %-7s %s\n", commands[i].name, commands[i].help);
    }
    fprintf(out, "\n  octet certs COMMAND --help   options of a command\n\n"
                 "Start here: octet certs init\n");
}

int
cli_certs_run(int argc, char **argv)
{
    const char *names[OCT_COUNTOF(commands) + 1] = {NULL};
    if (argc < 2) {
        print_help(stderr);
        return CLI_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(stdout);
        return 0;
    }
    for (size_t i = 0; i < OCT_COUNTOF(commands); i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return run(&commands[i], argc - 1, argv + 1);
        }
        names[i] = commands[i].name;
    }
    const char *near = cli_suggest(argv[1], names);
    cli_usage_error("certs", "unknown command '%s'%s%s%s; allowed: init, issue, revoke, list",
                    argv[1], near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                    near != NULL ? "'?" : "");
}
