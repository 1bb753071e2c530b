// player_page.h: the page of player/player.html, line by line, NULL at the end.
#ifndef TNC_PLAYER_PAGE_H
#define TNC_PLAYER_PAGE_H

/// The line in whose place the motion goes.
#define TNC_PLAYER_SLOT "@MOTION@\n"

extern const char* const tnc_player_page[];

#endif
