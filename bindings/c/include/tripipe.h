// Tripipe: matrix products and image filters on any available device. docs/c.md has the guide.
//
// Made by cbindgen from bindings/c/src; do not edit.

#pragma once

#include <stddef.h>
#include <stdint.h>

// The outcome of a call.
typedef enum tripipe_status {
  // It succeeded.
  TRIPIPE_STATUS_SUCCESS = 0,
  // An argument is null, out of range, or does not fit the others.
  TRIPIPE_STATUS_INVALID_ARGUMENT = 1,
  // There is no such device, or no OpenCL.
  TRIPIPE_STATUS_NO_DEVICE = 2,
  // The device does not support the operation.
  TRIPIPE_STATUS_UNSUPPORTED = 3,
  // The host or the device is out of memory.
  TRIPIPE_STATUS_OUT_OF_MEMORY = 4,
  // The device failed, or an operation that was queued before, or the process was forked from the one that made the
  // context.
  TRIPIPE_STATUS_DEVICE_FAILED = 5,
  // A bug of the library: please report it.
  TRIPIPE_STATUS_INTERNAL = 6,
} tripipe_status;

// Image filters, one after the other. Any number of threads may use it.
typedef struct tripipe_chain tripipe_chain;

// A device with its queue. Any number of threads may use it at the same time.
typedef struct tripipe_context tripipe_context;

// Elements in the memory of a context. One thread at a time writes to it; any number may read.
typedef struct tripipe_vector tripipe_vector;

// The weights of a layer, packed once for the kernels of a device. Any number of threads may use it.
typedef struct tripipe_weights tripipe_weights;

// The order of the elements of all matrices of a call. The numbers are those of CBLAS and CLBlast.
typedef int32_t tripipe_layout;

// Whether an operand is transposed. The numbers are those of CBLAS and CLBlast.
typedef int32_t tripipe_transpose;

// The type of an element.
typedef int32_t tripipe_element;

// The layout of an image.
typedef struct tripipe_image {
  // Pixels in a row.
  size_t width;
  // Rows.
  size_t height;
  // Channels of a pixel, 1 to 4.
  size_t channels;
  // Type of a channel: `TRIPIPE_ELEMENT_U8`, `_U16`, `_I16`, `_F16` or `_F32`.
  tripipe_element element;
  // Elements from the start of the memory to the first pixel.
  size_t offset;
  // Elements from row to row; 0 if there are no gaps.
  size_t pitch;
} tripipe_image;

// What is done to each element of a product at last.
typedef int32_t tripipe_activation;

// The type in which sums of halves are accumulated.
typedef int32_t tripipe_accumulate;

// Options of a product `C = activation(alpha * A * B + beta * C + bias)`. `tripipe_product_options` has the usual ones.
typedef struct tripipe_product {
  // The factor of the product.
  double alpha;
  // The factor of the old contents of C; they are not read if it is 0.
  double beta;
  // A number for each column of C, or null.
  const struct tripipe_vector *bias_columns;
  // A number for each row of C, or null.
  const struct tripipe_vector *bias_rows;
  // What is done at last.
  tripipe_activation activation;
  // The type of sums of halves.
  tripipe_accumulate accumulate;
} tripipe_product;

// The order of the elements of a matrix.
typedef int32_t tripipe_order;

// A matrix in a vector. Element (i, j) is the one with the number `offset + i * stride + j` in row-major order,
// `offset + i + j * stride` in column-major order.
typedef struct tripipe_matrix {
  // The vector.
  struct tripipe_vector *vector;
  // The number of rows.
  size_t rows;
  // The number of columns.
  size_t columns;
  // The number of the first element.
  size_t offset;
  // Elements from row to row, or from column to column; 0 if there are no gaps.
  size_t stride;
  // The order.
  tripipe_order order;
} tripipe_matrix;

// How the pixels of a resized image are computed (docs/filters.md).
typedef int32_t tripipe_interpolation;

// Row by row.
#define TRIPIPE_LAYOUT_ROW_MAJOR 101

// Column by column.
#define TRIPIPE_LAYOUT_COL_MAJOR 102

// It is not.
#define TRIPIPE_TRANSPOSE_NO 111

// It is.
#define TRIPIPE_TRANSPOSE_YES 112

// Likewise: real numbers are their own conjugates.
#define TRIPIPE_TRANSPOSE_CONJUGATE 113

// Row by row, as in C.
#define TRIPIPE_ORDER_ROW_MAJOR 0

// Column by column, as in Fortran; a row-major matrix, transposed.
#define TRIPIPE_ORDER_COLUMN_MAJOR 1

// Nothing.
#define TRIPIPE_ACTIVATION_NONE 0

// Values less than 0 become 0.
#define TRIPIPE_ACTIVATION_RELU 1

// Clamped to 0..6.
#define TRIPIPE_ACTIVATION_RELU6 2

// `float`
#define TRIPIPE_ACCUMULATE_F32 0

// `half`: the fastest where the device has it, and the least accurate.
#define TRIPIPE_ACCUMULATE_F16 1

// The nearest pixel.
#define TRIPIPE_INTERPOLATION_NEAREST 0

// The two nearest pixels along each axis.
#define TRIPIPE_INTERPOLATION_LINEAR 1

// The mean of the area that a pixel covers: for shrinking.
#define TRIPIPE_INTERPOLATION_AREA 2

// Cubic convolution of four pixels along each axis.
#define TRIPIPE_INTERPOLATION_CUBIC 3

// Lanczos' kernel over eight pixels along each axis.
#define TRIPIPE_INTERPOLATION_LANCZOS4 4

// `uint8_t`
#define TRIPIPE_ELEMENT_U8 0

// `int8_t`
#define TRIPIPE_ELEMENT_I8 1

// `uint16_t`
#define TRIPIPE_ELEMENT_U16 2

// `int16_t`
#define TRIPIPE_ELEMENT_I16 3

// `uint32_t`
#define TRIPIPE_ELEMENT_U32 4

// `int32_t`
#define TRIPIPE_ELEMENT_I32 5

// IEEE half precision, 16 bits (`cl_half`)
#define TRIPIPE_ELEMENT_F16 6

// `float`
#define TRIPIPE_ELEMENT_F32 7

// `double`
#define TRIPIPE_ELEMENT_F64 8

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Queues `C = alpha * A * B + beta * C` of `float` (`CLBlastSgemm`).
//
// The arguments are those of CLBlast's function: offsets and leading dimensions in elements; `queue` points to the in-order
// queue (`cl_command_queue`) on which the product is enqueued, after the commands enqueued before. If `event` is not null, it
// gets an event (`cl_event`) that completes with the product, and that the application releases. Returns at once, but for the
// first call of a shape, which chooses and builds the kernel. Each thread keeps its last four queues retained.
//
// # Safety
// `queue` points to a live queue of the system's OpenCL library, and the buffers are live, of its context, and as large as
// the call needs; `event` is null or valid for a write.
enum tripipe_status tripipe_sgemm(tripipe_layout layout,
                                  tripipe_transpose a_transpose,
                                  tripipe_transpose b_transpose,
                                  size_t m,
                                  size_t n,
                                  size_t k,
                                  float alpha,
                                  void *a_buffer,
                                  size_t a_offset,
                                  size_t a_ld,
                                  void *b_buffer,
                                  size_t b_offset,
                                  size_t b_ld,
                                  float beta,
                                  void *c_buffer,
                                  size_t c_offset,
                                  size_t c_ld,
                                  void **queue,
                                  void **event);

// Queues `C = alpha * A * B + beta * C` of `half`, summed in `float` (`CLBlastHgemm`), as `tripipe_sgemm` does. The factors are
// halves, as their 16 bits (`cl_half`).
//
// # Safety
// `queue` points to a live queue of the system's OpenCL library, and the buffers are live, of its context, and as large as
// the call needs; `event` is null or valid for a write.
enum tripipe_status tripipe_hgemm(tripipe_layout layout,
                                  tripipe_transpose a_transpose,
                                  tripipe_transpose b_transpose,
                                  size_t m,
                                  size_t n,
                                  size_t k,
                                  uint16_t alpha,
                                  void *a_buffer,
                                  size_t a_offset,
                                  size_t a_ld,
                                  void *b_buffer,
                                  size_t b_offset,
                                  size_t b_ld,
                                  uint16_t beta,
                                  void *c_buffer,
                                  size_t c_offset,
                                  size_t c_ld,
                                  void **queue,
                                  void **event);

// Queues `C = alpha * A * B + beta * C`, where A and B have elements of type `int8_t`, C and the factors of type `int32_t`, as
// `tripipe_sgemm` does.
//
// # Safety
// `queue` points to a live queue of the system's OpenCL library, and the buffers are live, of its context, and as large as
// the call needs; `event` is null or valid for a write.
enum tripipe_status tripipe_igemm(tripipe_layout layout,
                                  tripipe_transpose a_transpose,
                                  tripipe_transpose b_transpose,
                                  size_t m,
                                  size_t n,
                                  size_t k,
                                  int32_t alpha,
                                  void *a_buffer,
                                  size_t a_offset,
                                  size_t a_ld,
                                  void *b_buffer,
                                  size_t b_offset,
                                  size_t b_ld,
                                  int32_t beta,
                                  void *c_buffer,
                                  size_t c_offset,
                                  size_t c_ld,
                                  void **queue,
                                  void **event);

// Gives the number of devices of this machine, the CPU included.
//
// # Safety
// `count` is valid for a write.
enum tripipe_status tripipe_device_count(size_t *count);

// Gives the name of a device, as `tripipe_context_new` takes it, e.g. `opencl:0` or `cpu`, and its description. Free
// both with `tripipe_string_free`.
//
// # Safety
// `name` and `description` are valid for writes; either may be null.
enum tripipe_status tripipe_device_name(size_t index,
                                        char **name,
                                        char **description);

// Makes a context on a device: `auto`, `cpu`, `opencl`, `opencl:N` or `virtual:GPU`, e.g. `virtual:mali-g77`. `opencl`
// is the strongest OpenCL device, a GPU before a CPU; null is `auto`: that if it is a GPU, or else the CPU. Free it
// with `tripipe_context_free`.
//
// # Safety
// `device` is null or a string; `context` is valid for a write.
enum tripipe_status tripipe_context_new(const char *device,
                                        struct tripipe_context **context);

// As `tripipe_context_new`, with the number of threads that an operation on the CPU uses, with the one that runs it: 0 is
// one for each processor.
//
// # Safety
// As `tripipe_context_new`.
enum tripipe_status tripipe_context_with_threads(const char *device,
                                                 size_t threads,
                                                 struct tripipe_context **context);

// Makes a context over a command queue of the application (`cl_command_queue`): what it does is enqueued there, in order
// with the commands of the application, and it can use the buffers of the queue's context
// (`tripipe_vector_import`). The queue is in order. The CPU path is not used where it would be faster.
//
// # Safety
// `queue` is a live queue of the system's OpenCL library; `context` is valid for a write.
enum tripipe_status tripipe_context_on_queue(void *queue,
                                             struct tripipe_context **context);

// Gives the name of a context's device. Free it with `tripipe_string_free`.
//
// # Safety
// `context` is live; `name` is valid for a write.
enum tripipe_status tripipe_context_name(const struct tripipe_context *context, char **name);

// Waits until all queued operations have ended. Reports the first failure of one that was not reported yet.
//
// # Safety
// `context` is live.
enum tripipe_status tripipe_context_finish(const struct tripipe_context *context);

// Frees a context. Its vectors may be used on, and freed later. Null is allowed.
//
// # Safety
// `context` is null or live, and is not used afterwards.
void tripipe_context_free(struct tripipe_context *context);

// Makes a chain from its text, e.g. `gray,gaussian:5,sobel` (`tripipe filter --help` lists all filters). `border` says
// what is outside the image: `none`, `constant:V`, `replicate`, `reflect`, `reflect101` or `wrap`; null is `reflect101`.
// Free the chain with `tripipe_chain_free`.
//
// # Safety
// `filters` is a string, `border` is null or a string; `chain` is valid for a write.
enum tripipe_status tripipe_chain_new(const char *filters,
                                      const char *border,
                                      struct tripipe_chain **chain);

// Gives the layout of a chain's result, without gaps between rows.
//
// # Safety
// `chain` is live; `from` is valid; `to` is valid for a write.
enum tripipe_status tripipe_chain_result(const struct tripipe_chain *chain,
                                         const struct tripipe_image *from,
                                         struct tripipe_image *to);

// Frees a chain. Null is allowed.
//
// # Safety
// `chain` is null or live, and is not used afterwards.
void tripipe_chain_free(struct tripipe_chain *chain);

// Filters an image in the memory of the application; returns when the result is there. Bytes between the rows of the
// result are unchanged. `source` and `result`, from the first element of their images to the last, must not overlap: such
// calls are refused. On the CPU path nothing is copied. With a device, the first calls run on the CPU path, while the
// kernels are built on another thread; then calls on the device, with copies, decide which of the two runs all others. A
// context over a queue always uses the device.
//
// # Safety
// `context` and `chain` are live; `source` and `result` have all elements of the images `from` and `to`, which are
// valid.
enum tripipe_status tripipe_filter(const struct tripipe_context *context,
                                   const struct tripipe_chain *chain,
                                   const void *source,
                                   const struct tripipe_image *from,
                                   void *result,
                                   const struct tripipe_image *to);

// Chooses and builds the kernels for images with these layouts in vectors, and waits for the compiler: the first
// `tripipe_filter_vectors` with them then takes as long as any other. The context keeps those of the latest layouts.
//
// # Safety
// `context` and `chain` are live; `from` and `to` are valid.
enum tripipe_status tripipe_filter_prepare(const struct tripipe_context *context,
                                           const struct tripipe_chain *chain,
                                           const struct tripipe_image *from,
                                           const struct tripipe_image *to);

// Queues a chain over an image in a vector, into another vector; returns at once. With a context over a queue of the
// application, it runs after the commands enqueued there before, and before those enqueued later.
//
// # Safety
// All handles are live; `from` and `to` are valid.
enum tripipe_status tripipe_filter_vectors(const struct tripipe_context *context,
                                           const struct tripipe_chain *chain,
                                           const struct tripipe_vector *source,
                                           const struct tripipe_image *from,
                                           struct tripipe_vector *result,
                                           const struct tripipe_image *to);

// Gives what a chain would do for such an image, why, and how long it takes. Free the text with `tripipe_string_free`.
//
// # Safety
// `context` and `chain` are live; `from` is valid; `explanation` is valid for a write.
enum tripipe_status tripipe_filter_explain(const struct tripipe_context *context,
                                           const struct tripipe_chain *chain,
                                           const struct tripipe_image *from,
                                           char **explanation);

// The options of a plain product: alpha is 1, beta 0, no bias, no activation, sums in `float`.
struct tripipe_product tripipe_product_options(void);

// Queues a product; returns at once. The elements of A and B are `F32`, `F16`, `F64` or `I8`; those of C and of the biases are
// the same, but `I32` for `I8`. C shares no elements with A or B. With a context over a queue of the application, it runs after
// the commands enqueued there before, and before those enqueued later.
//
// # Safety
// All matrices are valid, with live vectors; `options` is null (the usual ones) or valid.
enum tripipe_status tripipe_matmul(const struct tripipe_matrix *a,
                                   const struct tripipe_matrix *b,
                                   const struct tripipe_product *options,
                                   const struct tripipe_matrix *c);

// Chooses and builds the kernels of a product whose C is row-major without gaps, and waits for the compiler: the first
// `tripipe_matmul` with operands of these layouts then takes as long as any other. The context keeps those of the latest
// layouts.
//
// # Safety
// As `tripipe_matmul`.
enum tripipe_status tripipe_matmul_prepare(const struct tripipe_matrix *a,
                                           const struct tripipe_matrix *b,
                                           const struct tripipe_product *options);

// Gives what a product would do, why, and how long it takes. Free the text with `tripipe_string_free`.
//
// # Safety
// As `tripipe_matmul`; `explanation` is valid for a write.
enum tripipe_status tripipe_matmul_explain(const struct tripipe_matrix *a,
                                           const struct tripipe_matrix *b,
                                           const struct tripipe_product *options,
                                           char **explanation);

// Gives the sum of all elements, in `float` for `F16` and `F32`; that of integers is rounded if it exceeds 2^53. Waits.
//
// # Safety
// `x` is live; `sum` is valid for a write.
enum tripipe_status tripipe_vector_sum(const struct tripipe_vector *x,
                                       double *sum);

// As `tripipe_vector_sum`, exact; for integers only.
//
// # Safety
// As `tripipe_vector_sum`.
enum tripipe_status tripipe_vector_whole_sum(const struct tripipe_vector *x, int64_t *sum);

// Gives the sum of the products of the elements of two vectors of one type and length, as `tripipe_vector_sum`. Waits.
//
// # Safety
// `x` and `y` are live; `sum` is valid for a write.
enum tripipe_status tripipe_vector_dot(const struct tripipe_vector *x,
                                       const struct tripipe_vector *y,
                                       double *sum);

// Gives the smallest element and the position of the first such one; NaN is ignored. `position` may be null. Waits.
//
// # Safety
// `x` is live; `value` is valid for a write, `position` too or null.
enum tripipe_status tripipe_vector_min(const struct tripipe_vector *x,
                                       double *value,
                                       size_t *position);

// As `tripipe_vector_min`, the largest element.
//
// # Safety
// As `tripipe_vector_min`.
enum tripipe_status tripipe_vector_max(const struct tripipe_vector *x, double *value, size_t *position);

// Resizes an image in the memory of the application to the extents of `to`, which has the channels and the type of `from`;
// returns when the result is there. Memory, devices and copies are as with `tripipe_filter`.
//
// # Safety
// `context` is live; `source` and `result` have all elements of the images `from` and `to`, which are valid.
enum tripipe_status tripipe_resize(const struct tripipe_context *context,
                                   tripipe_interpolation how,
                                   const void *source,
                                   const struct tripipe_image *from,
                                   void *result,
                                   const struct tripipe_image *to);

// Makes a vector with a resized image: that of `source` with `width` x `height` pixels, without gaps. Queued, as
// `tripipe_filter_vectors`. Free the vector with `tripipe_vector_free`.
//
// # Safety
// `source` is live; `from` is valid; `resized` is valid for a write.
enum tripipe_status tripipe_resize_vector(tripipe_interpolation how,
                                          const struct tripipe_vector *source,
                                          const struct tripipe_image *from,
                                          size_t width,
                                          size_t height,
                                          struct tripipe_vector **resized);

// The version of the library, e.g. `0.1.0`. The string is constant.
const char *tripipe_version(void);

// The message of the last call that failed in this thread, in English; empty if none did. The string is valid until the
// next call that fails in this thread.
const char *tripipe_last_error(void);

// Frees a string that another function gave. Null is allowed.
//
// # Safety
// `text` is null or such a string, and is not used afterwards.
void tripipe_string_free(char *text);

// Makes a vector with a copy of `contents` (`length` elements), or of zeros if that is null. Free it with
// `tripipe_vector_free`.
//
// # Safety
// `context` is live; `contents` is null or has `length` elements; `vector` is valid for a write.
enum tripipe_status tripipe_vector_new(const struct tripipe_context *context,
                                       tripipe_element element,
                                       size_t length,
                                       const void *contents,
                                       struct tripipe_vector **vector);

// Makes a vector over a buffer of the application (`cl_mem`), without a copy. The context is one over a queue of the
// same OpenCL context (`tripipe_context_on_queue`). The buffer is retained until the vector is freed.
//
// # Safety
// `context` is live; `buffer` is a live buffer of its OpenCL context; `vector` is valid for a write.
enum tripipe_status tripipe_vector_import(const struct tripipe_context *context,
                                          void *buffer,
                                          tripipe_element element,
                                          size_t length,
                                          struct tripipe_vector **vector);

// Makes a vector over the first elements of an `AHardwareBuffer` of Android, without a copy: of format
// `AHARDWAREBUFFER_FORMAT_BLOB`, with usage `AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER`. Devices without
// `cl_arm_import_memory_android_hardware_buffer` or `cl_qcom_android_ahardwarebuffer_host_ptr`, and the CPU, answer
// `TRIPIPE_STATUS_UNSUPPORTED`: lock the buffer there, and use `tripipe_filter` on its memory.
//
// The application keeps a reference to the buffer until the vector is freed and nothing queued uses it
// (`tripipe_context_finish`). It reads and writes the contents between `AHardwareBuffer_lock` and `AHardwareBuffer_unlock`, never while
// something queued uses the vector; the unlock's fence has signalled before something is queued.
//
// # Safety
// `context` is live; `buffer` is a live `AHardwareBuffer` with `length` elements, used as above; `vector` is valid for a
// write.
enum tripipe_status tripipe_vector_import_hardware_buffer(const struct tripipe_context *context,
                                                          void *buffer,
                                                          tripipe_element element,
                                                          size_t length,
                                                          struct tripipe_vector **vector);

// Gives the number of elements of a vector.
//
// # Safety
// `vector` is live; `length` is valid for a write.
enum tripipe_status tripipe_vector_length(const struct tripipe_vector *vector, size_t *length);

// Copies all elements of a vector to the application, after everything queued before. `bytes` is the size of the vector.
//
// # Safety
// `vector` is live; `into` has room for `bytes` bytes.
enum tripipe_status tripipe_vector_read(const struct tripipe_vector *vector,
                                        void *into,
                                        size_t bytes);

// Overwrites all elements of a vector, after everything queued before. `bytes` is the size of the vector.
//
// # Safety
// `vector` is live; `from` has `bytes` bytes.
enum tripipe_status tripipe_vector_write(struct tripipe_vector *vector, const void *from, size_t bytes);

// Frees a vector, once nothing that is queued uses it. Null is allowed.
//
// # Safety
// `vector` is null or live, and is not used afterwards.
void tripipe_vector_free(struct tripipe_vector *vector);

// Quantises and packs weights, a row of `inputs` numbers for each of `outputs`, as `f16`, `i8`, `q8_0` or `q4_0`
// (docs/quantised.md). Free them with `tripipe_weights_free`.
//
// # Safety
// `context` is live; `format` is a string; `numbers` has `outputs * inputs` elements; `weights` is valid for a write.
enum tripipe_status tripipe_weights_new(const struct tripipe_context *context,
                                        const char *format,
                                        size_t outputs,
                                        size_t inputs,
                                        const float *numbers,
                                        struct tripipe_weights **weights);

// Queues Y = X W for the rows of X, each a vector of the weights' inputs; Y has a row of their outputs for each. Both are
// row-major, of `F32` or `F16`, and share no elements. Returns at once; runs where the weights are.
//
// # Safety
// `weights` are live; `x` and `y` are valid, with live vectors.
enum tripipe_status tripipe_weights_multiply(const struct tripipe_weights *weights,
                                             const struct tripipe_matrix *x,
                                             const struct tripipe_matrix *y);

// Gives the size of packed weights in bytes.
//
// # Safety
// `weights` are live; `bytes` is valid for a write.
enum tripipe_status tripipe_weights_bytes(const struct tripipe_weights *weights, size_t *bytes);

// Frees packed weights, once nothing that is queued uses them. Null is allowed.
//
// # Safety
// `weights` are null or live, and are not used afterwards.
void tripipe_weights_free(struct tripipe_weights *weights);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus
