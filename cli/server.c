// server: sockets of one thread. Each connection brings one request and ends with its answer, or becomes a WebSocket.
//
// Nothing waits for anybody: sockets do not block, poll() tells which are ready, what cannot be sent is kept. What somebody
// can cost is bounded: a head has 10 s to come, a message its bound, 16 connections are served,
// who does not take what waits for it for 30 s is dropped, who lets a mebibyte wait is not
// listened to, and one connection's messages are obeyed for 20 ms at most before others have their turn.
//
// A socket that is closed while unread bytes lie in it throws away what was sent last. So an end is said, the rest
// is read and forgotten for up to 2 s until the other side ends too, and then it is closed.
#define _DEFAULT_SOURCE

#include "server.h"

#include "cli.h"

#if defined(__wasi__) || defined(_WIN32)

tnc_server* tnc_server_open(const tnc_service* service, int port)
{
    (void)service, (void)port;
    tnc_complain("this build has no server: it was made for a machine without sockets");
    return NULL;
}

void tnc_server_close(tnc_server* server)
{
    (void)server;
}

int tnc_server_port(const tnc_server* server)
{
    (void)server;
    return 0;
}

void tnc_server_serve(tnc_server* server, double seconds)
{
    (void)server, (void)seconds;
}

void tnc_server_tell(tnc_server* server, int client, const char* text, size_t length)
{
    (void)server, (void)client, (void)text, (void)length;
}

void tnc_server_send(tnc_server* server, int client, const void* bytes, size_t length)
{
    (void)server, (void)client, (void)bytes, (void)length;
}

bool tnc_server_is_ready(const tnc_server* server, int client)
{
    (void)server, (void)client;
    return false;
}

#else

#include "request.h"
#include "websocket.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    SPARE       = 4, ///< connections that are only told that there are too many
    SLOTS       = TNC_CLIENTS_MAX + SPARE,
    CHUNK       = 1 << 16, ///< bytes read at a time
    SEND_ROOM   = 1 << 18, ///< bytes that the system keeps: more would be old frames
    WAITING_MAX = 1 << 20, ///< with more to take, nobody is listened to
    QUEUE_MAX   = 1 << 26  ///< with more to take, it is dropped
};
static const double head_seconds = 10, stuck_seconds = 30, linger_seconds = 2, turn_seconds = 0.02;

typedef enum phase {
    FREE,
    HEAD,   ///< its request comes
    SOCKET, ///< it is a client
    ENDING, ///< it gets what waits for it, and then an end
    LINGER, ///< it has got all
    GONE
} phase;

typedef struct connection {
    int           fd;
    phase         phase;
    bool          told;  ///< `come` was called, and `gone` was not
    bool          ended; ///< the other side sends no more
    bool          more;  ///< messages lie in `in` that had no turn
    double        since; ///< when the phase began, or bytes were taken last
    tng_text      in;
    size_t        in_done; ///< bytes of it
    tng_text      out;
    size_t        sent; ///< bytes of it
    const char*   page; ///< comes behind `out`; NULL: none
    size_t        page_left;
    tnc_websocket socket;
} connection;

struct tnc_server {
    tnc_service service;
    int         fd, port;
    double      deaf_until; ///< nobody is let in until then: the system had no room
    connection  connections[SLOTS];
};

static double clock_now(void)
{
    return tnc_clock(NULL);
}

static void enter(connection* c, phase next)
{
    c->phase = next;
    c->since = clock_now();
}

// ---- Bytes out -----------------------------------------------------------------------------------

static size_t waiting(const connection* c)
{
    return c->out.length - c->sent + c->page_left;
}

// As much of the bytes as the socket takes.
static size_t send_some(connection* c, const char* bytes, size_t length)
{
    const ssize_t count = send(c->fd, bytes, length, MSG_NOSIGNAL);
    if (count > 0) c->since = clock_now();
    if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) c->phase = GONE;
    return count > 0 ? (size_t)count : 0;
}

static void flush_out(connection* c)
{
    enum { KEPT = 1 << 20 }; // larger rooms are given back
    if (c->out.failed) c->phase = GONE;
    if (c->phase == GONE || c->phase == FREE) return;
    if (c->sent < c->out.length)
        c->sent += send_some(c, c->out.bytes + c->sent, c->out.length - c->sent);
    if (c->sent == c->out.length) {
        c->sent = 0;
        if (c->out.room > KEPT) tng_text_free(&c->out);
        else tng_text_clear(&c->out);
        if (c->page_left > 0) {
            const size_t count = send_some(c, c->page, c->page_left);
            c->page += count;
            c->page_left -= count;
        }
    }
    if (c->phase == ENDING && waiting(c) == 0) {
        shutdown(c->fd, SHUT_WR);
        enter(c, LINGER);
    }
}

static void put_frame(connection* c, int opcode, const void* bytes, size_t length)
{
    unsigned char head[10];
    const size_t  count = tnc_websocket_head(head, opcode, length);
    if (c->sent > 0 && c->sent >= c->out.length - c->sent) { // what is sent makes room
        c->out.length -= c->sent;
        memmove(c->out.bytes, c->out.bytes + c->sent, c->out.length);
        c->sent = 0;
    }
    if (waiting(c) == 0) c->since = clock_now(); // from now on it is to be taken
    else if (waiting(c) > QUEUE_MAX) c->phase = GONE;
    tng_put_bytes(&c->out, head, count);
    if (length > 0) tng_put_bytes(&c->out, bytes, length);
    flush_out(c);
}

static connection* client_at(tnc_server* s, int client)
{
    connection* c = &s->connections[client];
    return c->phase == SOCKET ? c : NULL;
}

void tnc_server_tell(tnc_server* s, int client, const char* text, size_t length)
{
    connection* c = client_at(s, client);
    if (c) put_frame(c, TNC_OP_TEXT, text, length);
}

void tnc_server_send(tnc_server* s, int client, const void* bytes, size_t length)
{
    connection* c = client_at(s, client);
    if (c) put_frame(c, TNC_OP_BINARY, bytes, length);
}

bool tnc_server_is_ready(const tnc_server* s, int client)
{
    const connection* c = &s->connections[client];
    return c->phase == SOCKET && waiting(c) == 0;
}

// The last frame of ours: a code, and why.
static void say_close(connection* c, int code, const char* line)
{
    char bytes[125] = {(char)(code >> 8), (char)(code & 255)};
    snprintf(bytes + 2, sizeof bytes - 2, "%s", line ? line : "");
    enter(c, ENDING);
    put_frame(c, TNC_OP_CLOSE, bytes, 2 + strlen(bytes + 2));
}

// ---- Answers -------------------------------------------------------------------------------------

// What every answer says. The page may run its own script and style, show pictures that it makes and talk to this server, and nothing else.
static void put_rules(tng_text* out, int port)
{
    tng_put(out,
            "Cache-Control: no-store\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "Referrer-Policy: no-referrer\r\n"
            "Cross-Origin-Resource-Policy: same-origin\r\n"
            "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; "
            "style-src 'unsafe-inline'; img-src data: blob:; worker-src blob:; "
            "connect-src 'self' ws://127.0.0.1:%d ws://localhost:%d; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n",
            port, port);
}

static void put_answer(connection* c, const tnc_server* s, tnc_answer answer, bool head_only)
{
    const bool   page   = answer.status == 200;
    const size_t length = page ? s->service.page_length : answer.line ? strlen(answer.line) + 1 : 0;
    tng_put(&c->out, "HTTP/1.1 %d %s\r\nConnection: close\r\n", answer.status,
            tnc_status_text(answer.status));
    put_rules(&c->out, s->port);
    if (answer.status == 405) tng_put(&c->out, "Allow: GET, HEAD\r\n");
    if (answer.status == 426)
        tng_put(&c->out, "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n");
    if (answer.status != 204) {
        tng_put(&c->out, "Content-Type: text/%s; charset=utf-8\r\nContent-Length: %zu\r\n",
                page ? "html" : "plain", length);
    }
    tng_put(&c->out, "\r\n");
    if (answer.line && !head_only) tng_put(&c->out, "%s\n", answer.line);
    c->page      = s->service.page;
    c->page_left = page && !head_only ? length : 0;
    enter(c, ENDING);
    flush_out(c);
}

static void begin_socket(connection* c, tnc_server* s, const char* key)
{
    char accept[29];
    tnc_websocket_accept(key, accept);
    tng_put(&c->out,
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Accept: %s\r\n\r\n",
            accept);
    c->socket = (tnc_websocket){.message_max = s->service.message_max, .binary = s->service.binary};
    enter(c, SOCKET);
    flush_out(c);
    if (c->phase != SOCKET) return;
    c->told = true;
    s->service.come(s->service.user, (int)(c - s->connections));
}

// ---- Bytes in ------------------------------------------------------------------------------------

static void read_head(connection* c, tnc_server* s)
{
    tnc_request    r;
    const tnc_site site  = {s->port, s->service.socket};
    const bool     spare = c - s->connections >= TNC_CLIENTS_MAX;
    const tnc_head head  = tnc_request_read(c->in.bytes, c->in.length, &r);
    if (head == TNC_HEAD_MORE) return;
    tnc_answer answer = head == TNC_HEAD_LONG  ? (tnc_answer){431, "a head of more than 8 KiB"}
                        : head == TNC_HEAD_BAD ? (tnc_answer){400, "this is not HTTP/1.1"}
                                               : tnc_request_answer(&r, &site);
    if (spare && (answer.status == 101 || answer.status == 200))
        answer = (tnc_answer){503, "too many connections; close a page and try again"};
    if (answer.status != 101) {
        const bool head_only =
            head == TNC_HEAD_DONE && r.method.length == 4 && memcmp(r.method.at, "HEAD", 4) == 0;
        put_answer(c, s, answer, head_only);
        return;
    }
    c->in_done = r.length;
    begin_socket(c, s, r.key.at);
}

static void obey(connection* c, tnc_server* s, const tnc_event* e)
{
    const tnc_service* service = &s->service;
    switch (e->kind) {
    case TNC_EVENT_NONE: break;
    case TNC_EVENT_TEXT:
    case TNC_EVENT_BINARY:
        service->message(service->user, (int)(c - s->connections), e->length > 0 ? e->bytes : "",
                         e->length, e->kind == TNC_EVENT_BINARY);
        break;
    case TNC_EVENT_PING: put_frame(c, TNC_OP_PONG, e->bytes, e->length); break;
    case TNC_EVENT_CLOSE: say_close(c, e->code, e->line); break;
    }
}

static void read_messages(connection* c, tnc_server* s)
{
    const double begun = clock_now();
    size_t       taken = 1;
    c->more            = false;
    while (taken > 0 && c->phase == SOCKET && !c->more) {
        tnc_event event;
        taken = tnc_websocket_take(&c->socket, c->in.bytes + c->in_done, c->in.length - c->in_done,
                                   &event);
        c->in_done += taken;
        obey(c, s, &event);
        c->more = clock_now() - begun > turn_seconds || waiting(c) > WAITING_MAX;
    }
    if (c->in_done > 0) {
        c->in.length -= c->in_done;
        memmove(c->in.bytes, c->in.bytes + c->in_done, c->in.length);
        c->in_done = 0;
    }
}

static void read_in(connection* c, tnc_server* s)
{
    char          bytes[CHUNK];
    const ssize_t count = recv(c->fd, bytes, sizeof bytes, 0);
    if (count < 0) {
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) c->phase = GONE;
        return;
    }
    if (count == 0) { // somebody who has asked may end its side before it has read the answer
        c->ended = true;
        if (c->phase != ENDING) c->phase = GONE;
        return;
    }
    if (c->phase != HEAD && c->phase != SOCKET) return; // all is said
    tng_put_bytes(&c->in, bytes, (size_t)count);
    if (c->in.failed) c->phase = GONE;
    if (c->phase == HEAD) read_head(c, s);
    if (c->phase == SOCKET) read_messages(c, s);
}

// ---- Connections ---------------------------------------------------------------------------------

static void forget(connection* c)
{
    close(c->fd);
    tng_text_free(&c->in);
    tng_text_free(&c->out);
    tng_text_free(&c->socket.fragments);
    *c = (connection){.fd = -1};
}

static bool is_late(const connection* c, double now)
{
    const double spent = now - c->since;
    switch (c->phase) {
    case HEAD: return spent > head_seconds;
    case SOCKET: return waiting(c) > 0 && spent > stuck_seconds;
    case ENDING: return spent > stuck_seconds;
    case LINGER: return c->ended || spent > linger_seconds;
    default: return false;
    }
}

// Tells who has gone, and makes room. `gone` may send to others, who may go by that: they are found in the next round.
static void tidy(tnc_server* s)
{
    const double now = clock_now();
    for (int i = 0; i < SLOTS; ++i) {
        connection* c = &s->connections[i];
        if (is_late(c, now)) c->phase = GONE;
        if (c->told && c->phase != SOCKET) {
            c->told = false;
            s->service.gone(s->service.user, i);
        }
        if (c->phase == GONE) forget(c);
    }
}

static connection* free_slot(tnc_server* s)
{
    for (int i = 0; i < SLOTS; ++i)
        if (s->connections[i].phase == FREE) return &s->connections[i];
    return NULL;
}

static bool set_up(int fd)
{
    const int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
           fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

static void let_in(tnc_server* s)
{
    connection* c;
    while ((c = free_slot(s)) != NULL) {
        const int fd = accept(s->fd, NULL, NULL);
        if (fd < 0) {
            const bool none =
                errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ECONNABORTED;
            if (!none) s->deaf_until = clock_now() + 1;
            return;
        }
        const int one = 1, room = SEND_ROOM;
        if (!set_up(fd)) {
            close(fd);
            continue;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        *c = (connection){.fd = fd};
        enter(c, HEAD);
    }
}

// ---- The server ----------------------------------------------------------------------------------

static short wanted(const connection* c)
{
    const bool full = c->phase == SOCKET && (c->more || waiting(c) > WAITING_MAX);
    const int  in = c->ended || full ? 0 : POLLIN, out = waiting(c) > 0 ? POLLOUT : 0;
    return (short)(in | out);
}

// Those that `poll` is asked about. False: somebody has messages that wait for their turn.
static bool make_list(tnc_server* s, struct pollfd list[SLOTS + 1])
{
    const bool open = free_slot(s) != NULL && clock_now() >= s->deaf_until;
    bool       calm = true;
    list[SLOTS]     = (struct pollfd){.fd = open ? s->fd : -1, .events = POLLIN};
    for (int i = 0; i < SLOTS; ++i) {
        const connection* c = &s->connections[i];
        list[i] = (struct pollfd){.fd = c->phase == FREE ? -1 : c->fd, .events = wanted(c)};
        if (c->more && waiting(c) <= WAITING_MAX) calm = false;
    }
    return calm;
}

void tnc_server_serve(tnc_server* s, double seconds)
{
    struct pollfd list[SLOTS + 1];
    const bool    calm  = make_list(s, list);
    const double  limit = seconds < 1 ? seconds : 1;
    const int     ms    = calm && limit > 0 ? (int)(1e3 * limit + 0.999) : 0;
    if (poll(list, SLOTS + 1, ms) < 0) {
        tidy(s); // interrupted: nothing is known of the others
        return;
    }
    for (int i = 0; i < SLOTS; ++i) {
        connection* c = &s->connections[i];
        if (list[i].revents & POLLOUT) flush_out(c);
        if (c->phase == SOCKET && c->more && waiting(c) <= WAITING_MAX) read_messages(c, s);
        else if (list[i].revents & (POLLIN | POLLHUP | POLLERR)) read_in(c, s);
    }
    if (list[SLOTS].revents) let_in(s);
    tidy(s);
}

static bool listen_at(tnc_server* s, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t          size    = sizeof address;
    const int          one     = 1;
    address.sin_addr.s_addr    = htonl(INADDR_LOOPBACK);
    s->fd                      = socket(AF_INET, SOCK_STREAM, 0);
    if (s->fd < 0 || !set_up(s->fd)) return false;
    setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(s->fd, (struct sockaddr*)&address, size) != 0 || listen(s->fd, SLOTS) != 0 ||
        getsockname(s->fd, (struct sockaddr*)&address, &size) != 0)
        return false;
    s->port = ntohs(address.sin_port);
    return true;
}

tnc_server* tnc_server_open(const tnc_service* service, int port)
{
    tnc_server* s = calloc(1, sizeof *s);
    if (!s) {
        tnc_complain("%s", tn_result_text(TN_ERR_MEMORY));
        return NULL;
    }
    s->service = *service;
    s->fd      = -1;
    for (int i = 0; i < SLOTS; ++i) s->connections[i].fd = -1;
    if (listen_at(s, port)) return s;
    tnc_complain("cannot serve at 127.0.0.1:%d: %s", port, strerror(errno));
    tnc_server_close(s);
    return NULL;
}

void tnc_server_close(tnc_server* s)
{
    if (!s) return;
    for (int i = 0; i < SLOTS; ++i) {
        connection* c = &s->connections[i];
        if (c->phase == SOCKET) say_close(c, 1001, "the server ends");
        if (c->phase != FREE) forget(c);
    }
    if (s->fd >= 0) close(s->fd);
    free(s);
}

int tnc_server_port(const tnc_server* s)
{
    return s->port;
}

#endif
