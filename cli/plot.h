// plot.h: measures of a motion over its time, as a figure.
#ifndef TNC_PLOT_H
#define TNC_PLOT_H

#include "simulate.h"

enum { TNC_PANELS_MAX = 12, TNC_LINES_MAX = 6 };

typedef struct tnc_line {
    char   label[64];
    double values[TNC_SERIES_ROOM]; ///< not finite: a gap
} tnc_line;

typedef struct tnc_panel {
    char        title[160];
    const char* unit;
    bool        logarithmic;
    bool        whole; ///< numbers of things: ticks are whole numbers
    int         color; ///< of the first line
    int         line_count;
    tnc_line    lines[TNC_LINES_MAX];
} tnc_panel;

typedef struct tnc_figure {
    char      title[160], subtitle[160];
    double    width, height; ///< of the drawing [px]
    int       sample_count;
    double    time[TNC_SERIES_ROOM];
    int       panel_count;
    tnc_panel panels[TNC_PANELS_MAX];
} tnc_figure;

/// A drawing that stands alone: no scripts, no fonts, light or dark as its reader likes.
void tnc_put_svg(tnc_out* out, const tnc_figure* figure);

/// What a report has for a figure.
typedef struct tnc_reported {
    bool       is_report; ///< else the file is something else: a scene, perhaps
    bool       has_series;
    char       scene[128], method[32];
    double     h, steps;
    tnc_series series;
} tnc_reported;

/// False: it is a report, but a broken one, or memory ran out: already complained.
bool tnc_read_report(const char* path, tnc_reported* reported);

#endif
