//! The cache of operations: operations are cached by what they do and not by offset, whatever else is requested, and
//! within a memory limit.

use tripipe::filter::{Border, Chain, PixelType, Raster};
use tripipe::gemm::Product;
use tripipe::{Context, Extents, Image, Matrix, Size, Vector};
use tripipe_kernels::filter::reference;
use tripipe_opencl::{ExecutorOptions, OpenClExecutor};

use crate::library::faulty::{Budget, Faulty};
use crate::library::{bytes, contexts};

/// Regions of a large image, filtered into regions of another one, with every kind of kernel that takes the offsets of
/// images.
#[test]
fn regions_at_many_places_are_filtered_as_by_the_reference() {
    let size = Size::new(150, 40);
    let cases = [
        ("median:3,box:3", Raster::packed(size, 3, PixelType::U8)),
        ("swap-red-blue", Raster::packed(size, 3, PixelType::U8)),
        ("laplace", Raster::planar(size, 4, PixelType::U8)),
    ];
    for context in contexts() {
        for (text, from) in &cases {
            let keep_alpha = from.channels == 4;
            let chain = Chain::parse(text, Border::Reflect101).unwrap().keep_alpha(keep_alpha);
            let to = chain.apply_to(from).unwrap();
            let pixels = bytes(from.elements().unwrap());
            let source = Image::with_raster(&context, *from, &pixels).unwrap();
            let mut want = vec![7; to.elements().unwrap()];
            let mut result = Image::with_raster(&context, to, &want).unwrap();
            for place in 0..40 {
                let size = Size::new(30, 20);
                let region = source.region(3 * place, place % 20, size).unwrap();
                let into = result.region_mut((7 * place) % 120, (3 * place) % 20, size).unwrap();
                let [of, into_raster] = [*region.raster(), *into.raster()];
                let filter = context.filter(&chain, &of, &into_raster).unwrap();
                drop(filter.run(region, into).unwrap());
                reference::apply(&chain, &of, &pixels, &into_raster, &mut want).unwrap();
            }
            assert_eq!(result.to_vec().unwrap(), want, "{text} on {}", context.name());
        }
    }
}

/// Blocks of matrices, with an epilogue, with every kind of kernel: small, large, of one row.
#[test]
fn blocks_at_many_places_are_multiplied() {
    for context in contexts() {
        let side = 70;
        let whole =
            |count: usize| -> Vec<f32> { bytes(count).iter().map(|byte| f32::from(byte % 5)).collect() };
        let (a, b) = (whole(side * side), whole(side * side + 9)[9..].to_vec());
        let in_a = Matrix::from_slice(&context, Extents::new(side, side), &a).unwrap();
        let in_b = Matrix::from_slice(&context, Extents::new(side, side), &b).unwrap();
        let mut want = vec![3.0; side * side];
        let mut c = Matrix::from_slice(&context, Extents::new(side, side), &want).unwrap();
        for [m, n, k] in [[5, 6, 7], [1, 33, 12], [32, 30, 20]] {
            for place in 0..12 {
                let [i, j, l] = [3 * place, (5 * place) % 37, (2 * place) % 31];
                let first = in_a.block(i..i + m, l..l + k).unwrap();
                let second = in_b.block(l..l + k, j..j + n).unwrap();
                let bias = in_b.block(j..j + m, i..i + n).unwrap();
                let into = c.block_mut(i..i + m, j..j + n).unwrap();
                drop(Product::new(first, second).unwrap().residual(bias).unwrap().store(into).unwrap());
                for row in 0..m {
                    for column in 0..n {
                        let term =
                            |step: usize| a[(i + row) * side + l + step] * b[(l + step) * side + j + column];
                        want[(i + row) * side + j + column] =
                            (0..k).map(term).sum::<f32>() + b[(j + row) * side + i + column];
                    }
                }
            }
        }
        assert_eq!(c.to_vec().unwrap(), want, "{}", context.name());
    }
}

/// Whatever the number of offsets, few operations are made for them, and repeated requests find them in the cache.
#[test]
fn places_are_no_operations_of_their_own() {
    for context in contexts() {
        let chain = Chain::parse("box:3", Border::Replicate).unwrap();
        let image =
            Image::<u8>::zeros(&context, Raster::packed(Size::new(512, 64), 1, PixelType::U8)).unwrap();
        let to = Raster::packed(Size::square(32), 1, PixelType::U8);
        for place in 0..300 {
            let region = image.region(place, place % 32, Size::square(32)).unwrap();
            drop(context.filter(&chain, region.raster(), &to).unwrap());
        }
        assert!(context.explain().len() <= 16, "{}", context.explain().len());
        // Shapes that differ in more than the offset are cached as long as there are not many more of them.
        let first = context.simple_count();
        for length in 1..=300 {
            Vector::<u8>::zeros(&context, length).unwrap().sum().unwrap().wait().unwrap();
        }
        assert_eq!(context.simple_count(), first + 300);
    }
}

trait Count {
    fn simple_count(&self) -> usize;
}

impl Count for Context {
    fn simple_count(&self) -> usize {
        self.explain().iter().filter(|one| one.operation.starts_with("sum of")).count()
    }
}

/// A device with 8 MiB: memory that operations retain between their runs is freed when it is needed, and the results
/// are correct.
#[test]
fn retained_memory_is_freed_when_needed() {
    let Some(device) = tripipe_opencl::devices().unwrap_or_default().pop() else { return };
    let inner = OpenClExecutor::new(&device, &ExecutorOptions::default()).unwrap();
    let budget = Some(Budget { left: 8 << 20, ..Budget::default() });
    let builder = Context::builder().cpu_when_faster(false);
    let context = Faulty { budget, ..Faulty::default() }.over(&builder, inner);
    // Two passes, with an image between them.
    let chain = Chain::parse("median:3,median:3", Border::Replicate).unwrap();
    for round in 0..2 {
        for more in 0..12 {
            let image = Image::from_slice(
                &context,
                Size::new(1024 + 16 * more, 1000),
                1,
                &vec![9u8; (1024 + 16 * more) * 1000],
            );
            let result: Image<u8> = image.unwrap().filtered(&chain).unwrap();
            let good = result.map(|pixels| pixels.iter().all(|pixel| *pixel == 9)).unwrap();
            assert!(good, "round {round}, image {more}");
        }
    }
    // All of the memory except for the 4 MiB in use.
    let large = Vector::<u8>::zeros(&context, 4 << 20).unwrap();
    let more = Vector::<u8>::zeros(&context, (4 << 20) - 64).unwrap();
    assert!(Vector::<u8>::zeros(&context, 1 << 20).is_err());
    drop((large, more));
}
