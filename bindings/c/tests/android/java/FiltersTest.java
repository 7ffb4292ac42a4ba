import android.hardware.HardwareBuffer;
import org.tripipe.example.Filters;

/**
 * Runs the example as an app would: FiltersTest DEVICE IN_PLACE FOLDER, where IN_PLACE says whether the driver imports
 * buffers, and FOLDER is for built kernels.
 */
public final class FiltersTest {
    static final long CPU = HardwareBuffer.USAGE_CPU_READ_OFTEN | HardwareBuffer.USAGE_CPU_WRITE_OFTEN;

    static {
        System.loadLibrary("android");
    }

    static void check(boolean holds, String what) {
        if (!holds) throw new AssertionError(what);
    }

    /** The largest of the 3x3 pixels around each, those outside the image left out: what dilation is. */
    static byte[] dilated(byte[] from, byte[] into, int width, int height, int channels, int pitch) {
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                for (int c = 0; c < channels; c++) {
                    int largest = 0;
                    for (int v = Math.max(y - 1, 0); v <= Math.min(y + 1, height - 1); v++)
                        for (int u = Math.max(x - 1, 0); u <= Math.min(x + 1, width - 1); u++)
                            largest = Math.max(largest, from[v * pitch + u * channels + c] & 255);
                    into[y * pitch + x * channels + c] = (byte) largest;
                }
        return into;
    }

    static byte[] noise(int bytes) {
        byte[] made = new byte[bytes];
        int state = 12345;
        for (int i = 0; i < bytes; i++) {
            state = state * 1103515245 + 12345;
            made[i] = (byte) (state >> 20);
        }
        return made;
    }

    static void blobs(Filters filters, boolean inPlace, long usage) {
        int width = 61, height = 37, channels = 3, bytes = width * height * channels;
        // One has bytes after the image, which stay as they are.
        try (HardwareBuffer from = HardwareBuffer.create(bytes, 1, HardwareBuffer.BLOB, 1, usage);
                HardwareBuffer to = HardwareBuffer.create(bytes + 99, 1, HardwareBuffer.BLOB, 1, usage)) {
            byte[] pixels = noise(bytes);
            from.fill(pixels);
            byte[] wanted = dilated(pixels, to.contents(), width, height, channels, width * channels);
            check(filters.apply(from, to, width, height, channels) == inPlace, "in place: " + !inPlace);
            check(java.util.Arrays.equals(to.contents(), wanted), "the blob is wrong");
            check(java.util.Arrays.equals(from.contents(), pixels), "the source has changed");
        }
    }

    static void images(Filters filters) {
        int width = 50, height = 21;
        try (HardwareBuffer from = HardwareBuffer.create(width, height, HardwareBuffer.RGBA_8888, 1, CPU);
                HardwareBuffer to = HardwareBuffer.create(width, height, HardwareBuffer.RGBA_8888, 1, CPU)) {
            int pitch = from.stride() * 4;
            check(pitch > width * 4, "the test wants rows with gaps");
            byte[] pixels = noise(pitch * height);
            from.fill(pixels);
            byte[] wanted = dilated(pixels, to.contents(), width, height, 4, pitch);
            check(!filters.apply(from, to, width, height, 4), "images are not used in place");
            check(java.util.Arrays.equals(to.contents(), wanted), "the image is wrong");
        }
    }

    static void refused(Class<? extends Exception> type, String part, Runnable call) {
        try {
            call.run();
        } catch (RuntimeException thrown) {
            check(type.isInstance(thrown) && thrown.getMessage().contains(part), thrown.toString());
            return;
        }
        throw new AssertionError("not refused: " + part);
    }

    static void refusals(Filters filters) {
        refused(IllegalArgumentException.class, "filters: unknown filter", () -> new Filters("cpu", "blurr"));
        refused(IllegalArgumentException.class, "filters is null", () -> new Filters("cpu", null));
        refused(IllegalStateException.class, "unknown device", () -> new Filters("gpu0", "sobel"));
        try (HardwareBuffer blob = HardwareBuffer.create(400, 1, HardwareBuffer.BLOB, 1, CPU);
                HardwareBuffer image = HardwareBuffer.create(10, 10, HardwareBuffer.RGBA_8888, 1, CPU);
                HardwareBuffer wide = HardwareBuffer.create(10, 10, 0x16, 1, CPU);
                HardwareBuffer closed = HardwareBuffer.create(10, 10, HardwareBuffer.RGBA_8888, 1, 0)) {
            refused(IllegalArgumentException.class, "from: it has 400 bytes", () -> filters.apply(blob, image, 10, 11, 4));
            refused(IllegalArgumentException.class, "to: it is 10x10", () -> filters.apply(blob, image, 20, 5, 4));
            refused(IllegalArgumentException.class, "to: its format is 22", () -> filters.apply(blob, wide, 10, 10, 4));
            refused(IllegalArgumentException.class, "to: made without", () -> filters.apply(image, closed, 10, 10, 4));
            refused(IllegalArgumentException.class, "from: not an open", () -> filters.apply(null, image, 10, 10, 4));
            refused(IllegalArgumentException.class, "the same buffer", () -> filters.apply(image, image, 10, 10, 4));
            refused(IllegalArgumentException.class, "at least 1", () -> filters.apply(image, image, 10, 0, 4));
        }
    }

    public static void main(String[] arguments) {
        boolean inPlace = Boolean.parseBoolean(arguments[1]);
        Filters.setCacheFolder(arguments[2]);
        Filters filters = new Filters(arguments[0], "dilate:3");
        blobs(filters, inPlace, CPU | HardwareBuffer.USAGE_GPU_DATA_BUFFER);
        blobs(filters, false, CPU);
        if (inPlace) blobs(filters, true, HardwareBuffer.USAGE_GPU_DATA_BUFFER);
        images(filters);
        refusals(filters);
        System.out.println("filtered on " + filters.device());
        filters.close();
        filters.close();
        refused(IllegalStateException.class, "it is closed", filters::device);
    }
}
