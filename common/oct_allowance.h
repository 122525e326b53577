#ifndef COMMON_OCT_ALLOWANCE_H
#define COMMON_OCT_ALLOWANCE_H

#include <stdbool.h>
#include <stdint.h>

// How often each of many may do something: a leaky bucket for each, told apart by 16 bytes (an
// address, the id of a certificate).
//
// Threads: one. Owns: nothing. Full: of OCT_ALLOWANCE_PEERS the one that was unheard of for longest
// makes room, and has all of its allowance when it comes again.
#define OCT_ALLOWANCE_PEERS    256
#define OCT_ALLOWANCE_ID_BYTES 16

typedef struct oct_allowance_peer {
    uint8_t id[OCT_ALLOWANCE_ID_BYTES];
    double used;
    uint64_t seen_ms;
    uint64_t refused; // since the last time that it might
    bool is_there;
} oct_allowance_peer;

typedef struct oct_allowance {
    double most; // at once
    double a_ms; // of it comes back
    oct_allowance_peer peers[OCT_ALLOWANCE_PEERS];
} oct_allowance;

void oct_allowance_init(oct_allowance *allowance, double most, double a_second);
// Returns true if a whole use is left.
bool oct_allowance_is_left(oct_allowance *allowance, const uint8_t id[OCT_ALLOWANCE_ID_BYTES],
                           uint64_t now_ms);
// It has done it once more, whether it might or not.
void oct_allowance_use(oct_allowance *allowance, const uint8_t id[OCT_ALLOWANCE_ID_BYTES],
                       uint64_t now_ms);
// It has taken one use back.
void oct_allowance_give(oct_allowance *allowance, const uint8_t id[OCT_ALLOWANCE_ID_BYTES],
                        uint64_t now_ms);
// Both: false, and it is refused. True: *refused is how often it was since the last time.
bool oct_allowance_take(oct_allowance *allowance, const uint8_t id[OCT_ALLOWANCE_ID_BYTES],
                        uint64_t now_ms, uint64_t *refused);

#endif // COMMON_OCT_ALLOWANCE_H
