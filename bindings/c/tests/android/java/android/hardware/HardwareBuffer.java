package android.hardware;

/** What the example and its test use of Android's class, over the stand-in of libandroid.so. */
public final class HardwareBuffer implements AutoCloseable {
    public static final int RGBA_8888 = 1, BLOB = 0x21;
    public static final long USAGE_CPU_READ_OFTEN = 3, USAGE_CPU_WRITE_OFTEN = 3 << 4, USAGE_GPU_DATA_BUFFER = 1 << 24;

    private long pointer;

    private HardwareBuffer(long pointer) {
        if (pointer == 0) throw new IllegalArgumentException("the buffer cannot be made");
        this.pointer = pointer;
    }

    public static HardwareBuffer create(int width, int height, int format, int layers, long usage) {
        return new HardwareBuffer(allocate(width, height, format, layers, usage));
    }

    @Override
    public void close() {
        release(pointer);
        pointer = 0;
    }

    // Not of Android's class: what a camera writes, and a display reads.
    public byte[] contents() {
        return contents(pointer);
    }

    public void fill(byte[] contents) {
        fill(pointer, contents);
    }

    public int stride() {
        return stride(pointer);
    }

    private static native long allocate(int width, int height, int format, int layers, long usage);

    private static native void release(long pointer);

    private static native byte[] contents(long pointer);

    private static native void fill(long pointer, byte[] contents);

    private static native int stride(long pointer);
}
