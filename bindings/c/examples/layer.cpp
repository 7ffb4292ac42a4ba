// A picture made smaller and smoothed, and a layer with weights in 4 bits, through tripipe.hpp: layer [DEVICE]
//
// c++ -std=c++17 layer.cpp $(pkg-config --cflags --libs tripipe) -o layer
#include <tripipe.hpp>

#include <cmath>
#include <cstdio>

namespace {

void picture(const tripipe::Context &context) {
    const tripipe_image from = tripipe::image<std::uint8_t>(64, 48), to = tripipe::image<std::uint8_t>(16, 12);
    std::vector<std::uint8_t> source(64 * 48, 200), small(16 * 12);
    tripipe::resize(context, TRIPIPE_INTERPOLATION_CUBIC, source.data(), from, small.data(), to);
    const tripipe::Chain blur("gaussian:5,median:7", "replicate");
    blur.prepare(context, to, to);
    tripipe::Vector<std::uint8_t> image(context, small), result(context, small.size());
    blur.filter(context, image, to, result, to);
    // A flat picture stays flat.
    std::printf("sum %lld, from %g to %g\n", (long long)result.whole_sum(), result.min().first, result.max().first);
}

void layer(const tripipe::Context &context) {
    const std::size_t outputs = 48, inputs = 64, rows = 3;
    std::vector<float> numbers(outputs * inputs), x(rows * inputs);
    // Multiples of a power of two from -8 to 7, and -8 in each block: Q4_0 has them exactly.
    for (std::size_t i = 0; i < numbers.size(); i++) numbers[i] = float(int(i * 5 % 16) - 8) / 4;
    for (std::size_t i = 0; i < x.size(); i++) x[i] = float(i % 9) - 4;
    const tripipe::Weights weights(context, "q4_0", outputs, inputs, numbers);
    const tripipe::Vector<float> input(context, x);
    const tripipe::Vector<float> output(context, rows * outputs);
    weights.multiply(input.matrix(rows, inputs), output.matrix(rows, outputs));
    const std::vector<float> found = output.read();
    double worst = 0;
    for (std::size_t i = 0; i < rows; i++)
        for (std::size_t j = 0; j < outputs; j++) {
            double sum = 0;
            for (std::size_t k = 0; k < inputs; k++) sum += double(x[i * inputs + k]) * numbers[j * inputs + k];
            worst = std::fmax(worst, std::fabs(sum - found[i * outputs + j]));
        }
    std::printf("%zu bytes of weights, off by %g at most\n", weights.bytes(), worst);
    std::printf("dot %g\n", input.dot(input));
}

} // namespace

int main(int count, char **arguments) {
    try {
        const tripipe::Context context(count > 1 ? arguments[1] : nullptr);
        picture(context);
        layer(context);
        context.finish();
        tripipe::Chain("blurr");
    } catch (const tripipe::Error &error) {
        std::printf("refused: %s\n", error.what());
        return error.status() == TRIPIPE_STATUS_INVALID_ARGUMENT ? 0 : 2;
    }
    return 1;
}
