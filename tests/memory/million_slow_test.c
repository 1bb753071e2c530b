// A chain of a million links: it is built, compiled and stepped, in memory that grows with it.
#include "support/failing_host.h"
#include "support/rig.h"

TEST(a_chain_of_a_million_links_takes_a_step)
{
    enum { LINKS = 1000000 };
    failing_host  f    = failing_host_make();
    const tn_host host = failing_host_of(&f);
    rig           r    = {.settings = tn_default_settings()};
    tn_why        why  = {.text = ""};
    rig_must(tns_build(&host, "chain:n=1000000", &r.scene, &why), "chain", &why);
    r.settings = rig_settings();
    rig_ready(&r);
    tn_scene_free(r.scene); // a model stands by itself
    r.scene = NULL;
    CHECK_INT(tn_model_counts(r.model).bodies, LINKS);
    CHECK_LESS((double)f.live_bytes / LINKS, 10000);
    const int asked = f.count;
    CHECK(rig_step(&r, 1e-4));
    CHECK(rig_step(&r, 1e-4));
    CHECK_INT(f.count, asked);
    CHECK_LESS(r.joint_error, 1e-9); // links lie as far as 1e5 m out, where a bit is 1.5e-11 m
    // A level chain let go: its last rod falls freely at first, its first turns as a pendulum does.
    const tn_twist last = tn_state_velocity(r.state, tn_model_find_body(r.model, "link1000000"));
    CHECK(last.linear.z < 0);
    rig_free(&r);
    CHECK_INT(f.live_blocks, 0);
}
