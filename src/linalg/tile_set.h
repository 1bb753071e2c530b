// tile_set: the kernels of tile.c for one vector length. Compiled once for each, with
//     SET     its name
//     TARGET  the processor it is for, as an attribute
//     BYTES   of a vector
//     STEP    columns of a tile: 4 fit into 16 registers of 4 numbers, 2 into 16 of 2 numbers
// There is no guard against being included twice: that is the point.
#define JOIN_(a, b) a##_##b
#define JOIN(a, b)  JOIN_(a, b)
#define NAME(x)     JOIN(x, SET)
#define vec         NAME(vec)

#if defined(__GNUC__)
typedef double vec __attribute__((vector_size(BYTES)));
#else
typedef double vec;
#endif
#define VEC   ((int)(sizeof(vec) / sizeof(double)))
#define PARTS (TNI_LANES / VEC)

// acc (n columns of 8 rows) -= x y^T over `depth` columns.
TNI_INLINE void NAME(multiply)(int n, int depth, const double* restrict x, const double* restrict y,
                               vec acc[TNI_GROUP][PARTS])
{
    for (int k = 0; k < depth; ++k) {
        vec xk[PARTS];
        UNROLL for (int p = 0; p < PARTS; ++p) LOAD(xk[p], x + TNI_LANES * k + VEC * p);
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
        UNROLL for (int p = 0; p < PARTS; ++p) LOAD(acc[j][p], c + TNI_LANES * j + VEC * p);
    }
}

TNI_INLINE void NAME(put_tile)(int n, vec acc[TNI_GROUP][PARTS], double* c)
{
    UNROLL for (int j = 0; j < n; ++j)
    {
        UNROLL for (int p = 0; p < PARTS; ++p) STORE(c + TNI_LANES * j + VEC * p, acc[j][p]);
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

// n columns at `first` of one panel, the columns before them being finished.
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

TARGET static void NAME(rows)(int width, int first, int end, int panels, const double* Y_T,
                              const double* inverse, double* X, double* Y)
{
    for (int p = 0; p < panels; ++p) {
        double *x = X + TNI_LANES * width * p, *y = Y + TNI_LANES * width * p;
        for (int k = first; k < end; k += TNI_GROUP) {
            // Rows k .. k + 3 of the triangle: its panel, and the half of it.
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

TARGET static void NAME(update)(int width, int columns, int panels, const double* X,
                                const double* Y, double* C)
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

TARGET static void NAME(column)(int width, int first, const double* Y_T, double* X)
{
    const int n = width - first < TNI_GROUP ? width - first : TNI_GROUP;
    NAME(tile_columns)(n, first, X, Y_T + first % TNI_LANES, X + TNI_LANES * first);
}

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)
static const tni_tiles SET = {TEXT(SET), NAME(rows), NAME(update), NAME(column)};

#undef TEXT
#undef TEXT_
#undef PARTS
#undef VEC
#undef vec
#undef NAME
#undef JOIN
#undef JOIN_
#undef SET
#undef TARGET
#undef BYTES
#undef STEP
