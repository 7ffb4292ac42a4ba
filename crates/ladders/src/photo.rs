//! A picture to filter.

/// An RGB picture, 8 bits per channel, rows without gaps, at least 1x1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Photo {
    width: usize,
    height: usize,
    rgb: Vec<u8>,
}

impl Photo {
    /// `None` when `rgb` is not `3 * width * height` bytes, or empty.
    pub fn new(width: usize, height: usize, rgb: Vec<u8>) -> Option<Self> {
        let bytes = width.checked_mul(height)?.checked_mul(3)?;
        (bytes > 0 && rgb.len() == bytes).then_some(Self { width, height, rgb })
    }

    /// The picture at another size: repeated by mirroring when it is too small, cropped when it is too large, so that
    /// neighbouring pixels stay neighbours. Packed RGB.
    pub fn spread(&self, width: usize, height: usize) -> Vec<u8> {
        let columns: Vec<usize> = (0..width).map(|x| 3 * mirrored(x, self.width)).collect();
        let mut spread = Vec::with_capacity(3 * width * height);
        for y in 0..height {
            let row = &self.rgb[3 * self.width * mirrored(y, self.height)..][..3 * self.width];
            for x in &columns {
                spread.extend_from_slice(&row[*x..x + 3]);
            }
        }
        spread
    }
}

/// `index` folded into `0..extent` by mirroring at both ends.
fn mirrored(index: usize, extent: usize) -> usize {
    let folded = index % (2 * extent);
    if folded < extent { folded } else { 2 * extent - 1 - folded }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_by_mirroring() {
        let photo = Photo::new(2, 1, vec![1, 2, 3, 4, 5, 6]).unwrap();
        assert_eq!(photo.spread(5, 2)[..15], [1, 2, 3, 4, 5, 6, 4, 5, 6, 1, 2, 3, 1, 2, 3]);
        assert_eq!(photo.spread(1, 1), [1, 2, 3]);
        assert!(Photo::new(2, 2, vec![0; 11]).is_none());
        assert!(Photo::new(0, 2, vec![]).is_none());
    }
}
