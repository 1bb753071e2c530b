// file: reads a whole file into memory.
#ifndef TNI_FILE_H
#define TNI_FILE_H

#include "base/base.h"

typedef struct tni_file_text {
    char*  bytes;
    size_t count, room;
} tni_file_text;

/// The caller returns text->bytes (text->room of them) to the host afterwards, also on failure.
TN_NODISCARD tn_result tni_read_file(const tn_host* host, const char* path, tni_file_text* text,
                                     tn_why* why);

#endif
