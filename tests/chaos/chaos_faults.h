#ifndef TESTS_CHAOS_CHAOS_FAULTS_H
#define TESTS_CHAOS_CHAOS_FAULTS_H

#include <stdatomic.h>
#include <stdint.h>

// How chaos_faults.c is told what shall go wrong: a file of this struct, $CHAOS_FAULTS, which the
// preloaded process maps and a test writes while it runs (chaos_system.py has the same offsets).
enum chaos_fault {
    CHAOS_NONE,
    CHAOS_KILL,      // the process is killed before the call
    CHAOS_KILL_HALF, // … after half of what it writes
    CHAOS_EIO,
    CHAOS_ENOSPC,
    CHAOS_SHORT, // half is written, which is no error
};

enum chaos_call {
    CHAOS_WRITE = 1, // write, pwrite, fflush of a file
    CHAOS_SYNC = 2,  // fsync, fdatasync, msync
    CHAOS_NAME = 4,  // open that may create, rename, unlink, mkdir
    CHAOS_SIZE = 8,  // ftruncate, fallocate
};

typedef struct chaos_faults {
    _Atomic uint64_t calls;       // so far, of these kinds on files
    _Atomic uint64_t at;          // the first call to fail; 0: none
    _Atomic uint64_t until;       // the last one
    _Atomic uint32_t what;        // chaos_fault
    _Atomic uint32_t kinds;       // chaos_call: others are neither counted nor touched
    _Atomic uint64_t hits;        // calls that failed
    _Atomic int64_t wall_skew_ns; // added to CLOCK_REALTIME
    char where[128];              // the call that failed last
    _Atomic uint64_t shifted;     // times that the wall clock was read with a skew
} chaos_faults;

#endif // TESTS_CHAOS_CHAOS_FAULTS_H
