#ifndef REPLAY_REPLAY_SUMTREE_H
#define REPLAY_REPLAY_SUMTREE_H

#include <stddef.h>
#include <stdint.h>

// Weights >= 0 over a fixed number of leaves; finds the leaf at a share of the total.
//
// Eight nodes side by side are a group, a cache line; a node above the leaves is the double sum of
// the group below it, in one fixed order: always of the whole group, no difference is ever added.
// The rounding error of the total is therefore that of one summation of depth log2(leaves),
// whatever the number of changes, and there is nothing to rebuild. A change writes its leaf alone;
// total and find first renew what lies above the changed ones, level by level.
//
// Threads: one user at a time. Owns: 9.1 bytes per leaf, 8 of them the caller's if it wants. Cost:
// set O(1), set_range O(count), total O(leaves set since the last, times log leaves), find the same
// and O(log leaves) for each.
typedef struct replay_sumtree replay_sumtree;

// leaves: [replay_sumtree_leaf_bytes] zero or what an earlier tree left there (then renew comes
// first), a multiple of 64 bytes, borrowed; NULL: memory of its own.
replay_sumtree *replay_sumtree_create(uint32_t leaf_count, double *leaves);
void replay_sumtree_destroy(replay_sumtree *tree);
size_t replay_sumtree_bytes(uint32_t leaf_count); // leaves included
size_t replay_sumtree_leaf_bytes(uint32_t leaf_count);
// All sums anew. O(leaves).
void replay_sumtree_renew(replay_sumtree *tree);

// weight: finite and >= 0.
void replay_sumtree_set(replay_sumtree *tree, uint32_t leaf, double weight);
void replay_sumtree_set_range(replay_sumtree *tree, uint32_t leaf, uint32_t count, double weight);
double replay_sumtree_get(const replay_sumtree *tree, uint32_t leaf);
double replay_sumtree_total(replay_sumtree *tree);

// share: [count], each in [0, 1); leaf: [count]. Never gives a leaf of weight 0; the total must not
// be 0.
void replay_sumtree_find(replay_sumtree *tree, uint32_t count, const double *share, uint32_t *leaf);

#endif // REPLAY_REPLAY_SUMTREE_H
