// Enqueues the kernels whose captures the tests import. `capture.sh` runs it under the OpenCL intercept layer.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cl_context context;
static cl_device_id device;
static cl_command_queue queue;

static void must(cl_int code, const char* what) {
    if (code != CL_SUCCESS) {
        fprintf(stderr, "%s: error %d\n", what, code);
        exit(1);
    }
}

static cl_kernel kernel_of(const char* source, const char* options, const char* name) {
    cl_int code;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &code);
    must(code, "clCreateProgramWithSource");
    code = clBuildProgram(program, 1, &device, options, NULL, NULL);
    if (code != CL_SUCCESS) {
        char log[8192] = "";
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
        fprintf(stderr, "%s\n", log);
    }
    must(code, "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, name, &code);
    must(code, name);
    return kernel;
}

static cl_mem buffer(size_t bytes, void* contents) {
    cl_int code;
    cl_mem_flags flags = CL_MEM_READ_WRITE | (contents ? CL_MEM_COPY_HOST_PTR : 0);
    cl_mem made = clCreateBuffer(context, flags, bytes, contents, &code);
    must(code, "clCreateBuffer");
    return made;
}

static cl_mem filled(size_t bytes, int byte) {
    char* contents = malloc(bytes);
    memset(contents, byte, bytes);
    cl_mem made = buffer(bytes, contents);
    free(contents);
    return made;
}

static cl_mem image(cl_image_desc desc, cl_channel_order order, cl_channel_type type, void* contents) {
    cl_int code;
    cl_image_format format = { order, type };
    cl_mem_flags flags = CL_MEM_READ_WRITE | (contents ? CL_MEM_COPY_HOST_PTR : 0);
    cl_mem made = clCreateImage(context, flags, &format, &desc, contents, &code);
    must(code, "clCreateImage");
    return made;
}

static void pass(cl_kernel kernel, cl_uint index, size_t bytes, const void* value) {
    char what[64];
    snprintf(what, sizeof what, "clSetKernelArg %u", index);
    must(clSetKernelArg(kernel, index, bytes, value), what);
}

static void enqueue(cl_kernel kernel, cl_uint dimensions, const size_t* offset, const size_t* global, const size_t* local) {
    must(clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, 0, NULL, NULL), "enqueue");
    must(clFinish(queue), "clFinish");
}

// Buffers, a number, options, an offset, and no local size.
static void scale(void) {
    cl_kernel kernel = kernel_of(
        "kernel void scale(global const TYPE* in, global TYPE* out, TYPE factor) {\n"
        "    size_t i = get_global_id(0);\n"
        "    out[i] = in[i] * factor + 0.5f;\n"
        "}\n",
        "-D TYPE=float -cl-std=CL1.2", "scale");
    float in[72];
    for (int i = 0; i < 72; i++) in[i] = 0.1f * i - 3;
    cl_mem source = buffer(sizeof in, in), result = filled(sizeof in, 0);
    float factor = 1.7f;
    pass(kernel, 0, sizeof source, &source);
    pass(kernel, 1, sizeof result, &result);
    pass(kernel, 2, sizeof factor, &factor);
    size_t offset = 8, global = 64;
    enqueue(kernel, 1, &offset, &global, NULL);
}

// Local memory, a barrier, a vector by value.
static void sums(void) {
    cl_kernel kernel = kernel_of(
        "kernel void sums(global const int* in, global int* out, local int* part, int4 weights) {\n"
        "    size_t l = get_local_id(0);\n"
        "    part[l] = in[get_global_id(0)] * weights.w;\n"
        "    barrier(CLK_LOCAL_MEM_FENCE);\n"
        "    if (l == 0) {\n"
        "        int all = weights.x;\n"
        "        for (int i = 0; i < 16; i++) all += part[i];\n"
        "        out[get_group_id(0)] = all;\n"
        "    }\n"
        "}\n",
        "", "sums");
    int in[64];
    for (int i = 0; i < 64; i++) in[i] = i * i - 100;
    cl_mem source = buffer(sizeof in, in), result = filled(16, 0);
    cl_int4 weights = { { 1000, 2, 3, -4 } };
    pass(kernel, 0, sizeof source, &source);
    pass(kernel, 1, sizeof result, &result);
    pass(kernel, 2, 64, NULL);
    pass(kernel, 3, sizeof weights, &weights);
    size_t global = 64, local = 16;
    enqueue(kernel, 1, NULL, &global, &local);
}

// A struct by value, a null pointer, the same buffer twice, and a sub-buffer.
static void advance(void) {
    cl_kernel kernel = kernel_of(
        "typedef struct { float mass; int count; float dt; } Settings;\n"
        "kernel void advance(global float2* position, global const float2* old, Settings settings,\n"
        "                 global const float* mask, global const float2* force, global int* half_of) {\n"
        "    int i = get_global_id(0);\n"
        "    if (i >= settings.count) return;\n"
        "    float weight = mask ? mask[i] : 1.0f;\n"
        "    position[i] = old[i] + force[i] * (settings.dt / settings.mass) * weight;\n"
        "    half_of[i] = i / 2;\n"
        "}\n",
        "", "advance");
    float position[16], force[32];
    for (int i = 0; i < 16; i++) position[i] = i;
    for (int i = 0; i < 32; i++) force[i] = 1.0f / (i + 1);
    cl_mem positions = buffer(sizeof position, position), forces = buffer(sizeof force, force);
    cl_mem all = filled(1024, 0xff);
    cl_buffer_region region = { 128, 64 };
    cl_int code;
    cl_mem part = clCreateSubBuffer(all, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    must(code, "clCreateSubBuffer");
    struct { float mass; int count; float dt; } settings = { 2.5f, 7, 0.25f };
    cl_mem none = NULL;
    pass(kernel, 0, sizeof positions, &positions);
    pass(kernel, 1, sizeof positions, &positions);
    pass(kernel, 2, sizeof settings, &settings);
    pass(kernel, 3, sizeof none, &none);
    pass(kernel, 4, sizeof forces, &forces);
    pass(kernel, 5, sizeof part, &part);
    size_t global = 8;
    enqueue(kernel, 1, NULL, &global, NULL);
}

// Images of two formats, and a sampler.
static void soften(void) {
    cl_kernel kernel = kernel_of(
        "kernel void soften(read_only image2d_t in, sampler_t near, write_only image2d_t out, float2 shift) {\n"
        "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
        "    float4 middle = read_imagef(in, near, convert_float2(at) + shift);\n"
        "    float4 right = read_imagef(in, near, convert_float2(at) + shift + (float2)(1.0f, 0.0f));\n"
        "    write_imagef(out, at, (middle + right) * 0.5f);\n"
        "}\n",
        "", "soften");
    unsigned char in[7 * 5 * 4];
    for (int i = 0; i < 7 * 5 * 4; i++) in[i] = i * 37;
    float zero[7 * 5 * 4] = { 0 };
    cl_image_desc desc = { CL_MEM_OBJECT_IMAGE2D, 7, 5 };
    cl_mem source = image(desc, CL_RGBA, CL_UNORM_INT8, in), result = image(desc, CL_RGBA, CL_FLOAT, zero);
    cl_int code;
    cl_sampler sampler = clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST, &code);
    must(code, "clCreateSampler");
    cl_float2 shift = { { 0.5f, 0.5f } };
    pass(kernel, 0, sizeof source, &source);
    pass(kernel, 1, sizeof sampler, &sampler);
    pass(kernel, 2, sizeof result, &result);
    pass(kernel, 3, sizeof shift, &shift);
    size_t global[] = { 7, 5 };
    enqueue(kernel, 2, NULL, global, NULL);
}

// A 3D image and a 1D image, read as integers.
static void gather(void) {
    cl_kernel kernel = kernel_of(
        "constant sampler_t at = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;\n"
        "kernel void gather(read_only image3d_t block, read_only image1d_t table, global uint4* out) {\n"
        "    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
        "    uint4 texel = read_imageui(block, at, (int4)(x, y, z, 0));\n"
        "    out[(z * 2 + y) * 4 + x] = texel + read_imageui(table, at, x);\n"
        "}\n",
        "", "gather");
    unsigned short block[4 * 2 * 3 * 4];
    for (int i = 0; i < 4 * 2 * 3 * 4; i++) block[i] = i * 11;
    unsigned int table[4 * 4];
    for (int i = 0; i < 16; i++) table[i] = 100000 * i;
    cl_image_desc three = { CL_MEM_OBJECT_IMAGE3D, 4, 2, 3 };
    cl_image_desc one = { CL_MEM_OBJECT_IMAGE1D, 4 };
    cl_mem source = image(three, CL_RGBA, CL_UNSIGNED_INT16, block);
    cl_mem line = image(one, CL_RGBA, CL_UNSIGNED_INT32, table);
    cl_mem result = filled(4 * 2 * 3 * 16, 0);
    pass(kernel, 0, sizeof source, &source);
    pass(kernel, 1, sizeof line, &line);
    pass(kernel, 2, sizeof result, &result);
    size_t global[] = { 4, 2, 3 };
    enqueue(kernel, 3, NULL, global, NULL);
}

// Shared virtual memory, from its start and from within.
static void shared(void) {
    cl_device_svm_capabilities offered = 0;
    clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof offered, &offered, NULL);
    if (!(offered & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER)) return;
    cl_kernel kernel = kernel_of(
        "kernel void shared(global const short* in, global short* out) {\n"
        "    size_t i = get_global_id(0);\n"
        "    out[i] = in[i] * (short)3;\n"
        "}\n",
        "", "shared");
    short* memory = clSVMAlloc(context, CL_MEM_READ_WRITE, 128, 0);
    short* result = clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0);
    must(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, memory, 128, 0, NULL, NULL), "map");
    must(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, result, 64, 0, NULL, NULL), "map");
    for (int i = 0; i < 64; i++) memory[i] = i;
    memset(result, 0, 64);
    clEnqueueSVMUnmap(queue, memory, 0, NULL, NULL);
    clEnqueueSVMUnmap(queue, result, 0, NULL, NULL);
    must(clSetKernelArgSVMPointer(kernel, 0, memory + 16), "clSetKernelArgSVMPointer");
    must(clSetKernelArgSVMPointer(kernel, 1, result), "clSetKernelArgSVMPointer");
    size_t global = 32;
    enqueue(kernel, 1, NULL, &global, NULL);
}

// A SPIR-V module, if its path is given and the device takes it.
static void module(const char* path) {
    FILE* file = fopen(path, "rb");
    if (!file) must(-1, path);
    static char bytes[1 << 20];
    size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    cl_int code;
    cl_program program = clCreateProgramWithIL(context, bytes, length, &code);
    if (code != CL_SUCCESS) {
        fprintf(stderr, "clCreateProgramWithIL: error %d; no capture of SPIR-V\n", code);
        return;
    }
    must(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram (SPIR-V)");
    cl_kernel kernel = clCreateKernel(program, "negate", &code);
    must(code, "negate");
    float in[16];
    for (int i = 0; i < 16; i++) in[i] = i;
    cl_mem numbers = buffer(sizeof in, in);
    pass(kernel, 0, sizeof numbers, &numbers);
    size_t global = 16, local = 4;
    enqueue(kernel, 1, NULL, &global, &local);
}

int main(int count, char** arguments) {
    cl_platform_id platform;
    cl_int code;
    must(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    must(code, "clCreateContext");
    queue = clCreateCommandQueue(context, device, 0, &code);
    must(code, "clCreateCommandQueue");
    scale();
    sums();
    advance();
    soften();
    gather();
    shared();
    if (count > 1) module(arguments[1]);
    return 0;
}
