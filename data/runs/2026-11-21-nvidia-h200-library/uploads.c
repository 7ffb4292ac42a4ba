// Times how contents get to a buffer: way 0 is CL_MEM_COPY_HOST_PTR, 1 a buffer that is made and then written by the kernel's queue, 2 by
// another queue. Then a first kernel over it, and the way back.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e3 * time.tv_sec + 1e-6 * time.tv_nsec;
}

int main(void)
{
    cl_platform_id platform;
    cl_device_id device;
    clGetPlatformIDs(1, &platform, NULL);
    clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, NULL);
    cl_int error;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
    cl_command_queue other = clCreateCommandQueue(context, device, 0, &error);
    const char *source = "kernel void k(global float *a) { a[get_global_id(0)] += 1; }";
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    clBuildProgram(program, 1, &device, "", NULL, NULL);
    cl_kernel kernel = clCreateKernel(program, "k", &error);
    for (size_t mib = 1; mib <= 256; mib *= 16) {
        const size_t bytes = mib << 20, items = bytes / 4;
        char *contents = malloc(bytes);
        memset(contents, 1, bytes);
        for (int way = 0; way < 3; ++way)
            for (int round = 0; round < 3; ++round) {
                const double begun = now();
                cl_mem buffer;
                if (way == 0)
                    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, contents, &error);
                else {
                    buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &error);
                    clEnqueueWriteBuffer(way == 1 ? queue : other, buffer, CL_TRUE, 0, bytes, contents, 0, NULL, NULL);
                }
                const double made = now();
                clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
                clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
                clFinish(queue);
                const double ran = now();
                float first;
                clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 4, &first, 0, NULL, NULL);
                const double seen = now();
                clReleaseMemObject(buffer);
                printf("%zu MiB way %d: create+write %.3f ms, kernel %.3f ms, read %.3f, release %.3f\n", mib, way,
                       made - begun, ran - made, seen - ran, now() - seen);
            }
        free(contents);
    }
    for (int round = 0; round < 3; ++round) {
        const size_t bytes = 256u << 20, items = bytes / 4;
        const double begun = now();
        cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &error);
        clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
        clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
        clFinish(queue);
        const double ran = now();
        char *into = malloc(bytes);
        clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, bytes, into, 0, NULL, NULL);
        const double fresh = now();
        clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, bytes, into, 0, NULL, NULL);
        printf("make+kernel %.2f ms, read into fresh %.2f ms, into warm %.2f\n", ran - begun, fresh - ran, now() - fresh);
        free(into);
        clReleaseMemObject(buffer);
    }
    return 0;
}
