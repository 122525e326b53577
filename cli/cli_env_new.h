#ifndef CLI_CLI_ENV_NEW_H
#define CLI_CLI_ENV_NEW_H

// `octet env new NAME`: writes a complete plug-in for the user to change. The command itself is
// cli_env_new (cli/cli_env_settings.h).

// Returns the text of a file that a new plug-in begins with: "point.c" and "point.yaml" of
// examples/env, or "env.h" of include/octet. NULL: another name. tools/embed_text.py writes this
// function when Octet is built. Threads: any.
const char *cli_env_new_text(const char *name);

#endif // CLI_CLI_ENV_NEW_H
