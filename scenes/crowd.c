// crowd: many people in rows, pushed back row by row, as in Redon et al. 2005, fig. 1: 200 of them
// have 17,800 bodies and 19,000 degrees of freedom. The farther away a person is, the fewer joints
// are active.
#include "builtins.h"
#include "characters.h"

static void push(tn_scene* scene, const char* name, tn_body_id chest, double from)
{
    tn_load_def load = tn_default_load_def();
    load.name        = name;
    load.body        = chest;
    load.force       = tns_vec(-600, 0, 0);
    load.from        = from;
    load.until       = from + 0.2;
    tn_scene_add_load(scene, &load);
}

// At most 2,000 active joints, chosen every 4 frames by what a camera in front of the middle of the
// first row sees.
static void set_method(tn_scene* scene, double middle)
{
    tn_settings settings         = tn_scene_settings(scene);
    settings.method              = TN_METHOD_ADAPTIVE;
    settings.adaptive.active     = 2000;
    settings.adaptive.integrator = TN_ADAPTIVE_EULER;
    settings.adaptive.period     = 8;
    settings.adaptive.weights    = TN_WEIGHTS_PIXELS;
    settings.adaptive.pixels     = 1000;
    settings.adaptive.camera_x   = 6;
    settings.adaptive.camera_y   = middle;
    settings.adaptive.camera_z   = 1.7;
    settings.adaptive.detail     = 4;
    settings.adaptive.falloff    = 1;
    tn_scene_set_settings(scene, &settings);
}

static void build(tn_scene* scene, const double* values)
{
    const int n    = (int)values[0];
    int       wide = 1;
    while (wide * wide < n) ++wide;
    tns_setup(scene, "crowd", 2);
    set_method(scene, 1.25 * (wide - 1));
    for (int i = 0; i < n; ++i) {
        const int            row = i / wide, column = i % wide;
        const tns_text       prefix = tns_name("p%d_", i + 1), name = tns_name("push%d", i + 1);
        const tns_person_def person = {.prefix = prefix.text,
                                       .place  = {-2.0 * row, 2.5 * column, 0},
                                       .detail = (int)values[1],
                                       .held   = true};
        push(scene, name.text, tns_add_person(scene, &person), 0.1 + 0.05 * row);
    }
}

const tns_builtin tns_crowd = {
    "crowd",
    "people in rows, pushed back row by row: 200 of them have 17,800 bodies and 19,000 freedoms",
    {{"n", "people", 200, 1, 10000, true, NULL},
     {"detail", "of each person, as in humanoid", 1, 0, 1, true, NULL}},
    build};
