#ifndef COMMON_OCT_FAMILY_H
#define COMMON_OCT_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// Ends processes that foreign code (a plug-in) has started and left running. A process that adopts
// (PR_SET_CHILD_SUBREAPER) becomes the parent of each descendant whose own parent ends. It
// therefore finds them all, also those that have left its process group and session.
//
// Threads: one. Owns: nothing.

// Makes this process adopt until it ends.
void oct_family_adopt(void);

// Kills and reaps the children of this process, then the descendants that it inherits from them,
// for at most a second. The processes keep[0 .. count) stay with all their descendants; if
// is_session_kept, so do the children in the session of this process.
void oct_family_end(const pid_t *keep, size_t count, bool is_session_kept);

#endif // COMMON_OCT_FAMILY_H
