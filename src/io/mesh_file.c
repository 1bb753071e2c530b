// mesh_file: reads triangle meshes: STL, binary and text, and OBJ.
//
//     STL, binary   80 bytes ignored, a count n, n times 50 bytes: normal, three vertices (twelve
//                   32-bit floats, little endian), two bytes ignored
//     STL, text     solid NAME, then any number of: facet normal x y z  outer loop  vertex x y z
//                   (three times)  endloop  endfacet; then endsolid NAME; any number of solids
//     OBJ           lines: v x y z, f a b c ... with a = vertex, vertex/texture, vertex//normal or
//                   vertex/texture/normal, counted from 1, or from -1 backwards; a \ at the
//                   end of a line continues it on the next; # starts a comment. Other
//                   statements are skipped
//
// A file whose length agrees with its count is binary, whatever its first word; one that begins
// with "solid" is text. Normals are ignored: the order of the corners defines the outside.
//
// Text is read in two passes: the first checks everything and counts, the second stores. No count
// in the file is trusted, so memory is proportional to its length.
#include "io/file.h"
#include "io/json.h"
#include "io/words.h"
#include "tenon/io.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum { STL_HEAD = 84, STL_FACET = 50 };

typedef struct mesh_block {
    tn_mesh mesh;
    tn_host host;
    size_t  bytes;
} mesh_block;

typedef struct reader {
    const char *name, *start, *at, *limit;
    int         line;
    int         vertex_count, triangle_count; ///< so far
    int         vertex_total;                 ///< of the first pass, known in the second
    tn_mesh*    mesh;                         ///< NULL: the first pass
    tn_why*     why;
} reader;

TNI_PRINTF(3, 4)
static tn_result fail_at(const reader* r, const char* at, const char* format, ...)
{
    char    text[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tni_fail(r->why, TN_ERR_PARSE, "%s, line %d: %s", tni_quote(r->name).text, r->line, text);
    if (r->why != NULL) {
        r->why->line   = r->line;
        r->why->column = tni_column(r->start, at);
    }
    return TN_ERR_PARSE;
}

// ---- Words and numbers -------------------------------------------------------------------------

static bool is_space(char c)
{
    return tni_is_blank(c) || c == '\n';
}

static tni_quoted shown(tni_word w)
{
    return tni_word_shown(w, "nothing");
}

// The next word on this or a later line.
static tni_word next_word(reader* r)
{
    for (; r->at < r->limit && is_space(*r->at); ++r->at) r->line += *r->at == '\n';
    tni_word w = {r->at, 0};
    while (r->at < r->limit && !is_space(*r->at)) ++r->at, ++w.length;
    return w;
}

static void skip_line(reader* r)
{
    while (r->at < r->limit && *r->at != '\n') ++r->at;
}

// Skips a backslash, blanks and the end of the line, if they are next.
static bool skip_continuation(reader* r)
{
    const char* at = r->at + 1;
    if (r->at >= r->limit || *r->at != '\\') return false;
    while (at < r->limit && tni_is_blank(*at)) ++at;
    if (at >= r->limit || *at != '\n') return false;
    r->at = at + 1;
    ++r->line;
    return true;
}

// The next word of an OBJ statement.
static tni_word next_in_line(reader* r)
{
    for (;;) {
        if (r->at < r->limit && tni_is_blank(*r->at)) ++r->at;
        else if (!skip_continuation(r)) break;
    }
    tni_word w = {r->at, 0};
    if (r->at < r->limit && *r->at == '#') skip_line(r);
    while (r->at < r->limit && !is_space(*r->at) && *r->at != '#' && *r->at != '\\')
        ++r->at, ++w.length;
    if (w.length == 0 && r->at < r->limit && *r->at == '\\') ++r->at, w.length = 1;
    return w.text < r->at && *w.text == '#' ? (tni_word){r->at, 0} : w;
}

static tn_result to_number(const reader* r, tni_word w, double* value)
{
    switch (tni_word_number(w, value)) {
    case TNI_NUMBER_LONG:
        return fail_at(r, w.text, "a number of more than %d characters", TNI_NUMBER_BYTES);
    case TNI_NUMBER_NONE: return fail_at(r, w.text, "expected a number, found %s", shown(w).text);
    case TNI_NUMBER_LARGE: return fail_at(r, w.text, "%s is too large", shown(w).text);
    default: return TN_OK;
    }
}

static void put_vertex(reader* r, const double x[3])
{
    if (r->mesh != NULL) r->mesh->vertices[r->vertex_count] = (tn_vec3){x[0], x[1], x[2]};
    ++r->vertex_count;
}

static void put_triangle(reader* r, int a, int b, int c)
{
    if (r->mesh != NULL) {
        int* t = r->mesh->triangles + 3 * (size_t)r->triangle_count;
        t[0] = a, t[1] = b, t[2] = c;
    }
    ++r->triangle_count;
}

// ---- STL, text ---------------------------------------------------------------------------------

static tn_result expect(reader* r, const char* wanted)
{
    const tni_word w = next_word(r);
    return tni_word_is(w, wanted)
               ? TN_OK
               : fail_at(r, w.text, "expected '%s', found %s", wanted, shown(w).text);
}

static tn_result read_facet(reader* r)
{
    TRY(expect(r, "normal"));
    for (int k = 0; k < 3; ++k) (void)next_word(r); // not used, and sometimes "nan"
    TRY(expect(r, "outer"));
    TRY(expect(r, "loop"));
    for (int k = 0; k < 3; ++k) {
        double x[3];
        TRY(expect(r, "vertex"));
        for (int i = 0; i < 3; ++i) TRY(to_number(r, next_word(r), &x[i]));
        put_vertex(r, x);
    }
    TRY(expect(r, "endloop"));
    TRY(expect(r, "endfacet"));
    put_triangle(r, r->vertex_count - 3, r->vertex_count - 2, r->vertex_count - 1);
    return TN_OK;
}

static tn_result read_solids(reader* r)
{
    bool inside = false;
    for (;;) {
        const tni_word w = next_word(r);
        if (w.length == 0 && !inside) return TN_OK;
        if (inside && tni_word_is(w, "facet")) {
            TRY(read_facet(r));
        } else if (tni_word_is(w, inside ? "endsolid" : "solid")) {
            inside = !inside;
            skip_line(r); // its name
        } else {
            return fail_at(r, w.text, "expected %s, found %s",
                           inside ? "'facet' or 'endsolid'" : "'solid'", shown(w).text);
        }
    }
}

// ---- OBJ ---------------------------------------------------------------------------------------

static bool is_known(tni_word w)
{
    static const char* const words[] = {
        "vt",        "vn",    "vp",       "o",        "g",    "s",      "mg",     "usemtl",
        "mtllib",    "l",     "p",        "cstype",   "deg",  "bmat",   "step",   "curv",
        "curv2",     "surf",  "parm",     "trim",     "hole", "scrv",   "sp",     "end",
        "con",       "bevel", "c_interp", "d_interp", "lod",  "usemap", "maplib", "shadow_obj",
        "trace_obj", "ctech", "stech",    "call",     "csh"};
    for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
        if (tni_word_is(w, words[i])) return true;
    return false;
}

static tn_result read_vertex(reader* r)
{
    double x[3];
    for (int k = 0; k < 3; ++k) {
        const tni_word w = next_in_line(r);
        if (w.length == 0) return fail_at(r, w.text, "a vertex needs 3 numbers, has %d", k);
        TRY(to_number(r, w, &x[k]));
    }
    put_vertex(r, x); // weights and colours may follow
    return TN_OK;
}

// "7", "-1", "7/1", "7//3", "7/1/3"
static tn_result to_index(const reader* r, tni_word w, int* index)
{
    int        i      = 0;
    int64_t    number = 0;
    const bool back   = w.text[0] == '-';
    if (back) ++i;
    const int first = i;
    for (; i < w.length && w.text[i] >= '0' && w.text[i] <= '9'; ++i)
        if (number <= INT_MAX) number = 10 * number + (w.text[i] - '0');
    if (i == first || (i < w.length && w.text[i] != '/'))
        return fail_at(r, w.text, "expected a vertex, found %s", shown(w).text);
    const int64_t at    = back ? r->vertex_count - number : number - 1;
    const int64_t limit = r->mesh != NULL ? r->vertex_total : INT_MAX;
    if (number == 0 || at < 0 || at >= limit)
        return fail_at(r, w.text, "there is no vertex %s", shown(w).text);
    *index = (int)at;
    return TN_OK;
}

static tn_result read_face(reader* r)
{
    int corners[3], count = 0;
    for (;; ++count) {
        const tni_word w = next_in_line(r);
        if (w.length == 0 && count < 3)
            return fail_at(r, w.text, "a face needs 3 or more corners, has %d", count);
        if (w.length == 0) return TN_OK;
        if (count > 2) corners[1] = corners[2]; // triangle fan
        TRY(to_index(r, w, &corners[count < 2 ? count : 2]));
        if (count >= 2) put_triangle(r, corners[0], corners[1], corners[2]);
    }
}

static tn_result read_statements(reader* r)
{
    while (r->at < r->limit) {
        const tni_word w = next_in_line(r);
        if (tni_word_is(w, "v")) TRY(read_vertex(r));
        else if (tni_word_is(w, "f")) TRY(read_face(r));
        else if (w.length > 0 && !is_known(w))
            return fail_at(r, w.text, "%s is not a statement of an OBJ file", shown(w).text);
        while (next_in_line(r).length > 0) {} // ignores the rest
        if (r->at < r->limit) ++r->at, ++r->line;
    }
    return TN_OK;
}

// ---- Memory ------------------------------------------------------------------------------------

static tn_mesh* make_mesh(const tn_host* host, int vertex_count, int triangle_count)
{
    const size_t vertices  = sizeof(tn_vec3) * (size_t)vertex_count;
    const size_t triangles = 3 * sizeof(int) * (size_t)triangle_count;
    const size_t bytes     = sizeof(mesh_block) + vertices + triangles;
    mesh_block*  block     = tni_host_take(host, bytes);
    if (block == NULL) return NULL;
    char* rest = (char*)block + sizeof *block;
    *block     = (mesh_block){.mesh  = {.vertices       = (tn_vec3*)(void*)rest,
                                        .vertex_count   = vertex_count,
                                        .triangles      = (int*)(void*)(rest + vertices),
                                        .triangle_count = triangle_count},
                              .host  = *host,
                              .bytes = bytes};
    return &block->mesh;
}

void tn_mesh_free(tn_mesh* mesh)
{
    if (mesh == NULL) return;
    mesh_block*   block = (mesh_block*)(void*)mesh;
    const tn_host host  = block->host;
    tni_host_give(&host, block, block->bytes);
}

static tn_result no_memory(const reader* r)
{
    return tni_fail(r->why, TN_ERR_MEMORY, "out of memory for %s", tni_quote(r->name).text);
}

static tn_result read_text(const tn_host* host, const reader* begun, tn_result (*pass)(reader*),
                           tn_mesh** mesh)
{
    reader first = *begun, second = *begun;
    TRY(pass(&first));
    if (first.triangle_count == 0)
        return tni_fail(begun->why, TN_ERR_PARSE, "%s has no triangles",
                        tni_quote(begun->name).text);
    second.vertex_total = first.vertex_count;
    second.mesh         = make_mesh(host, first.vertex_count, first.triangle_count);
    if (second.mesh == NULL) return no_memory(begun);
    const tn_result result = pass(&second);
    if (result != TN_OK) tn_mesh_free(second.mesh);
    else *mesh = second.mesh;
    return result;
}

// ---- STL, binary -------------------------------------------------------------------------------

static uint32_t word_at(const char* bytes)
{
    uint32_t value = 0;
    for (int k = 3; k >= 0; --k) value = value << 8 | (unsigned char)bytes[k];
    return value;
}

static double float_at(const char* bytes)
{
    const uint32_t bits = word_at(bytes);
    float          value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static tn_result read_binary(const tn_host* host, const reader* r, uint32_t count, tn_mesh** mesh)
{
    const int n    = (int)count;
    tn_mesh*  made = make_mesh(host, 3 * n, n);
    if (made == NULL) return no_memory(r);
    for (int i = 0; i < 3 * n; ++i) {
        const char* at =
            r->start + STL_HEAD + (size_t)STL_FACET * (size_t)(i / 3) + 12 + 12 * (i % 3);
        const double x = float_at(at), y = float_at(at + 4), z = float_at(at + 8);
        if (!(isfinite(x) && isfinite(y) && isfinite(z))) {
            tn_mesh_free(made);
            return tni_fail(r->why, TN_ERR_PARSE, "%s, byte %zu: a vertex is not finite",
                            tni_quote(r->name).text, (size_t)(at - r->start));
        }
        made->vertices[i]  = (tn_vec3){x, y, z};
        made->triangles[i] = i;
    }
    *mesh = made;
    return TN_OK;
}

// ---- File formats ------------------------------------------------------------------------------

static bool ends_in_stl(const char* name)
{
    const size_t length = strlen(name);
    if (length < 4) return false;
    const tni_word end = {name + length - 4, 4};
    return tni_word_is(end, ".stl");
}

static tn_result not_stl(const reader* r, size_t length)
{
    const tni_quoted name = tni_quote(r->name);
    if (length < STL_HEAD)
        return tni_fail(r->why, TN_ERR_PARSE, "%s: an STL file has at least %d bytes, not %zu",
                        name.text, STL_HEAD, length);
    const uint32_t count = word_at(r->start + 80);
    if (count == 0) return tni_fail(r->why, TN_ERR_PARSE, "%s has no triangles", name.text);
    return tni_fail(r->why, TN_ERR_PARSE,
                    "%s, byte 80: %lu triangles take %llu bytes, but the file has %zu", name.text,
                    (unsigned long)count, (unsigned long long)STL_FACET * count + STL_HEAD, length);
}

tn_result tn_mesh_parse(const tn_host* host, const char* name, const char* bytes, size_t length,
                        tn_mesh** mesh, tn_why* why)
{
    const tn_host given = tni_host_or_default(host);
    reader        r     = {
                   .name = name, .start = bytes, .at = bytes, .limit = bytes + length, .line = 1, .why = why};
    *mesh = NULL;
    if (why != NULL) *why = (tn_why){0};
    if (length > INT_MAX)
        return tni_fail(why, TN_ERR_PARSE, "%s is larger than 2 GiB", tni_quote(name).text);
    const uint32_t count = length >= STL_HEAD ? word_at(bytes + 80) : 0;
    const uint64_t exact = (uint64_t)STL_FACET * count + STL_HEAD;
    if (count > 0 && exact == length) return read_binary(&given, &r, count, mesh);
    reader ahead = r;
    if (tni_word_is(next_word(&ahead), "solid")) return read_text(&given, &r, read_solids, mesh);
    if (!ends_in_stl(name)) return read_text(&given, &r, read_statements, mesh);
    return count > 0 && exact < length ? read_binary(&given, &r, count, mesh) : not_stl(&r, length);
}

tn_result tn_mesh_read(const tn_host* host, const char* path, tn_mesh** mesh, tn_why* why)
{
    const tn_host given = tni_host_or_default(host);
    tni_file_text text  = {0};
    *mesh               = NULL;
    tn_result result    = tni_read_file(&given, path, &text, why);
    if (result == TN_OK) result = tn_mesh_parse(&given, path, text.bytes, text.count, mesh, why);
    tni_host_give(&given, text.bytes, text.room);
    return result;
}
