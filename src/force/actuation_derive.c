#include "force/actuation.h"

void tni_derive_actuations(const tni_scene_view* at, tni_take_derivative* take, void* user)
{
    (void)at, (void)take, (void)user;
}
