#ifndef NET_NET_GATE_FOLDER_H
#define NET_NET_GATE_FOLDER_H

#include <stddef.h>

#include "common/oct_err.h"

// A folder that only this process's user may enter, for the sockets behind the gate. Private to
// net/.
//
// It is BASE/octet-XXXXXX, mode 0700, where BASE is the first of TMPDIR, /tmp and XDG_RUNTIME_DIR
// that will do: an absolute path of at most NET_GATE_BASE_MAX bytes, owned by us or by root, in
// which nobody else can replace what is ours (not writable for others, or with the sticky bit).
// XDG_RUNTIME_DIR is the last because systemd empties it when the user's last session ends, and a
// daemon may outlive that.
// A lock (flock) on the folder says that its process lives; it also keeps systemd-tmpfiles away.
// Making one removes those in the same BASE, of the same user, whose process has gone. Nothing but
// sockets is ever removed, nor a folder with anything else in it: a user's own may have such a
// name.
//
// Threads: one user at a time. Logs: nothing.
#define NET_GATE_BASE_MAX   76
#define NET_GATE_FOLDER_MAX (NET_GATE_BASE_MAX + 14) // with its ending zero

typedef struct net_gate_folder {
    char path[NET_GATE_FOLDER_MAX]; // "": none
    int fd;                         // holds the lock; only with a path
} net_gate_folder;

// Sets all of *out. OCT_EIO, with one line for a person in reason: no BASE will do.
OCT_CHECKED oct_err net_gate_folder_make(net_gate_folder *out, char *reason, size_t reason_size);
// The same in this base. OCT_EINVAL: it will not do; *out is none.
OCT_CHECKED oct_err net_gate_folder_make_in(net_gate_folder *out, const char *base, char *reason,
                                            size_t reason_size);
// The same if there is none, or if it was removed; else, and when no BASE will do, *folder stays.
OCT_CHECKED oct_err net_gate_folder_keep(net_gate_folder *folder, char *reason, size_t reason_size);
// Removes the sockets in it, and the folder if that leaves nothing. Fine for none.
void net_gate_folder_remove(net_gate_folder *folder);

#endif // NET_NET_GATE_FOLDER_H
