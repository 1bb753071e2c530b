// progress: one line on the terminal, redrawn at most ten times a second:
//
//     [##########                    ]  3.31 of 10 s  12.4 x real time  joint error 3e-12
#define _DEFAULT_SOURCE

#include "motion.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const double progress_period = 0.1; // [s]

static int terminal_width(void)
{
#ifdef TIOCGWINSZ
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
        return size.ws_col < 200 ? size.ws_col : 200;
#endif
    return 80;
}

tnc_progress tnc_progress_begin(bool quiet)
{
    const double now = tnc_clock(NULL);
    return (tnc_progress){
        .shown = !quiet && isatty(STDERR_FILENO), .begun = now, .next = now + progress_period};
}

// Whether it is time to draw again.
static bool is_due(tnc_progress* progress, double now)
{
    if (!progress->shown || now < progress->next) return false;
    progress->next = now + progress_period;
    return true;
}

static void draw(double share, const char* text)
{
    char      bar[256];
    const int width = terminal_width() - 1;
    int       room  = width - (int)strlen(text) - 2;
    if (room < 5) room = 0;
    const int full = (int)(room * share);
    for (int i = 0; i < room; ++i) bar[i] = i < full ? '#' : ' ';
    bar[room] = '\0';
    if (room > 0) fprintf(stderr, "\r[%s]%s\033[K", bar, text);
    else fprintf(stderr, "\r%.*s\033[K", width, text + 2);
    fflush(stderr);
}

void tnc_progress_show(tnc_progress* progress, const tnc_motion* motion)
{
    const double now = tnc_clock(NULL), time = tnc_motion_time(motion);
    char         text[120];
    if (!is_due(progress, now)) return;
    snprintf(text, sizeof text, "  %.3g of %.3g s  %.3g x real time  joint error %.1e", time,
             (double)motion->steps * motion->h, time / (now - progress->begun), motion->error_max);
    draw((double)motion->done / (double)motion->steps, text);
}

void tnc_progress_count(tnc_progress* progress, int done, int count, const char* things)
{
    char text[120];
    if (!is_due(progress, tnc_clock(NULL))) return;
    snprintf(text, sizeof text, "  %d of %d %s", done, count, things);
    draw((double)done / count, text);
}

void tnc_progress_end(tnc_progress* progress)
{
    if (progress->shown) fprintf(stderr, "\r\033[K");
}
