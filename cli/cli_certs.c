// octet certs: the options of init, issue, revoke and list, what they take and what they print.

#include "cli/cli_certs.h"

#include <arpa/inet.h>
#include <glob.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli_commands.h"
#include "cli/cli_options.h"
#include "cli/cli_suggest.h"
#include "cli/cli_text.h"

#define FOLDER_BYTES_MAX 1024
#define SOON_DAYS        30
#define DAY_S            86400
#define DAYS             397
#define CA_DAYS          3650
#define DAYS_MAX         36500

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
           !matches(name, "^(db|ca\\.crt|ca\\.key|crl\\.pem|openssl\\.cnf|pending\\.pem)$");
}

// A name is labels between dots. The last one is no number: 10.0.0.256 is a mistyped address.
bool
cli_certs_host_is_valid(const char *host)
{
#define LABEL "[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
    unsigned char bytes[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1 ||
           (strlen(host) <= CLI_CERTS_HOST_MAX && matches(host, "^(" LABEL "\\.)*" LABEL "$") &&
            !matches(host, "(^|\\.)[0-9]+$"));
}

bool
cli_certs_host_add(cli_certs_request *request, const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    char spelt[CLI_CERTS_HOST_MAX + 1]; // one spelling for each address
    if (inet_pton(AF_INET6, host, bytes) != 1 ||
        inet_ntop(AF_INET6, bytes, spelt, sizeof(spelt)) == NULL) {
        (void)snprintf(spelt, sizeof(spelt), "%s", host);
    }
    for (size_t i = 0; i < request->host_count; i++) {
        if (strcasecmp(request->hosts[i], spelt) == 0) {
            return true;
        }
    }
    if (request->host_count == OCT_COUNTOF(request->hosts)) {
        return false;
    }
    memcpy(request->hosts[request->host_count++], spelt, sizeof(spelt));
    return true;
}

// ---- options

enum { KEY_DIR = 256, KEY_DAYS, KEY_NAME, KEY_HOST, KEY_RENEW, KEY_REVOKE_OLD };

typedef struct settings {
    const char *command, *folder, *title;
    const char *words[2]; // ROLE NAME, or NAME
    size_t word_count, words_max;
    const char *hosts[CLI_CERTS_HOSTS_MAX];
    size_t host_count;
    cli_certs_request request;
} settings;

#define OPTION_DIR                                                                                 \
    {                                                                                              \
        "dir", KEY_DIR, "FOLDER", 0, "Folder of the CA (default: octet-certs)", 0                  \
    }

static const struct argp_option init_options[] = {
    OPTION_DIR,
    {"days", KEY_DAYS, "N", 0, "How long the CA is good (default: 3650)", 0},
    {"name", KEY_NAME, "TEXT", 0, "What the CA calls itself (default: Octet CA)", 0},
    {0},
};

static const struct argp_option issue_options[] = {
    OPTION_DIR,
    {"host", KEY_HOST, "HOST", 0,
     "A DNS name or an IP address by which others reach it, beside NAME; may be repeated", 0},
    {"days", KEY_DAYS, "N", 0, "How long the certificate is good (default: 397)", 0},
    {"renew", KEY_RENEW, NULL, 0,
     "A new key and certificate for a NAME that has one; without --host for the same hosts", 0},
    {"revoke-old", KEY_REVOKE_OLD, NULL, 0, "With --renew: revoke what NAME had before", 0},
    {0},
};

static const struct argp_option dir_options[] = {OPTION_DIR, {0}};

static error_t
parse(int key, char *arg, struct argp_state *state)
{
    settings *s = state->input;
    if (key == KEY_DIR && (arg[0] == '\0' || strlen(arg) >= FOLDER_BYTES_MAX)) {
        cli_usage_error(s->command, "--dir is '%s'; allowed is the path of a folder", arg);
    } else if (key == KEY_DIR) {
        s->folder = arg;
    } else if (key == KEY_DAYS) {
        s->request.days = (uint32_t)cli_option_number(s->command, "--days", arg, 1, DAYS_MAX);
    } else if (key == KEY_NAME && !matches(arg, "^[a-z0-9 ._-]{1,48}$")) {
        cli_usage_error(s->command,
                        "--name is '%s'; allowed are letters, digits, spaces, '.', '_' and '-', "
                        "at most 48",
                        arg);
    } else if (key == KEY_NAME) {
        s->title = arg;
    } else if (key == KEY_HOST && !cli_certs_host_is_valid(arg)) {
        cli_usage_error(s->command,
                        "--host is '%s'; allowed is a DNS name or an IP address, without a port",
                        arg);
    } else if (key == KEY_HOST && s->host_count == CLI_CERTS_HOSTS_MAX) {
        cli_usage_error(s->command, "more than %d hosts", CLI_CERTS_HOSTS_MAX);
    } else if (key == KEY_HOST) {
        s->hosts[s->host_count++] = arg;
    } else if (key == KEY_RENEW) {
        s->request.renew = true;
    } else if (key == KEY_REVOKE_OLD) {
        s->request.revoke_old = true;
    } else if (key == ARGP_KEY_ARG && s->word_count == s->words_max) {
        cli_usage_error(s->command, "'%s' is one word too many", arg);
    } else if (key == ARGP_KEY_ARG) {
        s->words[s->word_count++] = arg;
    } else {
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

// ---- what they print

// Where the new crl.pem has to go. The revoked one's own host would not use it.
static void
print_crl(const settings *s, const char *but)
{
    glob_t found;
    size_t others = 0;
    (void)glob("*/node.crt", 0, NULL, &found);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *name = found.gl_pathv[i];
        *strchr(name, '/') = '\0';
        if (cli_certs_name_is_valid(name) && strcmp(name, but) != 0) {
            if (others++ == 0) {
                printf("  now copy %s/NAME/crl.pem to the host of each NAME of:", s->folder);
            }
            printf(" %s", name);
        }
    }
    printf("%s\n",
           others > 0 ? "" : "  no other host has a folder here that needs the new crl.pem");
    globfree(&found);
}

static oct_err
do_init(settings *s, cli_certs *certs)
{
    (void)certs;
    printf("%s: a CA for %" PRIu32 " days. Anyone with %s/ca.key can make certificates: keep the "
           "folder off the hosts that train.\n  next: octet certs issue learner NAME --host HOST\n",
           s->folder, s->request.days, s->folder);
    return OCT_OK;
}

static oct_err
do_issue(settings *s, cli_certs *certs)
{
    const cli_certs_request *request = &s->request;
    const char *name = request->name, *role = oct_role_name(request->role);
    OCT_TRY(cli_certs_issue(certs, &s->request));
    printf("%s/%s: %s certificate for", s->folder, name, role);
    for (size_t i = 0; i < request->host_count; i++) {
        printf("%s %s", i > 0 ? "," : "", request->hosts[i]);
    }
    printf("; good for %" PRIu32 " days\n", request->days);
    if (!request->renew) {
        printf("  copy the folder %s/%s to its host (scp -rp %s/%s HOST:tls); start there with: "
               "octet%s%s --tls tls\n",
               s->folder, name, s->folder, name,
               request->role == OCT_ROLE_OPERATOR ? " status" : "-",
               request->role == OCT_ROLE_OPERATOR ? "" : role);
        return OCT_OK;
    }
    printf("  copy node.key and node.crt of %s/%s over those on its host; a daemon takes them up "
           "without a restart\n",
           s->folder, name);
    if (request->revoke_old) {
        print_crl(s, "");
    }
    return OCT_OK;
}

static oct_err
do_revoke(settings *s, cli_certs *certs)
{
    const char *name = s->request.name;
    const cli_certs_entry *entry = cli_certs_find(certs, name);
    if (entry == NULL) {
        cli_error(s->command, "no certificate of '%s'; octet certs list shows all", name);
        return OCT_ENOTFOUND;
    }
    bool is_revoked = entry->is_revoked;
    size_t revoked;
    OCT_TRY(cli_certs_revoke(certs, name, &revoked));
    if (revoked > 0) {
        printf("%s: %zu certificate%s revoked; %s/crl.pem and its copies are new\n", name, revoked,
               revoked == 1 ? "" : "s", s->folder);
    } else if (is_revoked) {
        printf("%s: was revoked before; %s/crl.pem and its copies are new\n", name, s->folder);
    } else {
        printf("%s: expired, nothing to revoke\n", name);
        return OCT_OK;
    }
    print_crl(s, name);
    return OCT_OK;
}

static oct_err
do_list(settings *s, cli_certs *certs)
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
        int64_t days = (entry->until_s - now_s + DAY_S - 1) / DAY_S; // begun ones
        char until[32], state[64] = "valid";
        struct tm utc;
        (void)strftime(until, sizeof(until), "%Y-%m-%d %H:%MZ",
                       gmtime_r(&(time_t){(time_t)entry->until_s}, &utc));
        if (days <= SOON_DAYS) {
            (void)snprintf(state, sizeof(state), "expires in %" PRId64 " day%s", days,
                           days == 1 ? "" : "s");
        }
        printf("%-*s  %-8s  %-40s  %-16s  %s%s\n", width,
               cli_text_plain(entry->name, strlen(entry->name)).text,
               cli_text_plain(entry->role, strlen(entry->role)).text, entry->serial, until,
               entry->is_revoked ? "revoked"
               : entry->is_good  ? state
                                 : "expired",
               entry->is_good && !entry->is_latest ? ", replaced" : "");
    }
    return OCT_OK;
}

// ---- the commands

static int
run(int argc, char **argv, const struct argp *argp, size_t words,
    oct_err (*command)(settings *s, cli_certs *certs))
{
    static const char *const roles[] = {"learner", "replay", "actor", "operator", NULL};
    settings s = {.command = argv[0], .folder = "octet-certs", .words_max = words};
    bool is_init = command == do_init;
    s.title = is_init ? "Octet CA" : NULL;
    s.request.days = is_init ? CA_DAYS : DAYS;
    s.request.role = OCT_ROLE_OPERATOR;
    cli_options_parse(argp, argc, argv, &s);
    const char *name = words > 0 ? s.words[words - 1] : NULL;
    if (s.word_count < words) {
        cli_usage_error(s.command, "usage: octet %s %s", s.command, argp->args_doc);
    }
    if (words == 2) {
        s.request.role = oct_role_from_name(s.words[0]);
    }
    if (s.request.role == OCT_ROLE_NONE) {
        const char *near = cli_suggest(s.words[0], roles);
        cli_usage_error(s.command,
                        "unknown role '%s'%s%s%s\n  allowed: learner replay actor operator",
                        s.words[0], near != NULL ? "; did you mean '" : "",
                        near != NULL ? near : "", near != NULL ? "'?" : "");
    }
    if (name != NULL && !cli_certs_name_is_valid(name)) {
        cli_usage_error(s.command,
                        "NAME is '%s'; allowed are letters, digits, '.', '_' and '-', at most %d, "
                        "the first no '.' or '-', and no file of the CA",
                        cli_text_plain(name, strlen(name)).text, CLI_CERTS_NAME_MAX);
    }
    if (s.request.revoke_old && !s.request.renew) {
        cli_usage_error(s.command, "--revoke-old needs --renew");
    }
    s.request.name = name;
    OCT_ASSERT(name == NULL || cli_certs_host_add(&s.request, name));
    for (size_t i = 0; i < s.host_count; i++) {
        OCT_ASSERT(cli_certs_host_add(&s.request, s.hosts[i]));
    }
    (void)umask(077);
    cli_certs certs;
    oct_err err = cli_certs_open(&certs, s.folder, s.title, s.request.days);
    err = err == OCT_OK ? command(&s, &certs) : err;
    cli_certs_close(&certs);
    return err == OCT_OK ? 0 : CLI_EXIT_FAILED;
}

static const struct argp init_argp = {
    .options = init_options,
    .parser = parse,
    .doc = "Makes a certificate authority in a new folder: a key, a certificate, an empty list of "
           "what is revoked.\v"
           "Example: octet certs init --name \"Octet of our lab\"",
};

static const struct argp issue_argp = {
    .options = issue_options,
    .parser = parse,
    .args_doc = "ROLE NAME",
    .doc = "Makes a key and a certificate in FOLDER/NAME, the folder that --tls of a daemon wants. "
           "ROLE is learner, replay, actor (evaluators, too) or operator (people, and "
           "Prometheus).\v"
           "Example: octet certs issue learner learner --host train.example.org --host 10.0.0.5",
};

static const struct argp revoke_argp = {
    .options = dir_options,
    .parser = parse,
    .args_doc = "NAME",
    .doc = "Revokes every certificate of NAME that is still good, renews crl.pem and copies it "
           "into the folder of every name.\v"
           "Example: octet certs revoke actor-3",
};

static const struct argp list_argp = {
    .options = dir_options,
    .parser = parse,
    .doc = "Shows every certificate, the oldest first.\v"
           "Example: octet certs list",
};

#define COMMAND(name, words)                                                                       \
    static int run_##name(int argc, char **argv)                                                   \
    {                                                                                              \
        return run(argc, argv, &name##_argp, words, do_##name);                                    \
    }
COMMAND(init, 0)
COMMAND(issue, 2)
COMMAND(revoke, 1)
COMMAND(list, 0)

int
cli_certs_run(int argc, char **argv)
{
    static const cli_command list[] = {
        {"init", run_init, "make a certificate authority (CA) in a new folder"},
        {"issue", run_issue, "a key and a certificate for a daemon, or a person"},
        {"revoke", run_revoke, "a name that may no longer connect"},
        {"list", run_list, "every certificate, and when it expires"},
    };
    static const cli_family family = {.name = "certs",
                                      .about = "Certificates for daemons on separate hosts.",
                                      .list = list,
                                      .count = OCT_COUNTOF(list),
                                      .start = "octet certs init"};
    return cli_family_run(&family, argc, argv);
}
