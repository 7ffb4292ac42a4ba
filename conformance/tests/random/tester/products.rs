//! Products: how descriptions are drawn and made smaller, and how the library runs them.

mod reference;

use fastrand::Rng;
use half::f16;
use tripipe::gemm::{Accumulate, Factor, Operand, Packed, Product as Call, Requantisation, Strides};
use tripipe::{Context, Element, Error, Matrix, MatrixView, Order, Vector, cpu};

use super::backends::Backend;
use super::numbers::{Fill, Kind, Numbers, choose, extent, smaller_extents};
use super::verdict::Expected;

/// C = alpha op(A) op(B) + beta C and an epilogue, with everything that affects its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
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
        let stored = if self.columns { [pitch, lines] } else { [lines, pitch] };
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

    pub fn draw(random: &mut Rng, details: &mut Rng) -> Self {
        let columns = random.u32(..3) == 0;
        let transposed = random.u32(..3) == 0;
        let placed = details.bool();
        let upto = |random: &mut Rng, most: usize| if placed { random.usize(..=most) } else { 0 };
        Self {
            columns,
            transposed,
            leading: if details.u32(..3) == 0 { details.usize(..80) } else { 0 },
            first: upto(details, 3),
            along: upto(details, 7),
            slack: upto(details, 40),
        }
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

impl Product {
    /// A product: everything that selects its kernels from `random`, the rest from `details`.
    pub fn draw(random: &mut Rng, details: &mut Rng) -> Self {
        let elements = match random.u32(..16) {
            0..=5 => Elements::F32,
            6 => Elements::F16(Sums::F16),
            7 => Elements::F16(Sums::F32),
            8 => Elements::F16(Sums::Blocks(random.usize(1..=20))),
            9..=11 => Elements::I8,
            12..=14 => {
                let zeros =
                    if random.bool() { [0; 3] } else { [random.i8(..), random.i8(..), random.i8(..)] };
                let range = if random.bool() { [-128, 127] } else { [random.i8(..0), random.i8(0..)] };
                Elements::I8ToI8 { columns: random.bool(), zeros, range }
            }
            _ => Elements::F64 { slices: random.bool() },
        };
        let large = match details.u32(..12) {
            0 => 160,
            1..=3 => 70,
            _ => 24,
        };
        let extents = match random.u32(..8) {
            0 => [1, extent(details, 4 * large), extent(details, 4 * large)],
            1 => [extent(details, 4 * large), 1, extent(details, 4 * large)],
            _ => [(); 3].map(|()| extent(details, large)),
        };
        let plain = elements == (Elements::F64 { slices: true });
        let lies = [(); 3].map(|()| Lie::draw(random, details));
        let mut epilogue = Vec::new();
        if !plain {
            let stages = choose(random, &[0, 0, 0, 1, 1, 2, 3, 6]);
            epilogue.extend((0..stages).map(|_| Step::draw(random, details, elements.are_bytes())));
        }
        let fills = [(); 4].map(|()| Fill { numbers: numbers(details, elements), seed: details.u32(..) });
        let mut product = Self {
            elements,
            extents,
            a: lies[0],
            b: lies[1],
            c: lies[2],
            batch: Batch::One,
            alpha: factor(details, elements, 1.0),
            beta: factor(details, elements, 0.0),
            epilogue,
            batch_first: details.bool(),
            packed: [None; 2],
            to_matrix: false,
            fills,
            fault: None,
        };
        match random.u32(..8) {
            0 | 1 => product.batch = product.draw_strides(details),
            2 | 3 if !plain => product.batch = product.draw_offsets(details),
            4 if !plain => product.packed[details.usize(..2)] = Some(details.usize(..20)),
            5 if !plain && !matches!(elements, Elements::I8ToI8 { .. }) => {
                product.to_matrix = true;
                product.c = Lie::DENSE;
            }
            _ => {}
        }
        if product.batch == Batch::One && !plain && random.u32(..16) == 0 {
            product.packed = [Some(details.usize(..40)), Some(details.usize(..40))];
        }
        if !plain && product.batch != Batch::One && random.u32(..4) == 0 {
            product.packed[details.usize(..2)] = Some(details.usize(..20));
        }
        if !plain && details.u32(..10) == 0 {
            product.add_fault(details);
        }
        product
    }

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

    fn draw_strides(&self, random: &mut Rng) -> Batch {
        let count = choose(random, &[0, 1, 2, 2, 3, 4, 7]);
        let strides = [random.usize(..30) * random.usize(..2), random.usize(..30) * random.usize(..2)];
        let extents = self.operand_extents()[2];
        let [run, _] = self.c.runs(extents);
        // Interleaved, if there is room in the gaps.
        let beside = self.c.pitch(extents) >= run * count.max(1) && random.bool();
        let c = if beside { run } else { self.c_span() + random.usize(..4) };
        Batch::Strided { count, strides: [strides[0], strides[1], c] }
    }

    fn draw_offsets(&self, random: &mut Rng) -> Batch {
        let count = choose(random, &[0, 1, 2, 3, 3, 5, 7, 8, 11]);
        let apart = self.c_span() + random.usize(..5);
        let mut places: Vec<usize> = (0..count + random.usize(..3)).collect();
        random.shuffle(&mut places);
        let reach = choose(random, &[1, 4, 60]);
        let places = places.iter().take(count);
        Batch::Offsets(
            places
                .map(|place| {
                    [random.u32(..reach), random.u32(..reach), (place * apart + 3 * (apart % 2)) as u32]
                })
                .collect(),
        )
    }

    fn add_fault(&mut self, random: &mut Rng) {
        let [m, n, k] = self.extents;
        let nothing = m == 0 || n == 0 || self.batch.count() == 0;
        let mut open = vec![Fault::Inner, Fault::Clamp, Fault::Stages];
        let biases = [Step::BiasColumns, Step::BiasRows];
        if !nothing && self.epilogue.iter().any(|step| biases.contains(step)) {
            open.push(Fault::BiasLength);
        }
        if !nothing && self.packed == [None; 2] && k > 0 && self.alpha != 0.0 {
            match self.batch {
                Batch::Offsets(_) => {
                    open.extend([Fault::Far(0), Fault::Far(1), Fault::Far(2), Fault::Far(0)]);
                    open.push(Fault::Triples);
                }
                Batch::Strided { count, .. } => {
                    open.push(Fault::BatchToMatrix);
                    if count > 1 {
                        open.extend([Fault::Overlap, Fault::Far(0), Fault::Far(1), Fault::Far(2)]);
                    }
                }
                Batch::One => open.push(Fault::Shared),
            }
        }
        if self.elements.are_bytes() {
            open.push(Fault::Fraction);
        }
        if matches!(self.elements, Elements::F16(Sums::Blocks(_))) {
            open.push(Fault::NoBlock);
        }
        let fault = choose(random, &open);
        match (fault, &mut self.batch) {
            (Fault::Overlap, Batch::Strided { strides, .. }) => strides[2] = 0,
            (Fault::BatchToMatrix, _) => {
                self.to_matrix = true;
                self.c = Lie::DENSE;
                if matches!(self.elements, Elements::I8ToI8 { .. }) {
                    self.elements = Elements::I8;
                }
            }
            (Fault::Fraction, _) => self.alpha = choose(random, &[0.5, 2f64.powi(31), f64::NAN]),
            (Fault::Clamp, _) => self.epilogue.insert(0, Step::Clamp([2.0, 1.0])),
            (Fault::Stages, _) => self.epilogue = vec![Step::Relu; 7],
            (Fault::NoBlock, _) => self.elements = Elements::F16(Sums::Blocks(0)),
            (Fault::Shared, _) => {
                self.elements = if self.elements.are_bytes() { Elements::F32 } else { self.elements };
                self.to_matrix = false;
            }
            _ => {}
        }
        self.epilogue.truncate(7);
        self.fault = Some(fault);
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

    /// Runs the product; `None` if the backend does not support it.
    ///
    /// # Errors
    /// An error of the library.
    pub fn run(&self, context: &Context, backend: Backend) -> Result<Option<Vec<u8>>, Error> {
        match self.elements {
            Elements::F64 { slices: true } if backend != Backend::Cpu => Ok(None),
            Elements::F64 { slices: true } => self.run_slices().map(Some),
            Elements::F64 { slices: false } => self.run_as::<f64>(context).map(Some),
            Elements::F32 => self.run_as::<f32>(context).map(Some),
            Elements::F16(_) => self.run_as::<f16>(context).map(Some),
            Elements::I8 => self.run_as::<i8>(context).map(Some),
            Elements::I8ToI8 { zeros: [zero_a, zero_b, zero_c], range, .. } => {
                let [m, n, _] = self.extents;
                let scales = Vector::from_slice(context, &self.scales())?;
                let store = |product: Call<'_, i8>| {
                    let requantisation = Requantisation { scales: &scales, zero_a, zero_b, zero_c, range };
                    let contents: Vec<i8> = bytemuck::pod_collect_to_vec(&self.contents(2));
                    let mut c = self.c.matrix(context, [m, n], &contents)?;
                    let [rows, columns] = self.c.block([m, n]);
                    let view = c.block_mut(rows, columns)?;
                    let view = if self.c.transposed { view.transposed() } else { view };
                    product.store_bytes(view, requantisation)?.wait()?;
                    Ok(bytemuck::cast_slice(&c.to_vec()?).to_vec())
                };
                self.with_product(context, store).map(Some)
            }
        }
    }

    fn run_as<T: Factor>(&self, context: &Context) -> Result<Vec<u8>, Error> {
        let [m, n, _] = self.extents;
        self.with_product::<T>(context, |product| {
            if self.to_matrix {
                return Ok(bytemuck::cast_slice(&product.to_matrix()?.to_vec()?).to_vec());
            }
            let contents: Vec<T::Sum> = bytemuck::pod_collect_to_vec(&self.contents(2));
            let mut c = self.c.matrix(context, [m, n], &contents)?;
            let [rows, columns] = self.c.block([m, n]);
            let view = c.block_mut(rows, columns)?;
            let view = if self.c.transposed { view.transposed() } else { view };
            product.store(view)?.wait()?;
            Ok(bytemuck::cast_slice(&c.to_vec()?).to_vec())
        })
    }

    fn with_product<T: Factor>(
        &self,
        context: &Context,
        store: impl FnOnce(Call<'_, T>) -> Result<Vec<u8>, Error>,
    ) -> Result<Vec<u8>, Error> {
        let [m, n, k] = self.extents;
        let inner = k + usize::from(self.fault == Some(Fault::Inner));
        let read = |which: usize| {
            let contents: Vec<T> = bytemuck::pod_collect_to_vec(&self.contents(which));
            contents
        };
        let a = self.a.matrix(context, [m, k], &read(0))?;
        let b = self.b.matrix(context, [inner, n], &read(1))?;
        let (a_view, b_view) = (self.a.view(&a, [m, k])?, self.b.view(&b, [inner, n])?);
        let packed_a = self.packed[0].map(|n| Packed::left(a_view, n)).transpose()?;
        let packed_b = self.packed[1].map(|m| Packed::right(b_view, m)).transpose()?;
        let a_operand = packed_a.as_ref().map_or(Operand::Plain(a_view), Operand::Packed);
        let b_operand = packed_b.as_ref().map_or(Operand::Plain(b_view), Operand::Packed);
        let mut words: Vec<u32> = match &self.batch {
            Batch::Offsets(all) => all.concat(),
            _ => Vec::new(),
        };
        match self.fault {
            Some(Fault::Triples) => words.push(0),
            Some(Fault::Far(2)) if !words.is_empty() => words[2] = u32::MAX / 2,
            Some(Fault::Far(which)) if !words.is_empty() => words[which] = 1 << 20,
            _ => {}
        }
        let offsets = Vector::from_slice(context, &words)?;
        let mut sides: Vec<Side<T::Sum>> = Vec::new();
        for (stage, step) in self.epilogue.iter().enumerate() {
            let contents: Vec<T::Sum> = bytemuck::pod_collect_to_vec(&self.side(stage));
            sides.push(match step {
                Step::Residual(lie) => Side::Matrix(lie.matrix(context, [m, n], &contents)?),
                _ => Side::Vector(Vector::from_slice(context, &contents)?),
            });
        }
        let mut product = Call::new(a_operand, b_operand)?.alpha(self.alpha).beta(self.beta);
        if let Elements::F16(sums) = self.elements {
            product = product.accumulate(match sums {
                Sums::F16 => Accumulate::F16,
                Sums::F32 => Accumulate::F32,
                Sums::Blocks(block) => Accumulate::Chunked { block },
            });
        }
        for batch_now in [true, false] {
            if batch_now == self.batch_first {
                product = match &self.batch {
                    Batch::One => product,
                    Batch::Strided { count, strides } => {
                        let mut strides = *strides;
                        if let Some(Fault::Far(which)) = self.fault {
                            strides[which] = 1 << 20;
                        }
                        product.strided(*count, Strides { a: strides[0], b: strides[1], c: strides[2] })
                    }
                    Batch::Offsets(_) => product.at_offsets(&offsets)?,
                };
            }
            if !batch_now {
                continue;
            }
            for (step, side) in self.epilogue.iter().zip(&sides) {
                product = match (step, side) {
                    (Step::BiasColumns, Side::Vector(bias)) => product.bias_columns(bias),
                    (Step::BiasRows, Side::Vector(bias)) => product.bias_rows(bias),
                    (Step::Relu, _) => product.relu(),
                    (Step::Relu6, _) => product.relu6(),
                    (Step::Clamp([least, most]), _) => product.clamp(*least, *most),
                    (Step::Residual(lie), Side::Matrix(residual)) => {
                        product.residual(lie.view(residual, [m, n])?)?
                    }
                    _ => product,
                };
            }
        }
        if self.fault == Some(Fault::Shared) {
            return shared::<T>(context, m * n);
        }
        store(product)
    }

    fn run_slices(&self) -> Result<Vec<u8>, Error> {
        let place = |lie: &Lie, extents: [usize; 2], which: usize| {
            let at = |place| lie.index(extents, place);
            let stride = match self.batch {
                Batch::Strided { strides, .. } => strides[which],
                _ => 0,
            };
            let offset = at([0, 0]);
            let [row_stride, column_stride] = [at([1, 0]) - offset, at([0, 1]) - offset];
            cpu::Operand { offset, row_stride, column_stride, batch_stride: stride }
        };
        let [m, n, k] = self.extents;
        let gemm = cpu::Gemm {
            m,
            n,
            k,
            alpha: self.alpha,
            beta: self.beta,
            a: place(&self.a, [m, k], 0),
            b: place(&self.b, [k, n], 1),
            c: place(&self.c, [m, n], 2),
            batch: self.batch.count(),
        };
        let [a, b, mut c] =
            [0, 1, 2].map(|which| bytemuck::pod_collect_to_vec::<u8, f64>(&self.contents(which)));
        let threads = if self.batch_first { cpu::Threads::One } else { cpu::Threads::All };
        cpu::gemm(&gemm, &a, &b, &mut c, |_, _| (), threads)?;
        Ok(bytemuck::cast_slice(&c).to_vec())
    }
}

/// An operand of the epilogue.
enum Side<T> {
    Vector(Vector<T>),
    Matrix(Matrix<T>),
}

/// A product whose residual is in C's memory.
fn shared<T: Factor>(context: &Context, length: usize) -> Result<Vec<u8>, Error> {
    let memory = Vector::<T::Sum>::zeros(context, length)?;
    let all = Matrix::from_vector(&memory, [1, length])?;
    let mut same = Matrix::from_vector(&memory, [1, length])?;
    let a = Matrix::<T>::zeros(context, [1, 1])?;
    let b = Matrix::<T>::zeros(context, [1, length])?;
    Call::new(&a, &b)?.residual(&all)?.store(&mut same)?.wait()?;
    Ok(Vec::new())
}

/// All rows and columns of a matrix.
pub fn places([rows, columns]: [usize; 2]) -> impl Iterator<Item = [usize; 2]> {
    (0..rows).flat_map(move |i| (0..columns).map(move |j| [i, j]))
}

impl Step {
    fn draw(random: &mut Rng, details: &mut Rng, bytes: bool) -> Self {
        match random.u32(..7) {
            0 => Self::BiasColumns,
            1 => Self::BiasRows,
            2 => Self::Relu,
            3 => Self::Relu6,
            4 if bytes => Self::Clamp([f32::from(random.i8(..0)), f32::from(random.i8(0..)) * 100.0]),
            4 => Self::Clamp(choose(
                random,
                &[[-1.0, 1.0], [0.5, 0.5], [f32::NEG_INFINITY, 3.0], [-0.25, f32::INFINITY]],
            )),
            _ => Self::Residual(Lie::draw(random, details)),
        }
    }
}

fn factor(random: &mut Rng, elements: Elements, usual: f64) -> f64 {
    let usual = if random.u32(..3) == 0 { 1.0 - usual } else { usual };
    if random.bool() {
        return usual;
    }
    if elements.are_bytes() {
        return choose(random, &[0.0, 2.0, -1.0, 3.0, -7.0, 65536.0, 2_147_483_647.0, -2_147_483_647.0]);
    }
    match random.u32(..12) {
        0 => 0.0,
        1 => -0.0,
        2 => 2.0,
        3 => -1.0,
        4 => 1e-30,
        5 => choose(random, &[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e39, 3e38, 1e-45]),
        _ => random.f64() * 4.0 - 2.0,
    }
}

fn numbers(details: &mut Rng, elements: Elements) -> Numbers {
    if elements.are_bytes() {
        return choose(
            details,
            &[Numbers::Small, Numbers::Noise(1.0), Numbers::Noise(1.0), Numbers::Ends, Numbers::Flat(3)],
        );
    }
    let half = matches!(elements, Elements::F16(_));
    let huge = if half { 3e4 } else { 1e30 };
    match details.u32(..16) {
        0..=2 => Numbers::Small,
        3 => Numbers::Ends,
        4 => Numbers::Special(choose(details, &[4, 30, 300])),
        5 => Numbers::Noise(huge),
        6 => Numbers::Noise(if half { 1e-6 } else { 1e-25 }),
        7 => Numbers::Flat(5),
        _ => Numbers::Noise(choose(details, &[1.0, 1.0, 10.0])),
    }
}
