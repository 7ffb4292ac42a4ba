// What the example uses of Android's header of this name, for machines without an NDK. Names, numbers and types are those of the
// NDK's reference (developer.android.com/ndk/reference/group/a-hardware-buffer); libandroid.cpp has the functions.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum AHardwareBuffer_Format {
    AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM = 1,
    AHARDWAREBUFFER_FORMAT_BLOB = 0x21,
};

enum AHardwareBuffer_UsageFlags {
    AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN = 3UL,
    AHARDWAREBUFFER_USAGE_CPU_READ_MASK = 0xFUL,
    AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN = 3UL << 4,
    AHARDWAREBUFFER_USAGE_CPU_WRITE_MASK = 0xFUL << 4,
    AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER = 1UL << 24,
};

typedef struct ARect {
    int32_t left, top, right, bottom;
} ARect;

typedef struct AHardwareBuffer_Desc {
    uint32_t width, height, layers, format;
    uint64_t usage;
    uint32_t stride, rfu0;
    uint64_t rfu1;
} AHardwareBuffer_Desc;

typedef struct AHardwareBuffer AHardwareBuffer;

int AHardwareBuffer_allocate(const AHardwareBuffer_Desc *desc, AHardwareBuffer **made);
void AHardwareBuffer_release(AHardwareBuffer *buffer);
void AHardwareBuffer_describe(const AHardwareBuffer *buffer, AHardwareBuffer_Desc *desc);
int AHardwareBuffer_lock(AHardwareBuffer *buffer, uint64_t usage, int32_t fence, const ARect *rect, void **memory);
int AHardwareBuffer_unlock(AHardwareBuffer *buffer, int32_t *fence);

#ifdef __cplusplus
}
#endif
