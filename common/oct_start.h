#ifndef COMMON_OCT_START_H
#define COMMON_OCT_START_H

// Makes a program safe from the state in which its parent started it. Each program calls it first.
//
// - Descriptors 0, 1 and 2 are opened to /dev/null where they were closed. Otherwise sockets and
//   files of the program would get their numbers, and its output.
// - A write beyond a limit on the size of files (ulimit -f, LimitFSIZE= of systemd) fails as on a
//   full disk (EFBIG), instead of ending the program by SIGXFSZ.
// - Errors are recorded for the parent, if it asks for them (oct_failure.h).
// - What stdio prints has no control characters (oct_output.h).
//
// Threads: the first line of main. Owns: the disposition of SIGXFSZ; stdout and stderr.
void oct_start(void);

#endif // COMMON_OCT_START_H
