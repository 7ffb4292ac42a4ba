//! Elementwise operations and reductions of every type and shape: every device gives the result of the definition.

use half::f16;
use tripipe::filter::{PixelType, Raster};
use tripipe::gemm::Product;
use tripipe::{
    Context, Elementwise, Error, ErrorKind, Extents, Image, ImagePosition, Matrix, MatrixPosition, Order,
    Size, Vector,
};

use crate::library::{bytes, contexts};

/// Numbers of 32 bits, including the extremes.
fn integers(count: usize) -> Vec<i32> {
    let noise = |i: usize| (i as u32).wrapping_mul(2_654_435_761).rotate_left(7) as i32;
    let mut found: Vec<i32> = (0..count).map(noise).collect();
    for (place, value) in [(3, i32::MIN), (5, i32::MAX), (7, i32::MIN), (8, 0)] {
        if place < count {
            found[place] = value;
        }
    }
    found
}

fn is(context: &Context, values: &[i32]) {
    let x = Vector::from_slice(context, values).unwrap();
    let wide = || values.iter().map(|value| i64::from(*value));
    let name = context.name();
    assert_eq!(x.sum().unwrap().wait().unwrap(), wide().sum::<i64>(), "{name}");
    let squares: i128 = wide().map(|x| i128::from(x * x)).sum();
    match i64::try_from(squares) {
        Ok(squares) => assert_eq!(x.dot(&x).unwrap().wait().unwrap(), squares, "{name}"),
        Err(_) => assert_eq!(x.dot(&x).unwrap().wait().unwrap_err().kind(), ErrorKind::Overflow, "{name}"),
    }
    let first =
        |best: Option<&i32>| best.map(|best| (*best, values.iter().position(|one| one == best).unwrap()));
    assert_eq!(x.min().unwrap().wait().unwrap(), first(values.iter().min()), "{name}");
    assert_eq!(x.max().unwrap().wait().unwrap(), first(values.iter().max()), "{name}");
}

#[test]
fn integers_of_every_type_are_reduced() {
    for context in contexts() {
        for length in [0, 9, 1000] {
            is(&context, &integers(length));
        }
        // Sums far beyond 32 bits; among equals the first is found.
        is(&context, &vec![i32::MAX; 5000]);
        is(&context, &vec![i32::MIN; 5000]);
        let words = Vector::from_slice(&context, &[7, u32::MAX, 0, u32::MAX]).unwrap();
        assert_eq!(words.sum().unwrap().wait().unwrap(), 7 + 2 * i64::from(u32::MAX), "{}", context.name());
        assert_eq!(
            (words.min().unwrap().wait().unwrap(), words.max().unwrap().wait().unwrap()),
            (Some((0, 2)), Some((u32::MAX, 1)))
        );
        let bytes = Vector::from_slice(&context, &[-7i8, -128, 127, -128]).unwrap();
        assert_eq!(
            bytes.dot(&bytes).unwrap().wait().unwrap(),
            49 + 2 * 16_384 + 16_129,
            "{}",
            context.name()
        );
        assert_eq!(
            (bytes.min().unwrap().wait().unwrap(), bytes.max().unwrap().wait().unwrap()),
            (Some((-128, 1)), Some((127, 2)))
        );
    }
}

/// An exact sum, or an error that says it: 100 x (2^31 - 1)^2 exceeds 2^63, and so does 3 x (2^32 - 1)^2.
#[test]
fn integer_dot_products_do_not_wrap() {
    for context in contexts() {
        let words = |value: i32, count: usize| Vector::from_slice(&context, &vec![value; count]).unwrap();
        let error = words(i32::MAX, 100).dot(&words(i32::MAX, 100)).unwrap().wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Overflow, "{}", context.name());
        assert!(error.to_string().contains("461168601413242060900"), "{error}");
        let least = words(i32::MIN, 1).dot(&words(i32::MIN, 1)).unwrap().wait().unwrap();
        assert_eq!(least, 1 << 62, "{}", context.name());
        // The partial sums exceed 64 bits, the sum does not.
        let mixed: Vec<i32> = [vec![i32::MIN; 400], vec![i32::MAX; 400]].concat();
        let mixed = Vector::from_slice(&context, &mixed).unwrap();
        let ones: Vec<i32> = [vec![i32::MAX; 400], vec![i32::MAX; 400]].concat();
        let found = mixed.dot(&Vector::from_slice(&context, &ones).unwrap()).unwrap().wait().unwrap();
        assert_eq!(found, -400 * i64::from(i32::MAX), "{}", context.name());
        let unsigned = |count: usize| Vector::from_slice(&context, &vec![u32::MAX; count]).unwrap();
        for count in [1, 3] {
            let error = unsigned(count).dot(&unsigned(count)).unwrap().wait().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Overflow, "{}", context.name());
        }
        let shorts = Vector::from_slice(&context, &[u16::MAX; 5000]).unwrap();
        assert_eq!(shorts.dot(&shorts).unwrap().wait().unwrap(), 5000 * 65535 * 65535, "{}", context.name());
    }
}

#[test]
fn sums_of_nothing_are_plus_0() {
    for context in contexts() {
        let (halves, floats) = (Vector::<f16>::zeros(&context, 0), Vector::<f32>::zeros(&context, 0));
        let (halves, floats) = (halves.unwrap(), floats.unwrap());
        let doubles = Vector::<f64>::zeros(&context, 0).unwrap();
        let singles = [halves.sum(), halves.dot(&halves), floats.sum(), floats.dot(&floats)];
        for sum in singles {
            assert_eq!(sum.unwrap().wait().unwrap().to_bits(), 0, "{}", context.name());
        }
        for sum in [doubles.sum(), doubles.dot(&doubles)] {
            assert_eq!(sum.unwrap().wait().unwrap().to_bits(), 0, "{}", context.name());
        }
    }
}

#[test]
fn doubles_and_halves_are_reduced() {
    for context in contexts() {
        let values = [0.5f64, -3.0, f64::NAN, 1e300, -3.0];
        let x = Vector::from_slice(&context, &values[3..]).unwrap();
        assert_eq!(x.sum().unwrap().wait().unwrap(), 1e300);
        let x = Vector::from_slice(&context, &values).unwrap();
        assert_eq!(
            (x.min().unwrap().wait().unwrap(), x.max().unwrap().wait().unwrap()),
            (Some((-3.0, 1)), Some((1e300, 3)))
        );
        assert!(x.sum().unwrap().wait().unwrap().is_nan(), "{}", context.name());
        let halves = Vector::from_slice(&context, &[f16::NAN, f16::from_f32(-0.5), f16::ONE]).unwrap();
        assert_eq!(halves.min().unwrap().wait().unwrap(), Some((f16::from_f32(-0.5), 1)));
        let none = Vector::from_slice(&context, &[f32::NAN; 70]).unwrap();
        assert_eq!((none.min().unwrap().wait().unwrap(), none.max().unwrap().wait().unwrap()), (None, None));
    }
}

/// The results of a product of bytes: 32-bit integers, which can be reduced and converted to any type.
#[test]
fn sums_of_products_are_reduced_and_converted() {
    for context in contexts() {
        let a = Matrix::from_slice(&context, Extents::new(3, 2), &[1i8, -2, 3, 4, -128, -128]).unwrap();
        let sums = Product::new(&a, a.transposed()).unwrap().into_matrix().unwrap();
        let want = [5, -5, 128, -5, 25, -896, 128, -896, 32768];
        assert_eq!(sums.to_vec().unwrap(), want);
        assert_eq!(sums.sum().unwrap().wait().unwrap(), want.iter().map(|sum| i64::from(*sum)).sum::<i64>());
        assert_eq!(sums.max().unwrap().wait().unwrap(), Some((32768, MatrixPosition { row: 2, column: 2 })));
        let first = MatrixPosition { row: 1, column: 2 };
        assert_eq!(sums.min().unwrap().wait().unwrap(), Some((-896, first)), "{}", context.name());
        let floats = sums.converted::<f32>(0.5, 1.0).unwrap().to_vec().unwrap();
        assert_eq!(floats, want.map(|sum| sum as f32 * 0.5 + 1.0));
        let bytes = sums.converted::<i8>(1.0, 0.0).unwrap().to_vec().unwrap();
        assert_eq!(bytes, want.map(|sum| sum.clamp(-128, 127) as i8));
        let halves = sums.converted::<f16>(1.0, 0.0).unwrap().to_vec().unwrap();
        assert_eq!(halves, want.map(|sum| f16::from_f64(f64::from(sum))));
        let vector = sums.into_vector().unwrap();
        assert_eq!(vector.converted::<f64>(1.0, 0.0).unwrap().to_vec().unwrap(), want.map(f64::from));
        assert_eq!(
            vector.converted::<u16>(1.0, 0.0).unwrap().to_vec().unwrap(),
            want.map(|sum| sum.max(0) as u16)
        );
    }
}

/// Values are rounded to the nearest, ties to even, and saturated, NaN becomes 0; exact when no rounding is needed.
#[test]
fn conversions_round_and_saturate() {
    let reals =
        [0.5f32, 1.5, 2.5, -0.5, -1.5, 126.5, 254.5, 1e10, -1e10, f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    for context in contexts() {
        let x = Vector::from_slice(&context, &reals).unwrap();
        let name = context.name();
        let [bytes, signed] = [
            x.converted::<u8>(1.0, 0.0)
                .unwrap()
                .to_vec()
                .unwrap()
                .into_iter()
                .map(i32::from)
                .collect::<Vec<_>>(),
            x.converted::<i8>(1.0, 0.0)
                .unwrap()
                .to_vec()
                .unwrap()
                .into_iter()
                .map(i32::from)
                .collect::<Vec<_>>(),
        ];
        assert_eq!(bytes, [0, 2, 2, 0, 0, 126, 254, 255, 0, 0, 255, 0], "{name}");
        assert_eq!(signed, [0, 2, 2, 0, -2, 126, 127, 127, -128, 0, 127, -128], "{name}");
        let words = x.converted::<i32>(1.0, 0.0).unwrap().to_vec().unwrap();
        assert_eq!(words[7..], [i32::MAX, i32::MIN, 0, i32::MAX, i32::MIN], "{name}");
        let words = x.converted::<u32>(1.0, 0.0).unwrap().to_vec().unwrap();
        assert_eq!(words[7..], [u32::MAX, 0, 0, u32::MAX, 0], "{name}");

        // Integers with more digits than f32 has.
        let wide = [16_777_217i32, i32::MAX, i32::MIN, -16_777_217];
        let x = Vector::from_slice(&context, &wide).unwrap();
        assert_eq!(x.converted::<i32>(1.0, 0.0).unwrap().to_vec().unwrap(), wide);
        assert_eq!(
            x.converted::<u32>(1.0, 0.0).unwrap().to_vec().unwrap(),
            [16_777_217, 2_147_483_647, 0, 0]
        );
        assert_eq!(x.converted::<f64>(1.0, 0.0).unwrap().to_vec().unwrap(), wide.map(f64::from));
        assert_eq!(x.converted::<f32>(1.0, 0.0).unwrap().to_vec().unwrap(), wide.map(|value| value as f32));
        let halves = x.converted::<f16>(1.0, 0.0).unwrap().to_vec().unwrap();
        assert_eq!(halves, [f16::INFINITY, f16::INFINITY, f16::NEG_INFINITY, f16::NEG_INFINITY]);
        let doubles = Vector::from_slice(&context, &[4_294_967_295.4f64, -7.5, f64::NAN]).unwrap();
        assert_eq!(doubles.converted::<u32>(1.0, 0.0).unwrap().to_vec().unwrap(), [u32::MAX, 0, 0]);
        assert_eq!(doubles.converted::<i32>(2.0, 0.25).unwrap().to_vec().unwrap(), [i32::MAX, -15, 0]);

        // Bit-exact: a value that is only moved keeps its NaN payload, and stays subnormal.
        let odd = [f32::from_bits(0x7FC1_2345), f32::from_bits(1), -0.0];
        let same = Vector::from_slice(&context, &odd).unwrap().converted::<f32>(1.0, 0.0).unwrap();
        let same = same.to_vec().unwrap();
        assert_eq!(
            same.iter().map(|value| value.to_bits()).collect::<Vec<_>>(),
            odd.map(f32::to_bits),
            "{name}"
        );
        assert!(Vector::<i32>::zeros(&context, 0).unwrap().converted::<f32>(2.0, 1.0).unwrap().is_empty());
    }
}

#[test]
fn integers_saturate_in_every_step() {
    for context in contexts() {
        let name = context.name();
        let x = Vector::from_slice(&context, &[200u8, 100, 0, 255]).unwrap();
        let y = Vector::from_slice(&context, &[100u8, 100, 1, 255]).unwrap();
        let of = || Elementwise::new(&x);
        assert_eq!(vec_of(of().add(&y).into_array()), [255, 200, 1, 255], "{name}");
        assert_eq!(vec_of(of().subtract(&y).into_array()), [100, 0, 0, 0], "{name}");
        assert_eq!(vec_of(of().multiply(&y).into_array()), [255, 255, 0, 255], "{name}");
        assert_eq!(
            vec_of(of().add_scalar(100).subtract_scalar(100).into_array()),
            [155, 100, 0, 155],
            "{name}"
        );
        assert_eq!(vec_of(of().clamp(1, 101).relu().relu6().into_array()), [6, 6, 1, 6], "{name}");

        let extremes = [i32::MIN, i32::MAX, -1, 65_536];
        let x = Vector::from_slice(&context, &extremes).unwrap();
        let y = Vector::from_slice(&context, &[-1i32, i32::MAX, i32::MIN, 65_536]).unwrap();
        assert_eq!(
            vec_of(Elementwise::new(&x).add(&y).into_array()),
            [i32::MIN, i32::MAX, i32::MIN, 131_072]
        );
        let difference = vec_of(Elementwise::new(&x).subtract(&y).into_array());
        assert_eq!(difference, [i32::MIN + 1, 0, i32::MAX, 0], "{name}");
        assert_eq!(vec_of(Elementwise::new(&x).multiply(&y).into_array()), [i32::MAX; 4], "{name}");
        assert_eq!(vec_of(Elementwise::new(&x).relu().into_array()), [0, i32::MAX, 0, 65_536]);

        let x = Vector::from_slice(&context, &[u32::MAX, 3, 65_536]).unwrap();
        assert_eq!(vec_of(Elementwise::new(&x).multiply(&x).into_array()), [u32::MAX, 9, u32::MAX], "{name}");
        assert_eq!(vec_of(Elementwise::new(&x).subtract_scalar(4).into_array()), [u32::MAX - 4, 0, 65_532]);
        let x = Vector::from_slice(&context, &[u16::MAX, 255, 300]).unwrap();
        assert_eq!(
            vec_of(Elementwise::new(&x).multiply(&x).into_array()),
            [u16::MAX, 65_025, u16::MAX],
            "{name}"
        );
        let x = Vector::from_slice(&context, &[i8::MIN, 11, -12]).unwrap();
        assert_eq!(vec_of(Elementwise::new(&x).multiply(&x).into_array()), [i8::MAX, 121, i8::MAX], "{name}");
    }
}

fn vec_of<T: tripipe::Element>(made: Result<Vector<T>, Error>) -> Vec<T> {
    made.unwrap().to_vec().unwrap()
}

/// The complementary error function, by Simpson's rule on its definition: 2 / sqrt(pi) times the integral of exp(-t t)
/// from x on.
fn erfc(x: f64) -> f64 {
    let (steps, end) = (20_000, 12.0f64.max(x + 8.0));
    let width = (end - x) / f64::from(steps);
    let at = |step: i32| (-(x + width * f64::from(step)).powi(2)).exp();
    let inside: f64 = (1..steps).map(|step| at(step) * if step % 2 == 1 { 4.0 } else { 2.0 }).sum();
    (at(0) + at(steps) + inside) * width / 3.0 * std::f64::consts::FRAC_2_SQRT_PI
}

#[test]
fn activations_are_those_of_the_definitions() {
    let values: Vec<f32> = (-60..=60).map(|step| step as f32 * 0.27).collect();
    let wide: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
    let near = |found: &[f32], want: fn(f64) -> f64, bound: fn(f64, f64) -> f64| {
        for (found, x) in found.iter().zip(&wide) {
            let want = want(*x);
            assert!((f64::from(*found) - want).abs() <= bound(*x, want) + 1e-38, "{x}: {found}, {want}");
        }
    };
    for context in contexts() {
        let x = Vector::from_slice(&context, &values).unwrap();
        let of = || Elementwise::new(&x);
        near(
            &vec_of(of().sigmoid().into_array()),
            |x| 1.0 / (1.0 + (-x).exp()),
            |_, want| want * 2f64.powi(-20),
        );
        near(&vec_of(of().tanh().into_array()), f64::tanh, |_, want| want.abs() * 2f64.powi(-20));
        let gelu = |x: f64| 0.5 * x * erfc(-x * std::f64::consts::FRAC_1_SQRT_2);
        near(&vec_of(of().gelu().into_array()), gelu, |x, _| x.abs() * 2f64.powi(-19));
        near(&vec_of(of().relu6().into_array()), |x| x.clamp(0.0, 6.0), |_, _| 0.0);

        let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0];
        let x = Vector::from_slice(&context, &special).unwrap();
        let of = || Elementwise::new(&x);
        let name = context.name();
        for (found, want) in [
            (vec_of(of().relu().into_array()), [f32::INFINITY, 0.0, 0.0]),
            (vec_of(of().clamp(-1.0, 2.0).into_array()), [2.0, -1.0, 0.0]),
            (vec_of(of().sigmoid().into_array()), [1.0, 0.0, 0.5]),
            (vec_of(of().tanh().into_array()), [1.0, -1.0, 0.0]),
            (vec_of(of().gelu().into_array()), [f32::INFINITY, 0.0, 0.0]),
        ] {
            assert!(found[0].is_nan(), "{name}: {found:?}");
            let near =
                |(found, want): (&f32, &f32)| found == want || (found - want).abs() <= 8.0 * f32::EPSILON;
            assert!(found[1..].iter().zip(&want).all(near), "{name}: {found:?}, {want:?}");
        }
    }
}

/// Halves are computed in f32 and rounded once; doubles are computed in f64.
#[test]
fn halves_and_doubles_keep_their_digits() {
    for context in contexts() {
        let halves = [1.0, 65_504.0, 0.1].map(f16::from_f32);
        let x = Vector::from_slice(&context, &halves).unwrap();
        // 65504 x 4, an intermediate result, exceeds the largest half.
        let same =
            Elementwise::new(&x).multiply_scalar(f16::from_f32(4.0)).multiply_scalar(f16::from_f32(0.25));
        assert_eq!(vec_of(same.into_array()), halves, "{}", context.name());
        let doubles = [0.1f64, 1e300, -1.0 / 3.0];
        let y = Vector::from_slice(&context, &doubles).unwrap();
        let sums = vec_of(Elementwise::new(&y).add(&y).multiply_scalar(0.7).tanh().into_array());
        for (found, x) in sums.iter().zip(doubles) {
            assert!((found - ((x + x) * 0.7).tanh()).abs() < 1e-15, "{found}");
        }
    }
}

/// Steps of `f32` are rounded to `f32`, and steps of `f16` to `f32`, also if the result is stored in `f64`.
#[test]
fn the_results_type_does_not_change_the_steps() {
    for context in contexts() {
        let single = Vector::from_slice(&context, &[0.1f32, 3e38, -7.3]).unwrap();
        let mut wide = Vector::<f64>::zeros(&context, 3).unwrap();
        drop(Elementwise::new(&single).multiply(&single).store(&mut wide).unwrap());
        let want = [0.1f32 * 0.1, f32::INFINITY, -7.3f32 * -7.3].map(f64::from);
        assert_eq!(wide.to_vec().unwrap(), want, "{}", context.name());

        let numbers = [0.1f32, 60000.0, -7.3].map(f16::from_f32);
        let halves = Vector::from_slice(&context, &numbers).unwrap();
        drop(Elementwise::new(&halves).multiply(&halves).multiply(&halves).store(&mut wide).unwrap());
        let cube = |x: f32| f64::from(x * x * x);
        assert_eq!(wide.to_vec().unwrap(), numbers.map(|x| cube(x.to_f32())), "{}", context.name());
    }
}

/// Parts of matrices and images: the elements between them are unchanged.
#[test]
fn parts_of_matrices_and_images_are_operands() {
    for context in contexts() {
        let name = context.name();
        let whole: Vec<i32> = (0..20).collect();
        let a = Matrix::from_slice(&context, Extents::new(4, 5), &whole).unwrap();
        let b = Matrix::with_order(
            &context,
            Extents::new(3, 2),
            Order::ColumnMajor,
            &[100, 200, 300, 400, 500, 600],
        )
        .unwrap();
        let block = a.block(1..3, 1..4).unwrap();
        let sum = Elementwise::new(block).add(b.transposed()).into_array().unwrap();
        assert_eq!(sum.to_vec().unwrap(), [106, 207, 308, 411, 512, 613], "{name}");
        assert_eq!(
            (block.sum().unwrap().wait().unwrap(), block.max().unwrap().wait().unwrap()),
            (57, Some((13, MatrixPosition { row: 1, column: 2 }))),
            "{name}"
        );
        let first = MatrixPosition { row: 0, column: 0 };
        assert_eq!(block.transposed().min().unwrap().wait().unwrap(), Some((6, first)));
        assert_eq!(
            block.dot(&b.transposed()).unwrap().wait().unwrap(),
            600 + 7 * 200 + 8 * 300 + 11 * 400 + 12 * 500 + 13 * 600
        );
        let mut target = Matrix::from_slice(&context, Extents::new(4, 5), &[-1i32; 20]).unwrap();
        let part = target.block_mut(2..4, 0..3).unwrap();
        Elementwise::new(block).multiply_scalar(2).store(part).unwrap().wait().unwrap();
        let mut want = [-1; 20];
        want[10..13].copy_from_slice(&[12, 14, 16]);
        want[15..18].copy_from_slice(&[22, 24, 26]);
        assert_eq!(target.to_vec().unwrap(), want, "{name}");
        Elementwise::in_place(target.block_mut(0..4, 4..5).unwrap())
            .add_scalar(5)
            .run()
            .unwrap()
            .wait()
            .unwrap();
        for place in [4, 9, 14, 19] {
            want[place] = 4;
        }
        assert_eq!(target.to_vec().unwrap(), want, "{name}");

        // Planes, packed pixels with gaps, and a region.
        let pixels = bytes(3 * 4 * 3);
        let planes = Raster::planar(Size::new(4, 3), 3, PixelType::U8).with_pitch(6);
        let mut source = vec![7; planes.elements().unwrap()];
        for (place, value) in pixels.iter().enumerate() {
            source[planes.index(place / 3 % 4, place / 12, place % 3)] = *value;
        }
        let planar = Image::with_raster(&context, planes, &source).unwrap();
        let packed = Image::from_slice(&context, Size::new(4, 3), 3, &pixels).unwrap();
        let doubled = Elementwise::new(&packed).add(&planar).into_array().unwrap();
        let want: Vec<u8> = pixels.iter().map(|value| value.saturating_add(*value)).collect();
        assert_eq!(doubled.to_vec().unwrap(), want, "{name}");
        let doubled = Elementwise::new(&planar).add(&packed).into_array().unwrap();
        assert_eq!(doubled.to_packed_vec().unwrap(), want, "{name}");
        assert_eq!(doubled.raster().plane_pitch, 12);
        let sum: i64 = pixels.iter().map(|value| i64::from(*value)).sum();
        assert_eq!(
            (packed.sum().unwrap().wait().unwrap(), planar.sum().unwrap().wait().unwrap()),
            (sum, sum),
            "{name}"
        );
        let largest = *pixels.iter().max().unwrap();
        let place = pixels.iter().position(|value| *value == largest).unwrap();
        let place = ImagePosition { x: place / 3 % 4, y: place / 12, channel: place % 3 };
        for image in [&packed, &planar] {
            assert_eq!(image.max().unwrap().wait().unwrap(), Some((largest, place)), "{name}");
            let region = image.region(1, 1, Size::square(2)).unwrap();
            let inside: Vec<u8> =
                [15, 16, 17, 18, 19, 20, 27, 28, 29, 30, 31, 32].map(|place| pixels[place]).to_vec();
            assert_eq!(region.to_packed_vec().unwrap(), inside, "{name}");
            assert_eq!(
                region.sum().unwrap().wait().unwrap(),
                inside.iter().map(|value| i64::from(*value)).sum::<i64>()
            );
            let scaled = region.converted::<f32>(0.5, -1.0).unwrap();
            let want: Vec<f32> = inside.iter().map(|value| f32::from(*value) * 0.5 - 1.0).collect();
            assert_eq!(scaled.to_packed_vec().unwrap(), want, "{name}");
            let smallest = inside.iter().min().copied().unwrap();
            let place = inside.iter().position(|value| *value == smallest).unwrap();
            assert_eq!(
                region.min().unwrap().wait().unwrap(),
                Some((smallest, ImagePosition { x: place / 3 % 2, y: place / 6, channel: place % 3 })),
                "{name}"
            );
        }
    }
}

#[test]
fn mismatched_operands_are_rejected() {
    let contexts = contexts();
    for context in &contexts {
        let x = Vector::from_slice(context, &[1.0f32, 2.0]).unwrap();
        let longer = Vector::from_slice(context, &[1.0f32; 3]).unwrap();
        let refused = |made: Result<Vector<f32>, Error>, part: &str| {
            let error = made.unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        refused(Elementwise::new(&x).add(&longer).into_array(), "a vector of 3, expected a vector of 2");
        let matrix = Matrix::from_slice(context, Extents::new(1, 2), &[1.0f32; 2]).unwrap();
        refused(Elementwise::new(&x).multiply(&matrix).into_array(), "a matrix of 1x2");
        refused(Elementwise::new(&x).clamp(2.0, 1.0).into_array(), "clamp");
        refused(Elementwise::new(&x).clamp(f32::NAN, 1.0).into_array(), "clamp");
        let nine = (0..9).fold(Elementwise::new(&x), |steps, _| steps.relu());
        refused(nine.into_array(), "at most 8");
        let eight = (0..8).fold(Elementwise::new(&x), |steps, _| steps.add(&x));
        assert_eq!(vec_of(eight.into_array()), [9.0, 18.0], "{}", context.name());
        let mut short = Vector::<u8>::zeros(context, 1).unwrap();
        assert_eq!(Elementwise::new(&x).store(&mut short).unwrap_err().kind(), ErrorKind::Shape);
        // Both share the memory.
        let mut over = x.share().into_matrix(Extents::new(2, 1)).unwrap();
        let alias = x.share().into_matrix(Extents::new(2, 1)).unwrap();
        assert_eq!(Elementwise::new(&alias).relu().store(&mut over).unwrap_err().kind(), ErrorKind::Aliased);
        assert_eq!(
            Elementwise::in_place(&mut over).add(&alias).run().unwrap_err().kind(),
            ErrorKind::Aliased
        );
        assert!(x.dot(&longer).is_err());
        context.finish().unwrap();
    }
    if let [one, other, ..] = &contexts[..] {
        let [x, y] = [one, other].map(|context| Vector::from_slice(context, &[1.0f32; 2]).unwrap());
        assert_eq!(Elementwise::new(&x).add(&y).into_array().unwrap_err().kind(), ErrorKind::OtherContext);
    }
}

/// Empty operands are not errors.
#[test]
fn empty_operands_are_operands() {
    for context in contexts() {
        let none = Vector::<i32>::zeros(&context, 0).unwrap();
        assert_eq!(
            vec_of(Elementwise::new(&none).add(&none).relu().into_array()),
            [0; 0],
            "{}",
            context.name()
        );
        assert_eq!(
            (
                none.sum().unwrap().wait().unwrap(),
                none.min().unwrap().wait().unwrap(),
                none.dot(&none).unwrap().wait().unwrap()
            ),
            (0, None, 0)
        );
        let flat = Matrix::<f32>::zeros(&context, Extents::new(0, 5)).unwrap();
        assert!(Elementwise::new(&flat).gelu().into_array().unwrap().to_vec().unwrap().is_empty());
        assert_eq!((flat.sum().unwrap().wait().unwrap(), flat.max().unwrap().wait().unwrap()), (0.0, None));
        assert_eq!(flat.to_vector().unwrap().len(), 0);
        assert_eq!(flat.into_image().unwrap().size(), Size::new(5, 0));
        let image = Image::<u8>::zeros(&context, Raster::packed(Size::new(3, 0), 2, PixelType::U8)).unwrap();
        assert_eq!((image.sum().unwrap().wait().unwrap(), image.min().unwrap().wait().unwrap()), (0, None));
        assert_eq!(Elementwise::new(&image).add_scalar(3).into_array().unwrap().size(), Size::new(3, 0));
        context.finish().unwrap();
    }
}
