//! Scaled sums, the histogram, the transpose.

use fastrand::Rng;
use half::f16;
use tripipe::{Context, Counted, Element, Error, Extents, Image, Matrix, Order, Pixel, Summed, Vector};

use super::numbers::{Fill, Kind, Numbers, Span, choose, extent, smaller_extents};
use super::rasters::{RasterLayout, element, image, places, smaller_sizes};
use super::verdict::{Expected, Right};

/// An operation on vectors, an image or a matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Simple {
    pub task: Task,
    pub kind: Kind,
    /// The vector's length, or width and height, columns and rows.
    pub size: [usize; 2],
    /// The channels of an image whose values are counted.
    pub channels: usize,
    pub place: RasterLayout,
    pub fills: [Fill; 2],
    /// How much longer the second vector is, which must be refused.
    pub longer: usize,
}

/// The operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Task {
    AddScaled(f32),
    Histogram,
    Transpose { columns_first: bool },
}

/// Element types of matrices.
const ELEMENTS: [Kind; 9] =
    [Kind::U8, Kind::I8, Kind::U16, Kind::I16, Kind::U32, Kind::I32, Kind::F16, Kind::F32, Kind::F64];

impl Simple {
    pub fn draw(random: &mut Rng, details: &mut Rng) -> Self {
        let task = match random.u32(..4) {
            0 => Task::AddScaled(choose(
                details,
                &[1.0, 0.0, -2.5, 0.37, 1e30, 1e-30, f32::NAN, f32::INFINITY],
            )),
            1 | 2 => Task::Histogram,
            _ => Task::Transpose { columns_first: details.u32(..3) == 0 },
        };
        let kind = match task {
            Task::AddScaled(_) => choose(random, &[Kind::F16, Kind::F32]),
            Task::Histogram => choose(random, &[Kind::U8, Kind::U16]),
            Task::Transpose { .. } => choose(random, &ELEMENTS),
        };
        let size = match task {
            Task::Histogram | Task::Transpose { .. } => [extent(details, 90), extent(details, 90)],
            _ if details.u32(..3) == 0 => [details.usize(..9000), 1],
            Task::AddScaled(_) => [extent(details, 200), 1],
        };
        let fill = |details: &mut Rng| Fill {
            numbers: super::filters::numbers(details, kind),
            seed: details.u32(..),
        };
        let fills = [fill(details), fill(details)];
        let two = matches!(task, Task::AddScaled(_));
        let longer = usize::from(two && details.u32(..20) == 0);
        Self {
            task,
            kind,
            size,
            channels: random.usize(1..=4),
            place: RasterLayout::draw(random, details),
            fills,
            longer,
        }
    }

    fn length(&self) -> usize {
        self.size[0] * self.size[1]
    }

    fn operands(&self) -> [Vec<u8>; 2] {
        let length = self.length();
        [self.fills[0].bytes(self.kind, length), self.fills[1].bytes(self.kind, length + self.longer)]
    }

    pub fn work(&self) -> f64 {
        self.length() as f64 * 8.0
    }

    pub fn place(&self, index: usize) -> String {
        match (self.task, index) {
            (Task::Histogram, _) => format!("the count of {index}"),
            _ => format!("element {index}"),
        }
    }

    pub fn smaller(&self) -> Vec<Self> {
        let sizes = if self.size[1] == 1 && !matches!(self.task, Task::Histogram | Task::Transpose { .. }) {
            smaller_extents(self.size[0]).into_iter().map(|length| [length, 1]).collect()
        } else {
            smaller_sizes(self.size)
        };
        let mut found: Vec<Self> = sizes.into_iter().map(|size| Self { size, ..self.clone() }).collect();
        if self.task == Task::Histogram {
            found.extend((1..self.channels).map(|channels| Self { channels, ..self.clone() }));
            found.extend(self.place.smaller().into_iter().map(|place| Self { place, ..self.clone() }));
        }
        for which in 0..2 {
            for numbers in [Numbers::Flat(16), Numbers::Small] {
                let mut fills = self.fills;
                fills[which].numbers = numbers;
                found.push(Self { fills, ..self.clone() });
            }
        }
        found.retain(|smaller| smaller != self);
        found
    }

    /// The expected result.
    pub fn expected(&self) -> Expected {
        if self.longer > 0 {
            return Expected::Refused;
        }
        let [x, y] = self.operands();
        let kind = self.kind;
        let length = self.length();
        let [x, y] =
            [x, y].map(|bytes| (0..length).map(|index| kind.load(&bytes, index)).collect::<Vec<_>>());
        match self.task {
            Task::AddScaled(alpha) => {
                let added = |(x, y): (&f64, &f64)| {
                    let scaled = Span::exact(*x).times(f64::from(alpha)).rounded(Kind::F32);
                    // The product may be fused with the sum.
                    let sum =
                        if scaled.any { scaled } else { scaled.plus(Span::exact(*y)).rounded(Kind::F32) };
                    sum.stored(kind)
                };
                Right::dense(kind, x.iter().zip(&y).map(added).collect())
            }
            Task::Histogram => {
                let bytes = self.raster_contents();
                let mut counts = vec![0.0; 256];
                let shape = [self.size[0], self.size[1], self.channels];
                for place in places(shape) {
                    let value = kind.load(&bytes, self.place.index(shape, place)) as usize;
                    counts[if kind == Kind::U16 { value >> 8 } else { value }] += 1.0;
                }
                Right::dense(Kind::U32, counts.into_iter().map(Span::exact).collect())
            }
            Task::Transpose { columns_first } => {
                let [columns, rows] = self.size;
                // In a column-major matrix, element (i, j) is at j rows + i.
                let at = |i: usize, j: usize| if columns_first { j * rows + i } else { i * columns + j };
                let moved = (0..columns).flat_map(|j| (0..rows).map(move |i| (i, j)));
                let spans = moved.map(|(i, j)| Span::exact(x[at(i, j)])).collect();
                Right::dense(kind, spans)
            }
        }
    }

    fn raster_contents(&self) -> Vec<u8> {
        let shape = [self.size[0], self.size[1], self.channels];
        self.fills[0].bytes(self.kind, self.place.elements(shape))
    }

    /// Runs it.
    ///
    /// # Errors
    /// An error of the library.
    pub fn run(&self, context: &Context) -> Result<Vec<u8>, Error> {
        match self.task {
            Task::AddScaled(alpha) if self.kind == Kind::F16 => self.add_scaled::<f16>(context, alpha),
            Task::AddScaled(alpha) => self.add_scaled::<f32>(context, alpha),
            Task::Histogram if self.kind == Kind::U16 => self.histogram::<u16>(context),
            Task::Histogram => self.histogram::<u8>(context),
            Task::Transpose { columns_first } => match self.kind {
                Kind::U8 => self.transpose::<u8>(context, columns_first),
                Kind::I8 => self.transpose::<i8>(context, columns_first),
                Kind::U16 => self.transpose::<u16>(context, columns_first),
                Kind::I16 => self.transpose::<i16>(context, columns_first),
                Kind::U32 => self.transpose::<u32>(context, columns_first),
                Kind::I32 => self.transpose::<i32>(context, columns_first),
                Kind::F16 => self.transpose::<f16>(context, columns_first),
                Kind::F32 => self.transpose::<f32>(context, columns_first),
                _ => self.transpose::<f64>(context, columns_first),
            },
        }
    }

    fn vectors<T: Element>(&self, context: &Context) -> Result<[Vector<T>; 2], Error> {
        let [x, y] = self.operands().map(|bytes| bytemuck::pod_collect_to_vec::<u8, T>(&bytes));
        Ok([Vector::from_slice(context, &x)?, Vector::from_slice(context, &y)?])
    }

    fn add_scaled<T: Summed<Sum = f32> + Pixel>(
        &self,
        context: &Context,
        alpha: f32,
    ) -> Result<Vec<u8>, Error> {
        let [x, mut y] = self.vectors::<T>(context)?;
        y.add_scaled(alpha, &x)?.wait()?;
        Ok(bytes_of(&y.to_vec()?))
    }

    fn histogram<T: Counted>(&self, context: &Context) -> Result<Vec<u8>, Error> {
        let shape = [self.size[0], self.size[1], self.channels];
        let raster = self.place.raster(shape, element(self.kind));
        let source: Image<T> = image(context, raster, &self.raster_contents())?;
        Ok(bytes_of(&source.histogram()?.wait()?))
    }

    fn transpose<T: Element>(&self, context: &Context, columns_first: bool) -> Result<Vec<u8>, Error> {
        let [columns, rows] = self.size;
        let order = if columns_first { Order::ColumnMajor } else { Order::RowMajor };
        let elements = bytemuck::pod_collect_to_vec::<u8, T>(&self.operands()[0]);
        let matrix = Matrix::with_order(context, Extents::new(rows, columns), order, &elements)?;
        Ok(bytes_of(&matrix.to_transposed()?.to_vec()?))
    }
}

fn bytes_of<T: bytemuck::NoUninit>(elements: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(elements).to_vec()
}
