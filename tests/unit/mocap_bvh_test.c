// Recorded motions: the reader with hand-written texts, poses against products of matrices, names
// by the conventions of common tools, targets against closed forms.
#include "model/mocap.h"
#include "support/failing_host.h"
#include "support/rig.h"
#include "tenon/mocap.h"

#define DEGREE (3.14159265358979323846 / 180)

static tn_mocap* read_text(const char* text)
{
    tn_mocap* mocap = NULL;
    tn_why    why   = {.text = ""};
    if (tn_mocap_read(NULL, text, strlen(text), &mocap, &why) != TN_OK) {
        fprintf(stderr, "  %d:%d: %s\n", why.line, why.column, why.text);
        abort();
    }
    return mocap;
}

// ---- Reading ------------------------------------------------------------------------------------

static const char small[] =
    "HIERARCHY\n"
    "ROOT Hips\n"
    "{\n"
    "\tOFFSET 1 2 3\n"
    "\tCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n"
    "\tJOINT Chest\n"
    "\t{\n"
    "\t\tOFFSET 0 5 0.5\n"
    "\t\tCHANNELS 3 Zrotation Xrotation Yrotation\n"
    "\t\tEnd Site\n"
    "\t\t{\n"
    "\t\t\tOFFSET 0 -4 0\n"
    "\t\t}\n"
    "\t}\n"
    "}\n"
    "MOTION\n"
    "Frames: 2\n"
    "Frame Time: 0.25\n"
    "1 2 3 4 5 6 7 8 9\n"
    "10 20 30 -40 50 60 0.5 -5 1e-2\n";

static void check_small(const tn_mocap* m)
{
    static const double values[2][9] = {{1, 2, 3, 4, 5, 6, 7, 8, 9},
                                        {10, 20, 30, -40, 50, 60, 0.5, -5, 1e-2}};
    tn_mocap_channel    channels[TN_MOCAP_CHANNELS_MAX];
    CHECK_INT(tn_mocap_joint_count(m), 2);
    CHECK_INT(tn_mocap_frame_count(m), 2);
    CHECK(tn_mocap_frame_time(m) == 0.25 && tn_mocap_duration(m) == 0.25);
    CHECK_INT(tn_mocap_joint_parent(m, 0), -1);
    CHECK_INT(tn_mocap_joint_parent(m, 1), 0);
    CHECK(tn_mocap_joint_offset(m, 1).y == 5 && tn_mocap_joint_offset(m, 1).z == 0.5);
    CHECK_INT(tn_mocap_joint_channels(m, 0, channels), 6);
    CHECK(channels[2] == TN_MOCAP_Z_POSITION && channels[3] == TN_MOCAP_Z_ROTATION);
    CHECK_INT(tn_mocap_joint_channels(m, 1, channels), 3);
    CHECK(channels[1] == TN_MOCAP_X_ROTATION && channels[2] == TN_MOCAP_Y_ROTATION);
    for (int f = 0; f < 2; ++f) {
        for (int i = 0; i < 9; ++i)
            CHECK(tn_mocap_values(m, f, i / 6)[i < 6 ? i : i - 6] == values[f][i]);
    }
    CHECK_INT(tn_mocap_end_count(m), 1);
    CHECK_INT(tn_mocap_end_joint(m, 0), 1);
    CHECK(tn_mocap_end_offset(m, 0).y == -4);
    CHECK(tn_mocap_rest_pose(m, 1).position.y == 7 && tn_mocap_rest_pose(m, 1).position.x == 1);
}

TEST(a_small_file_is_read)
{
    tn_mocap* m = read_text(small);
    check_small(m);
    CHECK_TEXT(tn_mocap_joint_name(m, 0), "Hips");
    CHECK_TEXT(tn_mocap_joint_name(m, 1), "Chest");
    tn_mocap_free(m);
}

TEST(white_space_case_and_number_formats_do_not_matter)
{
    static const char* const texts[] = {
        "\xef\xbb\xbfhierarchy root Hips{offset 1 2 3 channels 6 xposition yposition zposition "
        "zrotation xrotation yrotation joint Chest {offset 0 5 .5 channels 3 zrotation xrotation "
        "yrotation end site{offset 0 -4 0}}}motion frames:2 frame time:.25 1 2 3 4 5 6 7 8 9 10 20 30 "
        "-40 50 60 .5 -5 1e-2",
        "\r\n HIERARCHY\r\nROOT  Hips \t\r\n{\r\nCHANNELS 6 Xposition Yposition Zposition Zrotation "
        "Xrotation Yrotation\r\nOFFSET +1. 02 3.0e0\r\nJOINT Chest\r\n{\r\nEnd Site tip of it\r\n{\r\n"
        "OFFSET -0.0 -4.e0 0}\r\nOFFSET 0 +5 000.5\r\n\r\nCHANNELS 3\tZrotation\tXrotation\tYrotation\r\n"
        "}\r\n}\r\nMOTION\r\nFrames : 2\r\nFrame Time : 25e-2\r\n1 2 3 4\r\n5 6 7 8 9 10\r\n20 30 "
        "-40. 5E+1 60 +.5 -5.000 .01\r\n\r\n \f\v",
    };
    for (int i = 0; i < 2; ++i) {
        tn_mocap* m = read_text(texts[i]);
        check_small(m);
        CHECK_TEXT(tn_mocap_joint_name(m, 0), "Hips");
        CHECK_TEXT(tn_mocap_joint_name(m, 1), "Chest");
        tn_mocap_free(m);
    }
}

TEST(several_roots_names_with_blanks_and_joints_without_channels)
{
    tn_mocap* m =
        read_text("HIERARCHY ROOT Bip01 L Thigh\n{ OFFSET 0 0 0 JOINT \xc3\xa4rm:2 {\n"
                  "OFFSET 0 1 0\nCHANNELS 0\n End Site\n{\nOFFSET 1 0 0 }\n"
                  "End Site { OFFSET 2 0 0 } } }\nROOT b\n{\nOFFSET 0 0 0\n"
                  "CHANNELS 2 Yrotation Xposition }\nMOTION Frames: 1 Frame Time: 1\n30 7");
    CHECK_INT(tn_mocap_joint_count(m), 3);
    CHECK_TEXT(tn_mocap_joint_name(m, 0), "Bip01 L Thigh");
    CHECK_TEXT(tn_mocap_joint_name(m, 1), "\xc3\xa4rm:2");
    CHECK_INT(tn_mocap_end_count(m), 2);
    CHECK_INT(tn_mocap_joint_parent(m, 2), -1);
    CHECK(tn_mocap_values(m, 0, 2)[1] == 7 && tn_mocap_pose(m, 0, 2).position.x == 7);
    CHECK(tn_mocap_duration(m) == 0);
    tn_mocap_free(m);
}

#define HEAD(channels) "HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nCHANNELS " channels "\n}\n"
#define ONE            HEAD("1 Xrotation")
#define TWO            HEAD("2 Xrotation Yrotation")

static const struct {
    const char* text;
    int         line, column;
    const char* said;
} malformed[] = {
    {"", 1, 1, "expected 'HIERARCHY' at the start, found the end of the text"},
    {"\n\n {", 3, 2, "expected 'HIERARCHY' at the start, found '{'"},
    {"HIERARCHY", 1, 10, "expected ROOT, found the end"},
    {"HIERARCHY\nMOTION", 2, 1, "expected ROOT, found 'MOTION'"},
    {"HIERARCHY\nJOINT a", 2, 1, "expected ROOT, found 'JOINT'"},
    {"HIERARCHY\nROOT\n{", 2, 5, "a joint has no name"},
    {"HIERARCHY\nROOT {", 2, 6, "a joint has no name"},
    {"HIERARCHY\nROOT a\nOFFSET", 3, 1, "expected '{' after the name of a joint"},
    {"HIERARCHY\nROOT a\x01 b\n{", 2, 7, "a control character in a joint's name"},
    {"HIERARCHY\nROOT \xff\n{", 2, 6, "not UTF-8"},
    {"HIERARCHY\nROOT a\n{\n}", 4, 1, "joint 'a' has no OFFSET"},
    {"HIERARCHY\nROOT a\n{\nOFFSET 0 0\n}", 5, 1, "OFFSET: '}' is not a number"},
    {"HIERARCHY\nROOT a\n{\nOFFSET 0 0 0 0\n}", 4, 14,
     "expected OFFSET, CHANNELS, JOINT, End Site"},
    {"HIERARCHY\nROOT a\n{\nOFFSET 0 x 0\n}", 4, 10, "OFFSET: 'x' is not a number"},
    {"HIERARCHY\nROOT a\n{\nOFFSET 0 nan 0\n}", 4, 10, "OFFSET: 'nan' is not a number"},
    {"HIERARCHY\nROOT a\n{\nOFFSET 0 1,5 0\n}", 4, 10, "OFFSET: '1,5' is not a number"},
    {"HIERARCHY\nROOT a\n{\nOFFSET 0 . 0\n}", 4, 10, "OFFSET: '.' is not a number"},
    {"HIERARCHY\nROOT a\n{\nOFFSET 0 1e999 0\n}", 4, 10, "OFFSET: '1e999' is too large"},
    {"HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nOFFSET 0 0 0\n}", 5, 1, "a second OFFSET of joint 'a'"},
    {"HIERARCHY\nROOT a\n{\nCHANNELS 0 CHANNELS 0\n}", 4, 12, "a second CHANNELS of joint 'a'"},
    {"HIERARCHY\nROOT a\n{\nCHANNELS 7\n}", 4, 10, "CHANNELS must be a whole number from 0 to 6"},
    {"HIERARCHY\nROOT a\n{\nCHANNELS 1.5\n}", 4, 10, "whole number from 0 to 6, not '1.5'"},
    {"HIERARCHY\nROOT a\n{\nCHANNELS -1\n}", 4, 10, "whole number from 0 to 6, not '-1'"},
    {"HIERARCHY\nROOT a\n{\nCHANNELS 1 Xrotatoin\n}", 4, 12, "did you mean 'Xrotation'?"},
    {"HIERARCHY\nROOT a\n{\nCHANNELS 1 scale\n}", 4, 12, "'scale' of joint 'a' is not a channel"},
    {"HIERARCHY\nROOT a\n{\nCHANNELS 2 Xposition\n}", 5, 1, "'}' of joint 'a' is not a channel"},
    {"HIERARCHY\nROOT a\n{\nCHANNELS 2 Xposition Xposition\n}", 4, 22, "'Xposition' twice"},
    {"HIERARCHY\nROOT a\n{\nCHANNELS 1 Xposition Yposition", 4, 22, "in joint 'a', found 'Ypos"},
    {"HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nEnd\n{", 6, 1, "expected 'Site' after 'End', found '{'"},
    {"HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nEnd Site {\n}", 6, 1,
     "expected 'OFFSET' in an 'End Site'"},
    {"HIERARCHY\nROOT a\n{\nEnd Site { OFFSET 0 0 0 JOINT b", 4, 25,
     "expected '}' after the OFFSET"},
    {"HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\nJOINT b {\nOFFSET 0 0 0\n}\nJOINT a", 8, 7,
     "a second joint named 'a'; the first is in line 2"},
    {"HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\n", 5, 1, "in joint 'a', found the end of the text"},
    {"HIERARCHY\nROOT a\n{\nOFFSET 0 0 0\n}\nMOTIN", 6, 1,
     "expected ROOT or MOTION, found 'MOTIN'"},
    {ONE "MOTION\nFrame: 1", 8, 1, "expected 'Frames' after MOTION, found 'Frame'"},
    {ONE "MOTION\nFrames 1", 8, 8, "expected ':' after 'Frames', found '1'"},
    {ONE "MOTION\nFrames: 0", 8, 9, "Frames must be a whole number from 1"},
    {ONE "MOTION\nFrames: 1.5", 8, 9, "Frames must be a whole number from 1"},
    {ONE "MOTION\nFrames: 1e300", 8, 9, "Frames must be a whole number from 1"},
    {ONE "MOTION\nFrames: 1\nTime: 1", 9, 1, "expected 'Frame' after the number of frames"},
    {ONE "MOTION\nFrames: 1\nFrame Time: 0\n1", 9, 13, "Frame Time must be > 0"},
    {ONE "MOTION\nFrames: 1\nFrame Time: -1\n1", 9, 13, "Frame Time must be > 0"},
    {ONE "MOTION\nFrames: 1\nFrame Time: 1e300\n1", 9, 13, "Frame Time is too long"},
    {ONE "MOTION\nFrames: 1\nFrame Time:", 9, 12, "the text ends before Frame Time"},
    {HEAD("0") "MOTION\nFrames: 1\nFrame Time: 1\n", 9, 13,
     "no joint of the skeleton has a channel"},
    {TWO "MOTION\nFrames: 2\nFrame Time: 1\n1 2\n3", 11, 2,
     "ends in frame 2 of 2, after 1 of its 2 numbers"},
    {TWO "MOTION\nFrames: 3\nFrame Time: 1\n1 2\n3\n4 5\n", 11, 2, "1 numbers in this line"},
    {TWO "MOTION\nFrames: 3\nFrame Time: 1\n1 2\n3 4\n", 12, 1,
     "ends in frame 3 of 3, after 0 of its 2"},
    {TWO "MOTION\nFrames: 2000000000\nFrame Time: 1e-9\n1 2\n", 11, 1,
     "ends in frame 2 of 2000000000"},
    {TWO "MOTION\nFrames: 2\nFrame Time: 1\n1 2 3\n4 5\n", 10, 6, "3 numbers in this line"},
    {TWO "MOTION\nFrames: 1\nFrame Time: 1\n1 2 3\n", 10, 5,
     "more numbers in this line than the 2"},
    {TWO "MOTION\nFrames: 1\nFrame Time: 1\n1 2\n3 4\n", 11, 1, "'3' after the last of 1 frames"},
    {TWO "MOTION\nFrames: 1\nFrame Time: 1\n1 inf\n", 10, 3, "frame 1: 'inf' is not a number"},
    {TWO "MOTION\nFrames: 1\nFrame Time: 1\n1 1.#IND\n", 10, 3,
     "frame 1: '1.#IND' is not a number"},
    {TWO "MOTION\nFrames: 1\nFrame Time: 1\n1 2}\n", 10, 4, "'}' after the last of 1 frames"},
};

TEST(malformed_files_are_refused_with_line_column_and_reason)
{
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; ++i) {
        tn_mocap*       mocap  = (tn_mocap*)&malformed;
        tn_why          why    = {.text = ""};
        const char*     text   = malformed[i].text;
        const tn_result result = tn_mocap_read(NULL, text, strlen(text), &mocap, &why);
        CHECK_INT(result, TN_ERR_PARSE);
        CHECK(mocap == NULL && why.result == TN_ERR_PARSE);
        test_check(why.line == malformed[i].line && why.column == malformed[i].column &&
                       strstr(why.text, malformed[i].said) != NULL,
                   __FILE__, __LINE__, "case %d: said %d:%d: %s; wanted %d:%d: %s", (int)i,
                   why.line, why.column, why.text, malformed[i].line, malformed[i].column,
                   malformed[i].said);
        CHECK_INT(tn_mocap_read(NULL, text, strlen(text), &mocap, NULL), TN_ERR_PARSE);
    }
}

TEST(every_truncated_file_is_refused)
{
    // A copy of exactly that length: the address sanitizer sees every byte read past it.
    for (size_t length = 0; length + 6 < sizeof small;
         ++length) { // later cuts leave a whole number
        char*     text  = malloc(length + 1);
        tn_mocap* mocap = NULL;
        tn_why    why   = {.text = ""};
        memcpy(text, small, length);
        text = realloc(text, length > 0 ? length : 1);
        CHECK_INT(tn_mocap_read(NULL, text, length, &mocap, &why), TN_ERR_PARSE);
        CHECK(mocap == NULL && why.line > 0 && why.column > 0 && why.text[0] != 0);
        free(text);
    }
}

TEST(too_many_joints_and_too_long_names_are_refused)
{
    const size_t room = 5000 * 32;
    char*        text = malloc(room);
    size_t       used = (size_t)snprintf(text, room, "HIERARCHY\nROOT r { OFFSET 0 0 0\n");
    tn_mocap*    m;
    tn_why       why = {.text = ""};
    for (int i = 0; i < 4097; ++i)
        used += (size_t)snprintf(text + used, room - used, "JOINT j%d { OFFSET 0 0 0 }\n", i);
    CHECK_INT(tn_mocap_read(NULL, text, used, &m, &why), TN_ERR_PARSE);
    CHECK_TEXT(why.text, "more than 4096 joints");
    CHECK_INT(why.line, 4098);
    memset(text + 10 + 5, 'x', 200);
    CHECK_INT(tn_mocap_read(NULL, text, used, &m, &why), TN_ERR_PARSE);
    CHECK_TEXT(why.text, "a joint's name of more than 127 bytes");
    free(text);
    CHECK_INT(tn_mocap_read_file(NULL, "no/such.bvh", &m, &why), TN_ERR_FILE);
    CHECK(strstr(why.text, "no/such.bvh") != NULL);
}

// ---- Poses --------------------------------------------------------------------------------------

typedef struct matrix {
    double m[3][3];
} matrix;

static matrix product(matrix a, matrix b)
{
    matrix c = {0};
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            for (int k = 0; k < 3; ++k) c.m[i][j] += a.m[i][k] * b.m[k][j];
    return c;
}

static matrix about(int axis, double degrees)
{
    const double c = cos(degrees * DEGREE), s = sin(degrees * DEGREE);
    const int    i = (axis + 1) % 3, j = (axis + 2) % 3;
    matrix       R  = {0};
    R.m[axis][axis] = 1;
    R.m[i][i] = R.m[j][j] = c;
    R.m[i][j]             = -s;
    R.m[j][i]             = s;
    return R;
}

static matrix of_quat(tn_quat q)
{
    return (matrix){{{1 - 2 * (q.y * q.y + q.z * q.z), 2 * (q.x * q.y - q.w * q.z),
                      2 * (q.x * q.z + q.w * q.y)},
                     {2 * (q.x * q.y + q.w * q.z), 1 - 2 * (q.x * q.x + q.z * q.z),
                      2 * (q.y * q.z - q.w * q.x)},
                     {2 * (q.x * q.z - q.w * q.y), 2 * (q.y * q.z + q.w * q.x),
                      1 - 2 * (q.x * q.x + q.y * q.y)}}};
}

static tn_vec3 apply(matrix a, tn_vec3 v)
{
    return (tn_vec3){a.m[0][0] * v.x + a.m[0][1] * v.y + a.m[0][2] * v.z,
                     a.m[1][0] * v.x + a.m[1][1] * v.y + a.m[1][2] * v.z,
                     a.m[2][0] * v.x + a.m[2][1] * v.y + a.m[2][2] * v.z};
}

static void check_matrix(matrix a, matrix b, double tolerance)
{
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) CHECK_NEAR(a.m[i][j], b.m[i][j], tolerance);
}

static void check_vec(tn_vec3 a, tn_vec3 b, double tolerance)
{
    CHECK_NEAR(a.x, b.x, tolerance);
    CHECK_NEAR(a.y, b.y, tolerance);
    CHECK_NEAR(a.z, b.z, tolerance);
}

TEST(every_rotation_order_is_the_product_of_its_matrices_from_left_to_right)
{
    // Six orders of three axes, and two Euler orders that return to their first axis.
    static const char* const orders[] = {"XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "ZXZ", "YXY"};
    const double             root[3] = {25, -140, 77}, child[3] = {-61, 12, 200};
    for (int n = 0; n < 8; ++n) {
        const char* o = orders[n];
        char        text[600];
        snprintf(text, sizeof text,
                 "HIERARCHY ROOT a\n{ OFFSET 9 9 9 CHANNELS 6 Zposition %crotation Xposition "
                 "%crotation %crotation Yposition\nJOINT b\n{ OFFSET 1 2 -3 CHANNELS 3 %crotation "
                 "%crotation %crotation } }\nMOTION Frames: 1 Frame Time: 1\n7 25 5 -140 77 6 "
                 "-61 12 200",
                 o[0], o[1], o[2], o[0], o[1], o[2]);
        tn_mocap* m = read_text(text);
        matrix    A = about(o[0] - 'X', root[0]), B = about(o[0] - 'X', child[0]);
        for (int k = 1; k < 3; ++k) {
            A = product(A, about(o[k] - 'X', root[k]));
            B = product(B, about(o[k] - 'X', child[k]));
        }
        // Six products of unit quaternions: a few roundings each.
        check_matrix(of_quat(tn_mocap_pose(m, 0, 0).orientation), A, 2e-15);
        check_matrix(of_quat(tn_mocap_pose(m, 0, 1).orientation), product(A, B), 4e-15);
        const tn_vec3 d = apply(A, (tn_vec3){1, 2, -3});
        check_vec(tn_mocap_pose(m, 0, 0).position, (tn_vec3){5, 6, 7}, 0);
        check_vec(tn_mocap_pose(m, 0, 1).position, (tn_vec3){5 + d.x, 6 + d.y, 7 + d.z}, 1e-14);
        tn_mocap_free(m);
    }
}

TEST(two_joints_at_known_angles)
{
    // A planar arm of lengths 2 and 1, bent by 30 and 60 degrees about z: the second bone's
    // direction is rotated by 90 degrees.
    tn_mocap* m =
        read_text("HIERARCHY ROOT a\n{ OFFSET 0 0 0 CHANNELS 1 Zrotation JOINT b\n{ OFFSET 2 "
                  "0 0 CHANNELS 1 Zrotation JOINT c\n{ OFFSET 1 0 0 } } }\nMOTION Frames: 1 "
                  "Frame Time: 1\n30 60");
    check_vec(tn_mocap_pose(m, 0, 1).position, (tn_vec3){sqrt(3), 1, 0}, 1e-15);
    check_vec(tn_mocap_pose(m, 0, 2).position, (tn_vec3){sqrt(3), 2, 0}, 1e-15);
    check_vec(tn_mocap_rest_pose(m, 2).position, (tn_vec3){3, 0, 0}, 0);
    tn_mocap_free(m);
}

// ---- Names --------------------------------------------------------------------------------------

TEST(names_are_split_into_side_and_stem)
{
    static const struct {
        const char* name;
        char        side;
        const char* stem;
    } cases[] = {
        {"Hips", 0, "hips"},
        {"LeftUpLeg", 'l', "upleg"},
        {"left_up_leg", 'l', "upleg"},
        {"leftupleg", 'l', "upleg"},
        {"mixamorig:RightForeArm", 'r', "forearm"},
        {"mixamorigRightForeArm", 'r', "forearm"},
        {"ns1:ns2:LHand", 'l', "hand"},
        {"thigh_l", 'l', "thigh"},
        {"thigh.R", 'r', "thigh"},
        {"upper_arm.L.001", 'l', "upperarm1"},
        {"Bip01 L Thigh", 'l', "thigh"},
        {"Bip001-R-UpperArm", 'r', "upperarm"},
        {"lThigh", 'l', "thigh"},
        {"rShldr", 'r', "shldr"},
        {"larm", 'l', "arm"},
        {"rleg", 'r', "leg"},
        {"armright", 'r', "arm"},
        {"leg", 0, "leg"},
        {"root", 0, "root"},
        {"lowerback", 0, "lowerback"},
        {"LowerBack", 0, "lowerback"},
        {"radius", 0, "radius"},
        {"L", 0, "l"},
        {"L3", 0, "l3"},
        {"spine_01", 0, "spine1"},
        {"Spine10", 0, "spine10"},
        {"Spine0", 0, "spine0"},
        {"HEAD", 0, "head"},
        {"left", 0, "left"},
        {"__", 0, ""},
        {"", 0, ""},
        {":", 0, ""},
        {"\xc3\x84rm", 0, "\xc3\x84rm"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const tni_label label = tni_label_of(cases[i].name);
        test_check(label.side == cases[i].side && strcmp(label.stem, cases[i].stem) == 0, __FILE__,
                   __LINE__, "'%s': side %d, stem '%s'", cases[i].name, label.side, label.stem);
    }
    char long_name[2000];
    memset(long_name, 'a', sizeof long_name);
    for (int i = 0; i < 1000; ++i) long_name[2 * i] = 'B';
    long_name[1999] = 0;
    CHECK(strlen(tni_label_of(long_name).stem) <= TNI_STEM_MAX);
}

// A skeleton of the named joints, each the child of the first one, 1 m further along x.
static tn_mocap* skeleton_of(const char* names)
{
    char   text[4096], copy[2048];
    size_t used = 0;
    int    i    = 0;
    snprintf(copy, sizeof copy, "%s", names);
    used += (size_t)snprintf(text, sizeof text, "HIERARCHY\n");
    for (char* name = strtok(copy, " "); name != NULL; name = strtok(NULL, " "), ++i)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s %s\n{ OFFSET %d 0 0 %s",
                                 i == 0   ? "ROOT"
                                 : i == 1 ? "JOINT"
                                          : "}\nJOINT",
                                 name, i, i == 0 ? "CHANNELS 1 Xrotation\n" : "");
    snprintf(text + used, sizeof text - used, "}\n}\nMOTION\nFrames: 1\nFrame Time: 1\n0\n");
    return read_text(text);
}

// "joint>body joint>body ...", in the order of the joints; those without a body are left out.
static void check_mapping(const char* spec, const char* names, const char* wanted)
{
    rig             r         = {0};
    tn_why          why       = {.text = ""};
    char            got[2048] = "";
    tn_mocap*       m         = skeleton_of(names);
    tn_body_id      bodies[64];
    tn_mocap_report report = {.bodies = bodies};
    rig_must(tns_build(NULL, spec, &r.scene, &why), spec, &why);
    const tn_mocap_options options = tn_default_mocap_options();
    CHECK_OK(tn_mocap_drive(r.scene, m, &options, &report, &why));
    size_t used  = 0;
    int    count = 0;
    for (int j = 0; j < tn_mocap_joint_count(m); ++j) {
        if (bodies[j].bits == 0) continue;
        ++count;
        used += (size_t)snprintf(got + used, sizeof got - used, "%s%s>%s", used > 0 ? " " : "",
                                 tn_mocap_joint_name(m, j),
                                 tn_scene_body(r.scene, (int)bodies[j].bits - 1)->name);
    }
    CHECK_TEXT(got, wanted);
    CHECK_INT(report.driven_count, count);
    CHECK_INT(report.still_count, tn_scene_body_count(r.scene) - count);
    tn_mocap_free(m);
    tn_scene_free(r.scene);
}

TEST(joints_of_common_tools_match_the_bodies_of_a_person)
{
    // Mixamo, MotionBuilder
    check_mapping(
        "humanoid",
        "Hips Spine Spine1 Spine2 Neck Head LeftShoulder LeftArm LeftForeArm LeftHand "
        "RightUpLeg RightLeg RightFoot RightToeBase",
        "Hips>pelvis Spine>abdomen Spine2>chest Neck>neck Head>head LeftArm>left_upper_arm "
        "LeftForeArm>left_forearm LeftHand>left_hand RightUpLeg>right_thigh "
        "RightLeg>right_shank RightFoot>right_foot");
    // Biovision
    check_mapping(
        "humanoid",
        "Hips Chest Neck Head LeftCollar LeftShoulder LeftElbow LeftWrist LeftHip LeftKnee "
        "LeftAnkle",
        "Hips>pelvis Chest>chest Neck>neck Head>head LeftShoulder>left_upper_arm "
        "LeftElbow>left_forearm LeftWrist>left_hand LeftHip>left_thigh LeftKnee>left_shank "
        "LeftAnkle>left_foot");
    // Unreal
    check_mapping("humanoid",
                  "root pelvis spine_01 spine_02 spine_03 clavicle_l upperarm_l lowerarm_l hand_l "
                  "neck_01 head thigh_r calf_r foot_r ball_r",
                  "pelvis>pelvis spine_01>abdomen spine_03>chest upperarm_l>left_upper_arm "
                  "lowerarm_l>left_forearm hand_l>left_hand neck_01>neck head>head "
                  "thigh_r>right_thigh calf_r>right_shank foot_r>right_foot");
    // CMU: a joint of zero length before each thigh; Xsens: four joints of the chest
    check_mapping(
        "humanoid", "Hips LHipJoint LeftUpLeg LeftLeg LowerBack Spine Spine1 Neck Neck1",
        "Hips>pelvis LeftUpLeg>left_thigh LeftLeg>left_shank LowerBack>abdomen Spine1>chest "
        "Neck>neck");
    check_mapping("humanoid", "Hips Chest Chest2 Chest3 Chest4 Neck RightCollar RightShoulder",
                  "Hips>pelvis Chest>abdomen Chest4>chest Neck>neck RightShoulder>right_upper_arm");
    // If there is a collar, the shoulder is it.
    check_mapping("humanoid:detail=1", "Hips LeftShoulder LeftArm LeftForeArm LeftHand",
                  "Hips>pelvis LeftShoulder>left_collar LeftArm>left_upper_arm "
                  "LeftForeArm>left_ulna LeftHand>left_palm");
    // An equal name takes precedence over the table, which prefers "chest4".
    check_mapping("humanoid", "hips chest chest4 spine", "hips>pelvis chest>chest spine>abdomen");
    // Other than people: equal names are enough, and numbers count.
    check_mapping("chain:n=3", "other Link_1 link3 link33", "Link_1>link1 link3>link3");
}

// ---- Driving ------------------------------------------------------------------------------------

static tn_body_id rod(tn_scene* scene, const char* name, tn_vec3 a, tn_vec3 b)
{
    return tns_rod(scene, name, a, b, 0.05, 1);
}

// A person of few bones, floating: a pelvis, and on each side an arm of two rods.
static void build_bars(tn_scene* scene, tn_vec3 along, double length)
{
    const tn_body_id pelvis =
        tns_box(scene, "pelvis", tns_frame((tn_vec3){0, 0, 1}), (tn_vec3){0.1, 0.2, 0.1}, 10);
    for (int i = 0; i < 2; ++i) {
        const char *const upper[] = {"left_upper_arm", "right_upper_arm"}, *const lower[] = {
                                                                               "left_forearm",
                                                                               "right_forearm"};
        const double  y = i == 0 ? 1 : -1;
        const tn_vec3 d = {along.x, y * along.y, along.z};
        const tn_vec3 a = {0, 0.2 * y, 1}, b = tns_add(a, tns_scale(length, d)),
                      end      = tns_add(b, tns_scale(length, d));
        const tn_body_id first = rod(scene, upper[i], a, b), second = rod(scene, lower[i], b, end);
        tns_joint_at(scene, NULL, TN_JOINT_BALL, pelvis, first, a, TNS_Z);
        tns_joint_at(scene, NULL, TN_JOINT_BALL, first, second, b, TNS_Z);
    }
}

// The same in centimetres, y up, arms held out; facing along z, or along x if turned.
static void write_bars(char* text, size_t size, bool turned, const char* frames)
{
    const char *left = turned ? "0 0 -20" : "20 0 0", *right = turned ? "0 0 20" : "-20 0 0";
    const char *l = turned ? "0 0 -30" : "30 0 0", *r = turned ? "0 0 30" : "-30 0 0";
    snprintf(
        text, size,
        "HIERARCHY\nROOT Hips\n{\nOFFSET 0 100 0\nCHANNELS 6 Xposition Yposition Zposition "
        "Zrotation Xrotation Yrotation\n"
        "JOINT LeftArm\n{\nOFFSET %s\nCHANNELS 3 Zrotation Xrotation Yrotation\n"
        "JOINT LeftForeArm\n{\nOFFSET %s\nCHANNELS 1 Yrotation\nEnd Site\n{\nOFFSET %s\n}\n}\n}\n"
        "JOINT RightArm\n{\nOFFSET %s\nCHANNELS 3 Zrotation Xrotation Yrotation\n"
        "JOINT RightForeArm\n{\nOFFSET %s\nCHANNELS 1 Yrotation\nEnd Site\n{\nOFFSET "
        "%s\n}\n}\n}\n}\nMOTION\n%s",
        left, l, l, right, r, r, frames);
}

typedef struct driven {
    rig             r;
    tn_mocap*       m;
    tn_mocap_report report;
} driven;

static driven drive_bars(tn_vec3 along, double length, bool turned, const char* frames,
                         const tn_mocap_options* options)
{
    char   text[2048];
    driven d   = {.r = rig_make((tn_vec3){0, 0, 0})};
    tn_why why = {.text = ""};
    build_bars(d.r.scene, along, length);
    write_bars(text, sizeof text, turned, frames);
    d.m = read_text(text);
    rig_must(tn_mocap_drive(d.r.scene, d.m, options, &d.report, &why), "drive", &why);
    return d;
}

static void driven_free(driven* d)
{
    tn_mocap_free(d->m);
    if (d->r.model != NULL) rig_free(&d->r);
    else tn_scene_free(d->r.scene);
}

static const tn_target_def* target_of(const tn_scene* scene, const char* name)
{
    bool           found;
    const uint32_t bits = tn_scene_find_body(scene, name, &found).bits;
    for (int i = 0; i < tn_scene_target_count(scene); ++i) {
        if (tn_scene_target(scene, i)->body.bits == bits) return tn_scene_target(scene, i);
    }
    test_check(false, __FILE__, __LINE__, "no target for '%s'", name);
    abort();
}

// Direction of the body's own z axis, along the bone, in a key.
static tn_vec3 bone_at(const tn_scene* scene, const char* name, int frame)
{
    return apply(of_quat(target_of(scene, name)->keys[frame].pose.orientation), (tn_vec3){0, 0, 1});
}

static tn_mocap_options at_once(void) // no blending: keys are the motion itself
{
    tn_mocap_options options = tn_default_mocap_options();
    options.blend            = 0;
    return options;
}

#define STILL_FRAME "Frames: 1\nFrame Time: 1\n0 100 0 0 0 0 0 0 0 0 0 0 0 0\n"

TEST(a_recording_at_rest_aligns_bones_for_any_start_pose)
{
    const tn_vec3 starts[] = {{0, 1, 0}, {0, 0, -1}, {0, 0.6, -0.8}, {0.6, 0, 0.8}, {0, -1, 0}};
    for (int i = 0; i < 5; ++i) {
        for (int turned = 0; turned < 2; ++turned) {
            const tn_mocap_options options = at_once();
            driven d = drive_bars(starts[i], 0.3, turned == 1, STILL_FRAME, &options);
            check_vec(bone_at(d.r.scene, "left_upper_arm", 0), (tn_vec3){0, 1, 0}, 1e-15);
            check_vec(bone_at(d.r.scene, "left_forearm", 0), (tn_vec3){0, 1, 0}, 1e-15);
            check_vec(bone_at(d.r.scene, "right_upper_arm", 0), (tn_vec3){0, -1, 0}, 1e-15);
            check_vec(bone_at(d.r.scene, "right_forearm", 0), (tn_vec3){0, -1, 0}, 1e-15);
            check_vec(bone_at(d.r.scene, "pelvis", 0), (tn_vec3){0, 0, 1}, 1e-15);
            check_vec(target_of(d.r.scene, "pelvis")->keys[0].pose.position, (tn_vec3){0, 0, 1},
                      1e-15);
            CHECK_NEAR(d.report.scale, 0.01, 1e-17);
            driven_free(&d);
        }
    }
}

TEST(rotations_are_those_of_the_recording_in_scene_axes)
{
    // The scene's arms hang down, the recording's are held out. R_target = W R W^T D R_0, where W
    // maps (x, y, z) to (z, x, y), and D rotates down to the left.
    const double           a[6]    = {33, -20, 71, 15, 40, -25};
    const tn_mocap_options options = at_once();
    char                   frames[200];
    snprintf(frames, sizeof frames,
             "Frames: 1\nFrame Time: 1\n0 100 0 %g %g %g %g %g %g 50 0 0 0 0\n", a[0], a[1], a[2],
             a[3], a[4], a[5]);
    driven       d = drive_bars((tn_vec3){0, 0, -1}, 0.3, false, frames, &options);
    const matrix W = {{{0, 0, 1}, {1, 0, 0}, {0, 1, 0}}}, Wt = {{{0, 1, 0}, {0, 0, 1}, {1, 0, 0}}};
    const matrix hips = product(product(about(2, a[0]), about(0, a[1])), about(1, a[2]));
    const matrix arm =
        product(hips, product(product(about(2, a[3]), about(0, a[4])), about(1, a[5])));
    const matrix fore = product(arm, about(1, 50));
    const matrix D = about(0, 90), R0 = of_quat(tn_scene_body(d.r.scene, 1)->pose.orientation);
    check_vec(apply(R0, (tn_vec3){0, 0, 1}), (tn_vec3){0, 0, -1}, 1e-15);
    const matrix wanted[] = {product(product(W, hips), Wt),
                             product(product(product(W, arm), Wt), product(D, R0)),
                             product(product(product(W, fore), Wt), product(D, R0))};
    const char*  names[]  = {"pelvis", "left_upper_arm", "left_forearm"};
    for (int i = 0; i < 3; ++i)
        check_matrix(of_quat(target_of(d.r.scene, names[i])->keys[0].pose.orientation), wanted[i],
                     1e-14);
    driven_free(&d);
}

TEST(the_root_follows_its_path_in_the_scale_of_the_bones)
{
    // Bones of 0.6 m for 30 units: 0.02 m a unit. The lowest point at rest is at the height of the
    // hips; in the motion it is the left hand in the second frame, 60 units below the shoulder.
    const tn_mocap_options options = at_once();
    driven                 d       = drive_bars((tn_vec3){0, 1, 0}, 0.6, false,
                                                "Frames: 3\nFrame Time: 0.5\n5 200 7 0 0 0 0 0 0 0 0 0 0 0\n"
                                                                      "15 210 9 0 0 0 -90 0 0 0 0 0 0 0\n5 180 -3 0 0 0 0 0 0 0 0 0 0 0\n",
                                                &options);
    const tn_target_def*   t       = target_of(d.r.scene, "pelvis");
    CHECK_NEAR(d.report.scale, 0.02, 1e-17);
    CHECK_INT(t->key_count, 3);
    // Horizontally from the start: x of the scene is z of the file, y is x. Lowest: 210 - 60 = 150.
    check_vec(t->keys[0].pose.position, (tn_vec3){0, 0, 1 + 0.02 * 50}, 1e-14);
    check_vec(t->keys[1].pose.position, (tn_vec3){0.04, 0.2, 1 + 0.02 * 60}, 1e-14);
    check_vec(t->keys[2].pose.position, (tn_vec3){-0.2, 0, 1 + 0.02 * 30}, 1e-14);
    CHECK(t->keys[0].time == 0 && t->keys[1].time == 0.5 && t->keys[2].time == 1);
    CHECK(t->stiffness > 0 && target_of(d.r.scene, "left_forearm")->stiffness == 0);
    driven_free(&d);
}

TEST(the_motion_is_blended_in)
{
    // A rotation by 90 degrees about the vertical, 100 units to the left, within 1 s: half way at
    // half time, since 3 s^2 - 2 s^3 = 1/2 there; at a quarter 5/32.
    tn_mocap_options options = at_once();
    options.blend            = 1;
    driven       d           = drive_bars((tn_vec3){0, 1, 0}, 0.3, false,
                                          "Frames: 5\nFrame Time: 0.25\n0 100 0 0 0 0 0 0 0 0 0 0 0 0\n"
                                                          "100 100 0 0 0 90 0 0 0 0 0 0 0 0\n100 100 0 0 0 90 0 0 0 0 0 0 0 0\n"
                                                          "100 100 0 0 0 90 0 0 0 0 0 0 0 0\n100 100 0 0 0 90 0 0 0 0 0 0 0 0\n",
                                          &options);
    const double share[]     = {0, 5.0 / 32, 0.5, 27.0 / 32, 1};
    for (int i = 0; i < 5; ++i) {
        const tn_frame pose = target_of(d.r.scene, "pelvis")->keys[i].pose;
        check_matrix(of_quat(pose.orientation), about(2, 90 * share[i]), 1e-15);
        check_vec(pose.position, (tn_vec3){0, share[i], 1}, 1e-15);
    }
    driven_free(&d);
}

TEST(options_choose_axes_scale_positions_start_and_springs)
{
    tn_mocap_options options  = at_once();
    options.up                = TN_MOCAP_UP_Z;
    options.scale             = 0.5;
    options.places            = TN_MOCAP_PLACE_ALL;
    options.start             = 3;
    options.stiffness         = 11;
    options.damping           = 12;
    options.angular_stiffness = 13;
    options.angular_damping   = 14;
    // With z up, the line from right to left is x of the file: W is a rotation by 90 degrees about
    // z.
    driven               d = drive_bars((tn_vec3){0, 1, 0}, 0.3, false, STILL_FRAME, &options);
    const tn_target_def *t = target_of(d.r.scene, "pelvis"),
                        *f = target_of(d.r.scene, "left_forearm");
    CHECK(t->keys[0].time == 3 && d.report.scale == 0.5);
    CHECK(f->stiffness == 11 && f->damping == 12 && f->angular_stiffness == 13 &&
          f->angular_damping == 14);
    check_vec(f->point, (tn_vec3){0, 0, -0.15}, 1e-15); // its joint with the upper arm
    check_vec(f->keys[0].pose.position, (tn_vec3){0, 0.5 * 50, 1}, 1e-14);
    driven_free(&d);
    options.places = TN_MOCAP_PLACE_NONE;
    d              = drive_bars((tn_vec3){0, 1, 0}, 0.3, false, STILL_FRAME, &options);
    CHECK(target_of(d.r.scene, "pelvis")->stiffness == 0);
    driven_free(&d);
}

TEST(pairs_and_prefix_choose_bodies)
{
    char                text[2048];
    rig                 r       = rig_make((tn_vec3){0, 0, 0});
    tn_why              why     = {.text = ""};
    const tn_mocap_pair pairs[] = {{"LeftForeArm", "p1_thing"}, {"LeftArm", "p2_thing"}};
    const char* const   names[] = {"p1_thing", "p2_thing", "p1_pelvis", "p2_pelvis"};
    tn_body_id          bodies[5];
    tn_mocap_report     report = {.bodies = bodies};
    for (int i = 0; i < 4; ++i) rod(r.scene, names[i], (tn_vec3){i, 0, 0}, (tn_vec3){i, 0, 1});
    write_bars(text, sizeof text, false, STILL_FRAME);
    tn_mocap*        m       = read_text(text);
    tn_mocap_options options = at_once();
    options.prefix           = "p2_";
    CHECK_OK(tn_mocap_drive(r.scene, m, &options, &report, &why));
    CHECK_INT(bodies[0].bits, 4);
    CHECK_INT(report.driven_count, 1);
    CHECK_INT(report.still_count, 1);
    options.prefix     = NULL;
    options.pairs      = pairs;
    options.pair_count = 2;
    CHECK_OK(tn_mocap_drive(r.scene, m, &options, &report, &why));
    CHECK_INT(bodies[2].bits, 1);
    CHECK_INT(bodies[1].bits, 2);
    CHECK_INT(tn_scene_target_count(r.scene), 3); // the pelvis kept its one
    tn_mocap_free(m);
    tn_scene_free(r.scene);
}

static void go_on(const char* expression, const char* file, int line) // as without asserts
{
    (void)expression, (void)file, (void)line;
}

TEST(failed_driving_leaves_the_scene_unchanged)
{
    tn_scene* scene;
    tn_why    why = {.text = ""};
    tn_mocap *
        m   = skeleton_of("foo bar"),
       *far = read_text(
           "HIERARCHY ROOT Hips\n{ OFFSET 0 0 0 CHANNELS 1 Xposition JOINT Chest\n{ OFFSET 1e308 0 0 } }\n"
           "MOTION Frames: 1 Frame Time: 1\n1e308");
    rig_must(tns_build(NULL, "humanoid", &scene, &why), "humanoid", &why);
    tn_mocap_options options = tn_default_mocap_options();
    CHECK_INT(tn_mocap_drive(scene, m, &options, NULL, &why), TN_ERR_MODEL);
    CHECK(strstr(why.text, "'foo' and 1 more") != NULL);
    CHECK_INT(tn_mocap_drive(scene, m, &options, NULL, NULL), TN_ERR_MODEL);
    CHECK_INT(tn_mocap_drive(scene, far, &options, NULL, &why), TN_ERR_MODEL); // no finite place
    CHECK(strstr(why.text, "joint 'Chest' cannot drive body 'chest'") != NULL);
    const tn_mocap_pair pairs[] = {
        {"foo", "head"}, {"foo", "neck"}, {"bar", "head"}, {"x", "neck"}};
    for (int i = 0; i < 4; ++i) {
        tn_mocap_pair two[] = {pairs[0], pairs[i]};
        if (i == 0) two[1].body = "nobody";
        options.pairs      = two;
        options.pair_count = 2;
        CHECK_INT(tn_mocap_drive(scene, m, &options, NULL, &why), TN_ERR_MODEL);
    }
    const double wrong[] = {0, -1, HUGE_VAL};
    for (int i = 0; i < 9; ++i) {
        options             = tn_default_mocap_options();
        double* const at[]  = {&options.scale, &options.frequency, &options.stiffness};
        *at[i / 3]          = wrong[i % 3];
        const bool possible = i / 3 == 2 && i % 3 == 0; // no stiffness at all
        options.pairs       = pairs;
        options.pair_count  = possible ? 0 : 1;
        CHECK_INT(tn_mocap_drive(scene, m, &options, NULL, &why), TN_ERR_MODEL);
        CHECK((strstr(why.text, "mocap: ") != NULL) == !possible);
    }
    options = (tn_mocap_options){0};
    tn_set_assert_handler(go_on);
    CHECK_INT(tn_mocap_drive(scene, m, &options, NULL, &why), TN_ERR_MODEL);
    tn_set_assert_handler(NULL);
    CHECK_INT(tn_scene_target_count(scene), 1);
    CHECK(tn_scene_target(scene, 0)->key_count == 1 &&
          tn_scene_target(scene, 0)->stiffness == 8000);
    CHECK_OK(tn_scene_problem(scene, NULL));
    tn_mocap_free(m);
    tn_mocap_free(far);
    tn_scene_free(scene);
}

TEST(an_existing_target_is_replaced)
{
    tn_scene* scene;
    tn_why    why = {.text = ""};
    tn_mocap* m   = skeleton_of("Hips Chest");
    rig_must(tns_build(NULL, "humanoid", &scene, &why), "humanoid", &why);
    const tn_mocap_options options = tn_default_mocap_options();
    const tn_target_def    held    = *tn_scene_target(scene, 0);
    tn_target_def          more    = held;
    more.name                      = "more";
    CHECK(tn_scene_add_target(scene, &more).bits != 0);
    CHECK_OK(tn_mocap_drive(scene, m, &options, NULL, &why));
    CHECK_INT(tn_scene_target_count(scene), 3); // hold, more, pelvis
    const tn_target_def *hold = tn_scene_target(scene, 0), *second = tn_scene_target(scene, 1);
    CHECK_TEXT(hold->name, "hold");
    CHECK(hold->body.bits == held.body.bits && hold->stiffness == 0 && hold->angular_stiffness > 0);
    CHECK(second->stiffness == 0 && second->angular_stiffness == 0 && second->damping == 0);
    tn_mocap_free(m);
    tn_scene_free(scene);
}

// ---- Following ----------------------------------------------------------------------------------

TEST(a_rigid_arm_follows)
{
    // An arm on a hinge with the ground follows a rotation by 90 degrees in 1 s, at a constant
    // rate. Its lag e begins at zero with the rate of the target, v = pi/2, and obeys J e'' + d e'
    // + k e = 0, J about the hinge; then the target rests, and the lag decays.
    rig              r   = rig_make((tn_vec3){0, 0, 0});
    tn_why           why = {.text = ""};
    const tn_body_id arm = rod(r.scene, "arm", (tn_vec3){0, 0, 0}, (tn_vec3){1, 0, 0});
    tns_joint_at(r.scene, "pin", TN_JOINT_HINGE, TNS_GROUND, arm, (tn_vec3){0, 0, 0}, TNS_Z);
    tn_mocap* m =
        read_text("HIERARCHY ROOT arm\n{ OFFSET 0 0 0 CHANNELS 1 Zrotation\nEnd Site { OFFSET "
                  "1 0 0 } }\nMOTION Frames: 2 Frame Time: 1\n0 90");
    tn_mocap_options options = at_once();
    options.up               = TN_MOCAP_UP_Z;
    CHECK_OK(tn_mocap_drive(r.scene, m, &options, NULL, &why));
    const tn_target_def* t = tn_scene_target(r.scene, 0);
    CHECK(t->stiffness == 0); // the ground holds it
    // A rod of 1 kg and 1 m, radius 0.05 m: 16 times the moment about its axis is less than J.
    const double w = 20 * 180 * DEGREE, J = 1.0 / 3 + 0.0025 / 4, I = 16 * 0.0025 / 2;
    CHECK_NEAR(t->angular_stiffness, I * w * w, 1e-12 * I * w * w);
    CHECK_NEAR(t->angular_damping, 2 * I * w, 1e-12 * I * w);
    rig_ready(&r);
    rig_run(&r, 1e-3, 1000);
    const tn_vec3 x = apply(of_quat(tn_state_pose(r.state, arm).orientation), (tn_vec3){0, 0, 1});
    const double  decay = I * w / J, turn = sqrt(I * w * w / J - decay * decay);
    const double  lag = 90 * DEGREE / turn * exp(-decay) * sin(turn);
    CHECK_NEAR(atan2(x.y, x.x), 90 * DEGREE - lag, 1e-8); // RK4: 1000 (h turn)^5 / 120
    rig_run(&r, 1e-3, 4000);
    const tn_vec3 y = apply(of_quat(tn_state_pose(r.state, arm).orientation), (tn_vec3){0, 0, 1});
    CHECK_NEAR(atan2(y.y, y.x), 90 * DEGREE, 0.2 * exp(-4 * decay));
    tn_mocap_free(m);
    rig_free(&r);
}

static double angle_between(tn_quat a, tn_quat b)
{
    const double d = fabs(a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z);
    return 2 * acos(fmin(1, d));
}

TEST(a_person_walks)
{
    rig       r   = {.settings = tn_default_settings()};
    tn_why    why = {.text = ""};
    tn_mocap* m;
    rig_must(tn_mocap_read_file(NULL, "scenes/walk.bvh", &m, &why), "walk.bvh", &why);
    rig_must(tns_build(NULL, "humanoid", &r.scene, &why), "humanoid", &why);
    r.settings                     = tn_scene_settings(r.scene);
    const tn_mocap_options options = tn_default_mocap_options();
    tn_mocap_report        report  = {0};
    CHECK_OK(tn_mocap_drive(r.scene, m, &options, &report, &why));
    CHECK_INT(report.driven_count, 17);
    CHECK_INT(report.still_count, 0);
    CHECK_NEAR(report.scale, 0.01, 1e-4); // centimetres
    rig_ready(&r);
    // The first key is the pose of the scene: no jump.
    for (int i = 0; i < 17; ++i) {
        const tn_target_def* t = tn_scene_target(r.scene, i);
        CHECK_LESS(
            angle_between(t->keys[0].pose.orientation, tn_state_pose(r.state, t->body).orientation),
            1e-7);
    }
    for (int second = 1; second <= 2; ++second) {
        rig_run(&r, 1e-3, 1000);
        for (int i = 0; i < 17; ++i) {
            const tn_target_def* t    = tn_scene_target(r.scene, i);
            const tn_frame       pose = tn_state_pose(r.state, t->body),
                           *key       = &t->keys[30 * second].pose;
            CHECK_LESS(angle_between(key->orientation, pose.orientation), 0.15);
            if (t->stiffness > 0) check_vec(pose.position, key->position, 0.01);
        }
    }
    CHECK(tn_state_pose(r.state, tn_model_find_body(r.model, "pelvis")).position.x > 2);
    tn_mocap_free(m);
    rig_free(&r);
}

// ---- Memory -------------------------------------------------------------------------------------

TEST(reading_and_driving_report_failing_allocations)
{
    failing_host  f    = failing_host_make();
    const tn_host host = failing_host_of(&f);
    tn_result     result;
    tn_why        why = {.text = ""};
    tn_mocap*     m   = NULL;
    for (int n = 1;; ++n) {
        failing_host_rewind(&f, n);
        result = tn_mocap_read_file(&host, "scenes/walk.bvh", &m, &why);
        if (f.refused == 0) break;
        CHECK_INT(result, TN_ERR_MEMORY);
        CHECK(m == NULL && f.live_blocks == 0 && why.result == TN_ERR_MEMORY);
    }
    CHECK_OK(result);
    const tn_mocap_options options = tn_default_mocap_options();
    tn_scene*              scene;
    failing_host_rewind(&f, 0);
    rig_must(tns_build(&host, "humanoid", &scene, &why), "humanoid", &why);
    for (int n = 1;; ++n) {
        failing_host_rewind(&f, n);
        result = tn_mocap_drive(scene, m, &options, NULL, &why);
        if (f.refused == 0) break;
        CHECK_INT(result, TN_ERR_MEMORY);
        CHECK_INT(tn_scene_target_count(scene), 1);
        CHECK(tn_scene_target(scene, 0)->stiffness == 8000 && why.result == TN_ERR_MEMORY);
        CHECK_OK(tn_scene_problem(scene, NULL));
    }
    CHECK_OK(result);
    CHECK_INT(tn_scene_target_count(scene), 17);
    tn_mocap_free(m);
    tn_scene_free(scene);
    CHECK_INT(f.live_blocks, 0);
    CHECK_INT(f.size_errors, 0);
}
