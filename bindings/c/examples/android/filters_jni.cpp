// The native part of org.tripipe.example.Filters: an AHardwareBuffer in, filters, an AHardwareBuffer out.
#include <android/hardware_buffer.h>
#include <android/hardware_buffer_jni.h>
#include <jni.h>
#include <tripipe.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

namespace {

struct FreeContext {
    void operator()(tripipe_context *context) const { tripipe_context_free(context); }
};
struct FreeChain {
    void operator()(tripipe_chain *chain) const { tripipe_chain_free(chain); }
};
struct FreeVector {
    void operator()(tripipe_vector *vector) const { tripipe_vector_free(vector); }
};

struct Filters {
    std::unique_ptr<tripipe_context, FreeContext> context;
    std::unique_ptr<tripipe_chain, FreeChain> chain;
};

Filters *of_handle(jlong handle) { return reinterpret_cast<Filters *>(static_cast<intptr_t>(handle)); }

void raise(JNIEnv *env, const char *type, const std::string &message) {
    if (env->ExceptionCheck()) return;
    if (jclass exception = env->FindClass(type)) env->ThrowNew(exception, message.c_str());
}

void refuse(JNIEnv *env, const std::string &message) { raise(env, "java/lang/IllegalArgumentException", message); }

// True for a success; otherwise an exception is pending.
bool succeeded(JNIEnv *env, tripipe_status status) {
    if (status == TRIPIPE_STATUS_SUCCESS) return true;
    const bool is_argument = status == TRIPIPE_STATUS_INVALID_ARGUMENT;
    raise(env, is_argument ? "java/lang/IllegalArgumentException" : "java/lang/IllegalStateException", tripipe_last_error());
    return false;
}

// The characters of a string of Java, released with it; null for null.
class Text {
  public:
    Text(JNIEnv *env, jstring text) : env(env), text(text) {
        if (text) characters = env->GetStringUTFChars(text, nullptr);
    }
    ~Text() {
        if (characters) env->ReleaseStringUTFChars(text, characters);
    }
    Text(const Text &) = delete;
    Text &operator=(const Text &) = delete;
    const char *get() const { return characters; }

  private:
    JNIEnv *env;
    jstring text;
    const char *characters = nullptr;
};

// A buffer with its description and the layout of its pixels.
struct Picture {
    const char *name;
    AHardwareBuffer *buffer = nullptr;
    AHardwareBuffer_Desc desc{};
    tripipe_image image{};

    bool is_blob() const { return desc.format == AHARDWAREBUFFER_FORMAT_BLOB; }
    size_t bytes() const { return image.width * image.height * image.channels; }

    // Takes the buffer of an object of Java. The object keeps it alive during the call.
    bool take(JNIEnv *env, jobject object) {
        if (object) buffer = AHardwareBuffer_fromHardwareBuffer(env, object);
        if (!buffer) {
            refuse(env, std::string(name) + ": not an open HardwareBuffer");
            return false;
        }
        AHardwareBuffer_describe(buffer, &desc);
        return true;
    }

    // Sets the layout, and checks that the buffer has such an image.
    bool lay_out(JNIEnv *env, const tripipe_image &wanted) {
        image = wanted;
        image.offset = image.pitch = 0;
        const std::string size = std::to_string(image.width) + "x" + std::to_string(image.height);
        if (image.element != TRIPIPE_ELEMENT_U8) {
            refuse(env, std::string(name) + ": channels of 8 bits are expected");
        } else if (is_blob()) {
            if (bytes() <= desc.width) return true;
            refuse(env, std::string(name) + ": it has " + std::to_string(desc.width) + " bytes, the image of " + size + " has " +
                            std::to_string(bytes()));
        } else if (desc.format == AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM) {
            if (image.width == desc.width && image.height == desc.height && image.channels == 4) {
                image.pitch = size_t(desc.stride) * 4;
                return true;
            }
            refuse(env, std::string(name) + ": it is " + std::to_string(desc.width) + "x" + std::to_string(desc.height) +
                            " with 4 channels, the image " + size + " with " + std::to_string(image.channels));
        } else {
            refuse(env, std::string(name) + ": its format is " + std::to_string(desc.format) + ", not BLOB or RGBA_8888");
        }
        return false;
    }
};

// A locked buffer: the CPU may use its memory until the lock ends.
class Lock {
  public:
    Lock(JNIEnv *env, const Picture &picture, uint64_t usage, uint64_t mask) : buffer(picture.buffer) {
        if (!(picture.desc.usage & mask)) {
            refuse(env, std::string(picture.name) + ": made without USAGE_CPU_READ_OFTEN or USAGE_CPU_WRITE_OFTEN, which the CPU needs");
        } else if (const int code = AHardwareBuffer_lock(buffer, usage, -1, nullptr, &memory)) {
            memory = nullptr;
            raise(env, "java/lang/IllegalStateException", std::string(picture.name) + ": cannot be locked: error " + std::to_string(code));
        }
    }
    // Waits until the other users of the buffer see what was written.
    ~Lock() {
        if (memory) AHardwareBuffer_unlock(buffer, nullptr);
    }
    Lock(const Lock &) = delete;
    Lock &operator=(const Lock &) = delete;
    void *get() const { return memory; }

  private:
    AHardwareBuffer *buffer;
    void *memory = nullptr;
};

// Filters on the device, in the buffers themselves.
tripipe_status in_place(const Filters &filters, const Picture &from, const Picture &to) {
    // The vectors end before the buffers may, and after everything that was queued.
    std::unique_ptr<tripipe_vector, FreeVector> source, result;
    tripipe_vector *made = nullptr;
    tripipe_context *context = filters.context.get();
    tripipe_status status = tripipe_vector_import_hardware_buffer(context, from.buffer, TRIPIPE_ELEMENT_U8, from.bytes(), &made);
    if (status != TRIPIPE_STATUS_SUCCESS) return status;
    source.reset(made);
    status = tripipe_vector_import_hardware_buffer(context, to.buffer, TRIPIPE_ELEMENT_U8, to.bytes(), &made);
    if (status != TRIPIPE_STATUS_SUCCESS) return status;
    result.reset(made);
    status = tripipe_filter_vectors(context, filters.chain.get(), source.get(), &from.image, result.get(), &to.image);
    return status == TRIPIPE_STATUS_SUCCESS ? tripipe_context_finish(context) : status;
}

} // namespace

extern "C" {

JNIEXPORT void JNICALL Java_org_tripipe_example_Filters_setCacheFolder(JNIEnv *env, jclass, jstring folder) {
    const Text name(env, folder);
    if (name.get()) setenv("TRIPIPE_CACHE_DIR", name.get(), 1);
}

JNIEXPORT jlong JNICALL Java_org_tripipe_example_Filters_open(JNIEnv *env, jclass, jstring device, jstring filters) {
    const Text device_name(env, device), text(env, filters);
    if (env->ExceptionCheck()) return 0;
    auto made = std::make_unique<Filters>();
    tripipe_chain *chain = nullptr;
    if (!succeeded(env, tripipe_chain_new(text.get(), nullptr, &chain))) return 0;
    made->chain.reset(chain);
    tripipe_context *context = nullptr;
    if (!succeeded(env, tripipe_context_new(device_name.get(), &context))) return 0;
    made->context.reset(context);
    return static_cast<jlong>(reinterpret_cast<intptr_t>(made.release()));
}

JNIEXPORT jboolean JNICALL Java_org_tripipe_example_Filters_apply(JNIEnv *env, jclass, jlong handle, jobject from_object,
                                                                  jobject to_object, jint width, jint height, jint channels) {
    const Filters &filters = *of_handle(handle);
    if (width <= 0 || height <= 0 || channels <= 0) {
        refuse(env, "width, height and channels are at least 1");
        return JNI_FALSE;
    }
    Picture from{"from"}, to{"to"};
    if (!from.take(env, from_object) || !to.take(env, to_object)) return JNI_FALSE;
    if (from.buffer == to.buffer) {
        refuse(env, "from and to are the same buffer");
        return JNI_FALSE;
    }
    tripipe_image image{}, wanted{};
    image.width = size_t(width), image.height = size_t(height), image.channels = size_t(channels);
    image.element = TRIPIPE_ELEMENT_U8;
    if (!from.lay_out(env, image)) return JNI_FALSE;
    if (!succeeded(env, tripipe_chain_result(filters.chain.get(), &image, &wanted)) || !to.lay_out(env, wanted)) return JNI_FALSE;

    if (from.is_blob() && to.is_blob() && (from.desc.usage & to.desc.usage & AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER)) {
        const tripipe_status status = in_place(filters, from, to);
        if (status != TRIPIPE_STATUS_UNSUPPORTED) return succeeded(env, status);
    }
    const Lock source(env, from, AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN, AHARDWAREBUFFER_USAGE_CPU_READ_MASK);
    if (!source.get()) return JNI_FALSE;
    const Lock result(env, to, AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN, AHARDWAREBUFFER_USAGE_CPU_WRITE_MASK);
    if (!result.get()) return JNI_FALSE;
    succeeded(env, tripipe_filter(filters.context.get(), filters.chain.get(), source.get(), &from.image, result.get(), &to.image));
    return JNI_FALSE;
}

JNIEXPORT jstring JNICALL Java_org_tripipe_example_Filters_device(JNIEnv *env, jclass, jlong handle) {
    char *name = nullptr;
    if (!succeeded(env, tripipe_context_name(of_handle(handle)->context.get(), &name))) return nullptr;
    jstring made = env->NewStringUTF(name);
    tripipe_string_free(name);
    return made;
}

JNIEXPORT void JNICALL Java_org_tripipe_example_Filters_close(JNIEnv *, jclass, jlong handle) { delete of_handle(handle); }

} // extern "C"
