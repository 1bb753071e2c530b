// websocket.h: the bytes of a WebSocket (RFC 6455), server's side. No sockets: bytes in, events out.
#ifndef TNC_WEBSOCKET_H
#define TNC_WEBSOCKET_H

#include "stage/stage.h"

enum {
    TNC_OP_CONTINUE = 0,
    TNC_OP_TEXT     = 1,
    TNC_OP_BINARY   = 2,
    TNC_OP_CLOSE    = 8,
    TNC_OP_PING     = 9,
    TNC_OP_PONG     = 10
};

/// What Sec-WebSocket-Accept answers to a key of 24 bytes, and a NUL.
void tnc_websocket_accept(const char* key, char accept[29]);

typedef enum tnc_event_kind {
    TNC_EVENT_NONE, ///< nothing to do about it
    TNC_EVENT_TEXT,
    TNC_EVENT_BINARY,
    TNC_EVENT_PING, ///< to be answered with the same bytes
    TNC_EVENT_CLOSE ///< to be answered with a close of `code`; nothing may follow
} tnc_event_kind;

typedef struct tnc_event {
    tnc_event_kind kind;
    const char*    bytes; ///< of text, binary, ping; they hold until the next call
    size_t         length;
    int            code;
    const char*    line; ///< what the other side did wrong; NULL: it just said good-bye
} tnc_event;

/// What has to be known between frames. Zero it but for the bound; free the fragments in the end.
typedef struct tnc_websocket {
    size_t   message_max; ///< bytes
    bool     binary;      ///< binary messages are taken
    int      kind;        ///< of the message that comes in fragments; 0: none does
    tng_text fragments;
} tnc_websocket;

/// The event of the frame at the beginning of the bytes, which it unmasks in place. Returns how many bytes are done with; 0: the frame
/// is not there yet, or there is something wrong with it (event->kind tells).
size_t tnc_websocket_take(tnc_websocket* socket, char* bytes, size_t length, tnc_event* event);

/// The head of a frame that is not masked, before `length` bytes. Returns its size.
size_t tnc_websocket_head(unsigned char head[10], int opcode, size_t length);

#endif
