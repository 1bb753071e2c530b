// flight: free flight of bodies over a step, without forces.
//
// Everything but a rotating body moves straight on. A rotating body keeps its angular momentum L,
// not its angular velocity. With I the inertia in body axes, W the angular velocity in body axes at
// the middle of the step, and R its axes at the start:
//
//     I W = exp(-h W / 2) R^T L,   R' = R exp(h W),   w' = R' I^-1 R'^T L
//
// The rule is symmetric in time, so of second order, and L is kept to rounding whatever h. W by
// Newton's method; with Lm = exp(-h W / 2) R^T L the derivative is
//
// I - h/2 [Lm]x   (up to terms of h^2), so 2 or 3 rounds
//
// Measured, inertia 1:2:3, 10 rad/s about the middle axis, 20,000 steps: energy within 0.12 % at
// h = 1/60, 0.5 % at 1/30; the explicit torque -w x I w has blown up by then.
//
// A step with the mean velocity share w' + drift, w' being that at its end, rotates by
//     t = h (share I'^-1 L + drift),   R' = exp(t) R,   I' = R' I R'^T
// by Newton's method, d(share w')/dt = A [L]x - [w']x with A = I'^-1, up to terms of h: the w' of a
// thin body may change by far more than t does.
//
// Rotations are independent of each other: four bodies go together, in SIMD lanes, with the same
// bits as one alone (flight_lanes.h). Instructions of a body: 1340 -> 420.
#include "state/state.h"

enum { ROUNDS_MAX = 20, QUEUE_LENGTH = 4 };

// Angular velocity at the middle of the step, body axes, from that at the start.
static tn_vec3 middle(const tni_mat3* inertia, double h, tn_vec3 L, tn_vec3 W)
{
    tn_vec3 Lm = L;
    W          = tni_add_scaled(W, 0.5 * h, tni_solve3(inertia, tni_cross(L, W)));
    for (int round = 0; round < ROUNDS_MAX; ++round) {
        Lm                 = tni_rotate(tni_quat_exp(tni_scale(-0.5 * h, W)), L);
        const tn_vec3 left = tni_sub(tni_mul(inertia, W), Lm), a = tni_scale(0.5 * h, Lm);
        tni_mat3      D = *inertia;
        D.m[1] += a.z, D.m[2] -= a.y, D.m[3] -= a.z, D.m[5] += a.x, D.m[6] += a.y, D.m[7] -= a.x;
        const tn_vec3 change = tni_solve3(&D, left);
        W                    = tni_sub(W, change);
        // The next change would be smaller by (h W)^2 / 12.
        if (!(tni_max_abs(change) > 1e-12 * tni_max_abs(W))) break;
    }
    return W;
}

static void turn(const tni_body* body, double h, const double* q, const double* u, double* q_out,
                 double* u_out)
{
    const tn_quat at = {q[3], q[4], q[5], q[6]}, back = tni_quat_conjugate(at);
    const tn_vec3 W = tni_rotate(back, tni_read3(u + 3)), L = tni_mul(&body->inertia, W);
    const tn_vec3 Wm   = middle(&body->inertia, h, L, W);
    const tn_quat by   = tni_quat_exp(tni_scale(h, Wm));
    const tn_quat next = tni_quat_normalised(tni_quat_mul(at, by));
    const tn_vec3 end  = tni_solve3(&body->inertia, tni_rotate(tni_quat_conjugate(by), L));
    q_out[3] = next.w, q_out[4] = next.x, q_out[5] = next.y, q_out[6] = next.z;
    tni_write3(u_out + 3, tni_rotate(next, end));
}

#if defined(__GNUC__)
#define SET plain
#define TARGET
#define BYTES   16
#define ROOT(x) ((__typeof__(x)){sqrt((x)[0]), sqrt((x)[1])})
#include "state/flight_lanes.h"
#endif

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#define SET     wide
#define TARGET  __attribute__((target("avx2")))
#define BYTES   32
#define ROOT(x) ((__typeof__(x))_mm256_sqrt_pd((__m256d)(x)))
#include "state/flight_lanes.h"
#define HAS_WIDE __builtin_cpu_supports("avx2")
#elif defined(__GNUC__)
#define turn_wide turn_plain
#define HAS_WIDE  false
#else
#define HAS_WIDE false
#endif

// Bodies that wait to be rotated together.
typedef struct rotation_queue {
    int             count;
    const tni_body* body[QUEUE_LENGTH];
    const double *  inertia[QUEUE_LENGTH], *q[QUEUE_LENGTH], *u[QUEUE_LENGTH];
    double *        q_out[QUEUE_LENGTH], *u_out[QUEUE_LENGTH];
} rotation_queue;

// Rotates the first waiting bodies: a full vector of them, or one. Returns how many.
static int rotate_first(const rotation_queue* t, int first, bool wide, double h)
{
#if defined(__GNUC__)
    const int left = t->count - first;
    if (wide && left >= 4 &&
        turn_wide(t->inertia + first, h, t->q + first, t->u + first, t->q_out + first,
                  t->u_out + first))
        return 4;
    if (!wide && left >= 2 &&
        turn_plain(t->inertia + first, h, t->q + first, t->u + first, t->q_out + first,
                   t->u_out + first))
        return 2;
#else
    (void)wide;
#endif
    turn(t->body[first], h, t->q[first], t->u[first], t->q_out[first], t->u_out[first]);
    return 1;
}

static void rotate_all(rotation_queue* t, bool wide, double h)
{
    for (int i = 0; i < t->count;) i += rotate_first(t, i, wide, h);
    t->count = 0;
}

static void rotate_later(rotation_queue* t, const tni_body* body, const double* q, const double* u,
                         double* q_out, double* u_out)
{
    const int i   = t->count++;
    t->body[i]    = body;
    t->inertia[i] = body->inertia.m;
    t->q[i] = q, t->u[i] = u, t->q_out[i] = q_out, t->u_out[i] = u_out;
}

void tni_fly(const tn_model* model, const uint8_t* asleep, double h, const double* q,
             const double* u, double* q_out, double* u_out)
{
    tni_fly_as(model, asleep, h, q, u, HAS_WIDE, q_out, u_out);
}

void tni_fly_as(const tn_model* model, const uint8_t* asleep, double h, const double* q,
                const double* u, bool wide, double* q_out, double* u_out)
{
    rotation_queue waiting = {0};
    double         step[TNI_DIM_MAX];
    for (int i = 0; i < model->free_count; ++i) {
        const tni_body* body = &model->bodies[model->free_bodies[i]];
        const double *  a = q + body->q_start, *v = u + body->u_start;
        double *        b = q_out + body->q_start, *w = u_out + body->u_start;
        const int       straight = body->kind == TN_BODY_RIGID ? 3 : body->dim;
        if (asleep != NULL && asleep[model->free_bodies[i]]) {
            memcpy(b, a, sizeof *b * (size_t)body->q_count);
            memset(w, 0, sizeof *w * (size_t)body->dim);
            continue;
        }
        for (int k = 0; k < straight; ++k) w[k] = v[k];
        if (body->kind == TN_BODY_USER) {
            for (int k = 0; k < body->dim; ++k) step[k] = h * v[k];
            body->table->advance(body->data, a, step, b);
            continue;
        }
        for (int k = 0; k < straight; ++k) b[k] = a[k] + h * v[k];
        if (body->kind == TN_BODY_RIGID) rotate_later(&waiting, body, a, v, b, w);
        if (waiting.count == QUEUE_LENGTH) rotate_all(&waiting, wide, h);
    }
    rotate_all(&waiting, wide, h);
}

// w' after a rotation to `to`, world axes.
static tn_vec3 end_velocity(const tni_body* body, tn_quat to, tn_vec3 L)
{
    return tni_rotate(to, tni_solve3(&body->inertia, tni_rotate(tni_quat_conjugate(to), L)));
}

static void turn_mean(const tni_body* body, double h, double share, const double* drift,
                      const double* q, const double* u, double* q_out, double* u_out)
{
    const tn_quat at = {q[3], q[4], q[5], q[6]};
    const tn_vec3 W  = tni_rotate(tni_quat_conjugate(at), tni_read3(u + 3)),
                  L  = tni_rotate(at, tni_mul(&body->inertia, W)),
                  d  = drift != NULL ? tni_read3(drift + 3) : tni_vec3(0, 0, 0);
    const double e   = h * share;
    tn_vec3      w = tni_read3(u + 3), t = tni_scale(h, tni_add_scaled(d, share, w));
    tn_quat      next = at;
    for (int round = 0; round < ROUNDS_MAX; ++round) {
        next                  = tni_quat_normalised(tni_quat_mul(tni_quat_exp(t), at));
        w                     = end_velocity(body, next, L);
        const tn_vec3 left    = tni_sub(t, tni_scale(h, tni_add_scaled(d, share, w)));
        const double  a[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
        tni_mat3      D       = {{1, 0, 0, 0, 1, 0, 0, 0, 1}};
        for (int k = 0; k < 3; ++k) { // d left = (1 - e (A [L]x - [w]x)) dt
            const tn_vec3 by = {a[k][0], a[k][1], a[k][2]};
            const tn_vec3 c = tni_sub(end_velocity(body, next, tni_cross(L, by)), tni_cross(w, by));
            D.m[k] -= e * c.x, D.m[3 + k] -= e * c.y, D.m[6 + k] -= e * c.z;
        }
        const tn_vec3 change = tni_solve3(&D, left);
        t                    = tni_sub(t, change);
        if (!(tni_max_abs(change) > 1e-14 * (1 + tni_max_abs(t)))) break;
    }
    q_out[3] = next.w, q_out[4] = next.x, q_out[5] = next.y, q_out[6] = next.z;
    tni_write3(u_out + 3, w);
}

void tni_fly_mean(const tn_model* model, double h, double share, const double* drift,
                  const double* q, const double* u, double* q_out, double* u_out)
{
    double step[TNI_DIM_MAX];
    for (int i = 0; i < model->free_count; ++i) {
        const tni_body* body = &model->bodies[model->free_bodies[i]];
        const double *  a = q + body->q_start, *v = u + body->u_start,
                     *d = drift != NULL ? drift + body->u_start : NULL;
        double *b = q_out + body->q_start, *w = u_out + body->u_start;
        for (int k = 0; k < body->dim; ++k) {
            step[k] = h * (share * v[k] + (d != NULL ? d[k] : 0));
            w[k]    = v[k];
        }
        if (body->kind == TN_BODY_USER) {
            body->table->advance(body->data, a, step, b);
            continue;
        }
        const int straight = body->kind == TN_BODY_RIGID ? 3 : body->dim;
        for (int k = 0; k < straight; ++k) b[k] = a[k] + step[k];
        if (body->kind == TN_BODY_RIGID) turn_mean(body, h, share, d, a, v, b, w);
    }
}

// Of a user-defined body: the difference quotient of its first coordinates.
void tni_mean_velocity(const tn_model* model, double h, const double* q, const double* q1,
                       double* u)
{
    for (int i = 0; i < model->free_count; ++i) {
        const tni_body* body = &model->bodies[model->free_bodies[i]];
        const double *  a = q + body->q_start, *b = q1 + body->q_start;
        double*         v        = u + body->u_start;
        const int       straight = body->kind == TN_BODY_RIGID ? 3 : body->dim;
        for (int k = 0; k < straight; ++k) v[k] = (b[k] - a[k]) / h;
        if (body->kind != TN_BODY_RIGID) continue;
        const tn_quat from = {a[3], a[4], a[5], a[6]}, to = {b[3], b[4], b[5], b[6]};
        tni_write3(v + 3,
                   tni_scale(1 / h, tni_quat_log(tni_quat_mul(to, tni_quat_conjugate(from)))));
    }
}
