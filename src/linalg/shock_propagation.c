// shock_propagation: shock propagation [1] over the contacts of an island: layer by layer from
// fixed components upwards, each contact solved with everything below it immovable. Its force acts
// on the upper side only, so that momentum is passed to the support. Layers: breadth first from the
// grounded contacts.
// [1] E. Guendelman, R. Bridson, R. Fedkiw, Nonconvex Rigid Bodies with Stacking, SIGGRAPH 2003.
#include "linalg/gauss_seidel_parts.h"

#include <limits.h>
#include <math.h>

enum { ROWS = TNI_CONE_POINT_ROWS };

// Layers of the components: 1 if in contact with something fixed, plus one for each further
// contact. Returns the highest; 0: no grounded contact.
static int find_layers(tni_gauss_seidel* sweep, const tni_gauss_seidel_island* island)
{
    int*           layer = sweep->layer + island->node;
    tni_row_group* b     = sweep->groups + island->group;
    bool           more  = true;
    int            most  = 0;
    for (int i = 0; i < island->node_count; ++i) layer[i] = INT_MAX - 1;
    for (int k = 0; k < island->group_count; ++k)
        for (int x = 0; b[k].grounded && x < b[k].link_count; ++x)
            layer[sweep->links[b[k].link + x].node] = 1;
    while (more) {
        more = false;
        for (int k = 0; k < island->group_count; ++k) {
            int least = INT_MAX - 1;
            for (int x = 0; x < b[k].link_count; ++x) {
                const int own = layer[sweep->links[b[k].link + x].node];
                least         = own < least ? own : least;
            }
            for (int x = 0; x < b[k].link_count; ++x) {
                int* own = &layer[sweep->links[b[k].link + x].node];
                if (*own > least + 1 && least < INT_MAX - 1) *own = least + 1, more = true;
            }
        }
    }
    for (int k = 0; k < island->group_count; ++k) {
        b[k].level = 0;
        for (int x = 0; x < b[k].link_count; ++x) {
            const int own = layer[sweep->links[b[k].link + x].node];
            b[k].level    = own > b[k].level ? own : b[k].level;
        }
        if (b[k].level < INT_MAX - 1 && b[k].level > most) most = b[k].level;
    }
    return most;
}

// The block of a group through components of its level only.
static void upper_block(const tni_gauss_seidel* sweep, const tni_row_group* b, double* B)
{
    memset(B, 0, sizeof *B * ROWS * ROWS);
    for (int x = 0; x < b->link_count; ++x) {
        const tni_row_group_link* link = &sweep->links[b->link + x];
        if (sweep->layer[sweep->island->node + link->node] == b->level)
            tni_gauss_seidel_add_block(sweep, link->first, link->count,
                                       sweep->paths.numbers + link->at, b->count, B);
    }
}

static void shock_group(tni_gauss_seidel* sweep, const tni_row_group* b,
                        const tni_gauss_seidel_rows* rows, double* extra)
{
    const int at = b->row - sweep->island->row;
    double    f[ROWS], a[ROWS], B[ROWS * ROWS], df[ROWS], largest = 0;
    upper_block(sweep, b, B);
    for (int i = 0; i < b->count; ++i) {
        largest = fmax(largest, B[(ROWS + 1) * i]);
        f[i] = df[i] = rows->f[at + i] + extra[at + i];
        a[i]         = rows->b[at + i];
    }
    const tni_cone_point g =
        tni_gauss_seidel_cone_point(b, at, rows->condition, rows->mu, B, largest);
    tni_gauss_seidel_read_path(sweep, &b->half, a);
    tni_cone_point_solve(&g, B, ROWS, f, a);
    for (int i = 0; i < b->count; ++i) {
        df[i] = f[i] - df[i];
        extra[at + i] += df[i];
    }
    for (int x = 0; x < b->link_count; ++x) {
        const tni_row_group_link* link = &sweep->links[b->link + x];
        if (sweep->layer[sweep->island->node + link->node] == b->level)
            tni_gauss_seidel_write_places(sweep, link->first, link->count,
                                          sweep->paths.numbers + link->at, b->count, df);
    }
}

void tni_gauss_seidel_shock(tni_gauss_seidel* sweep, const tni_gauss_seidel_island* island,
                            const tni_gauss_seidel_rows* rows, int sweeps, double* extra)
{
    const tni_row_group* b = sweep->groups + island->group;
    sweep->island          = island;
    sweep->base            = rows->base;
    memset(extra, 0, sizeof *extra * (size_t)island->row_count);
    const int most = find_layers(sweep, island);
    tni_gauss_seidel_set_s(sweep, rows->f);
    for (int level = 1; level <= most; ++level) {
        for (int s = 0; s < sweeps; ++s) {
            for (int k = 0; k < island->group_count; ++k)
                if (b[k].level == level) shock_group(sweep, &b[k], rows, extra);
        }
    }
    for (int k = 0; k < island->group_count; ++k) {
        double* a = rows->a + b[k].row - island->row;
        for (int i = 0; i < b[k].count; ++i) a[i] = rows->b[b[k].row - island->row + i];
        tni_gauss_seidel_read_path(sweep, &b[k].half, a);
    }
}

int tni_gauss_seidel_layer(const tni_gauss_seidel* sweep, const tni_gauss_seidel_island* island,
                           int component)
{
    return sweep->layer[island->node + sweep->node_of[component]];
}
