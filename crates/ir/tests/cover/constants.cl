// Constants of the program: addresses of others in them, and arrays that are constant in part.
// options: -cl-std=CL2.0
constant float table[2][3] = {{1.0f, 2.0f, 3.0f}, {4.0f, 5.0f, 6.0f}};
constant float *constant row = &table[1][2];
global int numbers[] = {7, 42, 3};
global int *second = &numbers[1];
constant int small[] = {-3, 56};
constant int *last = &small[1];
struct pair { constant float *a; int b; };
constant struct pair pairs[2] = {{&table[0][1], 3}, {table[1], 4}};
kernel void addresses(global float *out, int i) {
    out[0] = *row + *second + *last + numbers[i];
    out[1] = *pairs[i].a + pairs[1].b;
}
