//! The filter as simple code on one CPU thread.

/// Filters an image of `C` bytes per pixel, each channel separately, rows without gaps; the outermost ring of pixels
/// is copied. `source` and `result` are `C * width * height` bytes.
///
/// A loop over pixels with a loop over channels inside, and the border outside the loops: the serial version of
/// published speed-ups.
pub(crate) fn sharpen<const C: usize>(source: &[u8], width: usize, height: usize, result: &mut [u8]) {
    if width < 3 || height < 3 {
        result.copy_from_slice(source);
        return;
    }
    let pitch = C * width;
    let last_row = pitch * (height - 1);
    result[..pitch].copy_from_slice(&source[..pitch]);
    result[last_row..].copy_from_slice(&source[last_row..]);
    let rows_of_three = (0..height - 2).map(|y| &source[pitch * y..][..3 * pitch]);
    for (rows, result) in rows_of_three.zip(result[pitch..last_row].chunks_exact_mut(pitch)) {
        let here = &rows[pitch..2 * pitch];
        result[..C].copy_from_slice(&here[..C]);
        result[pitch - C..].copy_from_slice(&here[pitch - C..]);
        // Three pixels of each row, advancing by one pixel.
        let [above, here, below] = [0, 1, 2].map(|y| rows[pitch * y..][..pitch].windows(3 * C).step_by(C));
        let pixels = result[C..pitch - C].chunks_exact_mut(C);
        for (((above, here), below), pixel) in above.zip(here).zip(below).zip(pixels) {
            for channel in 0..C {
                let row = |pixels: &[u8]| [0, C, 2 * C].map(|at| i32::from(pixels[at + channel]));
                let centre = i32::from(here[C + channel]);
                let all: i32 = [row(above), row(here), row(below)].as_flattened().iter().sum();
                pixel[channel] = (10 * centre - all).clamp(0, 255) as u8;
            }
        }
    }
}
