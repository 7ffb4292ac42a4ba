//! Pixels outside the image.

/// What a window sees outside the image. `abcd` is a row of four pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Border {
    /// Pixels whose window leaves the image are copied from the source, converted to the result's element type:
    /// rounded to the nearest (ties to even) and saturated.
    None,
    /// Every pixel outside has this value in every channel, `vv|abcd|vv`. Rounded and saturated to the element type.
    Constant(f32),
    /// The nearest pixel, `aa|abcd|dd`.
    Replicate,
    /// Mirrored at the edge, `ba|abcd|dc`.
    Reflect,
    /// Mirrored at the centre of the outermost pixel, `cb|abcd|cb`. OpenCV's default.
    #[default]
    Reflect101,
    /// From the opposite edge, `cd|abcd|ab`.
    Wrap,
}

impl Border {
    /// The coordinate in `0..extent` of the pixel that stands for the pixel at `place`, which may lie outside. `None`
    /// when no pixel does (`None`, `Constant`) or when `extent` is 0. Windows wider than the image are folded as
    /// often as needed.
    pub fn source(self, place: isize, extent: usize) -> Option<usize> {
        if usize::try_from(place).is_ok_and(|place| place < extent) {
            return Some(place as usize);
        }
        if extent == 0 {
            return None;
        }
        // Twice an extent may exceed 64 bits.
        let (place, extent) = (place as i128, extent as i128);
        let inside = match self {
            Self::None | Self::Constant(_) => return None,
            Self::Replicate => place.clamp(0, extent - 1),
            Self::Wrap => place.rem_euclid(extent),
            Self::Reflect => {
                let folded = place.rem_euclid(2 * extent);
                folded.min(2 * extent - 1 - folded)
            }
            Self::Reflect101 if extent == 1 => 0,
            Self::Reflect101 => {
                let period = 2 * (extent - 1);
                let folded = place.rem_euclid(period);
                folded.min(period - folded)
            }
        };
        Some(inside as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows in the documentation, and what `cv2.borderInterpolate` returns for windows wider than the image.
    #[test]
    fn places_are_folded_as_documented() {
        let row = |border: Border, places: std::ops::Range<isize>, extent: usize| -> String {
            places
                .map(|place| border.source(place, extent).map_or('.', |at| char::from(b'a' + at as u8)))
                .collect()
        };
        assert_eq!(row(Border::None, -2..6, 4), "..abcd..");
        assert_eq!(row(Border::Constant(1.0), -2..6, 4), "..abcd..");
        assert_eq!(row(Border::Replicate, -2..6, 4), "aaabcddd");
        assert_eq!(row(Border::Reflect, -6..10, 4), "cddcbaabcddcbaab");
        assert_eq!(row(Border::Reflect101, -6..10, 4), "abcdcbabcdcbabcd");
        assert_eq!(row(Border::Wrap, -2..6, 4), "cdabcdab");
        assert_eq!(row(Border::Reflect101, -2..3, 1), "aaaaa");
        assert_eq!(row(Border::Reflect, -2..3, 1), "aaaaa");
        for border in [Border::Reflect, Border::Reflect101, Border::Wrap, Border::Replicate] {
            assert_eq!(border.source(7, 0), None);
            assert!(border.source(isize::MIN, usize::MAX).is_some());
            assert!(border.source(isize::MAX, 3).is_some_and(|at| at < 3));
        }
    }
}
