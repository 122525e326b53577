#ifndef CLI_CLI_ENV_NEW_H
#define CLI_CLI_ENV_NEW_H

// `octet env new NAME`: writes a plug-in that works, for its user to change. The command itself is
// cli_env_new (cli/cli_env_settings.h).

// The text of a file that a new plug-in begins with: "point.c" and "point.yaml" are those of
// examples/env, "env.h" is include/octet/env.h. NULL for another name. Written by
// tools/embed_text.py when Octet is built. Threads: any.
const char *cli_env_new_text(const char *name);

#endif // CLI_CLI_ENV_NEW_H
