//! Runs elementwise operations with the library.

use bytemuck::{NoUninit, pod_collect_to_vec};
use half::f16;
use tripipe::{
    Array, Context, Element, Elementwise, Error, Extents, Image, Matrix, MatrixView, Pixel, Summed, Vector,
};

use super::super::rasters::{element, with_pixel};
use super::{Arrays, End, RESULT, Shape, Step, Task};

/// An element type that supports steps.
trait Stepped: Summed + Into<f64> {
    /// A step that not all types support.
    fn activated<M>(chain: Elementwise<'_, Self, M>, step: Step) -> Elementwise<'_, Self, M>;
}

macro_rules! stepped {
    ($($integer:ty),*; $($float:ty),*) => {
        $(impl Stepped for $integer {
            fn activated<M>(chain: Elementwise<'_, Self, M>, _: Step) -> Elementwise<'_, Self, M> {
                chain
            }
        })*
        $(impl Stepped for $float {
            fn activated<M>(chain: Elementwise<'_, Self, M>, step: Step) -> Elementwise<'_, Self, M> {
                match step {
                    Step::Sigmoid => chain.sigmoid(),
                    Step::Tanh => chain.tanh(),
                    _ => chain.gelu(),
                }
            }
        })*
    };
}

stepped!(u8, i8, u16, i16, u32, i32; f16, f32, f64);

/// Calls a function that is generic over the type of elements.
macro_rules! with_element {
    ($kind:expr, $type:ident => $call:expr) => {{
        use $crate::tester::numbers::Kind;
        macro_rules! as_type {
            ($is:ty) => {{
                type $type = $is;
                $call
            }};
        }
        match $kind {
            Kind::U8 => as_type!(u8),
            Kind::I8 => as_type!(i8),
            Kind::U16 => as_type!(u16),
            Kind::I16 => as_type!(i16),
            Kind::U32 => as_type!(u32),
            Kind::I32 => as_type!(i32),
            Kind::F16 => as_type!(f16),
            Kind::F32 => as_type!(f32),
            _ => as_type!(f64),
        }
    }};
}

/// Elements, read by the waiting or by the queued function.
macro_rules! read {
    ($self:ident, $of:expr, $now:ident, $queued:expr) => {
        if $self.asynchronous { $queued.queue_read()?.wait()? } else { $of.$now()? }
    };
}

/// An array that was made, waited for or not.
macro_rules! made {
    ($self:ident, $of:expr) => {{
        let made = $of?;
        if $self.asynchronous {
            made.event().wait()?;
        }
        made
    }};
}

/// All tasks on operands that `$make` makes and that are read and written through views.
macro_rules! tasks {
    (
        $self:ident, $context:ident, $type:ident, $make:ident, $with:ident,
        |$one:ident| $view:expr, |$edited:ident| $view_mut:expr, |$made:ident| $elements:expr,
        |$place:ident| $coordinates:expr, |$copied:ident| $copy:expr
    ) => {{
        let owned = $self.$make::<$type>($context, 0)?;
        let $one = &owned;
        let x = $view;
        let other = |index: usize| $self.$make::<$type>($context, 1 + index);
        let others: Vec<_> = $self.steps().iter().enumerate().map(|(index, _)| other(index)).collect::<Result<_, _>>()?;
        let mut views = Vec::new();
        for $one in &others {
            views.push($view);
        }
        Ok(match &$self.task {
            Task::Steps { end: End::New, .. } => {
                let $made = made!($self, $self.chain(Elementwise::new(x), &views).into_array());
                bytes_of(&$elements)
            }
            Task::Steps { end: End::Into(to), .. } => $with!(*to, U => {
                let mut result = $self.$make::<U>($context, RESULT)?;
                let $edited = &mut result;
                $self.chain(Elementwise::new(x), &views).store($view_mut)?.wait()?;
                bytes_of(&read!($self, result, to_vec, result))
            }),
            Task::Steps { end: End::InPlace, .. } => {
                let mut result = $self.$make::<$type>($context, RESULT)?;
                let $edited = &mut result;
                $self.chain(Elementwise::in_place($view_mut), &views).run()?.wait()?;
                bytes_of(&read!($self, result, to_vec, result))
            }
            Task::Sum => bytes_of(&[x.sum()?.wait()?]),
            Task::Dot => {
                let other = other(0)?;
                let $one = &other;
                let y = $view;
                bytes_of(&[x.dot(&y)?.wait()?])
            }
            Task::Min => place_of(x.min()?.wait()?.map(|(value, $place)| (value, $coordinates))),
            Task::Max => place_of(x.max()?.wait()?.map(|(value, $place)| (value, $coordinates))),
            Task::Convert { to, scale, offset } => $with!(*to, U => {
                let $made = made!($self, x.converted::<U>(*scale, *offset));
                bytes_of(&$elements)
            }),
            Task::Copy => {
                let $copied = x;
                bytes_of(&$copy)
            }
        })
    }};
}

impl Arrays {
    /// Runs it.
    ///
    /// # Errors
    /// An error of the library.
    pub fn run(&self, context: &Context) -> Result<Vec<u8>, Error> {
        match self.shape {
            Shape::Vector(_) => with_element!(self.kind, T => tasks!(
                self, context, T, vector, with_element, |one| one, |edited| edited,
                |made| read!(self, made, to_vec, made), |place| [place],
                |copied| copied.as_matrix(Extents::new(1, copied.len()))?.to_matrix()?.into_vector()?.to_vec()?
            )),
            Shape::Matrix(_) => with_element!(self.kind, T => tasks!(
                self, context, T, matrix, with_element, |one| self.view(one)?, |edited| self.view_mut(edited)?,
                |made| read!(self, made, to_vec, made), |place| [place.row, place.column],
                |copied| made!(self, copied.to_vector()).to_vec()?
            )),
            Shape::Image(_) => with_pixel!(self.kind, T => tasks!(
                self, context, T, image, with_pixel, |one| one, |edited| edited,
                |made| read!(self, made, to_packed_vec, made.view()), |place| [place.x, place.y, place.channel],
                |copied| made!(self, copied.to_vector()).to_vec()?
            )),
        }
    }

    fn elements<T: Element>(&self, buffer: usize) -> Vec<T> {
        pod_collect_to_vec(&self.contents(buffer))
    }

    fn vector<T: Element>(&self, context: &Context, buffer: usize) -> Result<Vector<T>, Error> {
        let elements = self.elements(buffer);
        if self.asynchronous {
            return Vector::from_vec(context, elements);
        }
        Vector::from_slice(context, &elements)
    }

    fn matrix<T: Element>(&self, context: &Context, buffer: usize) -> Result<StoredMatrix<T>, Error> {
        let Shape::Matrix(extents) = self.shape_of(buffer) else { unreachable!("it is one") };
        let matrix = self.lying(buffer).lie.matrix(context, extents, &self.elements(buffer))?;
        Ok(StoredMatrix { matrix, buffer })
    }

    fn view<'m, T: Element>(&self, held: &'m StoredMatrix<T>) -> Result<MatrixView<'m, T>, Error> {
        let Shape::Matrix(extents) = self.shape_of(held.buffer) else { unreachable!("it is one") };
        self.lying(held.buffer).lie.view(&held.matrix, extents)
    }

    fn view_mut<'m, T: Element>(
        &self,
        held: &'m mut StoredMatrix<T>,
    ) -> Result<tripipe::MatrixViewMut<'m, T>, Error> {
        let Shape::Matrix(extents) = self.shape_of(held.buffer) else { unreachable!("it is one") };
        let lie = self.lying(held.buffer).lie;
        let [rows, columns] = lie.block(extents);
        let view = held.matrix.block_mut(rows, columns)?;
        Ok(if lie.transposed { view.transposed() } else { view })
    }

    fn image<T: Pixel>(&self, context: &Context, buffer: usize) -> Result<Image<T>, Error> {
        let Shape::Image(extents) = self.shape_of(buffer) else { unreachable!("it is one") };
        let kind = if buffer == RESULT { self.to() } else { self.kind };
        let raster = self.lying(buffer).place.raster(extents, element(kind));
        let elements = self.elements(buffer);
        if self.asynchronous {
            return Image::with_raster(context, raster, elements);
        }
        Image::with_raster(context, raster, &elements)
    }

    /// Adds the steps, each with its operand.
    fn chain<'m, T: Stepped, M>(
        &self,
        mut chain: Elementwise<'m, T, M>,
        others: &[impl Array<'m, Element = T>],
    ) -> Elementwise<'m, T, M> {
        let number = |value: f64| {
            let mut bytes = Vec::new();
            self.kind.append(&mut bytes, self.kind.nearest(value));
            bytemuck::pod_read_unaligned(&bytes)
        };
        for (step, other) in self.steps().iter().zip(others) {
            chain = match *step {
                Step::Add => chain.add(*other),
                Step::Subtract => chain.subtract(*other),
                Step::Multiply => chain.multiply(*other),
                Step::AddScalar(value) => chain.add_scalar(number(value)),
                Step::SubtractScalar(value) => chain.subtract_scalar(number(value)),
                Step::MultiplyScalar(value) => chain.multiply_scalar(number(value)),
                Step::Relu => chain.relu(),
                Step::Relu6 => chain.relu6(),
                Step::Clamp([least, most]) => chain.clamp(number(least), number(most)),
                Step::Sigmoid | Step::Tanh | Step::Gelu => T::activated(chain, *step),
            };
        }
        chain
    }
}

/// A matrix, and the number of its buffer.
struct StoredMatrix<T> {
    matrix: Matrix<T>,
    buffer: usize,
}

impl<T: Element> StoredMatrix<T> {
    fn to_vec(&self) -> Result<Vec<T>, Error> {
        self.matrix.to_vec()
    }

    fn queue_read(&self) -> Result<tripipe::Pending<Vec<T>>, Error> {
        self.matrix.queue_read()
    }
}

/// An extreme and its coordinates.
fn place_of<T: Into<f64>, const N: usize>(found: Option<(T, [usize; N])>) -> Vec<u8> {
    let Some((value, place)) = found else { return Vec::new() };
    let mut numbers: Vec<f64> = vec![value.into()];
    numbers.extend(place.map(|coordinate| coordinate as f64));
    bytes_of(&numbers)
}

fn bytes_of<T: NoUninit>(elements: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(elements).to_vec()
}
