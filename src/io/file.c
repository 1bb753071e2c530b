#include "io/file.h"

#include <errno.h>
#include <stdio.h>

static bool grow(const tn_host* host, tni_file_text* text)
{
    const size_t room  = text->room > 0 ? 2 * text->room : 1 << 16;
    char*        bytes = tni_host_take(host, room);
    if (bytes == NULL) return false;
    if (text->count > 0) memcpy(bytes, text->bytes, text->count);
    tni_host_give(host, text->bytes, text->room);
    text->bytes = bytes;
    text->room  = room;
    return true;
}

// Why the last call failed. WebAssembly without file access reports ENOTCAPABLE.
static const char* reason(void)
{
#ifdef ENOTCAPABLE
    if (errno == ENOTCAPABLE) return "files cannot be read here";
#endif
    return strerror(errno);
}

static tn_result read_whole(const tn_host* host, FILE* file, const char* path, tni_file_text* text,
                            tn_why* why)
{
    while (!feof(file)) {
        if (text->count == text->room && !grow(host, text))
            return tni_fail(why, TN_ERR_MEMORY, "out of memory while reading '%s'", path);
        errno = 0;
        text->count += fread(text->bytes + text->count, 1, text->room - text->count, file);
        if (ferror(file)) return tni_fail(why, TN_ERR_FILE, "cannot read '%s': %s", path, reason());
    }
    return TN_OK;
}

tn_result tni_read_file(const tn_host* host, const char* path, tni_file_text* text, tn_why* why)
{
    *text      = (tni_file_text){0};
    FILE* file = fopen(path, "rb");
    if (file == NULL) return tni_fail(why, TN_ERR_FILE, "cannot read '%s': %s", path, reason());
    const tn_result result = read_whole(host, file, path, text, why);
    fclose(file);
    return result;
}
