#ifndef REPLAY_REPLAY_SUMTREE_H
#define REPLAY_REPLAY_SUMTREE_H

#include <stddef.h>
#include <stdint.h>

// A sum tree: holds weights >= 0 at a fixed number of leaves, and finds the leaf at a share of the
// total.
//
// Eight neighbouring nodes are a group, which fills a cache line. A node above the leaves is the
// sum, in double, of the group below it. It is always computed from the whole group in one fixed
// order, and no difference is ever added. So the rounding error of the total is that of one
// summation of depth log2(leaves), regardless of the number of changes, and the tree needs no
// rebuilding. A change writes only its leaf. total and find first renew the sums above the changed
// leaves, level by level.
//
// Threads: one user at a time. Owns: 9.1 bytes per leaf, of which the caller may provide 8. Cost:
// set O(1), set_range O(count), total O(changed leaves * log leaves), find the same and O(log
// leaves) per share.
typedef struct replay_sumtree replay_sumtree;

// leaves: [replay_sumtree_leaf_bytes] zero, or what an earlier tree left there (then renew comes
// first); it begins at a multiple of 64 bytes and is borrowed. NULL: the tree allocates its own.
replay_sumtree *replay_sumtree_create(uint32_t leaf_count, double *leaves);
void replay_sumtree_destroy(replay_sumtree *tree);
size_t replay_sumtree_bytes(uint32_t leaf_count); // leaves included
size_t replay_sumtree_leaf_bytes(uint32_t leaf_count);
// Computes all sums again. O(leaves).
void replay_sumtree_renew(replay_sumtree *tree);

// weight: finite and >= 0.
void replay_sumtree_set(replay_sumtree *tree, uint32_t leaf, double weight);
void replay_sumtree_set_range(replay_sumtree *tree, uint32_t leaf, uint32_t count, double weight);
double replay_sumtree_get(const replay_sumtree *tree, uint32_t leaf);
double replay_sumtree_total(replay_sumtree *tree);

// Finds the leaf at each share of the total. share: [count], each in [0, 1); leaf: [count]. Never
// returns a leaf of weight 0. The total must not be 0.
void replay_sumtree_find(replay_sumtree *tree, uint32_t count, const double *share, uint32_t *leaf);

#endif // REPLAY_REPLAY_SUMTREE_H
