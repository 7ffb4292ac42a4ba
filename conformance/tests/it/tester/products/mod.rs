//! Products: how descriptions are drawn and made smaller, and how the library runs them.

mod draw;
mod reference;
mod run;

use tripipe::{Context, Element, Error, Extents, Matrix, MatrixView, Order};

use super::numbers::{Fill, Kind, Numbers, smaller_extents};
use super::verdict::Expected;

/// C = alpha op(A) op(B) + beta C and an epilogue, with everything that affects its result.
#[derive(Clone, Debug, PartialEq)]
pub struct ProductCase {
    pub elements: Elements,
    /// m, n, k.
    pub extents: [usize; 3],
    pub a: Lie,
    pub b: Lie,
    pub c: Lie,
    pub batch: Batch,
    pub alpha: f64,
    pub beta: f64,
    pub epilogue: Vec<Step>,
    /// Whether the batch is requested before the epilogue, so that residuals are strided.
    pub batch_first: bool,
    /// Whether A and B are packed in advance, and for how many columns and rows.
    pub packed: [Option<usize>; 2],
    /// Whether the result is a new matrix.
    pub to_matrix: bool,
    /// For A, B, C, and the operands of the epilogue.
    pub fills: [Fill; 4],
    pub fault: Option<Fault>,
}

/// Types of operands and sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Elements {
    F32,
    /// With the accumulation type.
    F16(Sums),
    I8,
    /// Requantised, with a multiplier for each column or one for all.
    I8ToI8 {
        columns: bool,
        zeros: [i8; 3],
        range: [i8; 2],
    },
    /// With `Product`, on every backend; or on slices, on the CPU path only.
    F64 {
        slices: bool,
    },
}

/// The accumulation type for halves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sums {
    F16,
    F32,
    Blocks(usize),
}

/// The layout of a matrix: a block of a larger one with `lines` rows (columns) of `leading` elements each, from
/// element `along` of line `first` on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lie {
    pub columns: bool,
    pub transposed: bool,
    pub leading: usize,
    pub first: usize,
    pub along: usize,
    /// Elements after the last one needed.
    pub slack: usize,
}

/// The number of products, and the locations of their operands.
#[derive(Clone, Debug, PartialEq)]
pub enum Batch {
    One,
    Strided { count: usize, strides: [usize; 3] },
    Offsets(Vec<[u32; 3]>),
}

/// A stage of the epilogue.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    BiasColumns,
    BiasRows,
    Relu,
    Relu6,
    Clamp([f32; 2]),
    Residual(Lie),
}

/// An error in a description, which must be refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// B has one row too many.
    Inner,
    /// A bias with the wrong length.
    BiasLength,
    /// Products that overlap in C.
    Overlap,
    /// A product whose operand exceeds its memory.
    Far(usize),
    /// Offsets that are not triples.
    Triples,
    /// More stages than are allowed.
    Stages,
    /// A clamp whose minimum exceeds its maximum.
    Clamp,
    /// A factor that is not an integer, for integer types.
    Fraction,
    /// A batch whose result is one new matrix.
    BatchToMatrix,
    /// A result in the memory of A.
    Shared,
    /// Blocks of 0 steps.
    NoBlock,
}

impl Lie {
    pub const DENSE: Self =
        Self { columns: false, transposed: false, leading: 0, first: 0, along: 0, slack: 0 };

    /// The length and the number of contiguous runs of a matrix with `[rows, columns]`.
    fn runs(&self, [rows, columns]: [usize; 2]) -> [usize; 2] {
        if self.columns == self.transposed { [columns, rows] } else { [rows, columns] }
    }

    /// Elements from line to line.
    fn pitch(&self, extents: [usize; 2]) -> usize {
        self.leading.max(self.runs(extents)[0] + self.along)
    }

    /// The location of element (i, j).
    pub fn index(&self, extents: [usize; 2], [i, j]: [usize; 2]) -> usize {
        let [line, along] = if self.columns == self.transposed { [i, j] } else { [j, i] };
        (self.first + line) * self.pitch(extents) + self.along + along
    }

    /// The lines of the larger matrix, such that an operand that starts `furthest` elements later still fits.
    fn lines(&self, extents: [usize; 2], furthest: usize) -> usize {
        let pitch = self.pitch(extents);
        let [_, lines] = self.runs(extents);
        if pitch == 0 {
            return self.first + lines;
        }
        let last = if extents.contains(&0) {
            0
        } else {
            self.index(extents, [extents[0] - 1, extents[1] - 1]) + 1 + furthest
        };
        (last + self.slack).div_ceil(pitch).max(self.first + lines)
    }

    /// The number of elements of the larger matrix.
    pub fn elements(&self, extents: [usize; 2], furthest: usize) -> usize {
        self.lines(extents, furthest) * self.pitch(extents)
    }

    fn order(&self) -> Order {
        if self.columns { Order::ColumnMajor } else { Order::RowMajor }
    }

    /// The larger matrix.
    pub fn matrix<T: Element>(
        &self,
        context: &Context,
        extents: [usize; 2],
        elements: &[T],
    ) -> Result<Matrix<T>, Error> {
        let pitch = self.pitch(extents);
        let lines = elements.len().checked_div(pitch).unwrap_or_else(|| self.lines(extents, 0));
        let stored = Extents::new(lines, pitch);
        let stored = if self.columns { stored.transposed() } else { stored };
        Matrix::with_order(context, stored, self.order(), elements)
    }

    /// The block's rows and columns in the larger matrix, as stored.
    pub fn block(&self, extents: [usize; 2]) -> [std::ops::Range<usize>; 2] {
        let [run, lines] = self.runs(extents);
        let (lines, run) = (self.first..self.first + lines, self.along..self.along + run);
        if self.columns { [run, lines] } else { [lines, run] }
    }

    pub fn view<'m, T: Element>(
        &self,
        matrix: &'m Matrix<T>,
        extents: [usize; 2],
    ) -> Result<MatrixView<'m, T>, Error> {
        let [rows, columns] = self.block(extents);
        let view = matrix.block(rows, columns)?;
        Ok(if self.transposed { view.transposed() } else { view })
    }

    pub fn smaller(&self) -> Vec<Self> {
        let simple = [
            Self { leading: 0, ..*self },
            Self { first: 0, ..*self },
            Self { along: 0, ..*self },
            Self { slack: 0, ..*self },
            Self { transposed: false, ..*self },
            Self { columns: false, ..*self },
            Self { columns: false, transposed: false, ..*self },
        ];
        simple.into_iter().filter(|smaller| smaller != self).collect()
    }
}

impl Batch {
    pub fn count(&self) -> usize {
        match self {
            Self::One => 1,
            Self::Strided { count, .. } => *count,
            Self::Offsets(all) => all.len(),
        }
    }

    /// The offset of operand `which` of a product from that of the first product.
    pub fn start(&self, product: usize, which: usize) -> usize {
        match self {
            Self::One => 0,
            Self::Strided { strides, .. } => product * strides[which],
            Self::Offsets(all) => all[product][which] as usize,
        }
    }

    fn furthest(&self, which: usize) -> usize {
        (0..self.count()).map(|product| self.start(product, which)).max().unwrap_or(0)
    }
}

impl Elements {
    /// The types of A and B, of C, and of the epilogue's operands.
    pub fn kinds(&self) -> [Kind; 3] {
        match self {
            Self::F32 => [Kind::F32; 3],
            Self::F16(_) => [Kind::F16; 3],
            Self::I8 => [Kind::I8, Kind::I32, Kind::I32],
            Self::I8ToI8 { .. } => [Kind::I8, Kind::I8, Kind::I32],
            Self::F64 { .. } => [Kind::F64; 3],
        }
    }

    pub fn are_bytes(&self) -> bool {
        matches!(self, Self::I8 | Self::I8ToI8 { .. })
    }
}

impl ProductCase {
    fn operand_extents(&self) -> [[usize; 2]; 3] {
        let [m, n, k] = self.extents;
        [[m, k], [k, n], [m, n]]
    }

    /// The number of elements from the first to the last of C.
    fn c_span(&self) -> usize {
        let extents = self.operand_extents()[2];
        let [run, lines] = self.c.runs(extents);
        if run == 0 || lines == 0 { 0 } else { (lines - 1) * self.c.pitch(extents) + run }
    }

    /// Multiply-adds.
    pub fn work(&self) -> f64 {
        let [m, n, k] = self.extents.map(|extent| extent as f64 + 1.0);
        m * n * (k + self.epilogue.len() as f64) * self.batch.count() as f64
    }

    /// Simpler products, the simplest first.
    pub fn smaller(&self) -> Vec<Self> {
        let mut found = Vec::new();
        let count = self.batch.count();
        match &self.batch {
            Batch::One => {}
            Batch::Strided { count, strides } => {
                found.push(Self { batch: Batch::One, ..self.clone() });
                found.extend(smaller_extents(*count).into_iter().map(|count| Self {
                    batch: Batch::Strided { count, strides: *strides },
                    ..self.clone()
                }));
                for which in 0..2 {
                    let mut strides = *strides;
                    strides[which] = 0;
                    found.push(Self { batch: Batch::Strided { count: *count, strides }, ..self.clone() });
                }
            }
            Batch::Offsets(all) => {
                found.push(Self { batch: Batch::One, ..self.clone() });
                let without = |range: std::ops::Range<usize>| {
                    let mut rest = all.clone();
                    rest.drain(range);
                    Self { batch: Batch::Offsets(rest), ..self.clone() }
                };
                found.extend([without(0..count / 2), without(count / 2..count)]);
                found.extend((0..count).map(|one| without(one..one + 1)));
                for (product, which) in
                    (0..count).flat_map(|product| [(product, 0), (product, 1), (product, 2)])
                {
                    let mut moved = all.clone();
                    moved[product][which] = 0;
                    found.push(Self { batch: Batch::Offsets(moved), ..self.clone() });
                }
            }
        }
        for which in 0..3 {
            found.extend(smaller_extents(self.extents[which]).into_iter().map(|smaller| {
                let mut extents = self.extents;
                extents[which] = smaller;
                Self { extents, ..self.clone() }
            }));
        }
        for stage in 0..self.epilogue.len() {
            let mut epilogue = self.epilogue.clone();
            epilogue.remove(stage);
            found.push(Self { epilogue, ..self.clone() });
        }
        for (stage, step) in self.epilogue.iter().enumerate() {
            if let Step::Residual(lie) = step {
                found.extend(lie.smaller().into_iter().map(|lie| {
                    let mut epilogue = self.epilogue.clone();
                    epilogue[stage] = Step::Residual(lie);
                    Self { epilogue, ..self.clone() }
                }));
            }
        }
        found.extend(self.a.smaller().into_iter().map(|a| Self { a, ..self.clone() }));
        found.extend(self.b.smaller().into_iter().map(|b| Self { b, ..self.clone() }));
        found.extend(self.c.smaller().into_iter().map(|c| Self { c, ..self.clone() }));
        for side in 0..2 {
            let mut packed = self.packed;
            packed[side] = None;
            found.push(Self { packed, ..self.clone() });
        }
        found.push(Self { alpha: 1.0, ..self.clone() });
        found.push(Self { beta: 0.0, ..self.clone() });
        found.push(Self { to_matrix: false, ..self.clone() });
        found.push(Self { elements: Elements::F32, ..self.clone() });
        if let Elements::I8ToI8 { .. } = self.elements {
            found.push(Self { elements: Elements::I8, ..self.clone() });
            let plain = Elements::I8ToI8 { columns: false, zeros: [0; 3], range: [-128, 127] };
            found.push(Self { elements: plain, ..self.clone() });
        }
        for which in 0..4 {
            for numbers in [Numbers::Flat(16), Numbers::Small] {
                let mut fills = self.fills;
                fills[which].numbers = numbers;
                found.push(Self { fills, ..self.clone() });
            }
        }
        found.retain(|smaller| smaller != self && smaller.is_sound());
        found
    }

    /// Whether the expected outcome of a smaller product is known: it has no fault, and its products do not overlap in
    /// C.
    fn is_sound(&self) -> bool {
        if self.fault.is_some() {
            return false;
        }
        if self.elements.are_bytes() && (self.alpha.fract() != 0.0 || self.beta.fract() != 0.0) {
            return false;
        }
        let extents = self.operand_extents()[2];
        let mut taken = std::collections::HashSet::new();
        (0..self.batch.count()).all(|product| {
            let start = self.batch.start(product, 2);
            places(extents).all(|at| taken.insert(self.c.index(extents, at) + start))
        })
    }

    /// The expected result.
    pub fn expected(&self) -> Expected {
        if self.fault.is_some() { Expected::Refused } else { reference::expected(self) }
    }

    /// A description of a location in C's memory, as an element of C.
    pub fn place(&self, index: usize) -> String {
        let extents = self.operand_extents()[2];
        for product in 0..self.batch.count() {
            let start = self.batch.start(product, 2);
            if let Some([i, j]) = places(extents).find(|at| self.c.index(extents, *at) + start == index) {
                return format!("element ({i}, {j}) of product {product}");
            }
        }
        format!("element {index} of C's memory, of no product,")
    }

    /// The contents of A, B or C: larger matrices that contain the operands.
    fn contents(&self, which: usize) -> Vec<u8> {
        let kinds = self.elements.kinds();
        let (lie, kind) = [(self.a, kinds[0]), (self.b, kinds[0]), (self.c, kinds[1])][which];
        let mut extents = self.operand_extents()[which];
        if which == 1 && self.fault == Some(Fault::Inner) {
            extents[0] += 1;
        }
        let count = lie.elements(extents, self.batch.furthest(which));
        if self.to_matrix && which == 2 {
            // The contents of a new matrix if it is read.
            return vec![0; extents[0] * extents[1] * kind.bytes()];
        }
        self.fills[which].bytes(kind, count)
    }

    /// The operand of stage `stage` of the epilogue.
    fn side(&self, stage: usize) -> Vec<u8> {
        let [m, n, _] = self.extents;
        let longer = usize::from(self.fault == Some(Fault::BiasLength));
        let count = match &self.epilogue[stage] {
            // A longer bias is allowed; a shorter one is not.
            Step::BiasColumns => n.saturating_sub(longer),
            Step::BiasRows => m.saturating_sub(longer),
            Step::Residual(lie) => {
                let furthest = self.batch.count().saturating_sub(1) * self.residual_stride();
                lie.elements([m, n], furthest)
            }
            _ => 0,
        };
        let fill = Fill { seed: self.fills[3].seed.wrapping_add(stage as u32), ..self.fills[3] };
        fill.bytes(self.elements.kinds()[2], count)
    }

    /// The elements from one product's residual to the next.
    fn residual_stride(&self) -> usize {
        match self.batch {
            Batch::Strided { strides, .. } if self.batch_first => strides[2],
            _ => 0,
        }
    }

    /// Pairs of a multiplier and a shift.
    fn scales(&self) -> Vec<i32> {
        let columns = matches!(self.elements, Elements::I8ToI8 { columns: true, .. });
        let pairs = if columns { self.extents[1] } else { 1 };
        let seed = u64::from(self.fills[3].seed);
        (0..pairs)
            .flat_map(|pair| {
                let random = super::numbers::scrambled(seed, pair as u64);
                let shift = 1 + (random >> 40) as i32 % 62;
                // Most multipliers are near 1, as in practice.
                if random.is_multiple_of(4) {
                    [(random >> 33) as i32, shift]
                } else {
                    [1 << 30 | (random >> 34) as i32, 31 + (random % 9) as i32]
                }
            })
            .collect()
    }
}

/// All rows and columns of a matrix.
pub fn places([rows, columns]: [usize; 2]) -> impl Iterator<Item = [usize; 2]> {
    (0..rows).flat_map(move |i| (0..columns).map(move |j| [i, j]))
}
