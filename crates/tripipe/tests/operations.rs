//! The operations on every device of the machine: the same result as the definition gives, and an explanation.

use half::f16;
use tripipe::filter::{Pixels, laplace};
use tripipe::gemm::{gemm_f16, gemm_f32, gemm_f64};
use tripipe::{Device, Error, devices};

fn bytes(count: usize) -> Vec<u8> {
    (0..count as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 23) as u8).collect()
}

/// The filter by its definition, a channel at a time.
fn sharpened(source: &[u8], [width, height]: [usize; 2], pixels: Pixels) -> Vec<u8> {
    let channels = pixels.bytes();
    let at = |x: usize, y: usize, c: usize| i32::from(source[(y * width + x) * channels + c]);
    let mut result = source.to_vec();
    for y in 1..height.saturating_sub(1) {
        for x in 1..width.saturating_sub(1) {
            for c in 0..channels.min(3) {
                let around: i32 = (y - 1..=y + 1)
                    .flat_map(|y| (x - 1..=x + 1).map(move |x| (x, y)))
                    .map(|(x, y)| at(x, y, c))
                    .sum();
                result[(y * width + x) * channels + c] = (10 * at(x, y, c) - around).clamp(0, 255) as u8;
            }
        }
    }
    result
}

#[test]
fn laplace_is_the_same_on_every_device() {
    for device in devices().devices {
        for pixels in [Pixels::Gray, Pixels::Rgb, Pixels::Rgba] {
            for extents in [[1, 1], [2, 3], [5, 5], [17, 9], [451, 300]] {
                let source = bytes(extents[0] * extents[1] * pixels.bytes());
                let mut result = vec![0; source.len()];
                let explanation = laplace(&device, pixels, extents, &source, &mut result).unwrap();
                assert_eq!(
                    result,
                    sharpened(&source, extents, pixels),
                    "{pixels:?} {extents:?} {explanation:?}"
                );
                assert_eq!(explanation.device, device.name());
                assert!(!explanation.kernel.is_empty() && !explanation.why.is_empty());
                assert!(explanation.total_seconds > 0.0);
            }
        }
    }
}

#[test]
fn products_are_the_same_on_every_device() {
    for device in devices().devices {
        for [m, n, k] in [[1, 1, 1], [3, 5, 7], [64, 64, 64], [65, 33, 129]] {
            // Small whole numbers: every sum is exact, in whatever order.
            let whole = |count: usize| bytes(count).into_iter().map(|byte| f32::from(byte % 5) - 2.0);
            let (a, b): (Vec<f32>, Vec<f32>) = (whole(m * k).collect(), whole(k * n).collect());
            let want: Vec<f32> =
                (0..m * n).map(|i| (0..k).map(|j| a[i / n * k + j] * b[j * n + i % n]).sum()).collect();
            let mut c = vec![f32::NAN; m * n];
            let explanation = gemm_f32(&device, [&a, &b], &mut c, [m, n, k]).unwrap();
            assert_eq!(c, want, "{m}x{n}x{k} {explanation:?}");

            let [a16, b16, want16] =
                [&a, &b, &want].map(|v| v.iter().map(|v| f16::from_f32(*v)).collect::<Vec<_>>());
            let mut c16 = vec![f16::NAN; m * n];
            match gemm_f16(&device, [&a16, &b16], &mut c16, [m, n, k]) {
                Ok(_) => assert_eq!(c16, want16),
                Err(Error::NotOffered { .. }) => assert!(!device.probe().unwrap().fp16()),
                Err(error) => panic!("{error}"),
            }

            let [a64, b64, want64] =
                [&a, &b, &want].map(|v| v.iter().map(|v| f64::from(*v)).collect::<Vec<_>>());
            let mut c64 = vec![f64::NAN; m * n];
            match gemm_f64(&device, [&a64, &b64], &mut c64, [m, n, k]) {
                Ok(_) => assert_eq!(c64, want64),
                Err(Error::NotOffered { .. }) => assert!(matches!(device, Device::OpenCl(_))),
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn empty_products_are_zeros() {
    for device in devices().devices {
        let mut c = [f32::NAN; 6];
        gemm_f32(&device, [&[], &[]], &mut c, [2, 3, 0]).unwrap();
        assert_eq!(c, [0.0; 6]);
        gemm_f32(&device, [&[], &[1.0; 12]], &mut [], [0, 3, 4]).unwrap();
    }
}

#[test]
fn operands_of_another_length_are_refused() {
    for device in devices().devices {
        let error = laplace(&device, Pixels::Rgb, [4, 4], &[0; 47], &mut [0; 48]).unwrap_err();
        assert_eq!(error.to_string(), "the source has 47 elements, 48 were expected");
        let error = laplace(&device, Pixels::Rgb, [usize::MAX, 4], &[0; 48], &mut [0; 48]).unwrap_err();
        assert!(matches!(error, Error::Length { operand: "the source", .. }));
        let error = gemm_f32(&device, [&[0.0; 4], &[0.0; 5]], &mut [0.0; 4], [2, 2, 2]).unwrap_err();
        assert_eq!(error.to_string(), "B has 5 elements, 4 were expected");
    }
}
