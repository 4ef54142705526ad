/* Forget what `_sets.h` and `_tile.h` define for a set of instructions. */

#undef V
#undef PANEL
#undef DEFINE_TILE
#undef LANES
#undef WIDE
#undef HIGH
#undef NAME
#undef TARGET
