// saddle: the quasi-definite saddle system on a plan, exact on trees, refined on loops; optionally
// through its Schur complement. See saddle.c.
#ifndef TNI_SADDLE_H
#define TNI_SADDLE_H

#include "linalg/schur.h"

/// Quality of the last factorisation (pivots) and of the last solve (refinement, residual). Rows
/// are numbered as in the plan; -1: none.
typedef struct tni_saddle_report {
    double pivot_min; ///< smallest |pivot| / scale of a B row of a tree; INFINITY if there are none
    int    pivot_row;
    int    replaced_count;   ///< number of pivots replaced
    int    loop_count;       ///< components treated as loops, including trees with a lost pivot
    int    refinement_count; ///< refinement steps, maximum over components
    double residual;         ///< largest |J u - E mu - r| over loops
    int    residual_row;
    int    bad_row; ///< the failing row when a call failed
} tni_saddle_report;

typedef enum tni_form {
    TNI_FORM_KKT,  ///< the saddle system itself, always sparse
    TNI_FORM_SPD,  ///< S = J A^-1 J^T, every component treated as a loop
    TNI_FORM_SPLIT ///< the same with A nodes of many edges split into parts
} tni_form;

typedef enum tni_backend {
    TNI_BACKEND_CORE,
    TNI_BACKEND_CHOLMOD ///< for SPD and SPLIT only; restrictions: linalg/cholmod.h
} tni_backend;

typedef struct tni_formulation {
    tni_form    form;
    tni_backend backend;
    int         part_edges; ///< SPLIT: edges of a part; 0: chosen by predicted cost
    bool        by_norm;    ///< alpha_i = eps_T |S|_1 for a whole component, not eps_T S_ii
} tni_formulation;

/// Index lists for products and solves, made once: ranges of rows of one sign; A nodes and edges in
/// elimination order.
typedef struct tni_saddle_rows {
    int first, end;
} tni_saddle_rows;

typedef struct tni_saddle_node {
    int    row, dim;
    size_t at; ///< offset in diagonal
} tni_saddle_node;

typedef struct tni_saddle_edge {
    int row, col; ///< first rows of its B and A nodes
    int n, m;     ///< its size; the blocks of successive edges are contiguous
} tni_saddle_edge;

/// One system. Fill the blocks in place, factor, solve; both leave the blocks unchanged.
typedef struct tni_saddle {
    const tni_plan*   plan;
    tni_formulation   formulation;
    tni_ldl*          ldl;            ///< KKT, else NULL
    tni_schur*        schur;          ///< SPD and SPLIT, else NULL
    double            regularisation; ///< eps_T, 1e-11; may be changed before a factorisation
    bool              damped; ///< treat trees like loops; may be changed before a factorisation
    bool              later;  ///< defer residuals of unrefined solves to tni_saddle_judge
    int               refinement_max;
    const uint8_t*    asleep;  ///< by component: skipped, its solution is 0; NULL: none
    uint8_t*          refined; ///< by component: regularised and refined
    tni_saddle_report report;

    size_t*  diagonal_at; ///< by node: offset of A or E in diagonal
    double*  diagonal;
    bool     soft;     ///< some E block has been requested
    double*  a_factor; ///< A blocks factored, same offsets as diagonal
    uint8_t* a_ready;  ///< by component: a_factor is up to date
    size_t*  j_at;     ///< by edge: offset in j
    double*  j;
    double*  scale; ///< by row: (J A^-1 J^T + E)_ii on B rows, A_ii on A rows
    double*  alpha; ///< by row: eps_T (J A^-1 J^T)_ii on B rows
    double*  raise; ///< by row: added to E in the core, so that it is at least alpha
    double*  work;  ///< WORK_VECTORS vectors by row
    double * deferred_rhs, *deferred_x; ///< of the deferred residual, if `waits`
    bool     deferred;

    tni_saddle_rows* rows;                  ///< ranges of kind k: rows_start[k] .. rows_end[k] - 1
    int *            rows_start, *rows_end; ///< kind: 2 * component for A rows, + 1 for B rows
    tni_saddle_node* a_node;
    int*             a_start;            ///< by component
    tni_saddle_edge* edge;               ///< in the order of plan->edge_list
    int *            near_start, *near;  ///< by A node: its edges, as indices into plan->edge_list
    int *            path, *seen, stamp; ///< scratch, by node
} tni_saddle;

/// All edges of the plan must have a B node as row node and an A node as column node.
TN_NODISCARD tn_result tni_saddle_create(tni_arena* arena, const tni_plan* plan,
                                         tni_saddle** saddle);

/// The same in another form; tni_saddle_create uses KKT, the core and alpha by rows.
/// TN_ERR_UNSUPPORTED if the backend is not built in or not available for the form; TN_ERR_MEMORY
/// also if S would be far too large.
TN_NODISCARD tn_result tni_saddle_create_as(tni_arena* arena, const tni_plan* plan,
                                            const tni_formulation* formulation,
                                            tni_saddle**           saddle);
/// Frees the memory of CHOLMOD; call it before the arena is freed. NULL is allowed.
void tni_saddle_release(tni_saddle* saddle);

/// Predicted flops of one factorisation with assembly; infinite if creation would fail.
double tni_form_flops(const tn_host* host, const tni_plan* plan,
                      const tni_formulation* formulation);
double tni_saddle_flops(const tni_saddle* s); ///< the same for an existing one, at no cost
/// The cheapest of the allowed forms (a sum of 1 << form). KKT if all components are trees, if the
/// model is too large for the comparison, and if no other is possible.
tni_form tni_form_choose(const tn_host* host, const tni_plan* plan, unsigned allowed);
/// Nonzeros of the factored matrix and of its factor, one triangle with diagonal, blocks counted in
/// full. Scratch memory from the host; may fail with TN_ERR_MEMORY.
TN_NODISCARD tn_result tni_saddle_numbers(const tni_saddle* s, const tn_host* host, double* matrix,
                                          double* factor);

double* tni_saddle_a(tni_saddle* s, int node); ///< dim x dim, symmetric positive definite
double* tni_saddle_e(tni_saddle* s, int node); ///< dim x dim, symmetric; a zero row is a hard row
double* tni_saddle_j(tni_saddle* s, int edge); ///< dim[row node] x dim[column node]

/// TN_ERR_SINGULAR if an A block is not positive definite or a number is not finite
/// (report.bad_row). Redundant rows are allowed; rank.h finds them.
TN_NODISCARD tn_result tni_saddle_factor(tni_saddle* s);

/// rhs: b on A rows, r on B rows; x: u on A rows, mu on B rows. refine: iterate to the exact
/// solution on loops; without it their solution contains the regularisation. Contradictory rows do
/// not fail: see report.residual. TN_ERR_SINGULAR if the solution is not finite.
TN_NODISCARD tn_result tni_saddle_solve(tni_saddle* s, const double* rhs, double* x, bool refine);

/// The same for one component, whether it is asleep or not; of x only its rows are written, and the report tells
/// of no residual. Components may be factored and solved at the same time, each with a copy of the struct
/// whose ldl has scratch of its own (tni_ldl_share); not in the forms SPD and SPLIT.
TN_NODISCARD tn_result tni_saddle_factor_one(tni_saddle* s, int component);
TN_NODISCARD tn_result tni_saddle_solve_one(tni_saddle* s, int component, const double* rhs,
                                            double* x, bool refine);

/// The report with the residual of the last solve; J and E must be those of that solve.
const tni_saddle_report* tni_saddle_judge(tni_saddle* s);

/// Products over one component, -1: all. B rows of out <- J u; A rows of out <- J^T mu; A rows of
/// out <- A^-1 b. Other rows of out are unchanged. out may be the input vector if the rows differ,
/// and for solve_a.
void tni_saddle_mul_j(const tni_saddle* s, int component, const double* u, double* out);
void tni_saddle_mul_jt(const tni_saddle* s, int component, const double* mu, double* out);
void tni_saddle_solve_a(tni_saddle* s, int component, const double* b, double* out);

/// The solution for right-hand sides on the `given` nodes, needed on the `wanted` nodes: as
/// tni_ldl_solve_path, with loops treated as in tni_saddle_solve. work: two numbers a row.
void tni_saddle_respond(tni_saddle* s, const int* given, int given_count, const int* wanted,
                        int wanted_count, int count, double* x, bool refine, double* work);

#endif
