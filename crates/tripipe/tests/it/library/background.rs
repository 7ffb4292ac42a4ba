//! Kernels that are built while the CPU path does the work.

use std::thread::sleep;
use std::time::{Duration, Instant};

use tripipe::filter::{Border, Chain};
use tripipe::gemm::{Packed, Product};
use tripipe::{Context, Extents, Image, Matrix, Size};
use tripipe_kernels::filter::reference;

use crate::library::{bytes, in_the_background, without_cache};

/// Contexts that build in the background, where the device does the operations once it can, however slow it is.
fn contexts() -> Vec<Context> {
    in_the_background(Context::builder().cpu_when_faster(false))
}

/// A chain whose kernel no driver has cached from an earlier run: it has a different border each time.
fn new_chain(stages: &str) -> Chain {
    let nanoseconds = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
    Chain::parse(stages, Border::Constant(nanoseconds as f32 * 1e-7)).unwrap()
}

#[test]
fn the_first_runs_do_not_wait_for_the_compiler() {
    for context in contexts() {
        let chain = new_chain("box:3");
        let image = Image::from_slice(&context, Size::new(40, 30), 1, &bytes(1200)).unwrap();
        let mut result = Image::<u8>::zeros(&context, *image.raster()).unwrap();
        let mut want = vec![0; 1200];
        reference::apply(&chain, image.raster(), &bytes(1200), image.raster(), &mut want).unwrap();

        let filter = context.filter(&chain, image.raster(), image.raster()).unwrap();
        filter.run(&image, &mut result).unwrap().wait().unwrap();
        let explanation = filter.explain();
        assert_eq!(result.to_vec().unwrap(), want, "{explanation}");
        assert_eq!(explanation.fallback.as_deref(), Some("its kernels are being built"));
        assert_eq!(explanation.build_seconds, None);
        assert_eq!(explanation.kernel, "rows in SIMD");

        let asked = Instant::now();
        while filter.explain().fallback.is_some() {
            assert!(asked.elapsed() < Duration::from_secs(900), "{}", filter.explain());
            sleep(Duration::from_millis(10));
        }
        // The time of the CPU path is not reported as that of the kernels.
        assert_eq!(filter.explain().measured_seconds, None);
        result.write(&[0; 1200]).unwrap();
        filter.run(&image, &mut result).unwrap().wait().unwrap();
        assert_eq!(result.to_vec().unwrap(), want);
        let explanation = filter.explain();
        assert_eq!(explanation.kernel, "window");
        assert!(explanation.build_seconds.unwrap() > 0.0);
        assert!(explanation.to_string().contains("to build or load the kernels"), "{explanation}");

        // Once built, it is available to every other operation at once.
        let wide = Image::from_slice(&context, Size::new(60, 20), 1, &bytes(1200)).unwrap();
        let filter = context.filter(&chain, wide.raster(), wide.raster()).unwrap();
        assert_eq!(filter.explain().fallback, None);
    }
}

/// No driver here builds this kernel within a millisecond.
#[test]
fn an_operation_waits_for_the_compiler_as_long_as_the_context_says() {
    for (longest, waits) in [(Duration::from_millis(1), false), (Duration::MAX, true)] {
        for context in without_cache(&Context::builder().longest_build(longest)) {
            let image = Image::from_slice(&context, Size::new(40, 30), 1, &[7u8; 1200]).unwrap();
            let filter = context.filter(&new_chain("median:5"), image.raster(), image.raster()).unwrap();
            let said = filter.explain();
            assert_eq!(said.fallback.as_deref() == Some("its kernels are being built"), !waits, "{said}");
            let mut result = Image::<u8>::zeros(&context, *image.raster()).unwrap();
            filter.run(&image, &mut result).unwrap().wait().unwrap();
            assert_eq!(result.to_vec().unwrap()[200..210], [7; 10]);
            while filter.explain().build_seconds.is_none() && filter.explain().fallback.is_some() {
                sleep(Duration::from_millis(10));
                filter.run(&image, &mut result).unwrap().wait().unwrap();
            }
            let said = filter.explain();
            assert!(said.fallback.is_none_or(|why| why.contains("tried")), "tried once it is built");
        }
    }
}

#[test]
fn a_context_may_go_while_kernels_are_built() {
    for context in contexts() {
        let image = Image::from_slice(&context, Size::new(40, 30), 1, &bytes(1200)).unwrap();
        let blurred = image.filtered::<u8>(&new_chain("box:3")).unwrap();
        drop((context, image));
        assert_eq!(blurred.to_vec().unwrap().len(), 1200);
    }
}

#[test]
fn products_are_right_before_and_after() {
    for context in contexts() {
        let matrix = |rows: usize, columns: usize, value: f32| {
            Matrix::from_slice(&context, Extents::new(rows, columns), &vec![value; rows * columns]).unwrap()
        };
        let (a, b) = (matrix(20, 7, 2.0), matrix(7, 30, 3.0));
        // Packed operands are for kernels, so the product waits for them.
        let packed = Packed::right(&b, 20).unwrap();
        for _ in 0..2 {
            let product = Product::new(&a, &b).unwrap().into_matrix().unwrap();
            assert_eq!(product.to_vec().unwrap(), [42.0; 600]);
            let product = Product::new(&a, &packed).unwrap().into_matrix().unwrap();
            assert_eq!(product.to_vec().unwrap(), [42.0; 600]);
        }
    }
}
