//! Vectors, matrices and histograms.

use bytemuck::{cast_slice, pod_collect_to_vec, pod_read_unaligned};
use fastrand::Rng;
use tripipe_kernels::elementwise::{Grid, MatrixLayout, Reduction, VectorLayout};
use tripipe_kernels::filter::{PixelType, Raster, Size};
use tripipe_kernels::gemm::Extents;
use tripipe_kernels::{Role, elementwise};
use tripipe_launch::ScalarType;

use super::{ONE_INPUT, executors, noise, run_over};

fn floats(values: &[f32]) -> Vec<u8> {
    cast_slice(values).to_vec()
}

#[test]
fn vectors_are_added_and_reduced() {
    let mut random = Rng::with_seed(5);
    for mut executor in executors() {
        for length in [0, 1, 63, 1000] {
            let x = VectorLayout { length, offset: 2, stride: 3 };
            let y = VectorLayout { length, offset: 1, stride: 1 };
            let values =
                |random: &mut Rng, count: usize| (0..count).map(|_| random.f32() - 0.5).collect::<Vec<f32>>();
            let (a, b) = (values(&mut random, 3 * length + 3), values(&mut random, length + 2));
            let doubles = |of: &[f32], vector: VectorLayout| -> Vec<f64> {
                (0..length).map(|i| f64::from(of[vector.offset + i * vector.stride])).collect()
            };
            let (wide_a, wide_b) = (doubles(&a, x), doubles(&b, y));
            let planned = elementwise::axpy(1.5, x, y, PixelType::F32).unwrap();
            let found = run_over(executor.as_mut(), &planned, &ONE_INPUT, &[&floats(&a), &floats(&b)]);
            let found: Vec<f32> = pod_collect_to_vec(&found[1]);
            assert_eq!((found[0], found[length + 1]), (b[0], b[length + 1]), "outside the vector");
            for (found, want) in found[1..].iter().zip(elementwise::reference::axpy(1.5, &wide_a, &wide_b)) {
                assert!((f64::from(*found) - want).abs() < 1e-6, "{found}, {want}");
            }
            let mut reduced = |reduction: Reduction, other: Option<VectorLayout>| -> Vec<u8> {
                let planned = elementwise::reduce(
                    reduction,
                    x.into(),
                    other.map(Grid::from),
                    ScalarType::F32,
                    executor.probe(),
                )
                .unwrap();
                let [a, b] = [floats(&a), floats(&b)];
                let room = vec![0; reduction.result_bytes(ScalarType::F32)];
                let (roles, operands): (Vec<Role>, Vec<&[u8]>) = match other {
                    Some(_) => (vec![Role::Y, Role::X, Role::Result], vec![&b, &a, &room]),
                    None => (vec![Role::X, Role::Result], vec![&a, &room]),
                };
                let found = run_over(executor.as_mut(), &planned, &roles, &operands);
                found.last().unwrap().clone()
            };
            let number = |bytes: &[u8]| f64::from(pod_read_unaligned::<f32>(&bytes[..4]));
            let ones = vec![1.0; length];
            let bound = (length + 2) as f64 * 2f64.powi(-24) * length as f64;
            let sum = number(&reduced(Reduction::Sum, None));
            assert!((sum - elementwise::reference::dot(&wide_a, &ones)).abs() <= bound, "{length}: {sum}");
            let dot = number(&reduced(Reduction::Dot, Some(y)));
            assert!((dot - elementwise::reference::dot(&wide_a, &wide_b)).abs() <= bound, "{length}: {dot}");
            for (reduction, want, none) in [
                (Reduction::Least, elementwise::reference::least(&wide_a), f64::INFINITY),
                (Reduction::Most, elementwise::reference::most(&wide_a), f64::NEG_INFINITY),
            ] {
                let bytes = reduced(reduction, None);
                let found = (number(&bytes), pod_read_unaligned::<u32>(&bytes[4..]));
                assert_eq!(found, want.map_or((none, u32::MAX), |(value, index)| (value, index as u32)));
            }
        }
    }
}

/// Sums of products of 32-bit integers are exact where they exceed 64 bits.
#[test]
fn products_of_32_bit_integers_are_summed_exactly() {
    let mut random = Rng::with_seed(19);
    for mut executor in executors() {
        for element in [ScalarType::I32, ScalarType::U32] {
            let ends: &[u32] = &[0, 1, i32::MAX as u32, i32::MIN as u32, u32::MAX];
            for drawn in [ends, &[i32::MIN as u32], &[u32::MAX], &[i32::MAX as u32]] {
                let mut words = || -> Vec<u32> { (0..777).map(|_| *random.choice(drawn).unwrap()).collect() };
                let (x, y) = (words(), words());
                let wide = |word: u32| match element {
                    ScalarType::I32 => i128::from(word as i32),
                    _ => i128::from(word),
                };
                let want: i128 = x.iter().zip(&y).map(|(x, y)| wide(*x) * wide(*y)).sum();
                let grid = Grid::dense(x.len());
                let planned =
                    elementwise::reduce(Reduction::Dot, grid, Some(grid), element, executor.probe()).unwrap();
                let room = vec![0; Reduction::Dot.result_bytes(element)];
                let operands = [cast_slice(&x), cast_slice(&y), &room];
                let roles = [Role::X, Role::Y, Role::Result];
                let found = run_over(executor.as_mut(), &planned, &roles, &operands).pop().unwrap();
                assert_eq!(Reduction::Dot.exact(element, &found), want, "{element:?} of {drawn:?}");
            }
        }
    }
}

/// Sums of bytes are exact; among equal elements the first is found.
#[test]
fn integers_are_reduced() {
    for mut executor in executors() {
        let bytes: Vec<u8> = (0..5000).map(|i| (i * 7 % 256) as u8).collect();
        let x = VectorLayout::dense(bytes.len());
        let mut reduced = |reduction: Reduction, other: Option<VectorLayout>| {
            let planned = elementwise::reduce(
                reduction,
                x.into(),
                other.map(Grid::from),
                ScalarType::U8,
                executor.probe(),
            )
            .unwrap();
            let (roles, operands): (Vec<Role>, Vec<&[u8]>) = match other {
                Some(_) => (vec![Role::X, Role::Y, Role::Result], vec![&bytes, &bytes, &[0; 8]]),
                None => (vec![Role::X, Role::Result], vec![&bytes, &[0; 8]]),
            };
            run_over(executor.as_mut(), &planned, &roles, &operands).pop().unwrap()
        };
        let sum: i64 = bytes.iter().map(|byte| i64::from(*byte)).sum();
        let squares: i64 = bytes.iter().map(|byte| i64::from(*byte) * i64::from(*byte)).sum();
        assert_eq!(pod_read_unaligned::<i64>(&reduced(Reduction::Sum, None)), sum);
        assert_eq!(pod_read_unaligned::<i64>(&reduced(Reduction::Dot, Some(x))), squares);
        // 7 is coprime to 256: 255 is 7 x 73 - 256, and 0 comes first.
        assert_eq!(pod_collect_to_vec::<u8, u32>(&reduced(Reduction::Least, None)), [0, 0]);
        assert_eq!(pod_collect_to_vec::<u8, u32>(&reduced(Reduction::Most, None)), [255, 73]);
    }
}

#[test]
fn matrices_are_transposed_and_values_counted() {
    for mut executor in executors() {
        for [columns, rows] in [[1, 1], [9, 17], [16, 8]] {
            let matrix: Vec<u16> = (0..columns * rows).map(|i| i as u16).collect();
            let planned =
                elementwise::transpose(MatrixLayout::dense(Extents::new(rows, columns)), 0, rows, 2).unwrap();
            let found = run_over(
                executor.as_mut(),
                &planned,
                &ONE_INPUT,
                &[cast_slice(&matrix), &vec![0; matrix.len() * 2]],
            );
            let want = elementwise::reference::transpose(&matrix, columns);
            assert_eq!(pod_collect_to_vec::<u8, u16>(&found[1]), want);
        }
        // 2 x 2 elements of 16 bytes from rows of 3, into rows of 4.
        let matrix = MatrixLayout { columns: 2, rows: 2, offset: 1, pitch: 3 };
        let source: Vec<u8> = (0..6 * 16).collect();
        let planned = elementwise::transpose(matrix, 0, 4, 16).unwrap();
        let found = run_over(executor.as_mut(), &planned, &ONE_INPUT, &[&source, &[255; 6 * 16]]);
        let first: Vec<u8> = found[1].iter().copied().step_by(16).collect();
        assert_eq!(first, [16, 64, 255, 255, 32, 80]);
        let raster = Raster::planar(Size::new(31, 9), 2, PixelType::U8).with_pitch(40);
        let source = noise(&mut Rng::with_seed(6), PixelType::U8, raster.elements().unwrap());
        let pixels = (0..2).flat_map(|channel| (0..9 * 31).map(move |i| [i % 31, i / 31, channel]));
        let want = elementwise::reference::histogram(
            pixels.map(|[x, y, channel]| source[raster.index(x, y, channel)]),
        );
        let planned = elementwise::histogram(&raster, executor.probe()).unwrap();
        let found = run_over(executor.as_mut(), &planned, &ONE_INPUT, &[&source, &[9; 1024]]);
        assert_eq!(pod_collect_to_vec::<u8, u32>(&found[1]), want);
        // Packed pixels have one plane, whatever the plane pitch; an image without columns has nothing to count.
        let odd = Raster { plane_pitch: 7, ..Raster::packed(Size::new(4, 2), 3, PixelType::U8) };
        let planned = elementwise::histogram(&odd, executor.probe()).unwrap();
        let found = run_over(executor.as_mut(), &planned, &ONE_INPUT, &[&[5; 40], &[9; 1024]]);
        let found: Vec<u32> = pod_collect_to_vec(&found[1]);
        assert_eq!((found[5], found.iter().sum::<u32>()), (24, 24));
        let none = Raster { pitch: 5, ..Raster::packed(Size::new(0, 3), 1, PixelType::U8) };
        let planned = elementwise::histogram(&none, executor.probe()).unwrap();
        let found = run_over(executor.as_mut(), &planned, &ONE_INPUT, &[&[5; 40], &[9; 1024]]);
        assert_eq!(pod_collect_to_vec::<u8, u32>(&found[1]), [0; 256]);
        let wide = Raster::packed(Size::new(3, 1), 1, PixelType::U16);
        let planned = elementwise::histogram(&wide, executor.probe()).unwrap();
        let values = [0x01FFu16, 0x0100, 0xFF00];
        let found = run_over(executor.as_mut(), &planned, &ONE_INPUT, &[cast_slice(&values), &[9; 1024]]);
        let found: Vec<u32> = pod_collect_to_vec(&found[1]);
        assert_eq!((found[1], found[255], found.iter().sum::<u32>()), (2, 1, 3));
    }
}
