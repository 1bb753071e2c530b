// plot_svg: a figure as SVG. Panels share the time axis and lie one above the other; each has a heading with its unit and
// a legend, a few ticks at round numbers, and faint lines there. Colours are in a style sheet with a light and
// a dark half. Points nearer than a tenth of a pixel to the one before are left out.
#include "plot.h"

#include <math.h>
#include <string.h>

static const double margin_left = 70, margin_right = 18, margin_top = 52, margin_bottom = 44;
static const double heading = 24, gap = 14; // above a panel, and below it

/// A range of numbers on a stretch of pixels.
typedef struct axis {
    double low, high; ///< powers of ten, when logarithmic
    double from, to;  ///< [px]
    double tick;      ///< from tick to tick; decades, when logarithmic; 0: ticks at 1, 2, 5
    bool   logarithmic;
} axis;

// ---- Axes ----------------------------------------------------------------------------------------

// 1, 2 or 5 times a power of ten, so that there are at most `most` of them within the range.
static double round_tick(double range, int most)
{
    const double rough = range / most, power = pow(10, floor(log10(rough)));
    const double share = rough / power;
    return power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
}

static void find_range(const tnc_figure* f, const tnc_panel* p, bool positive, double* low,
                       double* high)
{
    *low  = HUGE_VAL;
    *high = -HUGE_VAL;
    for (int k = 0; k < p->line_count; ++k) {
        for (int i = 0; i < f->sample_count; ++i) {
            const double v = p->lines[k].values[i];
            if (!isfinite(v) || (positive && !(v > 0))) continue;
            *low  = fmin(*low, v);
            *high = fmax(*high, v);
        }
    }
}

static axis linear_axis(double low, double high, double from, double to, bool whole, int most)
{
    if (!(low <= high)) low = high = 0;
    const double size = fmax(fabs(low), fabs(high));
    if (size < 1e-290 || (whole && high <= low)) high = low + 1;
    else if (high - low < 1e-9 * size) { // flat
        low -= 0.1 * size;
        high += 0.1 * size;
    }
    const double tick = fmax(round_tick(high - low, most), whole ? 1 : 0);
    return (axis){.low  = floor(low / tick + 1e-9) * tick,
                  .high = ceil(high / tick - 1e-9) * tick,
                  .from = from,
                  .to   = to,
                  .tick = tick};
}

static axis log_axis(double low, double high, double from, double to)
{
    enum { DECADES_MAX = 18, FINE_MAX = 2, TICKS = 5 };
    if (!(low <= high)) low = high = 1; // nothing above zero
    axis a = {.low         = floor(log10(low)),
              .high        = ceil(log10(high)),
              .from        = from,
              .to          = to,
              .logarithmic = true};
    if (a.high <= a.low) a.high = a.low + 1;
    a.low  = fmax(a.low, a.high - DECADES_MAX);
    a.tick = a.high - a.low <= FINE_MAX ? 0 : ceil((a.high - a.low) / TICKS);
    return a;
}

static double place(const axis* a, double value)
{
    const double v = a->logarithmic ? value > 0 ? log10(value) : a->low : value;
    const double s = (fmin(fmax(v, a->low), a->high) - a->low) / (a->high - a->low);
    return a->from + s * (a->to - a->from);
}

// ---- Text ----------------------------------------------------------------------------------------

static void put_escaped(tnc_out* out, const char* text)
{
    for (const unsigned char* c = (const unsigned char*)text; *c; ++c) {
        if (*c == '<') tnc_put(out, "&lt;");
        else if (*c == '>') tnc_put(out, "&gt;");
        else if (*c == '&') tnc_put(out, "&amp;");
        else if (*c == '"') tnc_put(out, "&quot;");
        else putc(*c < ' ' || *c == 0x7f ? '?' : *c, out->file);
    }
}

// A number of a tick: with the digits that the distance of ticks needs, and a real minus sign.
static void put_label(tnc_out* out, double value, double tick)
{
    const double size   = fmax(fabs(value), tick);
    const int    digits = (int)fmax(0, -floor(log10(tick) + 1e-9));
    char         text[40];
    if (fabs(value) < 1e-9 * tick) value = 0;
    if (size < 1e5 && tick >= 0.999e-4) snprintf(text, sizeof text, "%.*f", digits, fabs(value));
    else snprintf(text, sizeof text, "%.6g", fabs(value));
    tnc_put(out, "%s%s", value < 0 ? "&#8722;" : "", text);
}

// factor times a power of ten; the axis decides whether with an exponent.
static void put_power(tnc_out* out, const axis* a, int factor, double exponent)
{
    if (a->low >= -2 && a->high <= 4) {
        tnc_put(out, "%g", factor * pow(10, exponent));
        return;
    }
    if (factor > 1) tnc_put(out, "%d&#183;", factor);
    tnc_put(out, "10<tspan dy=\"-4\" font-size=\"8\">%s%.0f</tspan>", exponent < 0 ? "&#8722;" : "",
            fabs(exponent));
}

// ---- Panels --------------------------------------------------------------------------------------

// The number follows, and the end of the text.
static void put_y_tick(tnc_out* out, const axis* x, double at)
{
    tnc_put(out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>\n", x->from, at, x->to);
    tnc_put(out, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", x->from - 8,
            at + 3.5);
}

static void put_log_ticks(tnc_out* out, const axis* x, const axis* y)
{
    static const int factors[] = {1, 2, 5};
    const double     step      = y->tick > 0 ? y->tick : 1;
    for (double e = y->low; e <= y->high + 1e-9; e += step) {
        for (int k = 0; k < (y->tick > 0 || e >= y->high ? 1 : 3); ++k) {
            put_y_tick(out, x, place(y, factors[k] * pow(10, e)));
            put_power(out, y, factors[k], e);
            tnc_put(out, "</text>\n");
        }
    }
}

static void put_y_axis(tnc_out* out, const axis* x, const axis* y)
{
    if (y->logarithmic) {
        put_log_ticks(out, x, y);
        return;
    }
    const int count = (int)floor((y->high - y->low) / y->tick + 0.5);
    for (int i = 0; i <= count; ++i) {
        const double value = y->low + i * y->tick;
        put_y_tick(out, x, place(y, value));
        put_label(out, value, y->tick);
        tnc_put(out, "</text>\n");
    }
}

// Upright lines in every panel; numbers below the last one.
static void put_x_axis(tnc_out* out, const axis* x, double top, double bottom, bool labelled)
{
    for (int i = 0; x->low + i * x->tick <= x->high + 1e-9 * x->tick; ++i) {
        const double value = x->low + i * x->tick, at = place(x, value);
        tnc_put(out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>\n", at, top, bottom);
        if (!labelled) continue;
        tnc_put(out, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", at,
                bottom + 17);
        put_label(out, value, x->tick);
        tnc_put(out, "</text>\n");
    }
    if (labelled)
        tnc_put(
            out,
            "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">time [s]</text>\n",
            0.5 * (x->from + x->to), bottom + 35);
}

static void put_line(tnc_out* out, const tnc_figure* f, const tnc_line* line, int color,
                     const axis* x, const axis* y)
{
    bool   drawn  = false;
    double last_x = 0, last_y = 0;
    tnc_put(out, "<path class=\"line c%d\" d=\"", color);
    for (int i = 0; i < f->sample_count; ++i) {
        if (!isfinite(line->values[i])) {
            drawn = false;
            continue;
        }
        const double at_x = place(x, f->time[i]), at_y = place(y, line->values[i]);
        if (drawn && i + 1 < f->sample_count && fabs(at_x - last_x) + fabs(at_y - last_y) < 0.1)
            continue;
        tnc_put(out, "%s%.2f %.2f", drawn ? "L" : "M", at_x, at_y);
        last_x = at_x;
        last_y = at_y;
        drawn  = true;
    }
    tnc_put(out, "\"/>\n");
}

static int color_of(const tnc_panel* p, int line)
{
    return (p->color + line) % TNC_LINES_MAX;
}

static void put_heading(tnc_out* out, const tnc_panel* p, const axis* x, double baseline)
{
    double right = x->to;
    tnc_put(out, "<text class=\"head\" x=\"%.1f\" y=\"%.1f\">", x->from, baseline);
    put_escaped(out, p->title);
    if (p->unit[0]) tnc_put(out, " <tspan class=\"dim\">[%s]</tspan>", p->unit);
    tnc_put(out, "</text>\n");
    for (int k = p->line_count - 1; k >= 0 && p->line_count > 1; --k) { // from the right
        const double width = 6.1 * (double)strlen(p->lines[k].label);
        tnc_put(out, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", right,
                baseline);
        put_escaped(out, p->lines[k].label);
        tnc_put(out, "</text>\n<path class=\"line c%d\" d=\"M%.1f %.1fh18\"/>\n", color_of(p, k),
                right - width - 24, baseline - 4);
        right -= width + 40;
    }
}

static void put_panel(tnc_out* out, const tnc_figure* f, const tnc_panel* p, const axis* x,
                      double top, double bottom, bool last)
{
    double low, high;
    find_range(f, p, p->logarithmic, &low, &high);
    const int  ticks = bottom - top < 80 ? 2 : bottom - top < 220 ? 4 : 6;
    const axis y     = p->logarithmic ? log_axis(low, high, bottom, top)
                                      : linear_axis(low, high, bottom, top, p->whole, ticks);
    put_heading(out, p, x, top - 9);
    put_x_axis(out, x, top, bottom, last);
    put_y_axis(out, x, &y);
    tnc_put(out, "<path class=\"frame\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", x->from, top, bottom,
            x->to);
    for (int k = 0; k < p->line_count; ++k) put_line(out, f, &p->lines[k], color_of(p, k), x, &y);
}

// ---- The drawing ---------------------------------------------------------------------------------

static void put_style(tnc_out* out)
{
    tnc_put(
        out,
        "<style>\n"
        "svg{--back:#fff;--ink:#1d2129;--dim:#616975;--grid:#e6e9ee;--frame:#9aa2ae}\n"
        "svg{--c0:#2f6fde;--c1:#d9701a;--c2:#1d2129;--c3:#2a8f5c;--c4:#8a56c2;--c5:#c8403a}\n"
        "@media(prefers-color-scheme:dark){\n"
        "svg{--back:#14171c;--ink:#e8ebf0;--dim:#98a1ae;--grid:#262b33;--frame:#59616d}\n"
        "svg{--c0:#6ea8ff;--c1:#ffa657;--c2:#e8ebf0;--c3:#56d093;--c4:#c29bff;--c5:#ff7b72}}\n"
        "text{font:11px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;fill:var(--ink)}\n"
        ".title{font-size:16px;font-weight:600}.head{font-size:12.5px;font-weight:600}\n"
        ".dim{fill:var(--dim);font-weight:400}.tick{fill:var(--dim);font-variant-numeric:tabular-nums}\n"
        "path{fill:none}.grid{stroke:var(--grid)}.frame{stroke:var(--frame)}\n"
        ".line{stroke-width:1.5;stroke-linejoin:round;stroke-linecap:round}\n");
    for (int i = 0; i < TNC_LINES_MAX; ++i) tnc_put(out, ".c%d{stroke:var(--c%d)}", i, i);
    tnc_put(out,
            "\n</style>\n<rect width=\"100%%\" height=\"100%%\" style=\"fill:var(--back)\"/>\n");
}

void tnc_put_svg(tnc_out* out, const tnc_figure* f)
{
    const double space  = f->height - margin_top - margin_bottom;
    const double share  = space / (f->panel_count > 0 ? f->panel_count : 1);
    const double inside = fmax(share - heading - gap, 1);
    const double end    = f->sample_count > 0 ? f->time[f->sample_count - 1] : 1;
    axis         x      = linear_axis(f->sample_count > 0 ? f->time[0] : 0, end, margin_left,
                         f->width - margin_right, false, f->width < 500 ? 5 : 10);
    if (f->sample_count > 1) x.high = end; // the motion fills the width
    tnc_put(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" viewBox=\"0 0 %g %g\" role=\"img\">\n",
        f->width, f->height, f->width, f->height);
    tnc_put(out, "<title>");
    put_escaped(out, f->title);
    tnc_put(out, "</title>\n");
    put_style(out);
    tnc_put(out, "<text class=\"title\" x=\"%.1f\" y=\"28\">", margin_left);
    put_escaped(out, f->title);
    tnc_put(out, " <tspan class=\"dim\" font-size=\"12\" dx=\"6\">");
    put_escaped(out, f->subtitle);
    tnc_put(out, "</tspan></text>\n");
    for (int i = 0; i < f->panel_count; ++i) {
        const double top = margin_top + i * share + heading;
        put_panel(out, f, &f->panels[i], &x, top, top + inside, i + 1 == f->panel_count);
    }
    tnc_put(out, "</svg>\n");
}
