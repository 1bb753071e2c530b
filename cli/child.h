// child.h: other programs that work for this one, and a folder of their own for what they leave behind.
#ifndef TNC_CHILD_H
#define TNC_CHILD_H

#include <stdbool.h>
#include <stddef.h>

enum { TNC_PATH_ROOM = 4096 };

/// The program of that name, as the shell would find it, or a path. False: there is none.
bool tnc_program_find(const char* name, char path[TNC_PATH_ROOM]);

bool tnc_is_root(void); ///< whether this program may do everything

/// A folder for temporary files, with a name of its own. False: already complained.
bool tnc_folder_make(char path[TNC_PATH_ROOM]);
void tnc_folder_remove(const char* path); ///< with all that is in it; "" is none

/// Zero it to begin.
typedef struct tnc_child {
    long pid;  ///< 0: it does not run
    int  in;   ///< its standard input, where it has one
    int  hold; ///< the end of a pipe that it watches
    int  code; ///< its exit code once it has ended; above 128: a signal ended it
} tnc_child;

/// How a program is started.
typedef struct tnc_start {
    const char* const* words;  ///< path and arguments, a null pointer at the end
    const char*        folder; ///< for its temporary files
    const char*        log;    ///< takes what it says
    bool               fed;    ///< it gets a standard input
    bool held; ///< it can read at descriptor 3 until this program ends, and write at 4
} tnc_start;

/// False: already complained.
bool tnc_child_start(tnc_child* child, const tnc_start* start);
/// All of the bytes to its standard input. False: it takes no more, or the user interrupts.
bool tnc_child_feed(tnc_child* child, const void* bytes, size_t length);
bool tnc_child_ended(tnc_child* child); ///< never waits; true when it does not run at all
/// Ends its standard input and waits for its end. False: the user interrupts.
bool tnc_child_finish(tnc_child* child);
/// Ends it, with all that it has started. Nothing where it does not run.
void tnc_child_kill(tnc_child* child);

#endif
