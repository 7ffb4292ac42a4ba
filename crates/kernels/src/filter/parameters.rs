//! How filters run: the parameters.

/// How the kernels of a chain run. Parameters change times, never a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parameters {
    /// Elements of a row that a work-item computes in one vector: 2, 4, 8 or 16.
    pub lanes: usize,
    /// Rows that a work-item computes, 1 to 16. Its windows share overlapping rows.
    pub rows: usize,
    /// How a window's columns are loaded.
    pub loads: Loads,
    /// The width of integer sums.
    pub sums: Sums,
    /// Work-group size along the row and down the image. `None` leaves it to the driver.
    pub work_group: Option<[usize; 2]>,
    /// Which stages share a pass over memory.
    pub fuse: Fuse,
}

/// Which stages share a pass over memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fuse {
    /// None: each stage has its own pass.
    Nothing,
    /// Single-pixel stages share a pass with the adjacent stage, where that is possible and pays.
    Pixels,
    /// As `Pixels`, and two consecutive windows share a pass: the first is computed in registers, as input of the
    /// second. The first can be a sum or an extreme over at most 7 x 7 pixels. This is not possible between integers
    /// and floating point, with `half` between the two, or with a wrapping border. Of three windows, the first two
    /// share a pass.
    Windows,
}

impl Fuse {
    /// All variants.
    pub const ALL: [Self; 3] = [Self::Nothing, Self::Pixels, Self::Windows];
}

/// How a work-item loads the elements left and right of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loads {
    /// One load for each column of the window, at any address.
    Direct,
    /// As few loads as cover all columns; swizzles extract the columns.
    Shared,
    /// As `Shared`, with vectors at multiples of their size. For devices that split vector loads at other addresses
    /// into elements.
    Aligned,
    /// As `Shared`, from an image created over the source's buffer, four elements per texel. For GPUs whose texture
    /// unit has a cache that other loads bypass. The ends of rows are loaded from the buffer.
    Image,
}

impl Loads {
    /// All variants.
    pub const ALL: [Self; 4] = [Self::Direct, Self::Shared, Self::Aligned, Self::Image];
}

/// The width in which a window's integer sums are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sums {
    /// In 32 bits.
    Wide,
    /// In 16 bits when every partial sum of a stage fits, otherwise in 32.
    Narrow,
    /// Two 16-bit sums in a 32-bit register, for linear filters from bytes to bytes over at most 5 x 5 pixels whose
    /// divisor is a power of two and whose sums fit. Other stages, and those with a single-pixel stage in the same
    /// pass, run as with `Narrow`. For devices with 32-bit lanes.
    Paired,
}

impl Sums {
    /// All variants.
    pub const ALL: [Self; 3] = [Self::Wide, Self::Narrow, Self::Paired];
}
