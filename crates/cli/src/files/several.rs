//! What a picture file contains besides its first picture, and whether it is complete.

use std::io::SeekFrom;

use image::ImageFormat;

use super::input::SeekableInput;

/// What a file contains besides its first picture; `None` if that cannot be read, because the decoder reports such
/// errors.
pub(super) fn left_out(source: &mut dyn SeekableInput, format: ImageFormat) -> Option<&'static str> {
    match format {
        ImageFormat::Png => png_is_animated(source)?.then_some("an animation"),
        ImageFormat::WebP => {
            let mut header = [0; 21];
            source.read_exact(&mut header).ok()?;
            (&header[12..16] == b"VP8X" && header[20] & 2 != 0).then_some("an animation")
        }
        ImageFormat::Tiff => tiff_has_pages(source)?.then_some("a file of several pages"),
        _ => None,
    }
}

/// Whether an `acTL` chunk precedes the pixels.
fn png_is_animated(source: &mut dyn SeekableInput) -> Option<bool> {
    source.seek(SeekFrom::Start(8)).ok()?;
    loop {
        let mut header = [0; 8];
        source.read_exact(&mut header).ok()?;
        let [a, b, c, d, kind @ ..] = header;
        match &kind {
            b"acTL" => return Some(true),
            b"IDAT" | b"IEND" => return Some(false),
            // The chunk's data and its check sum.
            _ => source.seek(SeekFrom::Current(i64::from(u32::from_be_bytes([a, b, c, d])) + 4)).ok()?,
        };
    }
}

/// Whether the first directory of a TIFF refers to another one.
fn tiff_has_pages(source: &mut dyn SeekableInput) -> Option<bool> {
    let mut header = [0; 8];
    source.read_exact(&mut header).ok()?;
    let little = header.starts_with(b"II");
    let number = |source: &mut dyn SeekableInput, bytes: usize| {
        let mut read = [0; 8];
        let into = if little { &mut read[..bytes] } else { &mut read[8 - bytes..] };
        source.read_exact(into).ok()?;
        Some(if little { u64::from_le_bytes(read) } else { u64::from_be_bytes(read) })
    };
    // Bytes of a directory's count, of its entries, and of an offset. The first offset ends the header.
    let (first, entry, [count, offset]) = match header[2..4] {
        [42, 0] | [0, 42] => (4, 12u64, [2, 4]),
        [43, 0] | [0, 43] => (8, 20, [8, 8]),
        _ => return None,
    };
    source.seek(SeekFrom::Start(first)).ok()?;
    let directory = number(source, offset)?;
    source.seek(SeekFrom::Start(directory)).ok()?;
    let entries = number(source, count)?;
    source.seek(SeekFrom::Current(i64::try_from(entries.checked_mul(entry)?).ok()?)).ok()?;
    Some(number(source, offset)? != 0)
}

/// Whether JPEG data ends with its end marker. The decoder fills missing data with gray and reports nothing.
pub(super) fn jpeg_is_whole(bytes: &[u8]) -> bool {
    let mut at = 2;
    loop {
        // Up to the next marker; in entropy-coded data, FF is followed by 00 or by a restart marker.
        while bytes.get(at).is_some_and(|byte| *byte != 0xFF) {
            at += 1;
        }
        match (bytes.get(at), bytes.get(at + 1)) {
            (Some(_), Some(0xD9)) => return true,
            (Some(_), Some(0x00 | 0x01 | 0xD0..=0xD8)) => at += 2,
            // Any number of FF bytes may precede a marker.
            (Some(_), Some(0xFF)) => at += 1,
            (Some(_), Some(_)) => match (bytes.get(at + 2), bytes.get(at + 3)) {
                (Some(high), Some(low)) => at += 2 + usize::from(u16::from_be_bytes([*high, *low])),
                _ => return false,
            },
            _ => return false,
        }
    }
}
