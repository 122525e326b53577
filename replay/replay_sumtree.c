// A sum tree over priorities: sets weights, and finds the leaf at a share of their total.
#include "replay/replay_sumtree.h"

#include <math.h>
#include <stdlib.h>

#include "common/oct_base.h"

// Searches that go down the tree side by side, so that their cache misses overlap.
#define FIND_LANES 16

// A heap: node 1 is the root, node i has the children 2i and 2i + 1, and the leaves are
// nodes leaf_count .. 2 * leaf_count - 1 (on two levels unless leaf_count is a power of two).
struct replay_sumtree {
    uint64_t leaf_count;
    double *node;
};

size_t
replay_sumtree_bytes(uint32_t leaf_count)
{
    return sizeof(replay_sumtree) + 2 * (size_t)leaf_count * sizeof(double);
}

replay_sumtree *
replay_sumtree_create(uint32_t leaf_count)
{
    OCT_ASSERT(leaf_count > 0);
    replay_sumtree *tree = oct_alloc(sizeof(*tree));
    tree->leaf_count = leaf_count;
    tree->node = oct_alloc(2 * (size_t)leaf_count * sizeof(double));
    return tree;
}

void
replay_sumtree_destroy(replay_sumtree *tree)
{
    if (tree) {
        free(tree->node);
        free(tree);
    }
}

void
replay_sumtree_set(replay_sumtree *tree, uint32_t leaf, double weight)
{
    OCT_ASSERT(leaf < tree->leaf_count && isfinite(weight) && weight >= 0);
    double *node = tree->node;
    uint64_t at = tree->leaf_count + leaf;
    node[at] = weight;
    while (at > 1) {
        at /= 2;
        node[at] = node[2 * at] + node[2 * at + 1];
    }
}

void
replay_sumtree_set_range(replay_sumtree *tree, uint32_t leaf, uint32_t count, double weight)
{
    OCT_ASSERT(leaf <= tree->leaf_count && count <= tree->leaf_count - leaf);
    OCT_ASSERT(isfinite(weight) && weight >= 0);
    if (count == 0) {
        return;
    }
    double *node = tree->node;
    uint64_t low = tree->leaf_count + leaf;
    uint64_t high = low + count - 1;
    for (uint64_t at = low; at <= high; at++) {
        node[at] = weight;
    }
    // Each pass recomputes the parents of the last one. Where the range spans both levels of
    // leaves, a node may be met before its child is done; the next pass meets it again.
    while (high > 1) {
        low = OCT_MAX(low / 2, 1);
        high /= 2;
        for (uint64_t at = OCT_MIN(high, tree->leaf_count - 1); at >= low; at--) {
            node[at] = node[2 * at] + node[2 * at + 1];
        }
    }
}

double
replay_sumtree_get(const replay_sumtree *tree, uint32_t leaf)
{
    OCT_ASSERT(leaf < tree->leaf_count);
    return tree->node[tree->leaf_count + leaf];
}

double
replay_sumtree_total(const replay_sumtree *tree)
{
    return tree->node[1];
}

// One step down, without a branch, since which way it goes is anybody's guess. Rounding can leave
// `left` at or beyond the weight of a subtree; the rule never enters a subtree of weight 0, so that
// ends at its last leaf with weight.
static inline uint64_t
find_step(const double *node, uint64_t at, double *left)
{
    double low = node[2 * at];
    uint64_t goes_right = (uint64_t)(*left >= low) & (uint64_t)(node[2 * at + 1] > 0);
    *left -= (double)goes_right * low;
    return 2 * at + goes_right;
}

static void
find_lanes(const replay_sumtree *tree, uint32_t lanes, const double *share, uint32_t *leaf)
{
    const double *node = tree->node;
    uint64_t at[FIND_LANES];
    double left[FIND_LANES];
    for (uint32_t i = 0; i < lanes; i++) {
        at[i] = 1;
        left[i] = share[i] * node[1];
    }
    // Every node of a level is above the leaves while the level's last one is.
    for (uint64_t end = 2; end <= tree->leaf_count; end *= 2) {
        for (uint32_t i = 0; i < lanes; i++) {
            at[i] = find_step(node, at[i], &left[i]);
        }
    }
    for (uint32_t i = 0; i < lanes; i++) {
        if (at[i] < tree->leaf_count) {
            at[i] = find_step(node, at[i], &left[i]);
        }
        leaf[i] = (uint32_t)(at[i] - tree->leaf_count);
    }
}

void
replay_sumtree_find(const replay_sumtree *tree, uint32_t count, const double *share, uint32_t *leaf)
{
    OCT_ASSERT(tree->node[1] > 0);
    for (uint32_t done = 0; done < count; done += FIND_LANES) {
        find_lanes(tree, OCT_MIN(count - done, FIND_LANES), share + done, leaf + done);
    }
}
