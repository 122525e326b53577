#ifndef CLI_REMOTE_CLI_REMOTE_H
#define CLI_REMOTE_CLI_REMOTE_H

#include <argp.h>
#include <stdbool.h>

#include "common/oct_config.h"
#include "net/net_loop.h"
#include "net/net_url.h"
#include "proto/wire_rpc.h"

// A run on other hosts: what is asked on the command line to reach it, and the links to its learner
// and its replays. The learner's address is enough: it names replay and the experiment, which names
// the replay of a data set beside it.
//
// Threads: the loop thread. Full: WIRE_CALLS_MAX calls. Order: close before the loop is destroyed.

typedef struct cli_remote_options {
    const char *learner; // --learner, NULL: not given
    const char *replay;  // --replay, of shards separated by commas; NULL: as the learner names them
    const char *tls;     // --tls, else OCTET_TLS, absolute once parsed; NULL: none
    bool insecure;
    bool asks_once;  // no request is sent again (cli_link_open)
    uint64_t run_id; // a learner that has another run is not the one that is meant; 0: any is
} cli_remote_options;

// A child of a command's own argp; its input is a cli_remote_options.
extern const struct argp cli_remote_argp;
void cli_remote_default(cli_remote_options *options);
// Wrong use ends the process as cli_usage_error: addresses that are none, --replay alone.
void cli_remote_check(const char *command, const cli_remote_options *options);
// The first of the two addresses (NULL: none) that wants certificates; NULL: neither does.
const char *cli_remote_tls_url(const char *learner, const char *replay);
// Gives the loop the certificates, if one of the two addresses (NULL: none) wants them. False: they
// cannot be used, or are not an operator's; said.
bool cli_remote_secure(const char *command, const cli_remote_options *options, net_loop *loop,
                       const char *learner, const char *replay);

typedef struct cli_remote cli_remote;
typedef enum cli_remote_daemon {
    CLI_REMOTE_LEARNER,
    CLI_REMOTE_DATA,
    CLI_REMOTE_REPLAY, // and of several shards the others behind it
    CLI_REMOTE_DAEMONS = CLI_REMOTE_REPLAY + OCT_SHARDS_MAX,
} cli_remote_daemon;
// err: OCT_OK, or why (a line for a person) says what is the matter.
typedef void (*cli_remote_fn)(void *arg, oct_err err, const char *why);

// Dials the learner, and replay if its address is given.
OCT_CHECKED oct_err cli_remote_open(cli_remote **out, net_loop *loop,
                                    const cli_remote_options *options);
void cli_remote_close(cli_remote *remote); // NULL is a no-op
// Asks the learner what it runs and where the replays are, and dials these. It is no failure when
// that of a data set cannot be dialled.
OCT_CHECKED oct_err cli_remote_register(cli_remote *remote, uint32_t timeout_ms, cli_remote_fn done,
                                        void *arg);
// The rest after a meeting that went well.
uint64_t cli_remote_run_id(const cli_remote *remote);
oct_config *cli_remote_config(cli_remote *remote); // the learner's; the caller may change it
// That of the learner always. The address: "" when there is no such daemon; the client: NULL when
// it cannot be dialled.
const char *cli_remote_url(const cli_remote *remote, cli_remote_daemon daemon);
wire_client *cli_remote_client(cli_remote *remote, cli_remote_daemon daemon);

// Whether there is no connection, and something has failed: out says what.
bool cli_remote_in_trouble(cli_remote *remote, cli_remote_daemon daemon, char *out,
                           size_t out_size);
// What to tell a person of a call that failed.
void cli_remote_why(cli_remote *remote, cli_remote_daemon daemon, oct_err err, const char *detail,
                    char *out, size_t out_size);

#endif // CLI_REMOTE_CLI_REMOTE_H
