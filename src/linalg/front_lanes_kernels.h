// front_lanes_kernels: the kernels of front_lanes.c, compiled once for each vector length
// (math/simd.h).
#define PARTS  (TNI_FRONT_GROUP / LANES)
#define HEIGHT (LANES > 1 ? LANES / 2 : 1) // rows of a register tile

// acc (h rows, w columns) -= x y^T over `depth` columns of `step` numbers.
TNI_INLINE void NAME(multiply)(int h, int w, int depth, size_t step, const double* restrict x,
                               const double* restrict y,
                               vec acc[HEIGHT][TNI_FRONT_GROUP_BLOCK][PARTS])
{
    for (int k = 0; k < depth; ++k, x += step, y += step) {
        UNROLL for (int p = 0; p < PARTS; ++p)
        {
            vec xi[HEIGHT];
            UNROLL for (int i = 0; i < h; ++i) LOAD(xi[i], x + TNI_FRONT_GROUP * i + LANES * p);
            UNROLL for (int j = 0; j < w; ++j)
            {
                vec yj;
                LOAD(yj, y + TNI_FRONT_GROUP * j + LANES * p);
                UNROLL for (int i = 0; i < h; ++i) acc[i][j][p] -= xi[i] * yj;
            }
        }
    }
}

TNI_INLINE void NAME(take)(int h, int w, size_t step, const double* c,
                           vec acc[HEIGHT][TNI_FRONT_GROUP_BLOCK][PARTS])
{
    UNROLL for (int j = 0; j < w; ++j)
    {
        UNROLL for (int i = 0; i < h; ++i)
        {
            UNROLL for (int p = 0; p < PARTS; ++p)
                LOAD(acc[i][j][p], c + step * (size_t)j + TNI_FRONT_GROUP * i + LANES * p);
        }
    }
}

TNI_INLINE void NAME(put)(int h, int w, size_t step, vec acc[HEIGHT][TNI_FRONT_GROUP_BLOCK][PARTS],
                          double* c)
{
    UNROLL for (int j = 0; j < w; ++j)
    {
        UNROLL for (int i = 0; i < h; ++i)
        {
            UNROLL for (int p = 0; p < PARTS; ++p)
                STORE(c + step * (size_t)j + TNI_FRONT_GROUP * i + LANES * p, acc[i][j][p]);
        }
    }
}

// Eliminates the columns of a block by those before them in it; y of its rows is in `triangle`.
TNI_INLINE void NAME(finish_tile)(int h, int w, size_t step, const double* triangle,
                                  vec acc[HEIGHT][TNI_FRONT_GROUP_BLOCK][PARTS])
{
    UNROLL for (int k = 0; k < w; ++k)
    {
        UNROLL for (int j = 0; j < w; ++j)
        {
            if (j <= k) continue;
            UNROLL for (int p = 0; p < PARTS; ++p)
            {
                vec yj;
                LOAD(yj, triangle + step * (size_t)k + TNI_FRONT_GROUP * j + LANES * p);
                UNROLL for (int i = 0; i < h; ++i) acc[i][j][p] -= acc[i][k][p] * yj;
            }
        }
    }
}

TNI_INLINE void NAME(scale_tile)(int h, int w, const double* inverse,
                                 vec acc[HEIGHT][TNI_FRONT_GROUP_BLOCK][PARTS])
{
    UNROLL for (int j = 0; j < w; ++j)
    {
        UNROLL for (int p = 0; p < PARTS; ++p)
        {
            vec d;
            LOAD(d, inverse + TNI_FRONT_GROUP * j + LANES * p);
            UNROLL for (int i = 0; i < h; ++i) acc[i][j][p] *= d;
        }
    }
}

// A tile of h rows from `row` on, w columns; inverse NULL: apply only.
TNI_INLINE void NAME(tile)(int h, int w, int all, int first, int row, double* X, double* Y,
                           const double* inverse)
{
    vec           acc[HEIGHT][TNI_FRONT_GROUP_BLOCK][PARTS];
    const size_t  step = TNI_FRONT_GROUP * (size_t)all, at = step * (size_t)first;
    const double *x = X + TNI_FRONT_GROUP * row, *y = Y + TNI_FRONT_GROUP * first;
    NAME(take)(h, w, step, x + at, acc);
    NAME(multiply)(h, w, first, step, x, y, acc);
    if (inverse != NULL) NAME(finish_tile)(h, w, step, y + at, acc);
    NAME(put)(h, w, step, acc, X + at + TNI_FRONT_GROUP * row);
    if (inverse == NULL) return;
    NAME(scale_tile)(h, w, inverse + TNI_FRONT_GROUP * first, acc);
    NAME(put)(h, w, step, acc, Y + at + TNI_FRONT_GROUP * row);
}

TNI_INLINE void NAME(rows_of)(int w, int all, int first, int row, int end, double* X, double* Y,
                              const double* inverse)
{
    for (; row + HEIGHT <= end; row += HEIGHT)
        NAME(tile)(HEIGHT, w, all, first, row, X, Y, inverse);
    for (; row < end; ++row) NAME(tile)(1, w, all, first, row, X, Y, inverse);
}

static void NAME(apply)(int all, int first, int width, int row, int end, double* X, const double* Y)
{
    switch (width) {
    case 1: NAME(rows_of)(1, all, first, row, end, X, (double*)Y, NULL); break;
    case 2: NAME(rows_of)(2, all, first, row, end, X, (double*)Y, NULL); break;
    case 3: NAME(rows_of)(3, all, first, row, end, X, (double*)Y, NULL); break;
    default: NAME(rows_of)(4, all, first, row, end, X, (double*)Y, NULL);
    }
}

static void NAME(finish)(int all, int first, int width, int row, int end, double* X, double* Y,
                         const double* inverse)
{
    switch (width) {
    case 1: NAME(rows_of)(1, all, first, row, end, X, Y, inverse); break;
    case 2: NAME(rows_of)(2, all, first, row, end, X, Y, inverse); break;
    case 3: NAME(rows_of)(3, all, first, row, end, X, Y, inverse); break;
    default: NAME(rows_of)(4, all, first, row, end, X, Y, inverse);
    }
}

// w columns of the update from `column` on.
TNI_INLINE void NAME(columns)(int w, int own, int rows, int column, bool fresh, const double* X,
                              const double* Y, double* U)
{
    const size_t step = TNI_FRONT_GROUP * (size_t)(own + rows),
                 high = TNI_FRONT_GROUP * (size_t)rows;
    const double *x = X + TNI_FRONT_GROUP * own, *y = Y + TNI_FRONT_GROUP * (own + column);
    double*       u = U + high * (size_t)column;
    int           i = column;
    vec           acc[HEIGHT][TNI_FRONT_GROUP_BLOCK][PARTS];
    for (; i + HEIGHT <= rows; i += HEIGHT) {
        if (fresh) memset(acc, 0, sizeof acc);
        else NAME(take)(HEIGHT, w, high, u + TNI_FRONT_GROUP * i, acc);
        NAME(multiply)(HEIGHT, w, own, step, x + TNI_FRONT_GROUP * i, y, acc);
        NAME(put)(HEIGHT, w, high, acc, u + TNI_FRONT_GROUP * i);
    }
    for (; i < rows; ++i) {
        if (fresh) memset(acc, 0, sizeof acc);
        else NAME(take)(1, w, high, u + TNI_FRONT_GROUP * i, acc);
        NAME(multiply)(1, w, own, step, x + TNI_FRONT_GROUP * i, y, acc);
        NAME(put)(1, w, high, acc, u + TNI_FRONT_GROUP * i);
    }
}

TNI_INLINE void NAME(all_columns)(int own, int rows, bool fresh, const double* X, const double* Y,
                                  double* U)
{
    int j = 0;
    for (; j + 4 <= rows; j += 4) NAME(columns)(4, own, rows, j, fresh, X, Y, U);
    switch (rows - j) {
    case 1: NAME(columns)(1, own, rows, j, fresh, X, Y, U); break;
    case 2: NAME(columns)(2, own, rows, j, fresh, X, Y, U); break;
    case 3: NAME(columns)(3, own, rows, j, fresh, X, Y, U); break;
    default: break;
    }
}

static void NAME(update)(int own, int rows, bool fresh, const double* X, const double* Y, double* U)
{
    if (fresh) NAME(all_columns)(own, rows, true, X, Y, U);
    else NAME(all_columns)(own, rows, false, X, Y, U);
}

// --- solves -------------------------------------------------------------------------------------

// Forward: eliminates w columns from `first` on from their rows and the rows below.
TNI_INLINE void NAME(lose)(int w, int first, int all, const double* X, const double* inverse,
                           double* restrict z)
{
    const size_t  step = TNI_FRONT_GROUP * (size_t)all;
    const double* x    = X + step * (size_t)first;
    vec           t[TNI_FRONT_GROUP_BLOCK][PARTS];
    UNROLL for (int p = 0; p < PARTS; ++p)
    {
        UNROLL for (int k = 0; k < w; ++k)
        {
            vec zk, d;
            LOAD(zk, z + TNI_FRONT_GROUP * (first + k) + LANES * p);
            UNROLL for (int j = 0; j < k; ++j)
            {
                vec xj;
                LOAD(xj, x + step * (size_t)j + TNI_FRONT_GROUP * (first + k) + LANES * p);
                zk -= xj * t[j][p];
            }
            STORE(z + TNI_FRONT_GROUP * (first + k) + LANES * p, zk);
            LOAD(d, inverse + TNI_FRONT_GROUP * (first + k) + LANES * p);
            t[k][p] = zk * d;
        }
    }
    for (int i = first + w; i < all; ++i) {
        UNROLL for (int p = 0; p < PARTS; ++p)
        {
            vec zi;
            LOAD(zi, z + TNI_FRONT_GROUP * i + LANES * p);
            UNROLL for (int k = 0; k < w; ++k)
            {
                vec xk;
                LOAD(xk, x + step * (size_t)k + TNI_FRONT_GROUP * i + LANES * p);
                zi -= xk * t[k][p];
            }
            STORE(z + TNI_FRONT_GROUP * i + LANES * p, zi);
        }
    }
}

static void NAME(forward)(int own, int all, const double* X, const double* inverse, double* z)
{
    int k = 0;
    for (; k + 4 <= own; k += 4) NAME(lose)(4, k, all, X, inverse, z);
    switch (own - k) {
    case 1: NAME(lose)(1, k, all, X, inverse, z); break;
    case 2: NAME(lose)(2, k, all, X, inverse, z); break;
    case 3: NAME(lose)(3, k, all, X, inverse, z); break;
    default: break;
    }
}

// Backward: solves w columns from `first` on; the rows below them are known.
TNI_INLINE void NAME(gain)(int w, int first, int all, const double* X, const double* inverse,
                           double* restrict z)
{
    const size_t  step = TNI_FRONT_GROUP * (size_t)all;
    const double* x    = X + step * (size_t)first;
    UNROLL for (int p = 0; p < PARTS; ++p)
    {
        vec acc[TNI_FRONT_GROUP_BLOCK];
        UNROLL for (int k = 0; k < w; ++k)
            LOAD(acc[k], z + TNI_FRONT_GROUP * (first + k) + LANES * p);
        for (int i = all - 1; i >= first + w; --i) {
            vec zi;
            LOAD(zi, z + TNI_FRONT_GROUP * i + LANES * p);
            UNROLL for (int k = 0; k < w; ++k)
            {
                vec xk;
                LOAD(xk, x + step * (size_t)k + TNI_FRONT_GROUP * i + LANES * p);
                acc[k] -= xk * zi;
            }
        }
        UNROLL for (int k = w - 1; k >= 0; --k)
        {
            vec d;
            UNROLL for (int i = w - 1; i > k; --i)
            {
                vec xi;
                LOAD(xi, x + step * (size_t)k + TNI_FRONT_GROUP * (first + i) + LANES * p);
                acc[k] -= xi * acc[i];
            }
            LOAD(d, inverse + TNI_FRONT_GROUP * (first + k) + LANES * p);
            acc[k] *= d;
            STORE(z + TNI_FRONT_GROUP * (first + k) + LANES * p, acc[k]);
        }
    }
}

static void NAME(backward)(int own, int all, const double* X, const double* inverse, double* z)
{
    int k = own / 4 * 4;
    switch (own - k) {
    case 1: NAME(gain)(1, k, all, X, inverse, z); break;
    case 2: NAME(gain)(2, k, all, X, inverse, z); break;
    case 3: NAME(gain)(3, k, all, X, inverse, z); break;
    default: break;
    }
    for (k -= 4; k >= 0; k -= 4) NAME(gain)(4, k, all, X, inverse, z);
}

static const tni_front_kernels NAME(kernels) = {NAME(apply), NAME(finish), NAME(update),
                                                NAME(forward), NAME(backward)};

#undef HEIGHT
#undef PARTS
