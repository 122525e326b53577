#ifndef COMMON_OCT_START_H
#define COMMON_OCT_START_H

// What each program does first, so that who started it cannot make it misread its own descriptors
// or die of a file. Threads: the first line of main. Owns: the disposition of SIGXFSZ; stdout and
// stderr.
//
// - Descriptors 0, 1 and 2 are open: those that were not are /dev/null. Else sockets and files of
//   the program would take their places, and be written to as its output.
// - A write beyond a limit on the size of files (ulimit -f, LimitFSIZE= of systemd) fails as
//   on a full disk (EFBIG), instead of ending the program by SIGXFSZ.
// - What stdio prints has no control characters (oct_output.h).
void oct_start(void);

#endif // COMMON_OCT_START_H
