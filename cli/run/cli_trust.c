// Decides whose word is enough to run the code that a file names.
#include "cli/run/cli_trust.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli_options.h"
#include "cli/cli_text.h"
#include "common/oct_file.h"
#include "common/oct_owner.h"
#include "common/oct_reason.h"
#include "envs/env.h"

// Returns true, and why, if another user decides what path holds. is_folder: write permissions of a
// folder do not count, because a file that another user puts there belongs to that user.
static bool
is_foreign(char why[CLI_TRUST_BYTES], const char *path, bool is_folder)
{
    struct stat status;
    if (!is_folder) {
        oct_reason refused;
        if (oct_owner_check(path, false, &refused) == OCT_OK) {
            return false;
        }
        (void)snprintf(why, CLI_TRUST_BYTES, "%s", refused.text);
        return true;
    }
    if (oct_file_stat(path, &status) == 0 && oct_owner_is_trusted(status.st_uid)) {
        return false;
    }
    (void)snprintf(why, CLI_TRUST_BYTES, "'%s' is not your folder", path);
    return true;
}

bool
cli_trust_doubts(char why[CLI_TRUST_BYTES], const char *path, uid_t owner, const char *env_id)
{
    char real[PATH_MAX];
    why[0] = '\0';
    if (env_is_built_in(env_id)) {
        return false;
    }
    if (!oct_owner_is_trusted(owner)) {
        (void)snprintf(why, CLI_TRUST_BYTES, "'%s' belongs to user %u", path, (unsigned)owner);
        return true;
    }
    if (realpath(path, real) == NULL) {
        (void)snprintf(why, CLI_TRUST_BYTES, "'%s' cannot be found", path);
        return true;
    }
    if (is_foreign(why, real, false)) {
        return true;
    }
    char *slash = strrchr(real, '/');
    slash[slash == real ? 1 : 0] = '\0';
    if (oct_owner_is_unpacked(real)) {
        (void)snprintf(why, CLI_TRUST_BYTES, "'%s' came out of a pack", path);
        return true;
    }
    // A plug-in that does not exist is refused when it is opened, with the reason.
    bool is_file = env_is_plugin(env_id) && access(env_id, F_OK) == 0;
    return is_foreign(why, real, true) || (is_file && is_foreign(why, env_id, false));
}

void
cli_trust_note(const char *command, const char *why, const char *env_id)
{
    (void)fflush(stdout);
    fprintf(stderr, "octet %s: note: --trust runs the code of %s, although %s\n", command,
            cli_text_plain(env_id, SIZE_MAX).text, why);
}

void
cli_trust_require(const char *command, const char *path, uid_t owner, const char *env_id,
                  bool is_trusted, const char *ways)
{
    char why[CLI_TRUST_BYTES];
    if (!cli_trust_doubts(why, path, owner, env_id)) {
        return;
    }
    if (!is_trusted) {
        exit(cli_error(
            command,
            "%s and names the environment '%s', which is code that does not come with Octet; "
            "if it may run here, give %s",
            why, env_id, ways));
    }
    cli_trust_note(command, why, env_id);
}
