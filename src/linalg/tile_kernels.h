// tile_kernels: the kernels of tile.c, compiled once for each vector length (math/simd.h).
#define PARTS (TNI_LANES / LANES)
// Columns of a tile: 4 fit into 16 registers of 4 numbers, 2 into 16 of 2 numbers. Also panels that
// a solve processes together.
#define STEP LANES

// acc (n columns of 8 rows) -= x y^T over `depth` columns.
TNI_INLINE void NAME(multiply)(int n, int depth, const double* restrict x, const double* restrict y,
                               vec acc[TNI_GROUP][PARTS])
{
    for (int k = 0; k < depth; ++k) {
        vec xk[PARTS];
        UNROLL for (int p = 0; p < PARTS; ++p) LOAD(xk[p], x + TNI_LANES * k + LANES * p);
        UNROLL for (int j = 0; j < n; ++j)
        {
            const double yj = y[TNI_LANES * k + j];
            UNROLL for (int p = 0; p < PARTS; ++p) acc[j][p] -= xk[p] * yj;
        }
    }
}

TNI_INLINE void NAME(take_tile)(int n, const double* c, vec acc[TNI_GROUP][PARTS])
{
    UNROLL for (int j = 0; j < n; ++j)
    {
        UNROLL for (int p = 0; p < PARTS; ++p) LOAD(acc[j][p], c + TNI_LANES * j + LANES * p);
    }
}

TNI_INLINE void NAME(put_tile)(int n, vec acc[TNI_GROUP][PARTS], double* c)
{
    UNROLL for (int j = 0; j < n; ++j)
    {
        UNROLL for (int p = 0; p < PARTS; ++p) STORE(c + TNI_LANES * j + LANES * p, acc[j][p]);
    }
}

// c (8 rows, n columns) -= x y^T.
TNI_INLINE void NAME(tile)(int n, int depth, const double* x, const double* y, double* c)
{
    vec acc[TNI_GROUP][PARTS];
    NAME(take_tile)(n, c, acc);
    NAME(multiply)(n, depth, x, y, acc);
    NAME(put_tile)(n, acc, c);
}

TNI_INLINE void NAME(tile_columns)(int columns, int depth, const double* x, const double* y,
                                   double* c)
{
    int j = 0;
    for (; j + STEP <= columns; j += STEP) NAME(tile)(STEP, depth, x, y + j, c + TNI_LANES * j);
    if (STEP > 2 && j + 2 <= columns) {
        NAME(tile)(2, depth, x, y + j, c + TNI_LANES * j);
        j += 2;
    }
    if (j < columns) NAME(tile)(1, depth, x, y + j, c + TNI_LANES * j);
}

// n columns at `first` of one panel; the columns before them are finished.
TNI_INLINE void NAME(finish)(int n, int first, const double* Y_T, const double* inverse,
                             double* restrict x, double* restrict y)
{
    vec           acc[TNI_GROUP][PARTS];
    const double* triangle = Y_T + TNI_LANES * first;
    NAME(take_tile)(n, x + TNI_LANES * first, acc);
    NAME(multiply)(n, first, x, Y_T, acc);
    UNROLL for (int k = 0; k < n; ++k)
    {
        UNROLL for (int j = 0; j < n; ++j)
        {
            if (j <= k) continue;
            const double yj = triangle[TNI_LANES * k + j];
            UNROLL for (int p = 0; p < PARTS; ++p) acc[j][p] -= acc[k][p] * yj;
        }
    }
    NAME(put_tile)(n, acc, x + TNI_LANES * first);
    UNROLL for (int k = 0; k < n; ++k)
    {
        UNROLL for (int p = 0; p < PARTS; ++p) acc[k][p] *= inverse[first + k];
    }
    NAME(put_tile)(n, acc, y + TNI_LANES * first);
}

static void NAME(rows)(int width, int first, int end, int panels, const double* Y_T,
                       const double* inverse, double* X, double* Y)
{
    for (int p = 0; p < panels; ++p) {
        double *x = X + TNI_LANES * width * p, *y = Y + TNI_LANES * width * p;
        for (int k = first; k < end; k += TNI_GROUP) {
            // Rows k .. k + 3 of the triangle: their panel, and which half of it.
            const double* rows = Y_T + k / TNI_LANES * TNI_LANES * width + k % TNI_LANES;
            switch (end - k) {
            case 1: NAME(finish)(1, k, rows, inverse, x, y); break;
            case 2: NAME(finish)(2, k, rows, inverse, x, y); break;
            case 3: NAME(finish)(3, k, rows, inverse, x, y); break;
            default: NAME(finish)(4, k, rows, inverse, x, y);
            }
        }
    }
}

static void NAME(update)(int width, int columns, int panels, const double* X, const double* Y,
                         double* C)
{
    for (int p = 0; p < panels; ++p) {
        const int     reach = TNI_LANES * (p + 1); // columns up to the diagonal
        const int     end   = reach < columns ? reach : columns;
        const double* x     = X + TNI_LANES * width * p;
        double*       c     = C + TNI_LANES * columns * p;
        for (int j = 0; j < end; j += TNI_LANES) {
            const int n = end - j < TNI_LANES ? end - j : TNI_LANES;
            NAME(tile_columns)(n, width, x, Y + j * width, c + TNI_LANES * j);
        }
    }
}

static void NAME(column)(int width, int first, const double* Y_T, double* X)
{
    const int n = width - first < TNI_GROUP ? width - first : TNI_GROUP;
    NAME(tile_columns)(n, first, X, Y_T + first % TNI_LANES, X + TNI_LANES * first);
}

// --- solves -------------------------------------------------------------------------------------

// n panels of z -= X t, over `columns` columns.
TNI_INLINE void NAME(lose)(int n, int width, int columns, const double* restrict x,
                           const double* restrict t, double* restrict z)
{
    vec acc[TNI_GROUP][PARTS];
    NAME(take_tile)(n, z, acc);
    for (int k = 0; k < columns; ++k) {
        UNROLL for (int j = 0; j < n; ++j)
        {
            const double* column = x + TNI_LANES * (width * j + k);
            ASK(column, AHEAD);
            UNROLL for (int p = 0; p < PARTS; ++p)
            {
                vec xk;
                LOAD(xk, column + LANES * p);
                acc[j][p] -= xk * t[k];
            }
        }
    }
    NAME(put_tile)(n, acc, z);
}

TNI_INLINE void NAME(lose_panels)(int panels, int width, int columns, const double* x,
                                  const double* t, double* z)
{
    const int panel = TNI_LANES * width;
    for (; panels >= STEP; panels -= STEP, x += STEP * panel, z += STEP * TNI_LANES)
        NAME(lose)(STEP, width, columns, x, t, z);
    if (STEP > 2 && panels >= 2) {
        NAME(lose)(2, width, columns, x, t, z);
        panels -= 2, x += 2 * panel, z += 2 * TNI_LANES;
    }
    if (panels > 0) NAME(lose)(1, width, columns, x, t, z);
}

// n columns of the diagonal square, one right-hand side.
TNI_INLINE void NAME(forward_square)(int n, const double* restrict x,
                                     const double* restrict inverse, double* restrict z,
                                     double* restrict t)
{
    double w[TNI_LANES];
    UNROLL for (int i = 0; i < TNI_LANES; ++i) w[i] = z[i];
    UNROLL for (int k = 0; k < TNI_LANES; ++k)
    {
        if (k >= n) break;
        t[k] = w[k] * inverse[k];
        UNROLL for (int i = 0; i < TNI_LANES; ++i)
        {
            if (i > k) w[i] -= x[TNI_LANES * k + i] * t[k];
        }
    }
    UNROLL for (int i = 0; i < TNI_LANES; ++i) z[i] = w[i];
}

static void NAME(forward)(int width, int panels, int sides, int stride, const double* X,
                          const double* inverse, double* z)
{
    double    t[TNI_SIDES * TNI_SLAB];
    const int own = tni_whole_panels(width) / TNI_LANES;
    for (int c = 0; c < sides; ++c) {
        for (int p = 0; p < own; ++p) {
            const int     first = TNI_LANES * p, left = width - first;
            const int     n = left < TNI_LANES ? left : TNI_LANES;
            const double* x = X + TNI_LANES * (width * p + first);
            double *      y = z + stride * c + first, *s = t + TNI_SLAB * c + first;
            NAME(forward_square)(n, x, inverse + first, y, s);
            NAME(lose_panels)(own - p - 1, width, n, x + TNI_LANES * width, s, y + TNI_LANES);
        }
    }
    for (int p = own; p < panels; p += CHUNK) {
        const int n = panels - p < CHUNK ? panels - p : CHUNK;
        for (int c = 0; c < sides; ++c) NAME(lose_panels)
        (n, width, width, X + TNI_LANES * width * p, t + TNI_SLAB * c,
         z + stride * c + TNI_LANES * p);
    }
}

// The sum of all lanes, by halves.
TNI_INLINE double NAME(total)(vec acc[PARTS])
{
    double lane[LANES];
    UNROLL for (int half = PARTS / 2; half > 0; half /= 2)
    {
        UNROLL for (int p = 0; p < half; ++p) acc[p] += acc[p + half];
    }
    STORE(lane, acc[0]);
    UNROLL for (int half = LANES / 2; half > 0; half /= 2)
    {
        UNROLL for (int i = 0; i < half; ++i) lane[i] += lane[i + half];
    }
    return lane[0];
}

// n columns of `panels` panels times z, the last panel first.
TNI_INLINE void NAME(collect)(int n, int panels, int width, const double* restrict x,
                              const double* restrict z, double* restrict sum)
{
    vec acc[TNI_GROUP][PARTS] = {0};
    for (int p = panels - 1; p >= 0; --p) {
        vec zp[PARTS];
        UNROLL for (int i = 0; i < PARTS; ++i) LOAD(zp[i], z + TNI_LANES * p + LANES * i);
        UNROLL for (int j = 0; j < n; ++j)
        {
            const double* column = x + TNI_LANES * (width * p + j);
            ASK(column, -AHEAD);
            UNROLL for (int i = 0; i < PARTS; ++i)
            {
                vec xj;
                LOAD(xj, column + LANES * i);
                acc[j][i] += xj * zp[i];
            }
        }
    }
    UNROLL for (int j = 0; j < n; ++j) sum[j] = NAME(total)(acc[j]);
}

TNI_INLINE void NAME(collect_columns)(int columns, int panels, int width, const double* x,
                                      const double* z, double* sum)
{
    int j = 0;
    for (; j + STEP <= columns; j += STEP)
        NAME(collect)(STEP, panels, width, x + TNI_LANES * j, z, sum + j);
    if (STEP > 2 && j + 2 <= columns) {
        NAME(collect)(2, panels, width, x + TNI_LANES * j, z, sum + j);
        j += 2;
    }
    if (j < columns) NAME(collect)(1, panels, width, x + TNI_LANES * j, z, sum + j);
}

// The diagonal square, n columns of it, one right-hand side.
TNI_INLINE void NAME(backward_columns)(int n, const double* restrict x,
                                       const double* restrict inverse, const double* restrict sum,
                                       double* restrict z)
{
    double w[TNI_LANES];
    UNROLL for (int k = n - 1; k >= 0; --k)
    {
        w[k] = z[k] - sum[k];
        UNROLL for (int i = n - 1; i > k; --i) w[k] -= x[TNI_LANES * k + i] * w[i];
        w[k] *= inverse[k];
    }
    UNROLL for (int k = 0; k < n; ++k) z[k] = w[k];
}

TNI_INLINE void NAME(backward_square)(int n, const double* x, const double* inverse,
                                      const double* sum, double* z)
{
    switch (n) {
    case 1: NAME(backward_columns)(1, x, inverse, sum, z); break;
    case 2: NAME(backward_columns)(2, x, inverse, sum, z); break;
    case 3: NAME(backward_columns)(3, x, inverse, sum, z); break;
    case 4: NAME(backward_columns)(4, x, inverse, sum, z); break;
    case 5: NAME(backward_columns)(5, x, inverse, sum, z); break;
    case 6: NAME(backward_columns)(6, x, inverse, sum, z); break;
    case 7: NAME(backward_columns)(7, x, inverse, sum, z); break;
    default: NAME(backward_columns)(8, x, inverse, sum, z);
    }
}

static void NAME(backward)(int width, int panels, int sides, int stride, const double* X,
                           const double* inverse, double* z)
{
    for (int p = tni_whole_panels(width) / TNI_LANES - 1; p >= 0; --p) {
        const int     first = TNI_LANES * p, left = width - first;
        const int     n = left < TNI_LANES ? left : TNI_LANES;
        const double* x = X + TNI_LANES * (width * p + first);
        for (int c = 0; c < sides; ++c) {
            double *y = z + stride * c + first, sum[TNI_LANES];
            NAME(collect_columns)
            (n, panels - p - 1, width, x + TNI_LANES * width, y + TNI_LANES, sum);
            NAME(backward_square)(n, x, inverse + first, sum, y);
        }
    }
}

static const tni_tiles NAME(tiles) = {NAME(rows), NAME(update), NAME(column), NAME(forward),
                                      NAME(backward)};

#undef STEP
#undef PARTS
