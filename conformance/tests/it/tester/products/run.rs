//! How the library computes a product.

use half::f16;
use tripipe::gemm::{Accumulate, Factor, Multipliers, Operand, Packed, Product, Requantisation, Strides};
use tripipe::{Context, Error, Extents, Matrix, Vector};
use tripipe_cpu as cpu;

use super::super::backends::Backend;
use super::{Batch, Elements, Fault, Lie, ProductCase, Step, Sums};

impl ProductCase {
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
                let scales = Multipliers::new(context, self.scales().as_chunks().0)?;
                let store = |product: Product<'_, i8>| {
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
                return Ok(bytemuck::cast_slice(&product.into_matrix()?.to_vec()?).to_vec());
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
        store: impl FnOnce(Product<'_, T>) -> Result<Vec<u8>, Error>,
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
        let mut product = Product::new(a_operand, b_operand)?.alpha(self.alpha).beta(self.beta);
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
            cpu::StridedLayout { offset, row_stride, column_stride, batch_stride: stride }
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
    let all = memory.share().into_matrix(Extents::new(1, length))?;
    let mut same = memory.share().into_matrix(Extents::new(1, length))?;
    let a = Matrix::<T>::zeros(context, Extents::new(1, 1))?;
    let b = Matrix::<T>::zeros(context, Extents::new(1, length))?;
    Product::new(&a, &b)?.residual(&all)?.store(&mut same)?.wait()?;
    Ok(Vec::new())
}
