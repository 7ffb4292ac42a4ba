/* Finds edges in a picture, and multiplies two matrices, on a device: edges [DEVICE] [IN.ppm OUT.pgm]
 *
 * Without a picture, one is drawn. cc edges.c $(pkg-config --cflags --libs tripipe) -o edges */
#include <stdio.h>
#include <stdlib.h>
#include <tripipe.h>

static void check(tripipe_status status, const char *what) {
    if (status != TRIPIPE_STATUS_SUCCESS) {
        fprintf(stderr, "%s: %s\n", what, tripipe_last_error());
        exit(2);
    }
}

static uint8_t *drawn(size_t width, size_t height) {
    uint8_t *pixels = malloc(width * height * 3);
    for (size_t y = 0; pixels && y < height; y++)
        for (size_t x = 0; x < width; x++)
            for (size_t c = 0; c < 3; c++)
                pixels[(y * width + x) * 3 + c] = (uint8_t)((x / 8 + y / 8) % 2 ? 200 - 20 * c : 40 + x % 8);
    return pixels;
}

static uint8_t *read_ppm(const char *path, size_t *width, size_t *height) {
    FILE *file = fopen(path, "rb");
    unsigned w = 0, h = 0;
    if (!file || fscanf(file, "P6 %u %u 255", &w, &h) != 2 || w == 0 || h == 0 || w > 100000 || h > 100000) {
        fprintf(stderr, "%s: not a PPM picture with 255 levels (P6, no comments)\n", path);
        exit(2);
    }
    (void)fgetc(file);
    *width = w, *height = h;
    uint8_t *pixels = malloc((size_t)w * h * 3);
    if (!pixels || fread(pixels, 3, (size_t)w * h, file) != (size_t)w * h) {
        fprintf(stderr, "%s: ends too early\n", path);
        exit(2);
    }
    fclose(file);
    return pixels;
}

static void filter(tripipe_context *context, const char *from_file, const char *to_file) {
    size_t width = 96, height = 64;
    uint8_t *source = from_file ? read_ppm(from_file, &width, &height) : drawn(width, height);
    tripipe_chain *chain = NULL;
    check(tripipe_chain_new("gray,gaussian:3,laplace8", "reflect101", &chain), "the chain");
    tripipe_image from = {.width = width, .height = height, .channels = 3, .element = TRIPIPE_ELEMENT_U8};
    tripipe_image to;
    check(tripipe_chain_result(chain, &from, &to), "the result's layout");
    uint8_t *result = malloc(to.width * to.height * to.channels);
    check(tripipe_filter(context, chain, source, &from, result, &to), "the filter");
    char *explanation = NULL;
    check(tripipe_filter_explain(context, chain, &from, &explanation), "the explanation");
    puts(explanation);
    tripipe_string_free(explanation);

    size_t edges = 0;
    for (size_t i = 0; i < to.width * to.height; i++)
        edges += result[i] > 32;
    printf("%zu of %zu pixels are on an edge\n", edges, to.width * to.height);
    if (to_file) {
        FILE *file = fopen(to_file, "wb");
        if (!file || fprintf(file, "P5\n%zu %zu\n255\n", to.width, to.height) < 0 ||
            fwrite(result, to.width, to.height, file) != to.height || fclose(file) != 0) {
            fprintf(stderr, "%s: cannot be written\n", to_file);
            exit(2);
        }
    }
    tripipe_chain_free(chain);
    free(source);
    free(result);
}

static void multiply(tripipe_context *context) {
    enum { M = 37, N = 29, K = 53 };
    static float a[M * K], b[K * N], c[M * N], bias[N];
    for (int i = 0; i < M * K; i++) a[i] = (float)(i % 13) - 6;
    for (int i = 0; i < K * N; i++) b[i] = (float)(i % 7) - 3;
    for (int i = 0; i < N; i++) bias[i] = (float)i;
    tripipe_vector *va = NULL, *vb = NULL, *vc = NULL, *vbias = NULL;
    check(tripipe_vector_new(context, TRIPIPE_ELEMENT_F32, M * K, a, &va), "A");
    check(tripipe_vector_new(context, TRIPIPE_ELEMENT_F32, K * N, b, &vb), "B");
    check(tripipe_vector_new(context, TRIPIPE_ELEMENT_F32, M * N, NULL, &vc), "C");
    check(tripipe_vector_new(context, TRIPIPE_ELEMENT_F32, N, bias, &vbias), "the bias");
    tripipe_matrix ma = {.vector = va, .rows = M, .columns = K};
    tripipe_matrix mb = {.vector = vb, .rows = K, .columns = N};
    tripipe_matrix mc = {.vector = vc, .rows = M, .columns = N};
    tripipe_product options = tripipe_product_options();
    options.bias_columns = vbias;
    options.activation = TRIPIPE_ACTIVATION_RELU;
    check(tripipe_matmul(&ma, &mb, &options, &mc), "the product");
    check(tripipe_vector_read(vc, c, sizeof c), "reading C");
    /* Whole numbers: the sums are exact. */
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int l = 0; l < K; l++) sum += a[i * K + l] * b[l * N + j];
            sum += bias[j];
            if (c[i * N + j] != (sum > 0 ? sum : 0)) {
                fprintf(stderr, "C[%d][%d] is %g, expected %g\n", i, j, c[i * N + j], sum);
                exit(1);
            }
        }
    puts("the product is right");
    tripipe_vector_free(va), tripipe_vector_free(vb), tripipe_vector_free(vc), tripipe_vector_free(vbias);
}

int main(int count, char **arguments) {
    tripipe_context *context = NULL;
    check(tripipe_context_new(count > 1 ? arguments[1] : NULL, &context), "the device");
    filter(context, count > 3 ? arguments[2] : NULL, count > 3 ? arguments[3] : NULL);
    multiply(context);
    check(tripipe_context_finish(context), "the queue");
    tripipe_context_free(context);
    return 0;
}
