// Tripipe for C++17 and later: the objects of tripipe.h with destructors, and failures as exceptions. docs/c.md has the
// guide. Everything is in this header; link libtripipe.
#pragma once

#include <tripipe.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tripipe {

// A failed call: its status, and the message as what().
class Error : public std::runtime_error {
public:
    Error(tripipe_status status, const char *message) : std::runtime_error(message), status_(status) {}
    tripipe_status status() const noexcept { return status_; }

private:
    tripipe_status status_;
};

// Throws the last failure of this thread, unless the call succeeded.
inline void check(tripipe_status status) {
    if (status != TRIPIPE_STATUS_SUCCESS) throw Error(status, tripipe_last_error());
}

namespace detail {

struct Free {
    void operator()(tripipe_context *object) const noexcept { tripipe_context_free(object); }
    void operator()(tripipe_chain *object) const noexcept { tripipe_chain_free(object); }
    void operator()(tripipe_vector *object) const noexcept { tripipe_vector_free(object); }
    void operator()(tripipe_weights *object) const noexcept { tripipe_weights_free(object); }
    void operator()(char *text) const noexcept { tripipe_string_free(text); }
};

template <typename T> using Owned = std::unique_ptr<T, Free>;

// The object that a function gives by its last argument.
template <typename T, typename Call> Owned<T> given(Call call) {
    T *object = nullptr;
    check(call(&object));
    return Owned<T>(object);
}

template <typename Call> std::string text(Call call) { return given<char>(call).get(); }

} // namespace detail

// The type of elements of C++; halves are std::uint16_t behind `Half`.
enum class Half : std::uint16_t {};

template <typename T> constexpr tripipe_element element() {
    if constexpr (std::is_same_v<T, std::uint8_t>) return TRIPIPE_ELEMENT_U8;
    else if constexpr (std::is_same_v<T, std::int8_t>) return TRIPIPE_ELEMENT_I8;
    else if constexpr (std::is_same_v<T, std::uint16_t>) return TRIPIPE_ELEMENT_U16;
    else if constexpr (std::is_same_v<T, std::int16_t>) return TRIPIPE_ELEMENT_I16;
    else if constexpr (std::is_same_v<T, std::uint32_t>) return TRIPIPE_ELEMENT_U32;
    else if constexpr (std::is_same_v<T, std::int32_t>) return TRIPIPE_ELEMENT_I32;
    else if constexpr (std::is_same_v<T, Half>) return TRIPIPE_ELEMENT_F16;
    else if constexpr (std::is_same_v<T, float>) return TRIPIPE_ELEMENT_F32;
    else {
        static_assert(std::is_same_v<T, double>, "elements are integers of 8 to 32 bits, Half, float or double");
        return TRIPIPE_ELEMENT_F64;
    }
}

// The layout of an image without gaps.
template <typename T> tripipe_image image(std::size_t width, std::size_t height, std::size_t channels = 1) {
    tripipe_image layout = {};
    layout.width = width, layout.height = height, layout.channels = channels, layout.element = element<T>();
    return layout;
}

// A device with its queue. Any number of threads may use it.
class Context {
public:
    // The best device: a GPU, or else the CPU.
    Context() : Context(nullptr) {}
    // A device by its name: `cpu`, `opencl:0`, `virtual:mali-g77`.
    explicit Context(const char *device)
        : object_(detail::given<tripipe_context>([&](auto into) { return tripipe_context_new(device, into); })) {}
    // Over a command queue of the application (cl_command_queue).
    static Context on_queue(void *queue) {
        return Context(
            detail::given<tripipe_context>([&](auto into) { return tripipe_context_on_queue(queue, into); }));
    }

    void finish() const { check(tripipe_context_finish(object_.get())); }
    tripipe_context *get() const noexcept { return object_.get(); }

private:
    explicit Context(detail::Owned<tripipe_context> object) : object_(std::move(object)) {}
    detail::Owned<tripipe_context> object_;
};

// Elements in the memory of a context.
template <typename T> class Vector {
public:
    // Zeros.
    Vector(const Context &context, std::size_t length) : Vector(context, length, nullptr) {}
    Vector(const Context &context, const std::vector<T> &contents)
        : Vector(context, contents.size(), contents.data()) {}
    // Takes a vector that a function of tripipe.h gave, with elements of this type.
    explicit Vector(tripipe_vector *object) : object_(object) {}

    std::size_t size() const {
        std::size_t length = 0;
        check(tripipe_vector_length(get(), &length));
        return length;
    }
    std::vector<T> read() const {
        std::vector<T> contents(size());
        if (!contents.empty()) check(tripipe_vector_read(get(), contents.data(), contents.size() * sizeof(T)));
        return contents;
    }
    void write(const std::vector<T> &contents) {
        check(tripipe_vector_write(get(), contents.data(), contents.size() * sizeof(T)));
    }

    double sum() const { return reduced(tripipe_vector_sum); }
    std::int64_t whole_sum() const {
        std::int64_t sum = 0;
        check(tripipe_vector_whole_sum(get(), &sum));
        return sum;
    }
    double dot(const Vector &other) const {
        double sum = 0;
        check(tripipe_vector_dot(get(), other.get(), &sum));
        return sum;
    }
    // The value and the position of the first smallest or largest element.
    std::pair<double, std::size_t> min() const { return extreme(tripipe_vector_min); }
    std::pair<double, std::size_t> max() const { return extreme(tripipe_vector_max); }

    // A matrix in it, row by row.
    tripipe_matrix matrix(std::size_t rows, std::size_t columns) const {
        tripipe_matrix matrix = {};
        matrix.vector = get(), matrix.rows = rows, matrix.columns = columns;
        matrix.order = TRIPIPE_ORDER_ROW_MAJOR;
        return matrix;
    }
    tripipe_vector *get() const noexcept { return object_.get(); }

private:
    Vector(const Context &context, std::size_t length, const void *contents)
        : object_(detail::given<tripipe_vector>([&](auto into) {
              return tripipe_vector_new(context.get(), element<T>(), length, contents, into);
          })) {}
    template <typename Call> double reduced(Call call) const {
        double value = 0;
        check(call(get(), &value));
        return value;
    }
    template <typename Call> std::pair<double, std::size_t> extreme(Call call) const {
        std::pair<double, std::size_t> found;
        check(call(get(), &found.first, &found.second));
        return found;
    }
    detail::Owned<tripipe_vector> object_;
};

// Image filters, one after the other: `gray,gaussian:5,sobel`.
class Chain {
public:
    explicit Chain(const std::string &filters, const std::string &border = "reflect101")
        : object_(detail::given<tripipe_chain>(
              [&](auto into) { return tripipe_chain_new(filters.c_str(), border.c_str(), into); })) {}

    // The layout of the result of an image.
    tripipe_image result(const tripipe_image &from) const {
        tripipe_image to = {};
        check(tripipe_chain_result(get(), &from, &to));
        return to;
    }
    // The result of an image in the application's memory.
    void filter(const Context &context, const void *source, const tripipe_image &from, void *result,
                const tripipe_image &to) const {
        check(tripipe_filter(context.get(), get(), source, &from, result, &to));
    }
    // The same, queued, of an image in a vector.
    template <typename T, typename R>
    void filter(const Context &context, const Vector<T> &source, const tripipe_image &from, Vector<R> &result,
                const tripipe_image &to) const {
        check(tripipe_filter_vectors(context.get(), get(), source.get(), &from, result.get(), &to));
    }
    void prepare(const Context &context, const tripipe_image &from, const tripipe_image &to) const {
        check(tripipe_filter_prepare(context.get(), get(), &from, &to));
    }
    std::string explain(const Context &context, const tripipe_image &from) const {
        return detail::text([&](auto into) { return tripipe_filter_explain(context.get(), get(), &from, into); });
    }
    tripipe_chain *get() const noexcept { return object_.get(); }

private:
    detail::Owned<tripipe_chain> object_;
};

// An image in the application's memory with the extents of `to`.
inline void resize(const Context &context, tripipe_interpolation how, const void *source, const tripipe_image &from,
                   void *result, const tripipe_image &to) {
    check(tripipe_resize(context.get(), how, source, &from, result, &to));
}

// The weights of a layer, quantised and packed once: `f16`, `i8`, `q8_0` or `q4_0`.
class Weights {
public:
    Weights(const Context &context, const std::string &format, std::size_t outputs, std::size_t inputs,
            const std::vector<float> &numbers)
        : object_(detail::given<tripipe_weights>([&](auto into) {
              if (numbers.size() != outputs * inputs) throw std::invalid_argument("numbers: want outputs * inputs");
              return tripipe_weights_new(context.get(), format.c_str(), outputs, inputs, numbers.data(), into);
          })) {}

    // Queues Y = X W for the rows of X.
    void multiply(const tripipe_matrix &x, const tripipe_matrix &y) const {
        check(tripipe_weights_multiply(get(), &x, &y));
    }
    std::size_t bytes() const {
        std::size_t bytes = 0;
        check(tripipe_weights_bytes(get(), &bytes));
        return bytes;
    }
    tripipe_weights *get() const noexcept { return object_.get(); }

private:
    detail::Owned<tripipe_weights> object_;
};

// Queues C = activation(alpha A B + beta C + bias).
inline void matmul(const tripipe_matrix &a, const tripipe_matrix &b, const tripipe_matrix &c,
                   const tripipe_product &options = tripipe_product_options()) {
    check(tripipe_matmul(&a, &b, &options, &c));
}

} // namespace tripipe
