#ifndef CLI_REMOTE_CLI_REMOTE_H
#define CLI_REMOTE_CLI_REMOTE_H

#include <stdbool.h>

#include "common/oct_args.h"
#include "config/config.h"
#include "net/net_loop.h"
#include "net/net_url.h"
#include "proto/wire_rpc.h"

// A run on other hosts: the options that say how to reach it, and the connections to its learner
// and replays. The learner's address is enough: the learner names its replays and the experiment,
// which names the replay of a data set.
//
// Threads: the loop thread. Full: WIRE_CALLS_MAX calls. Order: close before the loop is destroyed.

typedef struct cli_remote_options {
    const char *learner; // --learner; NULL: not given
    const char *replay;  // --replay, addresses of shards separated by commas; NULL: as the learner
                         // reports
    const char *tls;     // --tls, or else OCTET_TLS; absolute after cli_remote_check; NULL: none
    bool insecure;
    bool asks_once;  // no request is sent a second time (cli_link_open)
    uint64_t run_id; // the run that is meant; a learner of another run is refused; 0: any run
} cli_remote_options;

// The options that a command shares (oct_args_shared); their struct is a cli_remote_options.
extern const oct_arg cli_remote_rows[];
#define CLI_REMOTE_GROUP 10 // of these options in --help
void cli_remote_default(cli_remote_options *options);
// Makes tls absolute. Ends the process with cli_usage_error if an address is invalid, or --replay
// is given without --learner.
void cli_remote_check(const char *command, cli_remote_options *options);
// Returns the first of the two addresses (NULL: none) that needs certificates, or NULL.
const char *cli_remote_tls_url(const char *learner, const char *replay);
// Gives the loop the certificates, if one of the two addresses (NULL: none) needs them. False: they
// cannot be used, or are not of the role operator; a message was printed.
bool cli_remote_secure(const char *command, const cli_remote_options *options, net_loop *loop,
                       const char *learner, const char *replay);

typedef struct cli_remote cli_remote;
typedef enum cli_remote_daemon {
    CLI_REMOTE_LEARNER,
    CLI_REMOTE_DATA,
    CLI_REMOTE_REPLAY, // the first shard; others follow
    CLI_REMOTE_DAEMONS = CLI_REMOTE_REPLAY + CONFIG_SHARDS_MAX,
} cli_remote_daemon;
// Receives a result. err OCT_OK: success. Otherwise why is a line for a person.
typedef void (*cli_remote_fn)(void *arg, oct_err err, const char *why);

// Dials the learner, and the replays whose addresses are given.
OCT_CHECKED oct_err cli_remote_open(cli_remote **out, net_loop *loop,
                                    const cli_remote_options *options);
void cli_remote_close(cli_remote *remote); // NULL is a no-op
// Asks the learner for its run and its replays, and dials these. A replay of a data set that cannot
// be dialled is no failure. One call at a time.
OCT_CHECKED oct_err cli_remote_register(cli_remote *remote, uint32_t timeout_ms, cli_remote_fn done,
                                        void *arg);
// The functions that follow describe the run after a successful cli_remote_register.
uint64_t cli_remote_run_id(const cli_remote *remote);
config_experiment *cli_remote_config(cli_remote *remote); // the learner's; the caller may change it
// The learner's address and client exist from the beginning. The address of a daemon that does not
// exist is "". The client of a daemon that cannot be dialled is NULL.
const char *cli_remote_url(const cli_remote *remote, cli_remote_daemon daemon);
wire_client *cli_remote_client(cli_remote *remote, cli_remote_daemon daemon);

// Returns true if there is no connection and an attempt has failed; out says why.
bool cli_remote_in_trouble(cli_remote *remote, cli_remote_daemon daemon, char *out,
                           size_t out_size);
// Writes what to tell a person about a call that failed.
void cli_remote_why(cli_remote *remote, cli_remote_daemon daemon, oct_err err, const char *detail,
                    oct_reason *out);

#endif // CLI_REMOTE_CLI_REMOTE_H
