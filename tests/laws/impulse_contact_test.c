// The laws of contact by the impulse method with explicit springs.
#include "support/contact_rig.h"

#define law_make        contact_make
#define law_builtin     contact_builtin
#define law_left        0.0
#define law_finest      1e-3
#define law_counts_rest true
#include "support/contact_laws.h"
