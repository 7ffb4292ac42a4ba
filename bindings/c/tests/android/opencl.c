// A library in front of the machine's OpenCL that imports AHardwareBuffers, as Arm's drivers do
// (cl_arm_import_memory_android_hardware_buffer): over the memory of the stand-in's buffers, with the checks of the specification.
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <android/hardware_buffer.h>

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

void *stand_in_memory(const AHardwareBuffer *buffer);

static const char EXTENSIONS[] = " cl_arm_import_memory cl_arm_import_memory_android_hardware_buffer";

static cl_mem import_memory(cl_context context, cl_mem_flags flags, const intptr_t *properties, void *memory, size_t size,
                            cl_int *code) {
    // CL_IMPORT_TYPE_ARM, CL_IMPORT_TYPE_ANDROID_HARDWARE_BUFFER_ARM
    const intptr_t wanted[] = {0x40B2, 0x41E2, 0};
    AHardwareBuffer_Desc desc;
    AHardwareBuffer_describe(memory, &desc);
    void *host = stand_in_memory(memory);
    if (!properties || memcmp(properties, wanted, sizeof wanted) || desc.format != AHARDWAREBUFFER_FORMAT_BLOB || size > desc.width ||
        !(desc.usage & AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER) || !host) {
        *code = CL_INVALID_VALUE;
        return NULL;
    }
    return clCreateBuffer(context, flags | CL_MEM_USE_HOST_PTR, size, host, code);
}

cl_int clGetDeviceInfo(cl_device_id device, cl_device_info what, size_t size, void *value, size_t *needed) {
    cl_int (*next)(cl_device_id, cl_device_info, size_t, void *, size_t *) = dlsym(RTLD_NEXT, "clGetDeviceInfo");
    if (what != CL_DEVICE_EXTENSIONS) return next(device, what, size, value, needed);
    size_t own = 0;
    cl_int code = next(device, what, 0, NULL, &own);
    if (code != CL_SUCCESS) return code;
    const size_t all = own + sizeof EXTENSIONS - 1;
    if (needed) *needed = all;
    if (!value) return CL_SUCCESS;
    if (size < all) return CL_INVALID_VALUE;
    code = next(device, what, own, value, NULL);
    memcpy((char *)value + own - 1, EXTENSIONS, sizeof EXTENSIONS);
    return code;
}

void *clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name) {
    if (strcmp(name, "clImportMemoryARM") == 0) return (void *)import_memory;
    void *(*next)(cl_platform_id, const char *) = dlsym(RTLD_NEXT, "clGetExtensionFunctionAddressForPlatform");
    return next(platform, name);
}
