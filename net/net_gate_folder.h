#ifndef NET_NET_GATE_FOLDER_H
#define NET_NET_GATE_FOLDER_H

#include <stddef.h>

#include "common/oct_err.h"
#include "common/oct_reason.h"

// A folder that only this process's user may enter, for the local sockets of the gate. Private to
// net/.
//
// The folder is BASE/octet-XXXXXX, mode 0700. BASE is the first of TMPDIR, /tmp and XDG_RUNTIME_DIR
// that qualifies: an absolute path of at most NET_GATE_BASE_MAX bytes, owned by us or by root, in
// which other users cannot replace our files (not writable for others, or with the sticky bit).
// XDG_RUNTIME_DIR is the last because systemd empties it when the user's last session ends, and a
// daemon may outlive that session.
// A lock (flock) on the folder shows that its process runs; the lock also keeps systemd-tmpfiles
// away. Making a folder removes those of the same user in the same BASE that no process has locked.
// Only sockets are ever removed, and a folder that holds anything else stays, because a user's own
// folder may have such a name.
//
// Threads: one user at a time. Logs: nothing.
#define NET_GATE_BASE_MAX   76 // bytes of BASE: a path in the folder fits sockaddr_un
#define NET_GATE_FOLDER_MAX (NET_GATE_BASE_MAX + 14) // with the final zero

typedef struct net_gate_folder {
    char path[NET_GATE_FOLDER_MAX]; // "": there is no folder
    int fd;                         // holds the lock; valid only with a path
} net_gate_folder;

// Makes a folder and sets all of *out. OCT_EIO, with one line for a person in reason: no BASE
// qualifies.
OCT_CHECKED oct_err net_gate_folder_make(net_gate_folder *out, oct_reason *why);
// Makes a folder in this base. OCT_EINVAL: the base does not qualify; *out is then no folder.
OCT_CHECKED oct_err net_gate_folder_make_in(net_gate_folder *out, const char *base,
                                            oct_reason *why);
// Makes a folder if there is none yet, or if the folder was removed. OCT_EIO: no BASE qualifies;
// *folder is unchanged.
OCT_CHECKED oct_err net_gate_folder_keep(net_gate_folder *folder, oct_reason *why);
// Removes the sockets in the folder, and the folder if it is then empty. No-op without a folder.
void net_gate_folder_remove(net_gate_folder *folder);

#endif // NET_NET_GATE_FOLDER_H
