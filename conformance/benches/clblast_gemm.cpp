// CLBlast's product of square float matrices on the first device of the first platform, for the benchmark `gemm.rs`.
//
// Usage: clblast_gemm SIZE ROUNDS. Prints the seconds of each round, wall time until the queue is empty, after one round
// that does not count, because it builds the kernels.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CL_TARGET_OPENCL_VERSION 120
#include <clblast.h>

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const size_t size = std::strtoul(argv[1], nullptr, 10), rounds = std::strtoul(argv[2], nullptr, 10);
    cl_platform_id platform;
    cl_device_id device;
    if (clGetPlatformIDs(1, &platform, nullptr) != CL_SUCCESS ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) != CL_SUCCESS)
        return 2;
    cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, nullptr);
    std::vector<float> values(size * size);
    for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(i * 7919 % 2048) / 1024 - 1;
    cl_mem memory[3];
    for (cl_mem &buffer : memory)
        buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, values.size() * sizeof(float),
                                values.data(), nullptr);
    std::vector<double> seconds;
    for (size_t round = 0; round <= rounds; ++round) {
        const auto start = std::chrono::steady_clock::now();
        const auto status = clblast::Gemm<float>(clblast::Layout::kRowMajor, clblast::Transpose::kNo, clblast::Transpose::kNo,
                                                 size, size, size, 1, memory[0], 0, size, memory[1], 0, size, 0, memory[2], 0,
                                                 size, &queue);
        clFinish(queue);
        if (status != clblast::StatusCode::kSuccess)
            return 2;
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
        if (round > 0)
            seconds.push_back(passed.count());
    }
    for (const double passed : seconds)
        std::printf("%.9f\n", passed);
}
