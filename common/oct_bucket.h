#ifndef COMMON_OCT_BUCKET_H
#define COMMON_OCT_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

// Limits how often each peer may do something, by one leaky bucket for each. A peer is known by 16
// bytes: an address, or the id of a certificate.
//
// Threads: one. Owns: nothing. Full: with OCT_BUCKET_PEERS buckets, a new peer gets the bucket
// of the peer that was seen longest ago. Should that one return, it starts with a full allowance.
#define OCT_BUCKET_PEERS    256
#define OCT_BUCKET_ID_BYTES 16

typedef struct oct_bucket_peer {
    uint8_t id[OCT_BUCKET_ID_BYTES];
    // Uses that have not leaked out of the bucket by seen_ms. An entry is used if is_there is set.
    double used;
    uint64_t seen_ms;
    uint64_t refused; // since the last use that was allowed
    bool is_there;
} oct_bucket_peer;

typedef struct oct_bucket {
    double most; // uses in one burst: the size of a bucket
    double a_ms; // uses that leak out of a bucket in each millisecond
    oct_bucket_peer peers[OCT_BUCKET_PEERS];
} oct_bucket;

// a_second: uses in each second, over a long time.
void oct_bucket_init(oct_bucket *allowance, double most, double a_second);
// Returns true if the peer may do it at least once more. Counts nothing.
bool oct_bucket_is_left(oct_bucket *allowance, const uint8_t id[OCT_BUCKET_ID_BYTES],
                        uint64_t now_ms);
// Counts a use that has happened, allowed or not, so that used can exceed the bucket.
void oct_bucket_use(oct_bucket *allowance, const uint8_t id[OCT_BUCKET_ID_BYTES], uint64_t now_ms);
// Gives one use back, after a use that turned out to be harmless.
void oct_bucket_give(oct_bucket *allowance, const uint8_t id[OCT_BUCKET_ID_BYTES], uint64_t now_ms);
// Checks and counts a use. False: the use is refused. True: *refused becomes the number of refusals
// since the last use that was allowed.
bool oct_bucket_take(oct_bucket *allowance, const uint8_t id[OCT_BUCKET_ID_BYTES], uint64_t now_ms,
                     uint64_t *refused);

#endif // COMMON_OCT_BUCKET_H
