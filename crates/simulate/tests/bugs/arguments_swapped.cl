// Source and destination passed the wrong way round.
kernel void arguments_swapped(global float *to, global float *from) {
    int i = get_global_id(0);
    float value = from[i]; //~ ERROR write-only-read
    to[i] = value; //~ ERROR read-only-write
}
