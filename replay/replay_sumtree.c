// A sum tree over priorities: sets weights, and finds the leaf at a share of their total.
#include "replay/replay_sumtree.h"

#include <math.h>
#include <stdlib.h>

#include "common/oct_base.h"

#define GROUP      8  // nodes with one parent: 64 bytes
#define LEVELS_MAX 11 // 8^11 leaves are more than 2^32
// Searches that descend the tree together, so that their cache misses overlap.
#define FIND_LANES 16
// Groups of leaves that may change before their sums are renewed.
#define CHANGED_MAX 4096

// Level 0 holds the leaves. Node i of level k + 1 is the sum of group i of level k. The last level
// is one group. The last group of each level is filled up with nodes of weight 0.
struct replay_sumtree {
    uint32_t leaf_count;
    uint32_t levels;
    uint32_t groups[LEVELS_MAX]; // of each level
    double *level[LEVELS_MAX];   // [groups * GROUP], at multiples of 64 bytes
    void *memory;                // of all levels but the leaves
    double *owned;               // the leaves, unless they are the caller's
    uint32_t changed_count;
    uint32_t changed[CHANGED_MAX]; // groups of leaves whose sums are not renewed yet
};

// Computes the groups of each level. Returns the number of nodes of all levels.
static size_t
levels_lay(uint32_t leaf_count, uint32_t groups[LEVELS_MAX], uint32_t *levels)
{
    size_t nodes = 0;
    uint64_t count = leaf_count;
    *levels = 0;
    do {
        count = (count + GROUP - 1) / GROUP;
        groups[(*levels)++] = (uint32_t)count;
        nodes += count * GROUP;
    } while (count > 1);
    return nodes;
}

size_t
replay_sumtree_bytes(uint32_t leaf_count)
{
    uint32_t groups[LEVELS_MAX], levels;
    return sizeof(replay_sumtree) + levels_lay(leaf_count, groups, &levels) * sizeof(double);
}

size_t
replay_sumtree_leaf_bytes(uint32_t leaf_count)
{
    return ((size_t)leaf_count + GROUP - 1) / GROUP * GROUP * sizeof(double);
}

replay_sumtree *
replay_sumtree_create(uint32_t leaf_count, double *leaves)
{
    OCT_ASSERT(leaf_count > 0);
    replay_sumtree *tree = oct_alloc(sizeof(*tree));
    size_t leaf_bytes = replay_sumtree_leaf_bytes(leaf_count);
    tree->leaf_count = leaf_count;
    size_t bytes = levels_lay(leaf_count, tree->groups, &tree->levels) * sizeof(double);
    tree->owned = leaves ? NULL : oct_alloc(leaf_bytes);
    tree->memory = oct_alloc(OCT_MAX(bytes - leaf_bytes, 1));
    tree->level[0] = leaves ? leaves : tree->owned;
    double *at = tree->memory;
    for (uint32_t k = 1; k < tree->levels; k++) {
        tree->level[k] = at;
        at += (size_t)tree->groups[k] * GROUP;
    }
    return tree;
}

void
replay_sumtree_destroy(replay_sumtree *tree)
{
    if (tree) {
        free(tree->memory);
        free(tree->owned);
        free(tree);
    }
}

// ---- sums

static inline double
four_sum(const double *node)
{
    return (node[0] + node[1]) + (node[2] + node[3]);
}

static inline double
group_sum(const double *node)
{
    return four_sum(node) + four_sum(node + 4);
}

// Renews the sums of the groups in changed, and replaces these groups by the groups that their sums
// are in. Returns their count.
static uint32_t
level_renew(const double *below, double *above, uint32_t *changed, uint32_t count)
{
    uint32_t parents = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t group = changed[i];
        above[group] = group_sum(below + (size_t)group * GROUP);
        if (parents == 0 || changed[parents - 1] != group / GROUP) {
            changed[parents++] = group / GROUP; // parents <= i
        }
    }
    return parents;
}

static void
sums_renew(replay_sumtree *tree)
{
    uint32_t count = tree->changed_count;
    tree->changed_count = 0;
    for (uint32_t k = 0; count > 0 && k + 1 < tree->levels; k++) {
        if (count < tree->groups[k]) {
            count = level_renew(tree->level[k], tree->level[k + 1], tree->changed, count);
            continue;
        }
        for (uint32_t i = 0; i < tree->groups[k]; i++) { // as many changes as groups
            tree->level[k + 1][i] = group_sum(tree->level[k] + (size_t)i * GROUP);
        }
        count = tree->groups[k + 1];
    }
}

void
replay_sumtree_renew(replay_sumtree *tree)
{
    tree->changed_count = 0;
    for (uint32_t k = 0; k + 1 < tree->levels; k++) {
        for (uint32_t i = 0; i < tree->groups[k]; i++) {
            tree->level[k + 1][i] = group_sum(tree->level[k] + (size_t)i * GROUP);
        }
    }
}

static inline void
group_changed(replay_sumtree *tree, uint32_t group)
{
    if (tree->changed_count > 0 && tree->changed[tree->changed_count - 1] == group) {
        return;
    }
    if (tree->changed_count == CHANGED_MAX) {
        sums_renew(tree);
    }
    tree->changed[tree->changed_count++] = group;
}

void
replay_sumtree_set(replay_sumtree *tree, uint32_t leaf, double weight)
{
    OCT_ASSERT(leaf < tree->leaf_count && isfinite(weight) && weight >= 0);
    tree->level[0][leaf] = weight;
    group_changed(tree, leaf / GROUP);
}

void
replay_sumtree_set_range(replay_sumtree *tree, uint32_t leaf, uint32_t count, double weight)
{
    OCT_ASSERT(leaf <= tree->leaf_count && count <= tree->leaf_count - leaf);
    OCT_ASSERT(isfinite(weight) && weight >= 0);
    if (count == 0) {
        return;
    }
    double *node = tree->level[0] + leaf;
    for (uint32_t i = 0; i < count; i++) {
        node[i] = weight;
    }
    for (uint32_t group = leaf / GROUP; group <= (leaf + count - 1) / GROUP; group++) {
        group_changed(tree, group);
    }
}

double
replay_sumtree_get(const replay_sumtree *tree, uint32_t leaf)
{
    OCT_ASSERT(leaf < tree->leaf_count);
    return tree->level[0][leaf];
}

double
replay_sumtree_total(replay_sumtree *tree)
{
    sums_renew(tree);
    return group_sum(tree->level[tree->levels - 1]);
}

// ---- find

// Chooses one of two neighbours. There is no branch, because the choice is random. By rounding,
// `left` can reach or exceed the weight of both. A neighbour of weight 0 is never chosen, so the
// search then ends at the last leaf with a weight.
static inline size_t
goes_right(double low, double high, double *left)
{
    size_t right = (size_t)(*left >= low) & (size_t)(high > 0);
    *left -= (double)right * low;
    return right;
}

// Finds the node in a group: first its half, then its quarter, then the node.
static inline size_t
group_find(const double *node, double *left)
{
    size_t at = 4 * goes_right(four_sum(node), four_sum(node + 4), left);
    at += 2 * goes_right(node[at] + node[at + 1], node[at + 2] + node[at + 3], left);
    return at + goes_right(node[at], node[at + 1], left);
}

static void
find_lanes(const replay_sumtree *tree, double total, uint32_t lanes, const double *share,
           uint32_t *leaf)
{
    size_t at[FIND_LANES] = {0};
    double left[FIND_LANES];
    for (uint32_t i = 0; i < lanes; i++) {
        left[i] = share[i] * total;
    }
    for (uint32_t k = tree->levels; k-- > 0;) {
        const double *level = tree->level[k], *below = tree->level[k > 0 ? k - 1 : 0];
        for (uint32_t i = 0; i < lanes; i++) {
            at[i] = at[i] * GROUP + group_find(level + at[i] * GROUP, &left[i]);
            __builtin_prefetch(below + (k > 0 ? at[i] * GROUP : at[i]));
        }
    }
    for (uint32_t i = 0; i < lanes; i++) {
        leaf[i] = (uint32_t)at[i];
    }
}

void
replay_sumtree_find(replay_sumtree *tree, uint32_t count, const double *share, uint32_t *leaf)
{
    double total = replay_sumtree_total(tree);
    OCT_ASSERT(total > 0);
    for (uint32_t done = 0; done < count; done += FIND_LANES) {
        find_lanes(tree, total, OCT_MIN(count - done, FIND_LANES), share + done, leaf + done);
    }
}
