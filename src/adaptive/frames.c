// frames: where things are in a node that is rigid, seen from its base limb. The node's joint leads
// from handle `at` of a to the base limb of b:
//     to_b = join after a's handle `at`,   I = I_a + to_b^T I_b to_b
// Cost: 6 to 100 flops a handle, 130 for the inertia.
#include "adaptive/hybrid.h"

void tni_leaf_frames(const tni_tree_link* limb, tni_frames* out)
{
    out->join      = tni_shift_none();
    out->to_b      = tni_shift_none();
    out->handle[0] = tni_shift_none();
    out->inertia   = limb->inertia;
}

void tni_join_frames(const tni_node* node, const tni_frames* a, const tni_frames* b,
                     const tni_shift* join, tni_frames* out)
{
    out->join = *join;
    if (a == NULL) { // the root: all that b is
        out->to_b    = tni_shift_none();
        out->inertia = b->inertia;
        for (int k = 0; k < node->keep_b; ++k) out->handle[k] = b->handle[node->kept_b[k]];
        return;
    }
    out->to_b                = tni_shift_then(&a->handle[node->at], join);
    const tni_rigid beyond   = tni_rigid_shift(&out->to_b, &b->inertia);
    out->inertia             = tni_rigid_add(&a->inertia, &beyond);
    const int        kept    = node->keep_a;
    const tni_shift* outward = b->handle;
    for (int k = 0; k < kept; ++k) out->handle[k] = a->handle[node->kept_a[k]];
    for (int k = 0; k < node->keep_b; ++k)
        out->handle[kept + k] = tni_shift_then(&out->to_b, &outward[node->kept_b[k]]);
}
