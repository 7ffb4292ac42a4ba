/* Calls that the library refuses with a message: results over their sources, and a child of `fork`. Prints what is wrong. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <tripipe.h>
#include <unistd.h>

static int wrong = 0;

static void is(int right, const char *what)
{
    if (!right) {
        printf("%s: %s\n", what, tripipe_last_error());
        ++wrong;
    }
}

static void overlaps(tripipe_context *context)
{
    tripipe_chain *chain = NULL;
    tripipe_image from = {0}, right;
    unsigned char pixels[64] = {0};
    is(tripipe_chain_new("sobel", NULL, &chain) == TRIPIPE_STATUS_SUCCESS, "a chain");
    from.width = from.height = 4;
    from.channels = 1;
    from.element = TRIPIPE_ELEMENT_U8;
    is(tripipe_filter(context, chain, pixels, &from, pixels, &from) == TRIPIPE_STATUS_INVALID_ARGUMENT, "in place");
    is(strstr(tripipe_last_error(), "source and result overlap") != NULL, "its message");
    is(tripipe_filter(context, chain, pixels, &from, pixels + 15, &from) == TRIPIPE_STATUS_INVALID_ARGUMENT, "one byte");
    is(tripipe_filter(context, chain, pixels + 15, &from, pixels, &from) == TRIPIPE_STATUS_INVALID_ARGUMENT, "before");
    is(tripipe_filter(context, chain, pixels, &from, pixels + 16, &from) == TRIPIPE_STATUS_SUCCESS, "beside");
    right = from;
    right.width = 5;
    is(tripipe_filter(context, chain, pixels, &from, pixels + 32, &right) == TRIPIPE_STATUS_INVALID_ARGUMENT, "wider");
    is(strncmp(tripipe_last_error(), "to: ", 4) == 0, "the argument's name");
    tripipe_chain_free(chain);
}

static int refused(tripipe_status status, const char *says)
{
    return status == TRIPIPE_STATUS_INVALID_ARGUMENT && strstr(tripipe_last_error(), says) != NULL;
}

static void arguments_of_others(tripipe_context *context)
{
    tripipe_image from = {0}, to;
    unsigned char pixels[64] = {0};
    float numbers[64] = {0}, high = NAN, kept[2];
    double value = 0;
    int64_t whole = 0;
    size_t place = 0;
    tripipe_vector *floats = NULL, *bytes = NULL, *none = NULL, *result = NULL;
    tripipe_weights *weights = NULL;
    tripipe_matrix x = {0}, y = {0};
    from.width = from.height = 4;
    from.channels = 1;
    from.element = TRIPIPE_ELEMENT_U8;
    to = from;
    to.width = to.height = 2;
    is(refused(tripipe_resize(context, 5, pixels, &from, pixels + 32, &to), "how is 5"), "an interpolation");
    is(refused(tripipe_resize(context, 2, pixels, &from, pixels + 15, &to), "overlap"), "resized in place");
    to.element = TRIPIPE_ELEMENT_F32;
    is(refused(tripipe_resize(context, 2, pixels, &from, numbers, &to), "to: "), "another type");
    numbers[5] = 2;
    numbers[6] = high;
    is(tripipe_vector_new(context, TRIPIPE_ELEMENT_F32, 64, numbers, &floats) == TRIPIPE_STATUS_SUCCESS, "floats");
    is(tripipe_vector_new(context, TRIPIPE_ELEMENT_U8, 16, pixels, &bytes) == TRIPIPE_STATUS_SUCCESS, "bytes");
    is(tripipe_vector_new(context, TRIPIPE_ELEMENT_U8, 0, NULL, &none) == TRIPIPE_STATUS_SUCCESS, "none");
    is(tripipe_vector_max(floats, &value, &place) == TRIPIPE_STATUS_SUCCESS && value == 2 && place == 5, "a maximum");
    is(refused(tripipe_vector_whole_sum(floats, &whole), "not a whole number"), "a whole sum of floats");
    is(refused(tripipe_vector_dot(floats, bytes, &value), "y has elements of type u8"), "two types");
    is(refused(tripipe_vector_min(none, &value, NULL), "no smallest"), "nothing");
    is(refused(tripipe_vector_sum(NULL, &value), "x is null"), "null");
    is(refused(tripipe_vector_sum(bytes, NULL), "sum is null"), "null for the result");
    is(refused(tripipe_resize_vector(1, floats, &from, 2, 2, &result), "source has elements of type f32"), "floats of bytes");
    is(refused(tripipe_weights_new(context, "q9", 2, 32, numbers, &weights), "format: "), "a format");
    is(refused(tripipe_weights_new(context, "q8_0", 2, 32, NULL, &weights), "numbers is null"), "no numbers");
    numbers[6] = 0;
    is(tripipe_weights_new(context, "q8_0", 2, 32, numbers, &weights) == TRIPIPE_STATUS_SUCCESS, "weights");
    x.vector = floats, x.rows = 1, x.columns = 31;
    y.vector = floats, y.rows = 1, y.columns = 2, y.offset = 40;
    is(refused(tripipe_weights_multiply(weights, &x, &y), "x"), "too few inputs");
    x.columns = 32, x.vector = bytes;
    is(refused(tripipe_weights_multiply(weights, &x, &y), "x has elements of type u8"), "bytes");
    /* The result is rows of zeros and, for the first output, 2 * 2. */
    tripipe_vector_free(floats);
    is(tripipe_vector_new(context, TRIPIPE_ELEMENT_F32, 32, numbers, &floats) == TRIPIPE_STATUS_SUCCESS, "x");
    is(tripipe_vector_new(context, TRIPIPE_ELEMENT_F32, 2, NULL, &result) == TRIPIPE_STATUS_SUCCESS, "y");
    x.vector = floats, y.vector = result, y.offset = 0;
    is(tripipe_weights_multiply(weights, &x, &y) == TRIPIPE_STATUS_SUCCESS, "a product");
    is(tripipe_vector_read(result, kept, sizeof kept) == TRIPIPE_STATUS_SUCCESS, "its result");
    is(kept[0] > 3.99f && kept[0] < 4.01f && kept[1] == 0, "its value");
    tripipe_vector_free(floats), tripipe_vector_free(bytes), tripipe_vector_free(none), tripipe_vector_free(result);
    tripipe_weights_free(weights), tripipe_weights_free(NULL);
}

/* The image is large enough for threads; a child that waited for them would be ended by its alarm. */
static void forks(tripipe_context *context)
{
    enum { SIDE = 1024 };
    tripipe_chain *chain = NULL;
    tripipe_image image = {0};
    unsigned char *pixels = calloc(2, (size_t)SIDE * SIDE), *result = pixels + (size_t)SIDE * SIDE;
    int status = 0;
    pid_t child;
    image.width = image.height = SIDE;
    image.channels = 1;
    image.element = TRIPIPE_ELEMENT_U8;
    is(tripipe_chain_new("sobel", NULL, &chain) == TRIPIPE_STATUS_SUCCESS, "a chain");
    is(tripipe_filter(context, chain, pixels, &image, result, &image) == TRIPIPE_STATUS_SUCCESS, "before");
    fflush(stdout);
    child = fork();
    if (child == 0) {
        tripipe_context *own = NULL;
        alarm(20);
        if (tripipe_filter(context, chain, pixels, &image, result, &image) != TRIPIPE_STATUS_DEVICE_FAILED)
            _exit(1);
        if (strstr(tripipe_last_error(), "forked") == NULL)
            _exit(2);
        if (tripipe_context_new("cpu", &own) != TRIPIPE_STATUS_DEVICE_FAILED)
            _exit(3);
        _exit(7);
    }
    is(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7, "in the child");
    is(tripipe_filter(context, chain, pixels, &image, result, &image) == TRIPIPE_STATUS_SUCCESS, "after");
    tripipe_chain_free(chain);
    free(pixels);
}

int main(int count, char **arguments)
{
    for (int i = 1; i < count; ++i) {
        tripipe_context *context = NULL;
        is(tripipe_context_new(arguments[i], &context) == TRIPIPE_STATUS_SUCCESS, arguments[i]);
        overlaps(context);
        arguments_of_others(context);
        forks(context);
        tripipe_context_free(context);
    }
    return wrong ? 1 : 0;
}
