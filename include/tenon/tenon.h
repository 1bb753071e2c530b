// tenon.h: everything. Each header also stands alone.
#ifndef TENON_H
#define TENON_H

#include "tenon/base.h"
#include "tenon/batch.h"
#include "tenon/io.h"
#include "tenon/math.h"
#include "tenon/mocap.h"
#include "tenon/model.h"
#include "tenon/query.h"
#include "tenon/scene.h"
#include "tenon/settings.h"
#include "tenon/state.h"
#include "tenon/step.h"

#endif
