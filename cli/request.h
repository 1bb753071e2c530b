// request.h: the head of an HTTP request, taken apart, and what is answered to it. Bytes in, words out: no sockets.
#ifndef TNC_REQUEST_H
#define TNC_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

enum { TNC_HEAD_MAX = 8192 }; ///< bytes of a head

/// Some bytes of somebody else's. NULL: there are none.
typedef struct tnc_span {
    const char* at;
    size_t      length;
} tnc_span;

typedef struct tnc_request {
    tnc_span method;
    tnc_span path;                                            ///< without what follows a '?'
    tnc_span host, origin, upgrade, connection, key, version; ///< of fields; NULL: not given
    size_t   length; ///< of the head, with the empty line that ends it
} tnc_request;

typedef enum tnc_head {
    TNC_HEAD_MORE, ///< it has not ended yet
    TNC_HEAD_DONE,
    TNC_HEAD_BAD,
    TNC_HEAD_LONG
} tnc_head;

/// The spans of the request point into the bytes.
tnc_head tnc_request_read(const char* bytes, size_t length, tnc_request* request);

/// Where a server can be reached.
typedef struct tnc_site {
    int         port;   ///< of 127.0.0.1
    const char* socket; ///< the path of its WebSocket
} tnc_site;

typedef struct tnc_answer {
    int         status; ///< 101: it becomes a WebSocket; 200: the page
    const char* line;   ///< why not, in a line; NULL: nothing to say
} tnc_answer;

tnc_answer  tnc_request_answer(const tnc_request* request, const tnc_site* site);
const char* tnc_status_text(int status); ///< "Not Found"

#endif
