// Tripipe beside an application's own OpenCL: its queue and its buffers, without a copy.
//
// c++ -std=c++17 beside.cpp $(pkg-config --cflags --libs tripipe) -lOpenCL -o beside
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <tripipe.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace {

void check(tripipe_status status, const char *what) {
    if (status == TRIPIPE_STATUS_SUCCESS) return;
    std::fprintf(stderr, "%s: %s\n", what, tripipe_last_error());
    std::exit(2);
}

void check_cl(cl_int code, const char *what) {
    if (code == CL_SUCCESS) return;
    std::fprintf(stderr, "%s: OpenCL error %d\n", what, code);
    std::exit(2);
}

struct Free {
    void operator()(tripipe_context *context) const { tripipe_context_free(context); }
    void operator()(tripipe_vector *vector) const { tripipe_vector_free(vector); }
    void operator()(tripipe_chain *chain) const { tripipe_chain_free(chain); }
};
template <typename T> using Owned = std::unique_ptr<T, Free>;

template <typename T> cl_mem buffer(cl_context context, std::vector<T> &contents) {
    cl_int code = CL_SUCCESS;
    cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, contents.size() * sizeof(T),
                                 contents.data(), &code);
    check_cl(code, "clCreateBuffer");
    return made;
}

// C = 2 A^T B + C, column-major, with gaps, by the call that CLBlastSgemm would be.
int multiply(cl_context context, cl_command_queue queue) {
    const size_t m = 45, n = 33, k = 70, a_ld = k + 3, b_ld = k + 1, c_ld = m + 2, offset = 5;
    std::vector<float> a(offset + m * a_ld), b(n * b_ld), c(n * c_ld, 1.0f);
    for (size_t i = 0; i < a.size(); i++) a[i] = float(i % 11) - 5;
    for (size_t i = 0; i < b.size(); i++) b[i] = float(i % 5) - 2;
    std::vector<float> want = c;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < m; i++)
            for (size_t l = 0; l < k; l++) want[i + j * c_ld] += 2 * a[offset + l + i * a_ld] * b[l + j * b_ld];
    cl_mem device_a = buffer(context, a), device_b = buffer(context, b), device_c = buffer(context, c);
    cl_event done = nullptr;
    void *on = queue;
    check(tripipe_sgemm(TRIPIPE_LAYOUT_COL_MAJOR, TRIPIPE_TRANSPOSE_YES, TRIPIPE_TRANSPOSE_NO, m, n, k, 2.0f, device_a, offset,
                        a_ld, device_b, 0, b_ld, 1.0f, device_c, 0, c_ld, &on, reinterpret_cast<void **>(&done)),
          "tripipe_sgemm");
    check_cl(clWaitForEvents(1, &done), "clWaitForEvents");
    clReleaseEvent(done);
    check_cl(clEnqueueReadBuffer(queue, device_c, CL_TRUE, 0, c.size() * sizeof(float), c.data(), 0, nullptr, nullptr),
             "clEnqueueReadBuffer");
    int wrong = 0;
    for (size_t i = 0; i < c.size(); i++) wrong += c[i] != want[i];
    std::printf("sgemm: %d of %zu elements are wrong\n", wrong, c.size());
    // What does not fit is refused with a message.
    const tripipe_status refused =
        tripipe_sgemm(TRIPIPE_LAYOUT_COL_MAJOR, TRIPIPE_TRANSPOSE_NO, TRIPIPE_TRANSPOSE_NO, m, n, k, 1.0f, device_a, 0, m - 1,
                      device_b, 0, k, 0.0f, device_c, 0, m, &on, nullptr);
    std::printf("refused: %s\n", tripipe_last_error());
    for (cl_mem one : {device_a, device_b, device_c}) clReleaseMemObject(one);
    return wrong + (refused != TRIPIPE_STATUS_INVALID_ARGUMENT);
}

// A filter between two buffers: the queue orders it after the write and before the read.
int filter(cl_context cl, cl_command_queue queue) {
    const size_t width = 64, height = 40;
    std::vector<uint8_t> pixels(width * height), result(pixels.size());
    cl_mem from = buffer(cl, pixels), to = buffer(cl, result);
    for (size_t i = 0; i < pixels.size(); i++) pixels[i] = uint8_t((i * 7919) % 251);

    tripipe_context *made = nullptr;
    check(tripipe_context_on_queue(queue, &made), "tripipe_context_on_queue");
    Owned<tripipe_context> context(made);
    tripipe_vector *vector = nullptr;
    check(tripipe_vector_import(context.get(), from, TRIPIPE_ELEMENT_U8, pixels.size(), &vector), "the source");
    Owned<tripipe_vector> source(vector);
    check(tripipe_vector_import(context.get(), to, TRIPIPE_ELEMENT_U8, result.size(), &vector), "the result");
    Owned<tripipe_vector> filtered(vector);
    tripipe_chain *parsed = nullptr;
    check(tripipe_chain_new("median:3", "replicate", &parsed), "the chain");
    Owned<tripipe_chain> chain(parsed);
    tripipe_image image{};
    image.width = width, image.height = height, image.channels = 1, image.element = TRIPIPE_ELEMENT_U8;

    check_cl(clEnqueueWriteBuffer(queue, from, CL_FALSE, 0, pixels.size(), pixels.data(), 0, nullptr, nullptr), "write");
    check(tripipe_filter_vectors(context.get(), chain.get(), source.get(), &image, filtered.get(), &image), "the filter");
    check_cl(clEnqueueReadBuffer(queue, to, CL_TRUE, 0, result.size(), result.data(), 0, nullptr, nullptr), "read");

    int wrong = 0;
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            std::vector<uint8_t> window;
            for (long dy = -1; dy <= 1; dy++)
                for (long dx = -1; dx <= 1; dx++) {
                    const long row = long(y) + dy, column = long(x) + dx;
                    const size_t r = row < 0 ? 0 : row >= long(height) ? height - 1 : size_t(row);
                    const size_t c = column < 0 ? 0 : column >= long(width) ? width - 1 : size_t(column);
                    window.push_back(pixels[r * width + c]);
                }
            size_t below = 0, equal = 0;
            for (uint8_t one : window) below += one < result[y * width + x], equal += one == result[y * width + x];
            wrong += !(below <= 4 && below + equal >= 5);
        }
    std::printf("median: %d of %zu pixels are wrong\n", wrong, result.size());
    clReleaseMemObject(from);
    clReleaseMemObject(to);
    return wrong;
}

} // namespace

int main() {
    cl_platform_id platform = nullptr;
    cl_device_id device = nullptr;
    check_cl(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
    check_cl(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "clGetDeviceIDs");
    cl_int code = CL_SUCCESS;
    cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
    check_cl(code, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    check_cl(code, "clCreateCommandQueue");
    const int wrong = multiply(context, queue) + filter(context, queue);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    return wrong == 0 ? 0 : 1;
}
