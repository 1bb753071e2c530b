// half_solve: products x^T H^-1 y by forward solves only. With H = L D L^T,
//
//     x^T H^-1 y = (L^-1 x)^T D^-1 (L^-1 y)
//
// L^-1 x of an x that is nonzero on a few nodes is nonzero on their ancestors only, and the product
// of two runs over their common ancestors. In a bushy tree these are few: the products of many x
// with each other cost little more than their paths, without a backward solve for each. Along a
// chain nearly all ancestors are common, and full solves are cheaper: the capacity given by the
// caller decides.
#include "linalg/half_solve.h"

#include "linalg/block.h"

tn_result tni_half_solves_create(tni_arena* arena, int places, size_t numbers,
                                 tni_half_solves* halves)
{
    *halves = (tni_half_solves){.place_capacity  = places,
                                .places          = TNI_TAKE(arena, int, places),
                                .number_capacity = numbers,
                                .numbers         = TNI_TAKE(arena, double, numbers)};
    return arena->failed ? TN_ERR_MEMORY : TN_OK;
}

void tni_half_solves_clear(tni_half_solves* halves)
{
    halves->place_count  = 0;
    halves->number_count = 0;
}

bool tni_half_solves_add(tni_half_solves* halves, tni_ldl* ldl, const int* given, int given_count,
                         int count, double* x, tni_half_solve* half)
{
    const int* places;
    const int  length  = tni_ldl_half_solve(ldl, given, given_count, count, x, &places);
    size_t     numbers = 0;
    for (int k = 0; k < length; ++k) numbers += (size_t)(ldl->plan->pivot[places[k]].dim * count);
    if (halves->place_count + length > halves->place_capacity ||
        halves->number_count + numbers > halves->number_capacity)
        return false;
    *half = (tni_half_solve){.first   = halves->place_count,
                             .count   = length,
                             .columns = count,
                             .at      = halves->number_count,
                             .end     = halves->number_count + numbers,
                             .chain   = true};
    for (int k = 0; k < length; ++k) {
        const tni_pivot* v    = &ldl->plan->pivot[places[k]];
        const size_t     size = (size_t)(v->dim * count);
        memcpy(halves->numbers + halves->number_count, x + (size_t)(v->row * count),
               sizeof *x * size);
        halves->places[halves->place_count++] = places[k];
        half->chain = half->chain && (k == 0 || ldl->plan->parent[places[k - 1]] == places[k]);
        halves->number_count += size;
    }
    return true;
}

// out += x^T D^-1 y at one position; x and y there are dim x columns.
static void add_place(const tni_ldl* ldl, int place, const double* x, int nx, const double* y,
                      int ny, double* out, int stride)
{
    int           step;
    const int     dim        = ldl->plan->pivot[place].dim;
    const double* reciprocal = tni_ldl_reciprocals(ldl, place, &step);
    for (int r = 0; r < dim; ++r) {
        const double d = reciprocal[step * r];
        for (int i = 0; i < nx; ++i) {
            const double scaled = x[nx * r + i] * d;
            for (int j = 0; j < ny; ++j) out[i * stride + j] += scaled * y[ny * r + j];
        }
    }
}

// Two paths to the root share their upper ends: from the root down to where they separate.
static void multiply_chains(const tni_half_solves* halves, const tni_ldl* ldl,
                            const tni_half_solve* one, const tni_half_solve* other, double* out,
                            int stride)
{
    const int*    p = halves->places + one->first + one->count;
    const int*    q = halves->places + other->first + other->count;
    const double *x = halves->numbers + one->end, *y = halves->numbers + other->end;
    const int     most = one->count < other->count ? one->count : other->count;
    for (int k = 0; k < most && *--p == *--q; ++k) {
        const tni_pivot* v = &ldl->plan->pivot[*p];
        x -= v->dim * one->columns;
        y -= v->dim * other->columns;
        add_place(ldl, *p, x, one->columns, y, other->columns, out, stride);
    }
}

static void multiply_sets(const tni_half_solves* halves, const tni_ldl* ldl,
                          const tni_half_solve* one, const tni_half_solve* other, double* out,
                          int stride)
{
    const int *   p = halves->places + one->first, *q = halves->places + other->first;
    const int *   p_end = p + one->count, *q_end = q + other->count;
    const double *x = halves->numbers + one->at, *y = halves->numbers + other->at;
    while (p < p_end && q < q_end) { // both ascending
        const tni_pivot *v = &ldl->plan->pivot[*p], *w = &ldl->plan->pivot[*q];
        const bool       low = *p<*q, high = *p> * q;
        if (!low && !high) {
            add_place(ldl, *p, x, one->columns, y, other->columns, out, stride);
        }
        if (!high) x += v->dim * one->columns, ++p;
        if (!low) y += w->dim * other->columns, ++q;
    }
}

void tni_half_solves_product(const tni_half_solves* halves, const tni_ldl* ldl,
                             const tni_half_solve* one, const tni_half_solve* other, double* out,
                             int stride)
{
    for (int i = 0; i < one->columns; ++i)
        for (int j = 0; j < other->columns; ++j) out[i * stride + j] = 0;
    if (one->chain && other->chain) multiply_chains(halves, ldl, one, other, out, stride);
    else multiply_sets(halves, ldl, one, other, out, stride);
}
