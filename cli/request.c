// request: the head of an HTTP/1.1 request (RFC 9112) and the rules by which it is answered.
//
// Strict where others are lenient, since only browsers and scripts of the same machine ask: lines end in CR LF, fields
// are not folded, and a field that matters may stand only once. Bodies are never read: the connection
// ends with the answer.
//
// Any page that a browser shows may send requests to 127.0.0.1. Two checks keep those pages out:
//     Host     must be this server, by number or as localhost: a name that somebody else's name
//              server has turned to 127.0.0.1 (DNS rebinding) is refused
//     Origin   of a WebSocket must be this server's own page. None at all is refused too: every browser sends one, and
//              something between that strips it must not switch the check off. A script says it itself.
#include "request.h"

#include <stdio.h>
#include <string.h>

// ---- Spans ---------------------------------------------------------------------------------------

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool is_same(tnc_span span, const char* text)
{
    const size_t length = strlen(text);
    return span.at && span.length == length && memcmp(span.at, text, length) == 0;
}

// Letters of either case.
static bool is_like(tnc_span span, const char* text)
{
    if (!span.at || span.length != strlen(text)) return false;
    for (size_t i = 0; i < span.length; ++i)
        if (lower(span.at[i]) != lower(text[i])) return false;
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static tnc_span trimmed(const char* at, const char* end)
{
    while (at < end && is_space(*at)) ++at;
    while (at < end && is_space(end[-1])) --end;
    return (tnc_span){at, (size_t)(end - at)};
}

// Whether the word is one of a list with commas.
static bool has_word(tnc_span list, const char* word)
{
    if (!list.at) return false;
    const char *at = list.at, *end = list.at + list.length;
    while (at <= end) {
        const char* comma = memchr(at, ',', (size_t)(end - at));
        if (is_like(trimmed(at, comma ? comma : end), word)) return true;
        if (!comma) return false;
        at = comma + 1;
    }
    return false;
}

// ---- The head ------------------------------------------------------------------------------------

static bool is_token_byte(char c)
{
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (c >= '0' && c <= '9') || (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool is_shown(char c)
{
    return c > ' ' && c < 0x7f;
}

// The bytes from *at that are of a kind; *at goes behind them.
static tnc_span take(const char** at, const char* end, bool (*is_kind)(char))
{
    const char* begin = *at;
    while (*at < end && is_kind(**at)) ++*at;
    return (tnc_span){begin, (size_t)(*at - begin)};
}

static bool take_text(const char** at, const char* end, const char* text)
{
    const size_t length = strlen(text);
    if ((size_t)(end - *at) < length || memcmp(*at, text, length) != 0) return false;
    *at += length;
    return true;
}

// "GET /path?query HTTP/1.1"
static bool read_first_line(const char* at, const char* end, tnc_request* r)
{
    r->method = take(&at, end, is_token_byte);
    if (r->method.length == 0 || !take_text(&at, end, " ")) return false;
    r->path = take(&at, end, is_shown);
    if (r->path.length == 0 || r->path.at[0] != '/') return false;
    const char* query = memchr(r->path.at, '?', r->path.length);
    if (query) r->path.length = (size_t)(query - r->path.at);
    if (!take_text(&at, end, " HTTP/1.") || end - at != 1) return false;
    return *at == '0' || *at == '1';
}

// "Name: value"
static bool read_field(const char* at, const char* end, tnc_request* r)
{
    const struct {
        const char* name;
        tnc_span*   value;
    } fields[]          = {{"host", &r->host},
                           {"origin", &r->origin},
                           {"upgrade", &r->upgrade},
                           {"connection", &r->connection},
                           {"sec-websocket-key", &r->key},
                           {"sec-websocket-version", &r->version}};
    const tnc_span name = take(&at, end, is_token_byte);
    if (name.length == 0 || !take_text(&at, end, ":")) return false;
    for (const char* c = at; c < end; ++c)
        if (((unsigned char)*c < ' ' && *c != '\t') || *c == 0x7f) return false;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; ++i) {
        if (!is_like(name, fields[i].name)) continue;
        if (fields[i].value->at) return false; // twice: which one is meant?
        *fields[i].value = trimmed(at, end);
    }
    return true;
}

tnc_head tnc_request_read(const char* bytes, size_t length, tnc_request* request)
{
    const size_t seen = length < TNC_HEAD_MAX ? length : TNC_HEAD_MAX;
    const char * at = bytes, *end = bytes + seen;
    *request = (tnc_request){0};
    for (bool first = true;; first = false) {
        const char* line_end = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
        if (!line_end) return length < TNC_HEAD_MAX ? TNC_HEAD_MORE : TNC_HEAD_LONG;
        if (line_end == at || line_end[-1] != '\r') return TNC_HEAD_BAD;
        const char* stop = line_end - 1;
        if (!first && stop == at) {
            request->length = (size_t)(line_end + 1 - bytes);
            return TNC_HEAD_DONE;
        }
        if (!(first ? read_first_line : read_field)(at, stop, request)) return TNC_HEAD_BAD;
        at = line_end + 1;
    }
}

// ---- The answer ----------------------------------------------------------------------------------

// "127.0.0.1:PORT" or "localhost:PORT" behind `before`; browsers leave port 80 out.
static bool is_here(tnc_span span, const char* before, int port)
{
    static const char* const names[] = {"127.0.0.1", "localhost"};
    char                     text[64];
    for (int i = 0; i < 2; ++i) {
        snprintf(text, sizeof text, "%s%s:%d", before, names[i], port);
        if (is_like(span, text)) return true;
        snprintf(text, sizeof text, "%s%s", before, names[i]);
        if (port == 80 && is_like(span, text)) return true;
    }
    return false;
}

// 16 bytes in base 64.
static bool is_key(tnc_span key)
{
    if (key.length != 24 || key.at[22] != '=' || key.at[23] != '=') return false;
    for (int i = 0; i < 22; ++i)
        if (!is_token_byte(key.at[i]) && key.at[i] != '/') return false;
    return true;
}

static tnc_answer answer_socket(const tnc_request* r, const tnc_site* site)
{
    if (!is_same(r->method, "GET")) return (tnc_answer){405, "a WebSocket begins with GET"};
    if (!is_here(r->origin, "http://", site->port))
        return (tnc_answer){403, "only this server's own page may connect (see Origin)"};
    if (!has_word(r->upgrade, "websocket") || !has_word(r->connection, "upgrade"))
        return (tnc_answer){426, "this is the address of a WebSocket"};
    if (!is_same(r->version, "13")) return (tnc_answer){426, "only version 13 of WebSocket"};
    if (!is_key(r->key)) return (tnc_answer){400, "Sec-WebSocket-Key is not 16 bytes in base 64"};
    return (tnc_answer){101, NULL};
}

tnc_answer tnc_request_answer(const tnc_request* r, const tnc_site* site)
{
    if (!r->host.at) return (tnc_answer){400, "a request needs a Host"};
    if (!is_here(r->host, "", site->port))
        return (tnc_answer){403, "this server is 127.0.0.1 and localhost only (see Host)"};
    if (is_same(r->path, site->socket)) return answer_socket(r, site);
    if (!is_same(r->method, "GET") && !is_same(r->method, "HEAD"))
        return (tnc_answer){405, "only GET and HEAD"};
    if (is_same(r->path, "/")) return (tnc_answer){200, NULL};
    if (is_same(r->path, "/favicon.ico")) return (tnc_answer){204, NULL};
    return (tnc_answer){404, "there is nothing here; the page is /"};
}

const char* tnc_status_text(int status)
{
    switch (status) {
    case 101: return "Switching Protocols";
    case 200: return "OK";
    case 204: return "No Content";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 426: return "Upgrade Required";
    case 431: return "Request Header Fields Too Large";
    default: return "Service Unavailable";
    }
}
