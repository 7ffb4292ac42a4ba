//! The OpenCL C of the library's kernels: parts, each a file in `cl`, and the programs made of them.
//!
//! A part explains one thing, and several programs share it. [`Sources`] has the parts of one program in order; their
//! concatenation compiles with its defaults. The plans add the `-D` of a choice.

use std::sync::LazyLock;

use tripipe_launch::{Program, Text};

/// The source of a program, without a choice of parameters.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The name of its programs in messages, e.g. `gemm/tile`.
    pub name: &'static str,
    /// What it computes, in one phrase.
    pub about: &'static str,
    /// The parts.
    pub text: Text,
}

impl Sources {
    /// The program without options: every parameter has its default.
    pub fn program(&self) -> Program {
        Program::from_source(self.name, self.text.clone())
    }
}

/// A part: its name and its text.
type PartFile = (&'static str, &'static str);

macro_rules! part {
    ($name:literal) => {
        ($name, include_str!(concat!("../../cl/", $name)))
    };
}

const MACROS: PartFile = part!("shared/macros.cl");
const ELEMENT: PartFile = part!("shared/element.cl");
const BORDER: PartFile = part!("shared/border.cl");
const CHANNELS: PartFile = part!("shared/channels.cl");
const LUMA: PartFile = part!("filter/luma.cl");
const PIXELS: PartFile = part!("filter/pixels.cl");
const WEIGHTED: PartFile = part!("filter/weighted.cl");
const WINDOW: PartFile = part!("filter/window.cl");

/// What every kernel of a product begins with.
const GEMM: [PartFile; 4] =
    [MACROS, part!("gemm/repeat.cl"), part!("gemm/elements.cl"), part!("gemm/epilogue.cl")];

/// The programs that plans use. Each is [`Sources`] made once.
macro_rules! programs {
    ($($(#[$doc:meta])* $id:ident = $name:literal, $about:literal, [$($parts:expr),+];)+) => {
        $(
            $(#[$doc])*
            pub(crate) static $id: LazyLock<Sources> = LazyLock::new(|| {
                let parts: [&[PartFile]; _] = [$(&$parts),+];
                Sources { name: $name, about: $about, text: Text::of_parts(parts.concat()) }
            });
        )+

        /// Every program but those of windows.
        static PLAIN: &[&LazyLock<Sources>] = &[$(&$id),+];
    };
}

programs! {
    GEMM_TILE = "gemm/tile", "a matrix product: a tile of C for each work-item",
        [GEMM, [part!("gemm/operands.cl"), part!("gemm/tile.cl")]];
    GEMM_LOCAL = "gemm/local", "a matrix product: a block of C for each work-group, through local memory",
        [GEMM, [part!("gemm/local.cl")]];
    GEMM_VECTOR = "gemm/vector", "a matrix product of a vector and a matrix", [GEMM, [part!("gemm/vector.cl")]];
    GEMM_SUM = "gemm/sum", "the sum of the parts of a matrix product divided along K",
        [GEMM, [part!("gemm/sum.cl")]];
    GEMM_PACKING = "gemm/packing", "an operand of a matrix product, packed in panels",
        [[MACROS, part!("gemm/repeat.cl"), part!("gemm/packing.cl")]];
    GEMM_UNPACKING = "gemm/unpacking", "a plain matrix of a packed operand", [[part!("gemm/unpacking.cl")]];
    QUANTISED = "quantised/product", "a product of a few vectors and weights in 16, 8 or 4 bits",
        [[MACROS, part!("gemm/repeat.cl"), part!("quantised/weights.cl"), part!("quantised/product.cl")]];
    PAIRS = "filter/pairs", "weighted sums of bytes over a window, two to a register",
        [[MACROS, BORDER, WINDOW, part!("filter/pairs.cl"), part!("filter/pairs_kernel.cl")]];
    COLOR = "filter/color", "colour conversions and channel layouts",
        [[MACROS, ELEMENT, CHANNELS, PIXELS, LUMA, part!("filter/color.cl")]];
    BILATERAL = "filter/bilateral", "a blur that keeps edges",
        [[ELEMENT, CHANNELS, BORDER, part!("filter/bilateral.cl")]];
    RANK = "filter/rank", "the pixel at a place in the order of a window",
        [[ELEMENT, CHANNELS, BORDER, part!("filter/rank.cl")]];
    RESIZE = "filter/resize", "an image of other extents",
        [[MACROS, ELEMENT, CHANNELS, WEIGHTED, part!("filter/resize.cl")]];
    AFFINE = "filter/affine", "an image under an affine map",
        [[MACROS, ELEMENT, CHANNELS, BORDER, WEIGHTED, part!("filter/affine.cl")]];
    SEMIPLANAR = "filter/semiplanar", "frames of cameras (NV12, NV21) from and to RGB",
        [[MACROS, part!("shared/bytes.cl"), ELEMENT, CHANNELS, PIXELS, part!("filter/semiplanar.cl")]];
    MAP = "elementwise/map", "steps on each element", [[MACROS, ELEMENT, part!("elementwise/map.cl")]];
    REDUCE = "elementwise/reduce", "sums, dot products and extremes", [[ELEMENT, part!("elementwise/reduce.cl")]];
    AXPY = "elementwise/axpy", "y += alpha x", [[ELEMENT, part!("elementwise/axpy.cl")]];
    HISTOGRAM = "elementwise/histogram", "how often each value occurs", [[part!("elementwise/histogram.cl")]];
    TRANSPOSE = "elementwise/transpose", "the transpose of a matrix", [[part!("elementwise/transpose.cl")]];
}

/// The operation of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowKind {
    /// Weighted sums and extremes.
    Linear,
    Gradient,
    Median,
}

/// The source of a window; `gray` makes gray of colours while loading, `inner` computes another window first.
pub(crate) fn window(kind: WindowKind, gray: bool, inner: bool) -> &'static Sources {
    &WINDOWS[kind as usize * 4 + usize::from(gray) * 2 + usize::from(inner)]
}

/// In the order of [`window`].
static WINDOWS: LazyLock<Vec<Sources>> = LazyLock::new(|| {
    let kinds = [
        [
            ("filter/linear", "weighted sums, erosion or dilation over a window"),
            ("filter/linear-of-window", "the same over the result of another window"),
            ("filter/linear-of-gray", "the same over gray made of colours"),
            ("filter/linear-of-window-of-gray", "the same over the result of another window over gray"),
        ],
        [
            ("filter/gradient", "|dx| + |dy| over a window"),
            ("filter/gradient-of-window", "the same over the result of another window"),
            ("filter/gradient-of-gray", "the same over gray made of colours"),
            ("filter/gradient-of-window-of-gray", "the same over the result of another window over gray"),
        ],
        [
            ("filter/median", "the middle value of a window"),
            ("filter/median-of-window", "the same over the result of another window"),
            ("filter/median-of-gray", "the same over gray made of colours"),
            ("filter/median-of-window-of-gray", "the same over the result of another window over gray"),
        ],
    ];
    let operations = [
        (Some(part!("filter/row_sum.cl")), part!("filter/linear.cl")),
        (Some(part!("filter/row_sum.cl")), part!("filter/gradient.cl")),
        (None, part!("filter/median.cl")),
    ];
    let mut windows = Vec::new();
    for (variants, (sums, operation)) in kinds.into_iter().zip(operations) {
        for (variant, (name, about)) in variants.into_iter().enumerate() {
            let [gray, inner] = [variant >= 2, variant % 2 == 1];
            let parts = [
                Some(MACROS),
                Some(BORDER),
                Some(WINDOW),
                inner.then_some(part!("filter/inner_window.cl")),
                Some(part!("filter/elements.cl")),
                Some(part!("filter/columns.cl")),
                Some(part!("filter/loads.cl")),
                gray.then_some(LUMA),
                Some(if gray { part!("filter/gray.cl") } else { part!("filter/seen.cl") }),
                Some(part!("filter/rows.cl")),
                Some(part!("filter/arithmetic.cl")),
                sums,
                inner.then_some(part!("filter/inner.cl")),
                Some(part!("filter/store.cl")),
                Some(part!("filter/walk.cl")),
                Some(operation),
                Some(part!("filter/kernel.cl")),
            ];
            let parts = parts.into_iter().flatten();
            windows.push(Sources { name, about, text: Text::of_parts(parts) });
        }
    }
    windows
});

/// Every program of the library.
pub fn all() -> impl Iterator<Item = &'static Sources> {
    PLAIN.iter().map(|sources| &***sources).chain(WINDOWS.iter())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn names_differ_and_every_file_is_a_part() -> std::io::Result<()> {
        let names: BTreeSet<&str> = all().map(|sources| sources.name).collect();
        assert_eq!(names.len(), all().count());
        let used: BTreeSet<String> =
            all().flat_map(|sources| sources.text.parts().map(|part| part.name.to_owned())).collect();
        let mut files = BTreeSet::new();
        for folder in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("cl"))? {
            let folder = folder?;
            for file in std::fs::read_dir(folder.path())? {
                let names = [folder.file_name(), file?.file_name()];
                files.insert(names.map(|name| name.to_string_lossy().into_owned()).join("/"));
            }
        }
        assert_eq!(used, files);
        Ok(())
    }

    /// A part is short, and begins with a paragraph that says what it is about.
    #[test]
    fn parts_can_be_read() {
        for part in all().flat_map(|sources| sources.text.parts()) {
            assert!(part.text.starts_with("// "), "{}", part.name);
            assert!(part.text.lines().count() <= 350, "{}", part.name);
            let widest = part.text.lines().map(str::len).max().unwrap_or(0);
            assert!(widest <= 120, "{}: a line of {widest}", part.name);
        }
    }
}
