//! Small pictures on the terminal: two pixels per character cell, one above the other.

use std::fmt::Write as _;

use image::{DynamicImage, Rgb};

/// Pictures side by side, together at most `columns` characters wide, each below its caption.
pub(super) fn side_by_side(pictures: &[(&str, &DynamicImage)], columns: usize) -> String {
    const GAP: usize = 2;
    let count = pictures.len().max(1);
    let width = (columns.saturating_sub(GAP * (count + 1)) / count).clamp(8, 60) as u32;
    let small: Vec<_> = pictures
        .iter()
        .map(|(_, picture)| {
            let height = (width * picture.height() / picture.width().max(1)).clamp(2, 60);
            picture.resize_exact(width, height & !1, image::imageops::FilterType::Triangle).to_rgb8()
        })
        .collect();
    let gap = " ".repeat(GAP);
    let mut out = String::new();
    for (caption, _) in pictures {
        let _ = write!(out, "{gap}{caption:<width$}", width = width as usize);
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    let rows = small.iter().map(image::RgbImage::height).max().unwrap_or(0);
    for y in (0..rows).step_by(2) {
        for picture in &small {
            out.push_str(&gap);
            for x in 0..width {
                match (picture.get_pixel_checked(x, y), picture.get_pixel_checked(x, y + 1)) {
                    (Some(Rgb([r, g, b])), Some(Rgb([lower_r, lower_g, lower_b]))) => {
                        let _ = write!(out, "\x1b[38;2;{r};{g};{b};48;2;{lower_r};{lower_g};{lower_b}m▀");
                    }
                    _ => out.push_str("\x1b[0m "),
                }
            }
            out.push_str("\x1b[0m");
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_pixels_a_cell() {
        let picture = DynamicImage::ImageRgb8(image::RgbImage::from_pixel(40, 20, Rgb([1, 2, 3])));
        let drawn = side_by_side(&[("before", &picture), ("after", &picture)], 30);
        assert!(drawn.starts_with("  before        after\n"), "{drawn:?}");
        // 12 columns per picture, 6 pixels high.
        assert_eq!(drawn.lines().count(), 1 + 3);
        assert_eq!(drawn.matches('▀').count(), 2 * 12 * 3);
        assert!(drawn.contains("38;2;1;2;3;48;2;1;2;3"));
    }
}
