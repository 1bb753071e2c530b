// series: a few measures of a run over its time, thinned evenly to at most TNC_SERIES_ROOM samples. Nothing that
// matters falls between two samples: of errors and contacts the largest since the sample before is kept, of
// the wall time the mean.
#include "motion.h"

#include <math.h>
#include <stdlib.h>

const char* const tnc_series_words[TNC_SERIES_COUNT] = {
    "time",           "kinetic",      "gravity",  "elastic", "joint_error",
    "velocity_error", "step_seconds", "contacts", "active"};

bool tnc_series_create(tnc_series** series, long long steps)
{
    enum { BETWEEN = TNC_SERIES_ROOM - 2 }; // the start, and an odd last one
    *series = calloc(1, sizeof **series);
    if (!*series) {
        tnc_complain("%s", tn_result_text(TN_ERR_MEMORY));
        return false;
    }
    (*series)->stride = steps > BETWEEN ? (steps + BETWEEN - 1) / BETWEEN : 1;
    return true;
}

void tnc_series_free(tnc_series* series)
{
    free(series);
}

static void take_larger(double* most, double value)
{
    if (value > *most) *most = value;
}

void tnc_series_add(tnc_series* s, const tn_state* state, const tnc_motion* m)
{
    if (!s) return;
    double* now = s->now; // the sample that is in the making
    take_larger(&now[TNC_SERIES_JOINT_ERROR], m->error_now);
    take_larger(&now[TNC_SERIES_VELOCITY_ERROR], m->velocity_error_now);
    take_larger(&now[TNC_SERIES_CONTACTS], m->contact_now);
    take_larger(&now[TNC_SERIES_ACTIVE], m->active_now);
    now[TNC_SERIES_STEP_SECONDS] += m->seconds_now * (double)(m->done - s->seen);
    s->seen = m->done;
    if ((m->done < s->next && m->done < m->steps) || s->count == TNC_SERIES_ROOM) return;
    const tn_energy e       = tn_state_energy(state);
    now[TNC_SERIES_TIME]    = tn_state_time(state);
    now[TNC_SERIES_KINETIC] = e.kinetic;
    now[TNC_SERIES_GRAVITY] = e.gravity;
    now[TNC_SERIES_ELASTIC] = e.elastic;
    now[TNC_SERIES_STEP_SECONDS] /=
        (double)(m->done - s->last); // at the start no step was taken: no number
    for (int k = 0; k < TNC_SERIES_COUNT; ++k) {
        s->values[k][s->count] = now[k];
        now[k]                 = 0;
    }
    s->count++;
    s->last = m->done;
    s->next = m->done - m->done % s->stride + s->stride;
}
