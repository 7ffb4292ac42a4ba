// dimension 0 steps by height * width = 12544 bytes: no scattered-access advice, "Next item unknown", even with both
// known.
kernel void k(global const char *in, global char *out, int width, int height) {
  int c = get_global_id(0), x = get_global_id(1), y = get_global_id(2);
  out[(c * height + y) * width + x] = in[(c * height + y) * width + x] + 1;
}
// one argument: advice comes
kernel void one(global const char *in, global char *out, int plane, int width) {
  int c = get_global_id(0), x = get_global_id(1), y = get_global_id(2);
  out[c * plane + y * width + x] = in[c * plane + y * width + x] + 1;
}
