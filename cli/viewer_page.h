// viewer_page.h: the viewer as one HTML file, compiled into the program: what stands before and behind its data.
// web/build.mjs makes it from web/src. Both are empty where the program was built without it (TENON_PAGE=OFF).
#ifndef TNC_VIEWER_PAGE_H
#define TNC_VIEWER_PAGE_H

extern const char* const tnc_page_head[]; ///< texts, a null pointer at the end
extern const char* const tnc_page_tail[];

#endif
