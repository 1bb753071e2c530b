// One model, many threads, each with its own state and stepper: no waiting, no interference, and
// all end in the same bits.
#include "support/rig.h"

#include <pthread.h>

enum { THREADS = 4, STEPS = 20 };

typedef struct runner {
    const tn_model* model;
    uint64_t        hash; ///< 0: something failed
} runner;

static void* run(void* user)
{
    runner*     r       = user;
    tn_state*   state   = NULL;
    tn_stepper* stepper = NULL;
    bool        good    = tn_state_create(r->model, &state) == TN_OK &&
                tn_stepper_create(r->model, NULL, &stepper, NULL) == TN_OK;
    for (int i = 0; good && i < STEPS; ++i)
        good = tn_stepper_step(stepper, state, 1e-3, NULL, NULL) == TN_OK;
    r->hash = good ? tn_state_hash(state) : 0;
    tn_stepper_free(stepper);
    tn_state_free(state);
    return NULL;
}

TEST(a_model_is_shared_by_threads)
{
    static const char* const specs[] = {"chain:n=20", "hand", "peaucellier", "differential"};
    for (size_t n = 0; n < sizeof specs / sizeof specs[0]; ++n) {
        rig       r = rig_builtin(specs[n]);
        runner    runners[THREADS], alone = {r.model, 0};
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; ++i) {
            runners[i] = (runner){r.model, 0};
            CHECK_INT(pthread_create(&threads[i], NULL, run, &runners[i]), 0);
        }
        for (int i = 0; i < THREADS; ++i) CHECK_INT(pthread_join(threads[i], NULL), 0);
        run(&alone);
        CHECK(alone.hash != 0);
        for (int i = 0; i < THREADS; ++i) CHECK(runners[i].hash == alone.hash);
        rig_free(&r);
    }
}
