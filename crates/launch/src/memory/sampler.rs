//! Samplers: how kernels read images.

/// How an image is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sampler {
    /// Coordinates run from 0 to 1 instead of 0 to width.
    pub normalized: bool,
    /// Reads outside the image.
    pub addressing: Addressing,
    /// Interpolation between texels.
    pub filter: Filter,
}

/// What an image read outside its extent returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Addressing {
    /// Undefined; the kernel guarantees that there are no such reads.
    None,
    /// The nearest edge texel.
    ClampToEdge,
    /// The border colour.
    Clamp,
    /// The image repeats; needs normalised coordinates.
    Repeat,
    /// The image repeats mirrored; needs normalised coordinates.
    MirroredRepeat,
}

/// Interpolation between texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Filter {
    /// The nearest texel.
    Nearest,
    /// Linear interpolation along every dimension.
    Linear,
}
