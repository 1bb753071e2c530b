// saddle: the quasi-definite saddle system on a plan, exact on trees, refined on loops; or, by
// choice, through its Schur complement. See saddle.c.
#ifndef TNI_SADDLE_H
#define TNI_SADDLE_H

#include "linalg/schur.h"

/// How well it went. Pivots: the last factorisation. Refinement, residual: the last solve. Rows
/// are numbered as in the plan; -1 stands for none.
typedef struct tni_saddle_report {
    double pivot_min; ///< smallest |pivot| / scale of a B row of a tree; INFINITY without any
    int    pivot_row;
    int    replaced_count;   ///< pivots that had to be replaced
    int    loop_count;       ///< components treated as loops, trees with a lost pivot included
    int    refinement_count; ///< refinement steps, the most over all components
    double residual;         ///< largest |J u - E mu - r|, over loops
    int    residual_row;
    int    bad_row; ///< the row at fault when a call failed
} tni_saddle_report;

typedef enum tni_form {
    TNI_FORM_KKT,  ///< the saddle system itself, always sparse
    TNI_FORM_SPD,  ///< S = J A^-1 J^T, every component treated as a loop
    TNI_FORM_SPLIT ///< the same, A nodes with many edges cut into parts
} tni_form;

typedef enum tni_backend {
    TNI_BACKEND_CORE,
    TNI_BACKEND_CHOLMOD ///< for SPD and SPLIT; see linalg/cholmod.h for what that means
} tni_backend;

typedef struct tni_formulation {
    tni_form    form;
    tni_backend backend;
    int         part_edges; ///< SPLIT: edges a part carries; 0: chosen by predicted cost
    bool        by_norm;    ///< alpha_i = eps_T |S|_1 for all rows of a component, not eps_T S_ii
} tni_formulation;

/// What products and solves walk over, made once: rows of one sign that lie together, A nodes and
/// edges in elimination order.
typedef struct tni_saddle_rows {
    int first, end;
} tni_saddle_rows;

typedef struct tni_saddle_node {
    int    row, dim;
    size_t at; ///< into diagonal
} tni_saddle_node;

typedef struct tni_saddle_edge {
    int row, col; ///< first rows of its B and of its A node
    int n, m;     ///< its size; numbers of one edge follow those of the one before
} tni_saddle_edge;

/// One system. Fill the blocks in place, factor, solve; they survive both.
typedef struct tni_saddle {
    const tni_plan* plan;
    tni_formulation formulation;
    tni_ldl*        ldl;            ///< KKT, else NULL
    tni_schur*      schur;          ///< SPD and SPLIT, else NULL
    double          regularisation; ///< eps_T, 1e-11; may be changed before a factorisation
    bool            damped;         ///< trees are regularised like loops; likewise
    bool later; ///< residuals of solves without refinement are found when tni_saddle_judge asks
    int  refinement_max;
    const uint8_t*    asleep;  ///< by component: left out, its answers are 0; NULL: none is
    uint8_t*          refined; ///< by component: regularised, mu only from the core
    tni_saddle_report report;

    size_t*  diagonal_at; ///< by node, into diagonal: A or E
    double*  diagonal;
    bool     soft;     ///< somebody has asked for an E block
    double*  a_factor; ///< A blocks factored, at the same offsets
    uint8_t* a_ready;  ///< by component: a_factor belongs to the current blocks
    size_t*  j_at;     ///< by edge, into j
    double*  j;
    double*  scale;            ///< by row: (J A^-1 J^T + E)_ii on B rows, A_ii on A rows
    double*  alpha;            ///< by row: eps_T (J A^-1 J^T)_ii on B rows
    double*  raise;            ///< by row: what the core adds to E, so that it is alpha at least
    double*  work;             ///< several vectors by row
    double * asked, *answered; ///< right-hand side and answer whose residual waits to be found
    bool     waits;

    tni_saddle_rows* rows;                  ///< those of kind k from rows_start[k] to rows_end[k]
    int *            rows_start, *rows_end; ///< kind: 2 * component for A rows, one more for B rows
    tni_saddle_node* a_node;
    int*             a_start;            ///< by component
    tni_saddle_edge* edge;               ///< as plan->edge_list
    int *            near_start, *near;  ///< by A node: its edges, as they are in plan->edge_list
    int *            path, *seen, stamp; ///< scratch, by node
} tni_saddle;

/// All edges of the plan must have a B node as row node and an A node as column node.
TN_NODISCARD tn_result tni_saddle_create(tni_arena* arena, const tni_plan* plan,
                                         tni_saddle** saddle);

/// The same in a form of choice; tni_saddle_create takes KKT, the core and alpha by rows.
/// TN_ERR_UNSUPPORTED where the backend is not built in or cannot do the form; TN_ERR_MEMORY also
/// where S would be far too large.
TN_NODISCARD tn_result tni_saddle_create_as(tni_arena* arena, const tni_plan* plan,
                                            const tni_formulation* formulation,
                                            tni_saddle**           saddle);
/// Needed with CHOLMOD only, before the arena is freed; otherwise it does nothing. NULL is allowed.
void tni_saddle_release(tni_saddle* saddle);

/// Flops of one factorisation and what it needs, predicted; infinite where creation would fail.
double tni_form_flops(const tn_host* host, const tni_plan* plan,
                      const tni_formulation* formulation);
double tni_saddle_flops(const tni_saddle* s); ///< the same of one that exists, at no cost
/// The cheapest of the forms allowed, a sum of 1 << form; KKT where all components are trees, where
/// the model is so large that trying would take long, and where nothing else is possible.
tni_form tni_form_choose(const tn_host* host, const tni_plan* plan, unsigned allowed);
/// Numbers of the matrix that is factored and of its factor, one triangle with its diagonal,
/// blocks counted in full. Scratch memory from the host; TN_ERR_MEMORY.
TN_NODISCARD tn_result tni_saddle_numbers(const tni_saddle* s, const tn_host* host, double* matrix,
                                          double* factor);

double* tni_saddle_a(tni_saddle* s, int node); ///< dim x dim, symmetric positive definite
double* tni_saddle_e(tni_saddle* s, int node); ///< dim x dim, symmetric; a zero row is a hard row
double* tni_saddle_j(tni_saddle* s, int edge); ///< dim[row node] x dim[column node]

/// TN_ERR_SINGULAR when an A block is not positive definite or a number is not finite
/// (report.bad_row). Redundant rows are no failure; rank.h finds them.
TN_NODISCARD tn_result tni_saddle_factor(tni_saddle* s);

/// rhs: b on A rows, r on B rows; x: u on A rows, mu on B rows. refine: on loops, iterate to the
/// exact answer; without it a loop answer carries the regularisation. Contradictory rows are no
/// failure: look at report.residual. TN_ERR_SINGULAR when the answer is not finite.
TN_NODISCARD tn_result tni_saddle_solve(tni_saddle* s, const double* rhs, double* x, bool refine);

/// The report with the residual of the last solve, J and E being those of that solve.
const tni_saddle_report* tni_saddle_judge(tni_saddle* s);

/// Products over one component, or all with -1. B rows of out <- J u; A rows of out <- J^T mu;
/// A rows of out <- A^-1 b. Other rows of out are left alone. out may be the input vector where
/// the rows differ, and for solve_a.
void tni_saddle_mul_j(const tni_saddle* s, int component, const double* u, double* out);
void tni_saddle_mul_jt(const tni_saddle* s, int component, const double* mu, double* out);
void tni_saddle_solve_a(tni_saddle* s, int component, const double* b, double* out);

/// The response to right-hand sides on a few nodes, asked for on a few: as tni_ldl_solve_path, with
/// the treatment of loops that tni_saddle_solve gives them. work: two numbers a row.
void tni_saddle_respond(tni_saddle* s, const int* given, int given_count, const int* wanted,
                        int wanted_count, int count, double* x, bool refine, double* work);

#endif
