// As hardware_buffer.h.
#pragma once

#include <android/hardware_buffer.h>
#include <jni.h>

#ifdef __cplusplus
extern "C" {
#endif

AHardwareBuffer *AHardwareBuffer_fromHardwareBuffer(JNIEnv *env, jobject object);

#ifdef __cplusplus
}
#endif
