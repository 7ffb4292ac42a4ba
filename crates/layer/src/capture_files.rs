//! The files of a captured launch, in the form of the OpenCL intercept layer (`crates/capture/src/intercept`).

use std::fs;
use std::path::Path;

use crate::driver::ImageFacts;
use crate::names;

/// Writes a file and makes its folder.
///
/// # Errors
/// The file, and why it cannot be written.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    folder.and_then(|()| fs::write(path, bytes)).map_err(|error| format!("{}: {error}", path.display()))
}

/// The lines of `worksizes.txt`. A task has no sizes, and is one work-item.
pub(crate) fn work_sizes(global: &[u64], local: &[u64], offset: &[u64]) -> String {
    let global = if global.is_empty() { &[1] } else { global };
    let line = |sizes: &[u64]| -> String {
        let sizes = (0..global.len()).map(|index| sizes.get(index).copied().unwrap_or(0));
        sizes.map(|size| size.to_string() + " ").collect()
    };
    format!("{}\n{}\n{}\n", line(global), line(local), line(offset))
}

/// The properties of a sampler.
pub(crate) fn sampler([normalized, addressing, filter]: [u64; 3]) -> String {
    let name = |type_name, value| names::value(type_name, value).unwrap_or("0");
    let normalized = if normalized == 0 { "CL_FALSE" } else { "CL_TRUE" };
    format!(
        "CL_SAMPLER_NORMALIZED_COORDS = {normalized}, CL_SAMPLER_ADDRESSING_MODE = {}, CL_SAMPLER_FILTER_MODE = {}",
        name("cl_addressing_mode", addressing),
        name("cl_filter_mode", filter)
    )
}

/// The nine numbers of an image. The contents have no gaps, and so the pitches are those of the file.
pub(crate) fn image(facts: &ImageFacts) -> String {
    let [width, height, depth] = facts.region();
    let row = width * facts.texel;
    let slice = if depth > 1 { row * height } else { 0 };
    let ImageFacts { texel, channel, order, kind, .. } = *facts;
    [width, height, depth, texel, row, slice, channel, order, kind]
        .map(|number| format!("{number}\n"))
        .concat()
}

/// The end of the name of an image's file.
pub(crate) fn image_file(object: u64, facts: &ImageFacts) -> String {
    let [width, height, depth] = facts.region();
    format!("Image_{object:04}_{width}x{height}x{depth}_{}bpp.raw", facts.texel * 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    // The files of the same enqueues in `crates/capture/tests/captures`, which the intercept layer wrote.
    #[test]
    fn files_are_those_of_the_intercept_layer() {
        assert_eq!(work_sizes(&[4, 2, 3], &[], &[]), "4 2 3 \n0 0 0 \n0 0 0 \n");
        assert_eq!(work_sizes(&[64], &[], &[8]), "64 \n0 \n8 \n");
        assert_eq!(
            sampler([0, 0x1131, 0x1140]),
            "CL_SAMPLER_NORMALIZED_COORDS = CL_FALSE, CL_SAMPLER_ADDRESSING_MODE = CL_ADDRESS_CLAMP_TO_EDGE, \
             CL_SAMPLER_FILTER_MODE = CL_FILTER_NEAREST"
        );
        let block =
            ImageFacts { kind: 4338, order: 4277, channel: 4315, size: [4, 2, 3], layers: 0, texel: 8 };
        assert_eq!(image(&block), "4\n2\n3\n8\n32\n64\n4315\n4277\n4338\n");
        assert_eq!(image_file(10, &block), "Image_0010_4x2x3_64bpp.raw");
    }
}
