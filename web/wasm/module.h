// module.h: what the playground's WebAssembly offers to its page: a stage, and scenes to put on it. web/wasm/player.ts is
// the caller. Texts are UTF-8; every text that comes out has its length in tnw_length() and holds until the next call.
#ifndef TENON_WASM_MODULE_H
#define TENON_WASM_MODULE_H

#include "tenon/tenon.h"

#define TNW_EXPORT(name) __attribute__((export_name(#name)))

typedef struct tnw_player tnw_player;

TNW_EXPORT(tnw_create) tnw_player* tnw_create(void); ///< NULL: no memory
/// Room for the next command, so many bytes; NULL: no memory.
TNW_EXPORT(tnw_room) char* tnw_room(tnw_player* player, size_t bytes);
/// Obeys the command in the room: those of docs/protocol.md, `gallery` and `source @NAME`.
TNW_EXPORT(tnw_command) void tnw_command(tnw_player* player, size_t length);
/// As tng_stage_advance and tng_stage_wait; without a scene nothing moves.
TNW_EXPORT(tnw_advance) bool tnw_advance(tnw_player* player, double budget);
TNW_EXPORT(tnw_wait) double tnw_wait(const tnw_player* player);
/// The next message, JSON; NULL: none.
TNW_EXPORT(tnw_message) const char* tnw_message(tnw_player* player);
/// The frame of now; NULL: no scene, or no memory.
TNW_EXPORT(tnw_frame) const char* tnw_frame(tnw_player* player);
TNW_EXPORT(tnw_length) size_t tnw_length(const tnw_player* player);
/// Hash of the state, the one of reports; 0: no scene.
TNW_EXPORT(tnw_hash) uint64_t tnw_hash(const tnw_player* player);

#endif
