//! The sRGB encoding of 8-bit channels.
//!
//! Source: OpenCL C 3.0, 8.3.5 "Conversion rules for sRGBA and sBGRA images", after IEC 61966-2-1.

use std::sync::LazyLock;

/// The linear value of each of the 256 codes, rounded to single precision.
pub(super) static LINEAR: LazyLock<[f32; 256]> = LazyLock::new(|| {
    std::array::from_fn(|code| {
        let c = code as f64 / 255.0;
        (if c <= 0.04045 { c / 12.92 } else { libm::pow((c + 0.055) / 1.055, 2.4) }) as f32
    })
});

/// The code nearest to a linear value. NaN and values below 0 are 0, values above 1 are 255.
pub(super) fn code(linear: f32) -> u8 {
    let c = f64::from(linear.clamp(0.0, 1.0));
    let encoded = if c < 0.003_130_8 { 12.92 * c } else { 1.055 * libm::pow(c, 1.0 / 2.4) - 0.055 };
    // The conversion turns NaN into 0.
    (encoded * 255.0 + 0.5).floor() as u8
}
