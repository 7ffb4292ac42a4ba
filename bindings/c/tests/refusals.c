/* Calls that the library refuses with a message: results over their sources, and a child of `fork`. Prints what is wrong. */
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
        forks(context);
        tripipe_context_free(context);
    }
    return wrong ? 1 : 0;
}
