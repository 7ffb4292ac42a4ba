// The calls with the arguments of CLBlast: every layout and transpose, offsets, leading dimensions, alpha and beta, against
// sums of integers.
//
// Elements are small integers, so that halves and floats are exact too. Prints one line for each type and exits with 0 if all
// elements are right, 1 if not, 2 without an OpenCL device. The argument is the number of shapes, 1 to 4.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <tripipe.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_cl(cl_int code, const char *what) {
    if (code == CL_SUCCESS) return;
    fprintf(stderr, "%s: OpenCL error %d\n", what, code);
    exit(2);
}

// A half is a sign, 5 bits of exponent and 10 of fraction; integers up to 2048 are exact.
static uint16_t half_of(int value) {
    if (value == 0) return 0;
    const uint16_t sign = value < 0 ? 0x8000 : 0;
    unsigned rest = (unsigned)abs(value), exponent = 15;
    while (rest >> (exponent - 15) > 1) exponent++;
    return (uint16_t)(sign | exponent << 10 | ((rest << 10 >> (exponent - 15)) & 0x3ff));
}

static int of_half(uint16_t bits) {
    const int exponent = (bits >> 10) & 31;
    // A fraction that is not an integer is wrong anyway: -9999 is no element of a result.
    if (exponent < 15) return bits << 1 == 0 ? 0 : -9999;
    const int scaled = (1 << 10 | (bits & 0x3ff)) << (exponent - 15);
    if (exponent == 31 || scaled & 0x3ff) return -9999;
    return bits & 0x8000 ? -(scaled >> 10) : scaled >> 10;
}

typedef enum { SINGLE, HALF, INTEGER } type;
static const char *const NAMES[] = {"sgemm", "hgemm", "igemm"};

static size_t factor_bytes(type of) { return of == SINGLE ? 4 : of == HALF ? 2 : 1; }
static size_t sum_bytes(type of) { return of == HALF ? 2 : 4; }

static void store(type of, int is_sum, void *memory, size_t index, int value) {
    if (of == SINGLE) ((float *)memory)[index] = (float)value;
    else if (of == HALF) ((uint16_t *)memory)[index] = half_of(value);
    else if (is_sum) ((int32_t *)memory)[index] = value;
    else ((int8_t *)memory)[index] = (int8_t)value;
}

static int load_sum(type of, const void *memory, size_t index) {
    if (of == SINGLE) return (int)((const float *)memory)[index];
    if (of == HALF) return of_half(((const uint16_t *)memory)[index]);
    return ((const int32_t *)memory)[index];
}

typedef struct {
    size_t m, n, k, gap[3], offset[3];
    int alpha, beta;
} shape;

typedef struct {
    cl_context context;
    cl_command_queue queue;
} device;

static cl_mem buffer(const device *on, void *contents, size_t bytes) {
    cl_int code = CL_SUCCESS;
    cl_mem made = clCreateBuffer(on->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, contents, &code);
    check_cl(code, "clCreateBuffer");
    return made;
}

static tripipe_status gemm(type of, int layout, const int transposes[2], const shape *s, const size_t ld[3],
                           const cl_mem memory[3], cl_command_queue queue, cl_event *done) {
    void *on = queue, **event = (void **)done;
    const size_t *offset = s->offset;
    if (of == SINGLE)
        return tripipe_sgemm(layout, transposes[0], transposes[1], s->m, s->n, s->k, (float)s->alpha, memory[0], offset[0],
                             ld[0], memory[1], offset[1], ld[1], (float)s->beta, memory[2], offset[2], ld[2], &on, event);
    if (of == HALF)
        return tripipe_hgemm(layout, transposes[0], transposes[1], s->m, s->n, s->k, half_of(s->alpha), memory[0], offset[0],
                             ld[0], memory[1], offset[1], ld[1], half_of(s->beta), memory[2], offset[2], ld[2], &on, event);
    return tripipe_igemm(layout, transposes[0], transposes[1], s->m, s->n, s->k, s->alpha, memory[0], offset[0], ld[0],
                         memory[1], offset[1], ld[1], s->beta, memory[2], offset[2], ld[2], &on, event);
}

// The number of an element of a matrix in memory.
static size_t at(int layout, size_t row, size_t column, size_t ld) {
    return layout == TRIPIPE_LAYOUT_ROW_MAJOR ? row * ld + column : row + column * ld;
}

// The number of wrong elements of one product, those in gaps and before the offset included; -1 if the device refused.
static long product(const device *on, type of, int layout, const int transposes[2], const shape *s) {
    const size_t extents[3][2] = {
        {transposes[0] == TRIPIPE_TRANSPOSE_NO ? s->m : s->k, transposes[0] == TRIPIPE_TRANSPOSE_NO ? s->k : s->m},
        {transposes[1] == TRIPIPE_TRANSPOSE_NO ? s->k : s->n, transposes[1] == TRIPIPE_TRANSPOSE_NO ? s->n : s->k},
        {s->m, s->n},
    };
    size_t ld[3], elements[3];
    int *numbers[3];
    void *contents[3];
    cl_mem memory[3];
    for (int i = 0; i < 3; i++) {
        const int is_row_major = layout == TRIPIPE_LAYOUT_ROW_MAJOR;
        ld[i] = extents[i][is_row_major] + s->gap[i];
        elements[i] = s->offset[i] + ld[i] * extents[i][!is_row_major];
        numbers[i] = malloc(elements[i] * sizeof(int));
        const size_t bytes = elements[i] * (i == 2 ? sum_bytes(of) : factor_bytes(of));
        contents[i] = malloc(bytes);
        for (size_t e = 0; e < elements[i]; e++) {
            numbers[i][e] = (int)(e * 7 + (size_t)i * 5) % 9 - 4;
            store(of, i == 2, contents[i], e, numbers[i][e]);
        }
        memory[i] = buffer(on, contents[i], bytes);
    }
    cl_event done = NULL;
    const tripipe_status status = gemm(of, layout, transposes, s, ld, memory, on->queue, &done);
    long wrong = 0;
    if (status == TRIPIPE_STATUS_SUCCESS) {
        check_cl(clWaitForEvents(1, &done), "clWaitForEvents");
        clReleaseEvent(done);
        check_cl(clEnqueueReadBuffer(on->queue, memory[2], CL_TRUE, 0, elements[2] * sum_bytes(of), contents[2], 0, NULL, NULL),
                 "clEnqueueReadBuffer");
        for (size_t i = 0; i < s->m; i++)
            for (size_t j = 0; j < s->n; j++) {
                int sum = 0;
                for (size_t l = 0; l < s->k; l++) {
                    const int is_a = transposes[0] != TRIPIPE_TRANSPOSE_NO, is_b = transposes[1] != TRIPIPE_TRANSPOSE_NO;
                    sum += numbers[0][s->offset[0] + at(layout, is_a ? l : i, is_a ? i : l, ld[0])] *
                           numbers[1][s->offset[1] + at(layout, is_b ? j : l, is_b ? l : j, ld[1])];
                }
                int *element = &numbers[2][s->offset[2] + at(layout, i, j, ld[2])];
                *element = s->alpha * sum + s->beta * *element;
            }
        for (size_t e = 0; e < elements[2]; e++) wrong += load_sum(of, contents[2], e) != numbers[2][e];
    } else if (status == TRIPIPE_STATUS_UNSUPPORTED) {
        wrong = -1;
    } else {
        fprintf(stderr, "%s: status %d: %s\n", NAMES[of], (int)status, tripipe_last_error());
        exit(1);
    }
    for (int i = 0; i < 3; i++) {
        clReleaseMemObject(memory[i]);
        free(numbers[i]);
        free(contents[i]);
    }
    return wrong;
}

// 2 [1 2; 3 4] [5 6; 7 8] + 3 [1 1; 1 1] = [41 47; 89 103], calculated by hand.
static long by_hand(const device *on, type of) {
    const int numbers[3][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {1, 1, 1, 1}}, want[4] = {41, 47, 89, 103};
    const shape two = {2, 2, 2, {0}, {0}, 2, 3};
    const int plain[2] = {TRIPIPE_TRANSPOSE_NO, TRIPIPE_TRANSPOSE_NO};
    char contents[3][16];
    cl_mem memory[3];
    for (int i = 0; i < 3; i++) {
        for (size_t e = 0; e < 4; e++) store(of, i == 2, contents[i], e, numbers[i][e]);
        memory[i] = buffer(on, contents[i], 4 * (i == 2 ? sum_bytes(of) : factor_bytes(of)));
    }
    const size_t ld[3] = {2, 2, 2};
    // Without an event.
    const tripipe_status status = gemm(of, TRIPIPE_LAYOUT_ROW_MAJOR, plain, &two, ld, memory, on->queue, NULL);
    long wrong = status == TRIPIPE_STATUS_UNSUPPORTED ? -1 : status != TRIPIPE_STATUS_SUCCESS ? 4 : 0;
    if (wrong == 0) {
        check_cl(clEnqueueReadBuffer(on->queue, memory[2], CL_TRUE, 0, 4 * sum_bytes(of), contents[2], 0, NULL, NULL), "read");
        for (size_t e = 0; e < 4; e++) wrong += load_sum(of, contents[2], e) != want[e];
    }
    for (int i = 0; i < 3; i++) clReleaseMemObject(memory[i]);
    return wrong;
}

// Calls that are refused, each with the name of the argument.
static long refusals(const device *on) {
    char zeros[64] = {0};
    cl_mem one = buffer(on, zeros, sizeof zeros);
    void *queue = on->queue;
    long missed = 0;
#define REFUSED(want, call) \
    do { \
        const tripipe_status status = call; \
        if (status != TRIPIPE_STATUS_INVALID_ARGUMENT || !strstr(tripipe_last_error(), want)) { \
            printf("status %d: %s\n", (int)status, tripipe_last_error()); \
            missed++; \
        } \
    } while (0)
    REFUSED("layout is 7", tripipe_igemm(7, 111, 111, 2, 2, 2, 1, one, 0, 2, one, 0, 2, 0, one, 0, 2, &queue, NULL));
    REFUSED("a_transpose is 0", tripipe_igemm(101, 0, 111, 2, 2, 2, 1, one, 0, 2, one, 0, 2, 0, one, 0, 2, &queue, NULL));
    REFUSED("b_ld is 1, less than 2", tripipe_igemm(101, 111, 111, 2, 2, 2, 1, one, 0, 2, one, 0, 1, 0, one, 0, 2, &queue, NULL));
    REFUSED("c_ld is 1, less than 2", tripipe_hgemm(101, 111, 111, 2, 2, 2, 0, one, 0, 2, one, 0, 2, 0, one, 0, 1, &queue, NULL));
    REFUSED("queue", tripipe_igemm(101, 111, 111, 2, 2, 2, 1, one, 0, 2, one, 0, 2, 0, one, 0, 2, NULL, NULL));
    REFUSED("a", tripipe_hgemm(101, 111, 111, 2, 2, 2, 0, NULL, 0, 2, one, 0, 2, 0, one, 0, 2, &queue, NULL));
    // The buffer has 64 elements, or 16 sums.
    REFUSED("b: ", tripipe_igemm(101, 111, 111, 2, 2, 2, 1, one, 0, 2, one, 61, 2, 0, one, 0, 2, &queue, NULL));
    REFUSED("c: ", tripipe_igemm(101, 111, 111, 2, 2, 2, 1, one, 0, 2, one, 32, 2, 0, one, 14, 2, &queue, NULL));
    REFUSED("a: too large", tripipe_igemm(101, 111, 111, 2, 2, 2, 1, one, SIZE_MAX, 2, one, 0, 2, 0, one, 0, 2, &queue, NULL));
    clReleaseMemObject(one);
    return missed;
}

int main(int count, char **arguments) {
    // How many of the shapes are multiplied.
    const int wanted = count > 1 ? atoi(arguments[1]) : 4;
    if (wanted < 1 || wanted > 4) {
        fprintf(stderr, "the number of shapes is 1 to 4\n");
        return 2;
    }
    cl_platform_id platform = NULL;
    cl_device_id id = NULL;
    check_cl(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    check_cl(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, NULL), "clGetDeviceIDs");
    char extensions[4096] = "";
    check_cl(clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, sizeof extensions, extensions, NULL), "CL_DEVICE_EXTENSIONS");
    const int has_halves = strstr(extensions, "cl_khr_fp16") != NULL;
    cl_int code = CL_SUCCESS;
    device on = {clCreateContext(NULL, 1, &id, NULL, NULL, &code), NULL};
    check_cl(code, "clCreateContext");
    on.queue = clCreateCommandQueue(on.context, id, 0, &code);
    check_cl(code, "clCreateCommandQueue");

    const shape shapes[] = {
        {5, 7, 9, {0, 0, 0}, {0, 0, 0}, 1, 0},
        {19, 13, 22, {3, 1, 2}, {5, 2, 7}, 2, -1},
        {33, 40, 17, {0, 4, 0}, {0, 9, 0}, -3, 2},
        {1, 6, 30, {2, 0, 1}, {1, 0, 3}, 1, 1},
    };
    const int layouts[] = {TRIPIPE_LAYOUT_ROW_MAJOR, TRIPIPE_LAYOUT_COL_MAJOR};
    const int kinds[] = {TRIPIPE_TRANSPOSE_NO, TRIPIPE_TRANSPOSE_YES, TRIPIPE_TRANSPOSE_CONJUGATE};
    long all_wrong = refusals(&on);
    printf("refusals: %ld are missing\n", all_wrong);
    for (type of = SINGLE; of <= INTEGER; of++) {
        long wrong = 0, products = 0, refused = 0;
        for (size_t i = 0; i < (size_t)wanted * 2 * 3 * 3; i++) {
            const int transposes[2] = {kinds[i / 2 % 3], kinds[i / 6 % 3]};
            const long found = product(&on, of, layouts[i % 2], transposes, &shapes[i / 18]);
            products++;
            if (found < 0) refused++;
            else wrong += found;
        }
        const long hand = by_hand(&on, of);
        if (hand < 0) refused++;
        else wrong += hand;
        printf("%s: %ld products, %ld wrong elements, %ld refused\n", NAMES[of], products + 1, wrong, refused);
        if (refused) printf("  %s\n", tripipe_last_error());
        // Only what the device does not have is refused.
        all_wrong += wrong + (of == HALF && !has_halves ? 0 : refused);
    }
    printf("halves: %s\n", has_halves ? "yes" : "no");
    clReleaseCommandQueue(on.queue);
    clReleaseContext(on.context);
    return all_wrong == 0 ? 0 : 1;
}
