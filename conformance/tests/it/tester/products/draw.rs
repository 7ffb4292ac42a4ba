//! How products are drawn, with and without faults.

use fastrand::Rng;

use super::super::numbers::{Fill, Numbers, choose, extent};
use super::{Batch, Elements, Fault, Lie, ProductCase, Step, Sums};

impl Lie {
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
}

impl ProductCase {
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

pub(super) fn numbers(details: &mut Rng, elements: Elements) -> Numbers {
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
