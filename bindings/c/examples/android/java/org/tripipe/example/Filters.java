package org.tripipe.example;

import android.hardware.HardwareBuffer;

/**
 * A chain of image filters, on the phone's GPU or, where no driver can be loaded, on its CPU. One thread at a time uses it.
 */
public final class Filters implements AutoCloseable {
    static {
        System.loadLibrary("filters");
    }

    /** The native object; 0 once it is closed. */
    private long handle;

    /**
     * Names the folder for built kernels, {@code Context.getCodeCacheDir()}. Call it once, in
     * {@code Application.onCreate()}, before anything else of this class.
     */
    public static native void setCacheFolder(String folder);

    /**
     * @param device {@code opencl}, {@code cpu}; null is the strongest GPU, or else the CPU
     * @param filters for example {@code gaussian:5,sobel}
     * @throws IllegalArgumentException no such filter
     * @throws IllegalStateException no such device
     */
    public Filters(String device, String filters) {
        handle = open(device, filters);
    }

    /**
     * Filters one buffer into another, and waits for the result. Channels have 8 bits.
     *
     * <p>Buffers of format {@code BLOB} have width x height x channels bytes in their order, and buffers of format
     * {@code RGBA_8888} are an image of that size with four channels. Nothing may write to {@code from}, or use
     * {@code to}, during the call.
     *
     * @return true if the GPU worked on the buffers themselves: both are {@code BLOB} with {@code USAGE_GPU_DATA_BUFFER}, and
     *     its driver imports such buffers. Otherwise they are locked, with {@code USAGE_CPU_READ_OFTEN} and
     *     {@code USAGE_CPU_WRITE_OFTEN}, and a GPU gets a copy.
     */
    public boolean apply(HardwareBuffer from, HardwareBuffer to, int width, int height, int channels) {
        if (handle == 0) throw new IllegalStateException("it is closed");
        return apply(handle, from, to, width, height, channels);
    }

    /** The name of the device. */
    public String device() {
        if (handle == 0) throw new IllegalStateException("it is closed");
        return device(handle);
    }

    @Override
    public void close() {
        long closed = handle;
        handle = 0;
        if (closed != 0) close(closed);
    }

    private static native long open(String device, String filters);

    private static native boolean apply(
            long handle, HardwareBuffer from, HardwareBuffer to, int width, int height, int channels);

    private static native String device(long handle);

    private static native void close(long handle);
}
