// lanes_end: undefines the names that lanes_vec3.h and the headers including it have defined.
#undef LANES
#undef PICK
#undef ONLY
#undef AT
#undef mask
#undef vec3
#undef vec
#undef NAME
#undef JOIN
#undef JOIN_
#undef ROOT
#undef BYTES
#undef TARGET
#undef SET
