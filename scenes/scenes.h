// Built-in scenes: mechanisms by name and parameters, made through the public API alone. Tests,
// benchmarks, the command line and the viewer all take them from here.
#ifndef TENON_SCENES_H
#define TENON_SCENES_H

#include "tenon/tenon.h"

enum { TNS_PARAM_MAX = 8 };

/// A parameter is a number, or one of a few words (then its value is the word's index).
typedef struct tns_param {
    const char* name; ///< NULL ends the list
    const char* help;
    double      value;        ///< default
    double      lower, upper; ///< allowed range, ends included
    bool        whole;        ///< only whole numbers
    const char* words;        ///< "ball|hinge"; NULL: a number
} tns_param;

typedef struct tns_builtin {
    const char* name;
    const char* help; ///< one line
    tns_param   params[TNS_PARAM_MAX + 1];
    /// Adds everything to an empty scene. values: one for each param, in order, already checked.
    /// Failed adds are remembered by the scene, so a builder just goes on.
    void (*build)(tn_scene* scene, const double* values);
} tns_builtin;

/// The i-th built-in scene; NULL past the end.
const tns_builtin* tns_at(int index);
/// Builds "chain" or "chain:n=1000,joint=ball" (a leading '@' is allowed). Unknown names and
/// parameters are refused with the nearest known one.
TN_NODISCARD tn_result tns_build(const tn_host* host, const char* spec, tn_scene** scene,
                                 tn_why* why);

#endif
