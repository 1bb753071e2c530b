#include "support/failing_host.h"
#include "tenon/tenon.h"
#include "test.h"

static tn_mesh* parse(const char* name, const char* text)
{
    tn_mesh* mesh = NULL;
    tn_why   why  = {0};
    CHECK_OK(tn_mesh_parse(NULL, name, text, strlen(text), &mesh, &why));
    if (mesh == NULL) printf("%s\n", why.text);
    return mesh;
}

static void check_vertex(const tn_mesh* m, int i, double x, double y, double z)
{
    CHECK(i < m->vertex_count && m->vertices[i].x == x && m->vertices[i].y == y &&
          m->vertices[i].z == z);
}

static void check_triangle(const tn_mesh* m, int t, int a, int b, int c)
{
    const int* v = m->triangles + 3 * t;
    CHECK(t < m->triangle_count && v[0] == a && v[1] == b && v[2] == c);
}

static void refused(const char* name, const char* text, size_t length, int line, const char* wanted)
{
    tn_mesh* mesh = (tn_mesh*)1;
    tn_why   why  = {0};
    CHECK_INT(tn_mesh_parse(NULL, name, text, length, &mesh, &why), TN_ERR_PARSE);
    CHECK(mesh == NULL);
    CHECK_INT(why.line, line);
    CHECK_TEXT(why.text, wanted);
    CHECK_INT(tn_mesh_parse(NULL, name, text, length, &mesh, NULL), TN_ERR_PARSE);
}

// ---- OBJ ---------------------------------------------------------------------------------------

TEST(all_obj_statements_are_accepted)
{
    tn_mesh* m = parse("part.obj", "# a part\n"
                                   "mtllib part.mtl\n"
                                   "o first\n"
                                   "v 0 0 0\n"
                                   "v +1.5 0. .25 1\n"
                                   "v\t1e0 -2E-1 007 # a comment\r\n"
                                   "\n"
                                   "vt 0 0\nvn 0 0 1\n"
                                   "g bottom\nusemtl steel\ns off\n"
                                   "f 1 2 3\n"
                                   "f -3/1 -1/1/1 \\\n  -2//1\n"
                                   "v 4 5 6\nv 7 8 9\n"
                                   "f 1//1 2//1 3//1 4//1 5//1\n"
                                   "f 6 1 2\n"
                                   "v 1 1 1");
    CHECK_INT(m->vertex_count, 6);
    CHECK_INT(m->triangle_count, 6);
    check_vertex(m, 0, 0, 0, 0);
    check_vertex(m, 1, 1.5, 0, 0.25);
    check_vertex(m, 2, 1, -0.2, 7);
    check_vertex(m, 5, 1, 1, 1);
    check_triangle(m, 0, 0, 1, 2);
    check_triangle(m, 1, 0, 2, 1);
    check_triangle(m, 2, 0, 1, 2);
    check_triangle(m, 3, 0, 2, 3);
    check_triangle(m, 4, 0, 3, 4);
    check_triangle(m, 5, 5, 0, 1); // a vertex that comes later
    tn_mesh_free(m);
    tn_mesh_free(NULL);
}

#define REFUSED(name, text, line, wanted) refused(name, text, strlen(text), line, wanted)

TEST(bad_obj_files_are_refused_with_their_line)
{
    REFUSED("a.obj", "v 0 0 0\nv 1 0\n", 2, "'a.obj', line 2: a vertex needs 3 numbers, has 2");
    REFUSED("a.obj", "v 0 0 x1\n", 1, "'a.obj', line 1: expected a number, found 'x1'");
    REFUSED("a.obj", "v 0 0 1e999\n", 1, "'a.obj', line 1: '1e999' is too large");
    REFUSED("a.obj", "v 0 0 nan\n", 1, "'a.obj', line 1: expected a number, found 'nan'");
    REFUSED("a.obj", "v 0 0 0\n\n\nf 1 1\n", 4,
            "'a.obj', line 4: a face needs 3 or more corners, has 2");
    REFUSED("a.obj", "v 0 0 0\nf 1 1 2\n", 2, "'a.obj', line 2: there is no vertex '2'");
    REFUSED("a.obj", "v 0 0 0\nf 1 1 0\n", 2, "'a.obj', line 2: there is no vertex '0'");
    REFUSED("a.obj", "v 0 0 0\nf 1 1 -2\n", 2, "'a.obj', line 2: there is no vertex '-2'");
    REFUSED("a.obj", "v 0 0 0\nf 1 1 99999999999999999999\n", 2,
            "'a.obj', line 2: there is no vertex '99999999999999999999'");
    REFUSED("a.obj", "v 0 0 0\nf 1 1 1x\n", 2, "'a.obj', line 2: expected a vertex, found '1x'");
    REFUSED("a.obj", "v 0 0 0\nvertex\n", 2,
            "'a.obj', line 2: 'vertex' is not a statement of an OBJ file");
    REFUSED("a.obj", "v 0 0 0\n", 0, "'a.obj' has no triangles");
    REFUSED("a.obj", "", 0, "'a.obj' has no triangles");
}

// ---- STL ---------------------------------------------------------------------------------------

static const char two_facets[] =
    "solid a part\n"
    "  facet normal 0 0 1\n    outer loop\n"
    "      vertex 0 0 0\n      vertex 1.0e+00 0 0\n      vertex 0 1 0\n"
    "    endloop\n  endfacet\n"
    "  FACET NORMAL nan nan nan OUTER LOOP\n"
    "      VERTEX 0 0 0 VERTEX 0 1 0 VERTEX 0 0 -1 ENDLOOP ENDFACET\n"
    "endsolid a part\n";

TEST(stl_text_is_read)
{
    tn_mesh* m = parse("part.stl", two_facets);
    CHECK_INT(m->vertex_count, 6);
    CHECK_INT(m->triangle_count, 2);
    check_vertex(m, 1, 1, 0, 0);
    check_vertex(m, 5, 0, 0, -1);
    check_triangle(m, 1, 3, 4, 5);
    tn_mesh_free(m);
}

TEST(bad_stl_texts_are_refused_with_their_line)
{
    REFUSED("a.stl", "solid\nfacet normal 0 0 1 outer loop vertex 0 0 0 vertex 1 0 0\nendloop", 3,
            "'a.stl', line 3: expected 'vertex', found 'endloop'");
    REFUSED("a.stl", "solid\nfacet normal 0 0 1\nloop", 3,
            "'a.stl', line 3: expected 'outer', found 'loop'");
    REFUSED("a.stl", "solid\n\nfacets", 3,
            "'a.stl', line 3: expected 'facet' or 'endsolid', found 'facets'");
    REFUSED("a.stl", "solid\n", 2,
            "'a.stl', line 2: expected 'facet' or 'endsolid', found nothing");
    REFUSED("a.stl", "solid\nendsolid\n", 0, "'a.stl' has no triangles");
    REFUSED("a.stl", "solid\nendsolid\nv 0 0 0\n", 3,
            "'a.stl', line 3: expected 'solid', found 'v'");
}

enum { BINARY_BYTES = 84 + 2 * 50 };

static void put_float(char* at, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (int k = 0; k < 4; ++k) at[k] = (char)(bits >> 8 * k & 0xff);
}

static void make_binary(char bytes[BINARY_BYTES])
{
    memset(bytes, 0, BINARY_BYTES);
    memcpy(bytes, "solid", 5); // as some writers put it
    bytes[80] = 2;
    for (int t = 0; t < 2; ++t)
        for (int i = 0; i < 9; ++i)
            put_float(bytes + 84 + 50 * t + 12 + 4 * i, (float)(t - 0.5 * i));
}

TEST(stl_binary_is_read_and_its_count_is_checked)
{
    char bytes[BINARY_BYTES + 1];
    make_binary(bytes);
    tn_mesh* m = NULL;
    CHECK_OK(tn_mesh_parse(NULL, "part", bytes, BINARY_BYTES, &m, NULL));
    CHECK_INT(m->triangle_count, 2);
    check_vertex(m, 0, 0, -0.5, -1);
    check_vertex(m, 5, -2, -2.5, -3);
    check_triangle(m, 1, 3, 4, 5);
    tn_mesh_free(m);

    bytes[0] = 'x'; // bytes that follow are passed over, but none may be missing
    CHECK_OK(tn_mesh_parse(NULL, "a.STL", bytes, BINARY_BYTES + 1, &m, NULL));
    CHECK_INT(m->triangle_count, 2);
    tn_mesh_free(m);
    refused("a.stl", bytes, BINARY_BYTES - 1, 0,
            "'a.stl', byte 80: 2 triangles take 184 bytes, but the file has 183");
    refused("a.stl", bytes, 83, 0, "'a.stl': an STL file has at least 84 bytes, not 83");
    put_float(bytes + 84 + 50 + 12 + 16, HUGE_VALF);
    refused("a.stl", bytes, BINARY_BYTES, 0, "'a.stl', byte 158: a vertex is not finite");

    failing_host  f    = failing_host_make();
    const tn_host host = failing_host_of(&f);
    memset(bytes + 80, 0xff, 4);
    CHECK_INT(tn_mesh_parse(&host, "a.stl", bytes, BINARY_BYTES, &m, NULL), TN_ERR_PARSE);
    CHECK_INT(f.count, 0);
    bytes[80] = bytes[81] = bytes[82] = bytes[83] = 0;
    refused("a.stl", bytes, BINARY_BYTES, 0, "'a.stl' has no triangles");
}

// ---- Files and memory --------------------------------------------------------------------------

TEST(files_are_read_and_missing_ones_are_not)
{
    const char* path = "mesh_file_test.stl";
    FILE*       file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(two_facets, 1, strlen(two_facets), file) == strlen(two_facets));
    if (file != NULL) CHECK_INT(fclose(file), 0);
    failing_host  f    = failing_host_make();
    const tn_host host = failing_host_of(&f);
    for (int n = 1;; ++n) {
        tn_mesh* m   = NULL;
        tn_why   why = {0};
        failing_host_rewind(&f, n);
        const tn_result result = tn_mesh_read(&host, path, &m, &why);
        CHECK(result == (f.refused > 0 ? TN_ERR_MEMORY : TN_OK));
        CHECK(result == TN_OK || (m == NULL && why.text[0] != '\0'));
        tn_mesh_free(m);
        CHECK_INT(f.live_blocks, 0);
        CHECK_INT(f.size_errors, 0);
        if (f.refused == 0) break;
    }
    remove(path);
    tn_mesh* m   = NULL;
    tn_why   why = {0};
    CHECK_INT(tn_mesh_read(NULL, path, &m, &why), TN_ERR_FILE);
    CHECK(m == NULL && strstr(why.text, path) != NULL);
}
