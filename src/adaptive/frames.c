// frames: positions and inertia within a rigid node, seen from its base link. The node's joint
// leads from handle `at` of a to the base link of b:
//     to_b = join after a's handle `at`,   I = I_a + to_b^T I_b to_b
// Cost: 6 to 100 flops a handle, 130 for the inertia.
#include "adaptive/hybrid.h"

void tni_leaf_frames(const tni_tree_link* link, tni_frames* out)
{
    out->join      = tni_transform_identity();
    out->to_b      = tni_transform_identity();
    out->handle[0] = tni_transform_identity();
    out->inertia   = link->inertia;
}

void tni_join_frames(const tni_node* node, const tni_frames* a, const tni_frames* b,
                     const tni_transform* join, tni_frames* out)
{
    out->join = *join;
    if (a == NULL) { // the root has all that b has
        out->to_b    = tni_transform_identity();
        out->inertia = b->inertia;
        for (int k = 0; k < node->keep_b; ++k) out->handle[k] = b->handle[node->kept_b[k]];
        return;
    }
    out->to_b                      = tni_transform_then(&a->handle[node->at], join);
    const tni_rigid_inertia beyond = tni_rigid_inertia_transform(&out->to_b, &b->inertia);
    out->inertia                   = tni_rigid_inertia_add(&a->inertia, &beyond);
    const int            kept      = node->keep_a;
    const tni_transform* outward   = b->handle;
    for (int k = 0; k < kept; ++k) out->handle[k] = a->handle[node->kept_a[k]];
    for (int k = 0; k < node->keep_b; ++k)
        out->handle[kept + k] = tni_transform_then(&out->to_b, &outward[node->kept_b[k]]);
}
