// A stand-in for the parts of libandroid.so and libnativewindow.so that the example uses: buffers in host memory, which count
// locks and refuse what Android refuses. Rows of images have a gap, as on phones.
#include <android/hardware_buffer.h>
#include <android/hardware_buffer_jni.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

struct AHardwareBuffer {
    AHardwareBuffer_Desc desc;
    int locks;
    unsigned char *memory;
    size_t bytes;
};

extern "C" {

// The memory of a buffer, for the driver in front of PoCL; null while the CPU has it.
void *stand_in_memory(const AHardwareBuffer *buffer) { return buffer->locks == 0 ? buffer->memory : nullptr; }

int AHardwareBuffer_allocate(const AHardwareBuffer_Desc *desc, AHardwareBuffer **made) {
    const bool is_blob = desc->format == AHARDWAREBUFFER_FORMAT_BLOB;
    if (desc->layers != 1 || (is_blob && desc->height != 1)) return -EINVAL;
    if (!is_blob && (desc->usage & AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER)) return -EINVAL;
    auto *buffer = new AHardwareBuffer{*desc, 0, nullptr, 0};
    buffer->desc.stride = is_blob ? desc->width : (desc->width + 15) / 16 * 16 + 16;
    buffer->bytes = size_t(buffer->desc.stride) * desc->height * (is_blob ? 1 : 4);
    buffer->memory = static_cast<unsigned char *>(aligned_alloc(4096, (buffer->bytes + 4095) / 4096 * 4096));
    memset(buffer->memory, 0xEE, buffer->bytes);
    *made = buffer;
    return 0;
}

void AHardwareBuffer_release(AHardwareBuffer *buffer) {
    // A lock that is never released shows as a crash.
    if (buffer->locks != 0) abort();
    free(buffer->memory);
    delete buffer;
}

void AHardwareBuffer_describe(const AHardwareBuffer *buffer, AHardwareBuffer_Desc *desc) { *desc = buffer->desc; }

int AHardwareBuffer_lock(AHardwareBuffer *buffer, uint64_t usage, int32_t fence, const ARect *rect, void **memory) {
    const uint64_t read = AHARDWAREBUFFER_USAGE_CPU_READ_MASK, write = AHARDWAREBUFFER_USAGE_CPU_WRITE_MASK;
    if (usage == 0 || (usage & ~(read | write)) || fence >= 0 || rect) return -EINVAL;
    if ((usage & read) && !(buffer->desc.usage & read)) return -EINVAL;
    if ((usage & write) && !(buffer->desc.usage & write)) return -EINVAL;
    buffer->locks++;
    *memory = buffer->memory;
    return 0;
}

int AHardwareBuffer_unlock(AHardwareBuffer *buffer, int32_t *fence) {
    if (buffer->locks == 0 || fence) return -EINVAL;
    buffer->locks--;
    return 0;
}

AHardwareBuffer *AHardwareBuffer_fromHardwareBuffer(JNIEnv *env, jobject object) {
    jfieldID field = env->GetFieldID(env->GetObjectClass(object), "pointer", "J");
    return reinterpret_cast<AHardwareBuffer *>(env->GetLongField(object, field));
}

// android.hardware.HardwareBuffer of the tests.
JNIEXPORT jlong JNICALL Java_android_hardware_HardwareBuffer_allocate(JNIEnv *, jclass, jint width, jint height, jint format,
                                                                      jint layers, jlong usage) {
    AHardwareBuffer_Desc desc{};
    desc.width = uint32_t(width), desc.height = uint32_t(height), desc.format = uint32_t(format);
    desc.layers = uint32_t(layers), desc.usage = uint64_t(usage);
    AHardwareBuffer *made = nullptr;
    return AHardwareBuffer_allocate(&desc, &made) == 0 ? reinterpret_cast<jlong>(made) : 0;
}

JNIEXPORT void JNICALL Java_android_hardware_HardwareBuffer_release(JNIEnv *, jclass, jlong pointer) {
    AHardwareBuffer_release(reinterpret_cast<AHardwareBuffer *>(pointer));
}

// All bytes, gaps included: what a camera or a display would write and read.
JNIEXPORT jbyteArray JNICALL Java_android_hardware_HardwareBuffer_contents(JNIEnv *env, jclass, jlong pointer) {
    auto *buffer = reinterpret_cast<AHardwareBuffer *>(pointer);
    jbyteArray made = env->NewByteArray(jsize(buffer->bytes));
    if (made) env->SetByteArrayRegion(made, 0, jsize(buffer->bytes), reinterpret_cast<const jbyte *>(buffer->memory));
    return made;
}

JNIEXPORT void JNICALL Java_android_hardware_HardwareBuffer_fill(JNIEnv *env, jclass, jlong pointer, jbyteArray contents) {
    auto *buffer = reinterpret_cast<AHardwareBuffer *>(pointer);
    env->GetByteArrayRegion(contents, 0, jsize(buffer->bytes), reinterpret_cast<jbyte *>(buffer->memory));
}

JNIEXPORT jint JNICALL Java_android_hardware_HardwareBuffer_stride(JNIEnv *, jclass, jlong pointer) {
    return jint(reinterpret_cast<AHardwareBuffer *>(pointer)->desc.stride);
}

} // extern "C"
