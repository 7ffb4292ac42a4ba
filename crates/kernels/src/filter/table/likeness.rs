//! How much the work of two chains differs: the distance that times are weighted by.

use super::series::TimedChain;
use crate::filter::pairs::Pairs;
use crate::filter::{Axis, Chain, PixelType, Raster, Size, Stage};

/// What the speed of a chain's kernels depends on: its stages with the elements that each reads, and the number of
/// pixels.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Likeness {
    steps: Vec<StageWork>,
    pixels: f64,
    alpha: bool,
}

/// One stage.
#[derive(Clone, Copy, Debug, PartialEq)]
struct StageWork {
    kind: Kind,
    window: Size,
    /// Whether its sums can be two to a register.
    paired: bool,
    /// The elements that it reads.
    element: PixelType,
    /// Elements from a pixel to its neighbour.
    neighbour: usize,
}

/// The kind of a stage: stages of one kind have the same kernel, apart from its figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Separable,
    Window,
    Gradient,
    Median,
    Extreme,
    Rank,
    Bilateral,
    Convert,
    Color,
}

impl Kind {
    fn of(stage: &Stage) -> Self {
        match stage {
            Stage::Linear(linear) if linear.real_factors(Axis::Across).is_some() => Self::Separable,
            Stage::Linear(_) => Self::Window,
            Stage::Gradient(_) => Self::Gradient,
            Stage::Median { .. } => Self::Median,
            Stage::Morphology(_) => Self::Extreme,
            Stage::Rank(_) => Self::Rank,
            Stage::Bilateral(_) => Self::Bilateral,
            Stage::Convert { .. } => Self::Convert,
            Stage::Color(_) => Self::Color,
        }
    }

    /// Whether it reads one pixel for each result.
    fn is_point(self) -> bool {
        matches!(self, Self::Convert | Self::Color)
    }

    /// The distance of kinds.
    fn apart(self, other: Self) -> f64 {
        use Kind::{Gradient, Separable, Window};
        match (self, other) {
            _ if self == other => 0.0,
            // Sums over windows.
            (Separable | Window | Gradient, Separable | Window | Gradient) => 2.0,
            _ if self.is_point() && other.is_point() => 1.0,
            _ if self.is_point() || other.is_point() => 8.0,
            _ => 6.0,
        }
    }
}

/// The distance of a chain with one more window, and with one more stage of single pixels.
const MORE: [f64; 2] = [6.0, 1.5];

impl Likeness {
    pub(super) fn of(timed: &TimedChain) -> Self {
        Self::new(&timed.chain, &timed.from)
    }

    pub(super) fn new(chain: &Chain, from: &Raster) -> Self {
        let mut raster = *from;
        let mut steps = Vec::with_capacity(chain.stages.len());
        for stage in &chain.stages {
            steps.push(StageWork {
                kind: Kind::of(stage),
                window: stage.window(),
                paired: Pairs::of(stage, raster.element).is_some(),
                element: raster.element,
                neighbour: raster.step(),
            });
            raster = stage.apply_to(&raster).unwrap_or(raster);
        }
        let pixels = (from.width.max(1) as f64) * (from.height.max(1) as f64);
        // Alpha is the fourth channel: without one there is nothing to keep.
        Self { steps, pixels, alpha: chain.keep_alpha && from.channels == 4 }
    }

    /// The squared distance: 0 for the same work, 1 for four times the pixels, or for a window of twice the width.
    pub(super) fn distance_squared(&self, other: &Self) -> f64 {
        let size = ((self.pixels / other.pixels).log2() / 2.0).powi(2);
        size + f64::from(u8::from(self.alpha != other.alpha)) + self.stages_apart(other)
    }

    /// The least sum of distances over alignments of the stages.
    fn stages_apart(&self, other: &Self) -> f64 {
        let more = |step: &StageWork| MORE[usize::from(step.kind.is_point())];
        let mut row: Vec<f64> = vec![0.0];
        for step in &other.steps {
            row.push(row[row.len() - 1] + more(step));
        }
        for own in &self.steps {
            let mut next = vec![row[0] + more(own)];
            for (at, step) in other.steps.iter().enumerate() {
                let least =
                    (row[at] + own.apart(step)).min(row[at + 1] + more(own)).min(next[at] + more(step));
                next.push(least);
            }
            row = next;
        }
        row[row.len() - 1]
    }

    /// Whether both do the same to images of the same kind, of any size.
    pub(super) fn has_stages_of(&self, other: &Self) -> bool {
        self.steps == other.steps && self.alpha == other.alpha
    }
}

impl StageWork {
    fn apart(&self, other: &Self) -> f64 {
        let ratio = |a: usize, b: usize| (a.max(1) as f64 / b.max(1) as f64).log2().powi(2);
        let windows =
            ratio(self.window.width, other.window.width) + ratio(self.window.height, other.window.height);
        let bytes = 2.0 * ratio(self.element.bytes(), other.element.bytes());
        let floats = if self.element.is_float() == other.element.is_float() { 0.0 } else { 2.0 };
        let pairs = if self.paired == other.paired { 0.0 } else { 1.0 };
        self.kind.apart(other.kind)
            + windows / 2.0
            + bytes
            + floats
            + pairs
            + ratio(self.neighbour, other.neighbour) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(one: &str, other: &str) -> f64 {
        let of = |text: &str| Likeness::of(&text.parse().unwrap());
        let (there, back) = (of(one).distance_squared(&of(other)), of(other).distance_squared(&of(one)));
        assert!((there - back).abs() < 1e-9, "{one}, {other}: {there}, {back}");
        there
    }

    /// By hand, from the distances of one stage.
    #[test]
    fn distances_are_as_by_hand() {
        assert_eq!(apart("laplace 64x64x3 u8", "laplace 64x64x3 u8"), 0.0);
        assert_eq!(apart("laplace 64x64x3 u8", "laplace 256x64x3 u8"), 1.0);
        assert_eq!(apart("erode:3 64x64x1 u8", "dilate:3 64x64x1 u8"), 0.0);
        assert_eq!(apart("erode:3 64x64x1 u8", "erode:3 64x64x4 u8"), 2.0);
        // Twice the bytes.
        assert_eq!(apart("erode:3 64x64x1 u8", "erode:3 64x64x1 u16"), 2.0);
        // One more stage, of single pixels and of a window, whose channel is then the only one.
        assert_eq!(apart("gray,erode:3 64x64x3 u8", "erode:3 64x64x1 u8"), 1.5);
        assert_eq!(apart("erode:3,median:3 64x64x1 u8", "median:3 64x64x1 u8"), 6.0);
    }

    #[test]
    fn nearer_work_is_nearer() {
        let near = |one: &str, near: &str, far: &str| {
            assert!(apart(one, near) < apart(one, far), "{one}: {near}, {far}");
        };
        near("gaussian:5 640x480x3 u8", "gaussian:7 640x480x3 u8", "gaussian:9 640x480x3 u8");
        near("gaussian:5 640x480x3 u8", "box:5 640x480x3 u8", "median:5 640x480x3 u8");
        near("gaussian:5 640x480x3 u8", "gaussian:5 1920x1080x3 u8", "gaussian:5 1920x1080x3 f32");
        near("median:3 640x480x1 u8", "median:3 640x480x3 u8", "median:5 640x480x3 u8");
        near("gray,sobel 640x480x3 u8", "sobel 640x480x1 u8", "sobel 640x480x3 u8");
        near("sobel 640x480x1 u8", "laplace 640x480x1 u8", "erode:3 640x480x1 u8");
    }
}
