// number: doubles to text and back, exactly, in JSON's grammar, independent of the locale.
//
// Reading. The text means  v = D 10^e,  D a whole number of n digits. With 10^e = 5^e 2^e the power
// of two only moves the binary point, so the leading 64 bits of  R / M  are wanted, where
//     R = D 5^e, M = 1   for e >= 0        R = D, M = 5^-e   for e < 0.
// Up to 19 digits and |e| <= 27 both fit in 128 bits: one product or one division, exact. Otherwise
// large integers: align the leading bits of R and M and compute one bit of the quotient at a time.
// Whether the remainder is zero is the sticky bit; 64 bits with it round like the exact value.
// Beyond DIGIT_MAX digits, a nonzero rest is replaced by one digit 1. No double and no midpoint
// between two has that many digits, so the result is the same.
//
// Writing. Free-format digits [1]: v = r/s, half the gaps to the neighbours are m_minus/s and
// m_plus/s. Digits of r/s are produced until the remainder is within a half gap, so the text is the
// shortest that reads back as v, and among those the nearest. Differs from [1]: the digits of whole
// numbers below 2^53 are taken directly; k is estimated from the binary exponent.
//
// Cost: reading 50-90 ns in 128 bits, 2 us at 1e-200; writing 0.2-0.8 us, 4 us at 1e-200 (gcc 12
// -O2). No allocation.
// [1] R. Burger, R. K. Dybvig, Printing Floating-Point Numbers Quickly and Accurately, PLDI 96.
#include "base/base.h"
#include "tenon/io.h"

#include <math.h>

enum { LIMB_MAX = 100, DIGIT_MAX = 800 };

// ---- Large whole numbers: 32-bit limbs, lowest first, no leading zero limb --------------------

typedef struct big {
    int      count;
    uint32_t limb[LIMB_MAX];
} big;

static void big_set(big* a, uint64_t value)
{
    a->count = 0;
    for (; value != 0; value >>= 32) a->limb[a->count++] = (uint32_t)value;
}

// a <- a factor + addend
static void big_mul_add(big* a, uint32_t factor, uint32_t addend)
{
    uint64_t carry = addend;
    for (int i = 0; i < a->count; ++i) {
        carry += (uint64_t)a->limb[i] * factor;
        a->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry == 0) return;
    TN_ASSERT(a->count < LIMB_MAX);
    a->limb[a->count++] = (uint32_t)carry;
}

static void big_mul_power_of_5(big* a, int power)
{
    enum { CHUNK = 13 }; // 5^13 < 2^32
    for (; power >= CHUNK; power -= CHUNK) big_mul_add(a, 1220703125u, 0);
    for (; power > 0; --power) big_mul_add(a, 5, 0);
}

static void big_shift_left(big* a, int bits)
{
    const int limbs = bits / 32, rest = bits % 32;
    if (a->count == 0) return;
    if (rest > 0) big_mul_add(a, (uint32_t)1 << rest, 0);
    if (limbs == 0) return;
    TN_ASSERT(a->count + limbs <= LIMB_MAX);
    memmove(a->limb + limbs, a->limb, sizeof a->limb[0] * (size_t)a->count);
    memset(a->limb, 0, sizeof a->limb[0] * (size_t)limbs);
    a->count += limbs;
}

static int bit_count(uint64_t value)
{
    int bits = 0;
    for (int step = 32; step > 0; step /= 2) {
        if (value >> step != 0) {
            bits += step;
            value >>= step;
        }
    }
    return bits + (value != 0);
}

static int big_bits(const big* a)
{
    return a->count == 0 ? 0 : 32 * (a->count - 1) + bit_count(a->limb[a->count - 1]);
}

static int big_compare(const big* a, const big* b)
{
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    for (int i = a->count - 1; i >= 0; --i) {
        if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
    }
    return 0;
}

// a <- a - b, b <= a
static void big_subtract(big* a, const big* b)
{
    int64_t borrow = 0;
    for (int i = 0; i < a->count; ++i) {
        borrow += (int64_t)a->limb[i] - (i < b->count ? (int64_t)b->limb[i] : 0);
        a->limb[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
    while (a->count > 0 && a->limb[a->count - 1] == 0) --a->count;
}

// Compares a + b with c.
static int big_compare_sum(const big* a, const big* b, const big* c)
{
    big      sum;
    uint64_t carry = 0;
    sum.count      = a->count > b->count ? a->count : b->count;
    for (int i = 0; i < sum.count; ++i) {
        carry += (uint64_t)(i < a->count ? a->limb[i] : 0) + (i < b->count ? b->limb[i] : 0);
        sum.limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    TN_ASSERT(sum.count < LIMB_MAX);
    if (carry != 0) sum.limb[sum.count++] = (uint32_t)carry;
    return big_compare(&sum, c);
}

// ---- Reading ----------------------------------------------------------------------------------

// The text's digits without leading zeros: 0.d1 d2 d3 ... * 10^point
typedef struct decimal {
    bool    negative;
    int     count;
    int64_t point;
    uint8_t digit[DIGIT_MAX + 1];
} decimal;

static bool is_digit(const char* at, const char* limit)
{
    return at < limit && *at >= '0' && *at <= '9';
}

static void decimal_add(decimal* d, int digit)
{
    if (d->count == 0 && digit == 0) {
        --d->point; // the caller adds it back for a zero before the decimal point
    } else if (d->count < DIGIT_MAX) {
        d->digit[d->count++] = (uint8_t)digit;
    } else if (digit != 0) {
        d->digit[DIGIT_MAX] = 1;
        d->count            = DIGIT_MAX + 1;
    }
}

// number = [-] (0 | 1-9 digits) [. digits] [(e|E) [+|-] digits]; NULL: the text is not a number.
static const char* decimal_scan(decimal* d, const char* at, const char* limit)
{
    d->count    = 0;
    d->point    = 0;
    d->negative = at < limit && *at == '-';
    at += d->negative;
    const char* first = at;
    for (; is_digit(at, limit); ++at) {
        decimal_add(d, *at - '0');
        ++d->point;
    }
    if (at == first || (*first == '0' && at - first > 1)) return NULL;
    if (at < limit && *at == '.') {
        first = ++at;
        for (; is_digit(at, limit); ++at) decimal_add(d, *at - '0');
        if (at == first) return NULL;
    }
    if (at == limit || (*at != 'e' && *at != 'E')) return at;
    const bool down = ++at < limit && *at == '-';
    if (at < limit && (*at == '-' || *at == '+')) ++at;
    int64_t exponent = 0;
    for (first = at; is_digit(at, limit); ++at) {
        if (exponent < INT64_MAX / 100) exponent = 10 * exponent + (*at - '0');
    }
    if (at == first) return NULL;
    d->point += down ? -exponent : exponent;
    return at;
}

// The double nearest to (q, or slightly more if sticky) 2^x; q has its top bit set. False: too
// large.
static bool round_to_double(uint64_t q, int x, bool sticky, uint64_t* bits)
{
    const int exponent = x + 63;
    int       drop     = 11; // 64 bits to 53
    if (exponent > 1023) return false;
    if (exponent < -1022) drop += -1022 - exponent;
    if (drop > 64) {
        *bits = 0;
        return true;
    }
    uint64_t       mantissa = drop < 64 ? q >> drop : 0;
    const uint64_t rest     = drop < 64 ? q & (((uint64_t)1 << drop) - 1) : q;
    const uint64_t half     = (uint64_t)1 << (drop - 1);
    if (rest > half || (rest == half && (sticky || mantissa % 2 == 1))) ++mantissa;
    // The leading bit, and a carry out of the mantissa, add one to the exponent.
    const uint64_t field = exponent < -1022 ? 0 : (uint64_t)(exponent + 1022);
    *bits                = (field << 52) + mantissa;
    return *bits >> 52 < 0x7ff;
}

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 uint128;
enum { SHORT_DIGITS = 19, SHORT_POWER = 27 }; // 10^19 < 2^64, 5^27 < 2^63

static bool convert_short(const decimal* d, int e, uint64_t* bits)
{
    uint64_t D = 0, five = 1;
    for (int i = 0; i < d->count; ++i) D = 10 * D + d->digit[i];
    for (int i = 0; i < (e < 0 ? -e : e); ++i) five *= 5;
    int     x      = e;
    bool    sticky = false;
    uint128 q      = D;
    if (e >= 0) {
        q *= five;
    } else {
        const int up = 128 - bit_count(D);
        q            = (q << up) / five;
        sticky       = q * five != (uint128)D << up;
        x -= up;
    }
    const uint64_t high = (uint64_t)(q >> 64);
    if (high == 0) {
        const int up = 64 - bit_count((uint64_t)q);
        return round_to_double((uint64_t)q << up, x - up, sticky, bits);
    }
    const int down = bit_count(high);
    sticky         = sticky || (uint64_t)(q << (64 - down) << 64 >> 64) != 0;
    return round_to_double((uint64_t)(q >> down), x + down, sticky, bits);
}
#else
enum { SHORT_DIGITS = -1, SHORT_POWER = -1 };
static bool convert_short(const decimal* d, int e, uint64_t* bits)
{
    (void)d, (void)e, (void)bits;
    return false;
}
#endif

static bool convert_long(const decimal* d, int e, uint64_t* bits)
{
    big R, M;
    big_set(&R, 0);
    for (int i = 0; i < d->count; ++i) big_mul_add(&R, 10, d->digit[i]);
    big_set(&M, 1);
    big_mul_power_of_5(e < 0 ? &M : &R, e < 0 ? -e : e);
    const int lead = big_bits(&R) - big_bits(&M);
    big_shift_left(lead < 0 ? &R : &M, lead < 0 ? -lead : lead);
    int x = e + lead - 63;
    if (big_compare(&R, &M) < 0) {
        big_shift_left(&R, 1);
        --x;
    }
    uint64_t q = 0; // now M <= R < 2 M, so the first bit is 1
    for (int i = 0; i < 64; ++i) {
        q *= 2;
        if (big_compare(&R, &M) >= 0) {
            big_subtract(&R, &M);
            ++q;
        }
        big_shift_left(&R, 1);
    }
    return round_to_double(q, x, R.count > 0, bits);
}

bool tn_parse_number(const char* text, const char* limit, const char** end, double* value)
{
    decimal d;
    *end              = text;
    const char* after = decimal_scan(&d, text, limit);
    if (after == NULL) return false;
    *end = after; // also if too large, so that the caller can tell the two apart
    while (d.count > 0 && d.digit[d.count - 1] == 0) --d.count;
    uint64_t bits = 0;
    if (d.count > 0 && d.point > 310) return false;
    if (d.count > 0 && d.point > -330) {
        const int e = (int)d.point - d.count;
        if (d.count <= SHORT_DIGITS && e >= -SHORT_POWER && e <= SHORT_POWER) {
            if (!convert_short(&d, e, &bits)) return false;
        } else if (!convert_long(&d, e, &bits)) {
            return false;
        }
    }
    bits |= (uint64_t)d.negative << 63;
    memcpy(value, &bits, sizeof bits);
    return true;
}

// ---- Writing ----------------------------------------------------------------------------------

enum { SHORTEST_MAX = 17 };

static int whole_digits(uint64_t value, char* digits, int* point)
{
    char reversed[20];
    int  count = 0, zeros = 0;
    for (; value > 0; value /= 10) reversed[count++] = (char)('0' + value % 10);
    while (zeros < count && reversed[zeros] == '0') ++zeros;
    for (int i = 0; i < count - zeros; ++i) digits[i] = reversed[count - 1 - i];
    *point = count;
    return count - zeros;
}

// The fraction of [1]: value = r/s, half gaps below and above m_minus/s and m_plus/s.
typedef struct fraction {
    big r, s, m_plus, m_minus;
} fraction;

// Scales r/s to its first digit and the rest; value = 0.d1 d2 ... 10^k. Returns k.
static int fraction_make(fraction* f, uint64_t mantissa, int exponent, bool narrow_below, bool even)
{
    const int up = exponent > 0 ? exponent : 0, extra = narrow_below ? 2 : 1;
    big_set(&f->r, mantissa);
    big_set(&f->s, 1);
    big_set(&f->m_plus, 1);
    big_shift_left(&f->r, up + extra);
    big_shift_left(&f->s, up - exponent + extra);
    big_shift_left(&f->m_plus, up + extra - 1);
    big_set(&f->m_minus, 1);
    big_shift_left(&f->m_minus, up);
    const int  top      = exponent + bit_count(mantissa) - 1; // 2^top <= value
    int        k        = (int)ceil(top * 0.30102999566398114 - 1e-10);
    big* const scaled[] = {&f->r, &f->m_plus, &f->m_minus};
    if (k > 0) {
        big_mul_power_of_5(&f->s, k);
        big_shift_left(&f->s, k);
    }
    for (int i = 0; i < 3 && k < 0; ++i) {
        big_mul_power_of_5(scaled[i], -k);
        big_shift_left(scaled[i], -k);
    }
    const int order = big_compare_sum(&f->r, &f->m_plus, &f->s);
    if (order > 0 || (order == 0 && even)) return k + 1;
    for (int i = 0; i < 3; ++i) big_mul_add(scaled[i], 10, 0);
    return k;
}

static int shortest_digits(uint64_t mantissa, int exponent, char* digits, int* point)
{
    const bool even         = mantissa % 2 == 0;
    const bool narrow_below = mantissa == (uint64_t)1 << 52 && exponent > -1074;
    fraction   f;
    *point = fraction_make(&f, mantissa, exponent, narrow_below, even);
    for (int count = 0;;) {
        int digit = 0;
        while (big_compare(&f.r, &f.s) >= 0) {
            big_subtract(&f.r, &f.s);
            ++digit;
        }
        const int  below = big_compare(&f.r, &f.m_minus);
        const int  above = big_compare_sum(&f.r, &f.m_plus, &f.s);
        const bool low   = below < 0 || (below == 0 && even),
                   high  = above > 0 || (above == 0 && even);
        if (low && high) {
            digit += big_compare_sum(&f.r, &f.r, &f.s) >= 0;
        } else {
            digit += high;
        }
        digits[count++] = (char)('0' + digit);
        if (low || high) return count;
        TN_ASSERT(count < SHORTEST_MAX);
        big_mul_add(&f.r, 10, 0);
        big_mul_add(&f.m_plus, 10, 0);
        big_mul_add(&f.m_minus, 10, 0);
    }
}

// 9.81, 1200, 0.00001 if that is short, else 1.5e-9 and 6e23.
static int lay_out(const char* digits, int count, int point, char* text)
{
    char* at = text;
    if (point > 17 || point < -4) {
        *at++ = digits[0];
        if (count > 1) *at++ = '.';
        for (int i = 1; i < count; ++i) *at++ = digits[i];
        *at++        = 'e';
        int exponent = point - 1;
        if (exponent < 0) *at++ = '-';
        if (exponent < 0) exponent = -exponent;
        if (exponent >= 100) *at++ = (char)('0' + exponent / 100);
        if (exponent >= 10) *at++ = (char)('0' + exponent / 10 % 10);
        *at++ = (char)('0' + exponent % 10);
        return (int)(at - text);
    }
    if (point <= 0) *at++ = '0';
    for (int i = 0; i < point; ++i) *at++ = i < count ? digits[i] : '0';
    if (count > point) *at++ = '.';
    for (int i = point; i < 0; ++i) *at++ = '0';
    for (int i = point > 0 ? point : 0; i < count; ++i) *at++ = digits[i];
    return (int)(at - text);
}

int tn_format_number(double value, char* text, size_t size)
{
    TN_ASSERT(size >= 32);
    (void)size;
    if (!isfinite(value)) { // JSON has no infinity and NaN
        memcpy(text, "null", 5);
        return 4;
    }
    char     digits[20] = "0";
    int      count = 1, point = 1, length = 0;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (bits >> 63 != 0) text[length++] = '-';
    const int      field     = (int)(bits >> 52 & 0x7ff);
    const uint64_t mantissa  = bits & (((uint64_t)1 << 52) - 1);
    const double   magnitude = fabs(value);
    if (magnitude < 0x1p53 && magnitude == floor(magnitude)) {
        if (magnitude > 0) count = whole_digits((uint64_t)magnitude, digits, &point);
    } else if (field == 0) {
        count = shortest_digits(mantissa, -1074, digits, &point);
    } else {
        count = shortest_digits(mantissa | (uint64_t)1 << 52, field - 1075, digits, &point);
    }
    length += lay_out(digits, count, point, text + length);
    text[length] = '\0';
    return length;
}
