// websocket: frames and messages of RFC 6455, as a server reads and writes them.
//
//     byte 0    1 last of its message, 3 reserved (0), 4 opcode
//     byte 1    1 masked, 7 length; 126: two more bytes have it, 127: eight, the high one first
//     then      4 of mask, and the payload, each byte xor mask[i mod 4]
//
// A frame is looked at when all of it is there. A message in one frame, as nearly all are, is handed on where it lies; one
// in fragments is put together, up to the bound. What breaks a rule ends the connection with the code
// that the RFC has for it:
//     1002    the protocol: not masked, reserved bits, odd opcodes, lengths or fragments
//     1003    binary where only text is understood
//     1007    text that is not UTF-8
//     1009    more than the bound
//     1011    no memory
#include "websocket.h"

#include <string.h>

// ---- Handshake: base64(SHA-1(key + magic)) ------------------------------------------------------

static uint32_t rotate(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

// FIPS 180-4, 6.1.2: one block of 64 bytes.
static void sha1_block(uint32_t h[5], const unsigned char* block)
{
    uint32_t w[80];
    for (int t = 0; t < 16; ++t)
        w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 |
               (uint32_t)block[4 * t + 2] << 8 | block[4 * t + 3];
    for (int t = 16; t < 80; ++t) w[t] = rotate(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
    uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    for (int t = 0; t < 80; ++t) {
        const uint32_t f    = t < 20   ? (b & c) | (~b & d)
                              : t < 40 ? b ^ c ^ d
                              : t < 60 ? (b & c) | (b & d) | (c & d)
                                       : b ^ c ^ d;
        const uint32_t k    = t < 20   ? 0x5a827999
                              : t < 40 ? 0x6ed9eba1
                              : t < 60 ? 0x8f1bbcdc
                                       : 0xca62c1d6;
        const uint32_t next = rotate(a, 5) + f + e + k + w[t];
        e = d, d = c, c = rotate(b, 30), b = a, a = next;
    }
    h[0] += a, h[1] += b, h[2] += c, h[3] += d, h[4] += e;
}

static void base64(const unsigned char* bytes, int count, char* text)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int i = 0; i < count; i += 3) {
        const int      left = count - i;
        const uint32_t word = (uint32_t)bytes[i] << 16 |
                              (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                              (left > 2 ? bytes[i + 2] : 0);
        *text++ = letters[word >> 18];
        *text++ = letters[word >> 12 & 63];
        *text++ = left > 1 ? letters[word >> 6 & 63] : '=';
        *text++ = left > 2 ? letters[word & 63] : '=';
    }
    *text = '\0';
}

void tnc_websocket_accept(const char* key, char accept[29])
{
    static const char magic[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; // RFC 6455, 1.3
    enum { LENGTH = 24 + sizeof magic - 1 }; // 60: two blocks with their end
    unsigned char text[128] = {0}, digest[20];
    uint32_t      h[5]      = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    memcpy(text, key, 24);
    memcpy(text + 24, magic, sizeof magic - 1);
    text[LENGTH] = 0x80;
    text[126]    = 8 * LENGTH >> 8;
    text[127]    = 8 * LENGTH & 255;
    sha1_block(h, text);
    sha1_block(h, text + 64);
    for (int i = 0; i < 20; ++i) digest[i] = (unsigned char)(h[i / 4] >> (24 - i % 4 * 8));
    base64(digest, 20, accept);
}

// ---- UTF-8 ---------------------------------------------------------------------------------------

// Bytes of the character at `at`; 0: it is none. Neither too long, nor a surrogate, nor beyond 0x10ffff.
static size_t utf8_length(const unsigned char* at, size_t left)
{
    const unsigned char c = at[0];
    if (c < 0x80) return 1;
    const size_t count = c >= 0xc2 && c < 0xe0   ? 2
                         : c >= 0xe0 && c < 0xf0 ? 3
                         : c >= 0xf0 && c < 0xf5 ? 4
                                                 : 0;
    if (count == 0 || count > left) return 0;
    for (size_t i = 1; i < count; ++i)
        if ((at[i] & 0xc0) != 0x80) return 0;
    if ((c == 0xe0 && at[1] < 0xa0) || (c == 0xed && at[1] > 0x9f)) return 0;
    if ((c == 0xf0 && at[1] < 0x90) || (c == 0xf4 && at[1] > 0x8f)) return 0;
    return count;
}

static bool is_utf8(const char* bytes, size_t length)
{
    for (size_t i = 0; i < length;) {
        const size_t count = utf8_length((const unsigned char*)bytes + i, length - i);
        if (count == 0) return false;
        i += count;
    }
    return true;
}

// ---- Frames --------------------------------------------------------------------------------------

typedef struct frame {
    int    opcode;
    bool   last;
    char*  bytes;
    size_t length, taken; ///< taken 0: it is not all there
} frame;

static tnc_event wrong(int code, const char* line)
{
    return (tnc_event){.kind = TNC_EVENT_CLOSE, .code = code, .line = line};
}

static bool is_control(int opcode)
{
    return opcode >= 8;
}

// What the first two bytes can have wrong; NULL: nothing.
static const char* head_trouble(const tnc_websocket* s, const unsigned char* head)
{
    const int  opcode = head[0] & 15, length = head[1] & 127;
    const bool last = head[0] & 0x80;
    if (head[0] & 0x70) return "a reserved bit is set";
    if (!(head[1] & 0x80)) return "a client's frames are to be masked";
    if (opcode > TNC_OP_PONG || (opcode > TNC_OP_BINARY && opcode < TNC_OP_CLOSE))
        return "an unknown kind of frame";
    if (is_control(opcode) && (!last || length > 125)) return "a control frame is too large";
    if (opcode == TNC_OP_CONTINUE && s->kind == 0) return "it goes on with nothing";
    if ((opcode == TNC_OP_TEXT || opcode == TNC_OP_BINARY) && s->kind != 0)
        return "a message begins within another one";
    return NULL;
}

static void unmask(char* bytes, size_t length, const unsigned char mask[4])
{
    for (size_t i = 0; i < length; ++i) bytes[i] = (char)((unsigned char)bytes[i] ^ mask[i & 3]);
}

// False: *event says what is wrong. What can be told from the head is told before the payload has come.
static bool read_frame(const tnc_websocket* s, char* bytes, size_t length, frame* f,
                       tnc_event* event)
{
    const unsigned char* head = (const unsigned char*)bytes;
    *f                        = (frame){0};
    if (length < 2) return true;
    const char*  trouble = head_trouble(s, head);
    const int    code    = head[1] & 127;
    const size_t extra   = code == 126 ? 2 : code == 127 ? 8 : 0;
    if (!trouble && length < 2 + extra) return true;
    uint64_t count = extra ? 0 : (uint64_t)code;
    for (size_t i = 0; !trouble && i < extra; ++i) count = count << 8 | head[2 + i];
    if ((extra == 2 && count < 126) || (extra == 8 && (count < 65536 || count >> 63)))
        if (!trouble) trouble = "a length that is written too long";
    if (trouble) *event = wrong(1002, trouble);
    else if (!is_control(head[0] & 15) && count > s->message_max - s->fragments.length)
        *event = wrong(1009, "a message is too large");
    if (event->kind == TNC_EVENT_CLOSE) return false;
    const size_t before = 2 + extra + 4;
    if (length < before || length - before < count) return true;
    *f = (frame){.opcode = head[0] & 15,
                 .last   = head[0] & 0x80,
                 .bytes  = bytes + before,
                 .length = (size_t)count,
                 .taken  = before + (size_t)count};
    unmask(f->bytes, f->length, head + before - 4);
    return true;
}

size_t tnc_websocket_head(unsigned char head[10], int opcode, size_t length)
{
    const int extra = length < 126 ? 0 : length < 65536 ? 2 : 8;
    head[0]         = (unsigned char)(0x80 | opcode);
    head[1]         = extra == 0 ? (unsigned char)length : extra == 2 ? 126 : 127;
    for (int i = 0; i < extra; ++i)
        head[2 + i] = (unsigned char)((uint64_t)length >> 8 * (extra - 1 - i));
    return (size_t)(2 + extra);
}

// ---- Messages ------------------------------------------------------------------------------------

static tnc_event message(const tnc_websocket* s, int kind, const char* bytes, size_t length)
{
    if (kind == TNC_OP_BINARY && !s->binary) return wrong(1003, "only text is understood");
    if (kind == TNC_OP_TEXT && !is_utf8(bytes, length)) return wrong(1007, "text is not UTF-8");
    return (tnc_event){.kind   = kind == TNC_OP_TEXT ? TNC_EVENT_TEXT : TNC_EVENT_BINARY,
                       .bytes  = bytes,
                       .length = length};
}

static tnc_event add_fragment(tnc_websocket* s, const frame* f)
{
    if (f->opcode != TNC_OP_CONTINUE) s->kind = f->opcode;
    tng_put_bytes(&s->fragments, f->bytes, f->length);
    if (s->fragments.failed) return wrong(1011, "out of memory");
    if (!f->last) return (tnc_event){0};
    const int kind = s->kind;
    s->kind        = 0;
    return message(s, kind, s->fragments.bytes, s->fragments.length);
}

// A close has nothing in it, or a code and a text. Codes that stand for no close at all are not to be sent.
static tnc_event farewell(const frame* f)
{
    if (f->length == 0) return (tnc_event){.kind = TNC_EVENT_CLOSE, .code = 1000};
    const unsigned char* b     = (const unsigned char*)f->bytes;
    const int            code  = f->length > 1 ? b[0] << 8 | b[1] : 0;
    const bool           known = (code >= 1000 && code <= 1014 && (code < 1004 || code > 1006)) ||
                       (code >= 3000 && code < 5000);
    if (!known) return wrong(1002, "a close without a code");
    if (!is_utf8(f->bytes + 2, f->length - 2)) return wrong(1007, "text is not UTF-8");
    return (tnc_event){.kind = TNC_EVENT_CLOSE, .code = code};
}

size_t tnc_websocket_take(tnc_websocket* s, char* bytes, size_t length, tnc_event* event)
{
    frame f;
    *event = (tnc_event){0};
    if (s->kind == 0) tng_text_clear(&s->fragments);
    if (!read_frame(s, bytes, length, &f, event) || f.taken == 0) return 0;
    switch (f.opcode) {
    case TNC_OP_PONG: break;
    case TNC_OP_PING:
        *event = (tnc_event){.kind = TNC_EVENT_PING, .bytes = f.bytes, .length = f.length};
        break;
    case TNC_OP_CLOSE: *event = farewell(&f); break;
    default:
        if (f.opcode != TNC_OP_CONTINUE && f.last) *event = message(s, f.opcode, f.bytes, f.length);
        else *event = add_fragment(s, &f);
    }
    return f.taken;
}
