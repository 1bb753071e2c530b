// server.h: a page and a WebSocket beside it, for browsers of this machine.
#ifndef TNC_SERVER_H
#define TNC_SERVER_H

#include <stdbool.h>
#include <stddef.h>

/// Of connections that are served; clients are numbered below it. A few more are told to come back later.
enum { TNC_CLIENTS_MAX = 16 };

/// What is served, and who is told. A client is somebody at the WebSocket.
typedef struct tnc_service {
    const char* page; ///< HTML; must stay
    size_t      page_length;
    const char* socket;      ///< path of the WebSocket, as "/live"
    size_t      message_max; ///< bytes of a message from a client
    bool        binary;      ///< binary messages are taken
    void (*come)(void* user, int client);
    void (*message)(void* user, int client, const char* bytes, size_t length, bool binary);
    void (*gone)(void* user, int client); ///< once for each `come`, however it went
    void* user;
} tnc_service;

typedef struct tnc_server tnc_server;

/// Listens at 127.0.0.1. port 0: any that is free. NULL: already complained.
tnc_server* tnc_server_open(const tnc_service* service, int port);
void        tnc_server_close(tnc_server* server); ///< says good-bye to everybody; NULL is allowed
int         tnc_server_port(const tnc_server* server);

/// Waits for at most so many seconds until somebody wants something, and does that; `come`, `message` and `gone` are called
/// from here only. To be called at least every second or so.
void tnc_server_serve(tnc_server* server, double seconds);

/// Text to a client, behind all that waits for it.
void tnc_server_tell(tnc_server* server, int client, const char* text, size_t length);
/// Bytes to a client; those who send many ask first whether it has taken all that came before.
void tnc_server_send(tnc_server* server, int client, const void* bytes, size_t length);
bool tnc_server_is_ready(const tnc_server* server, int client);

#endif
