#ifndef COMMON_OCT_FAMILY_H
#define COMMON_OCT_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// Ends processes that code of others (a plug-in) has started and left. A process that adopts
// (PR_SET_CHILD_SUBREAPER) becomes the parent of every process below it that loses its own, also of
// those that left their process group and session, so that it finds them all.
//
// Threads: one. Owns: nothing.

// This process adopts, until it ends.
void oct_family_adopt(void);

// Kills and reaps the children of this process, and those that they leave, for at most a second.
// keep[0 .. count) stay, with all below them; and, if is_session_kept, the children in the session
// of this process.
void oct_family_end(const pid_t *keep, size_t count, bool is_session_kept);

#endif // COMMON_OCT_FAMILY_H
