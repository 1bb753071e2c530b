// tenon/io.h: scenes as JSON, motions as files, meshes from files.
#ifndef TENON_IO_H
#define TENON_IO_H

#include "tenon/state.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Reads a scene from JSON text. On failure *scene is NULL and *why has line, column and the
/// culprit.
TN_NODISCARD TN_API tn_result tn_scene_read(const tn_host* host, const char* text, size_t length,
                                            tn_scene** scene, tn_why* why);
TN_NODISCARD TN_API tn_result tn_scene_read_file(const tn_host* host, const char* path,
                                                 tn_scene** scene, tn_why* why);

/// Receives the next bytes of a text; returns false to stop writing (TN_ERR_FILE).
typedef bool tn_sink(void* user, const char* bytes, size_t count);

/// Writes a scene as JSON: read back, it is the same scene, bit for bit, but for user_data. Scenes
/// with bodies or constraints that are defined by functions are refused.
TN_NODISCARD TN_API tn_result tn_scene_write(const tn_scene* scene, tn_sink* sink, void* user,
                                             tn_why* why);
TN_NODISCARD TN_API tn_result tn_scene_write_file(const tn_scene* scene, const char* path,
                                                  tn_why* why);

/// Writes a motion, state by state: as CSV when the path ends in .csv, else in Tenon's compact
/// format (docs/trajectory.md). The model must outlive it.
typedef struct tn_recorder    tn_recorder;
TN_NODISCARD TN_API tn_result tn_recorder_create(const tn_host* host, const tn_model* model,
                                                 const char* path, tn_recorder** recorder,
                                                 tn_why* why);
TN_NODISCARD TN_API tn_result tn_recorder_add(tn_recorder* recorder, const tn_state* state,
                                              tn_why* why);
/// Flushes, closes and frees. NULL is allowed. Fails when the file could not be written whole.
TN_NODISCARD TN_API tn_result tn_recorder_finish(tn_recorder* recorder, tn_why* why);

/// Triangles, as a mesh shape of a scene takes them. One block of memory: the arrays are valid
/// until tn_mesh_free().
typedef struct tn_mesh {
    tn_vec3* vertices; ///< in units of the file
    int      vertex_count;
    int*     triangles; ///< three vertices each, in the order of the file
    int      triangle_count;
} tn_mesh;

/// Reads a surface from an STL file (binary or text) or an OBJ file, told apart by what they hold.
/// Vertices of STL files come three a triangle, those of OBJ files as they stand; faces with more
/// corners are cut into triangles from their first corner. On failure *mesh is NULL and *why names
/// the file and the line or byte.
TN_NODISCARD TN_API tn_result tn_mesh_read(const tn_host* host, const char* path, tn_mesh** mesh,
                                           tn_why* why);
/// The same of bytes in memory. name: for messages; when it ends in .stl, it is no OBJ file.
TN_NODISCARD TN_API tn_result tn_mesh_parse(const tn_host* host, const char* name,
                                            const char* bytes, size_t length, tn_mesh** mesh,
                                            tn_why* why);
TN_API void                   tn_mesh_free(tn_mesh* mesh); ///< NULL is allowed

/// A double as the shortest text that reads back as the same bits; returns its length. size >= 32.
TN_API int tn_format_number(double value, char* text, size_t size);
/// Reads a JSON number, correctly rounded, whatever the locale. *end is past it. False: not a
/// number, or too large for a double.
TN_API bool tn_parse_number(const char* text, const char* limit, const char** end, double* value);

#ifdef __cplusplus
}
#endif
#endif
