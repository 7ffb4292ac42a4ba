//! Regions, gaps and lengths of sources and results.

use tripipe_cpu::{self as cpu, CpuError, Threads};
use tripipe_kernels::filter::reference;
use tripipe_kernels::filter::{Border, Chain, FilterError, Linear, PixelType, Raster, Size, Stage};

use super::{linear, noise};

/// Regions, gaps, different layouts of source and result, and unaligned bytes. Nothing outside the result's pixels is
/// written.
#[test]
fn places() {
    let chain = Chain::one(linear(Linear::gaussian(3, None).unwrap()), Border::Reflect);
    for (element, channels) in
        [(PixelType::U8, 3), (PixelType::U16, 1), (PixelType::F16, 2), (PixelType::F32, 4)]
    {
        let size = Size::new(23, 11);
        let all = [Raster::packed(size, channels, element), Raster::planar(size, channels, element)];
        let parts = all.map(|raster| {
            let pitched = raster.with_pitch(raster.pitch + 5);
            pitched.region(3, 2, Size::new(14, 7)).unwrap()
        });
        for from in parts {
            for to in parts {
                let bytes = element.bytes();
                let source = noise(element, from.elements().unwrap() * bytes, 5);
                // The bytes that differ afterwards are those that are not written.
                let [want, other] = [0xA5, 0x5A].map(|byte| {
                    let mut want = vec![byte; to.elements().unwrap() * bytes];
                    reference::apply(&chain, &from, &source, &to, &mut want).unwrap();
                    want
                });
                // Shifted by one byte, so that it is unaligned whatever the alignment of the vector.
                let mut shifted = vec![0; source.len() + 1];
                shifted[1..].copy_from_slice(&source);
                for off in [0, 1] {
                    let mut result = vec![0xA5; want.len() + off];
                    cpu::filter(&chain, &from, &shifted[1..], &to, &mut result[off..], Threads::One).unwrap();
                    if element.is_float() {
                        reference::verify(&chain, &from, &source, &to, &result[off..]).unwrap();
                        let gaps = want.iter().zip(&other).zip(&result[off..]).filter(|((a, b), _)| a != b);
                        assert!(gaps.clone().count() > 0, "{to:?}");
                        assert!(gaps.map(|(_, found)| found).all(|found| *found == 0xA5), "{to:?}");
                    } else {
                        assert_eq!(result[off..], want, "{from:?} {to:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn refused() {
    let from = Raster::packed(Size::new(4, 3), 3, PixelType::U8);
    let chain = Chain::one(Stage::Median { size: 3 }, Border::Wrap);
    let mut result = [7; 36];
    let error = cpu::filter(&chain, &from, &[0; 35], &from, &mut result, Threads::All).unwrap_err();
    assert_eq!(error, CpuError::Filter(FilterError::Length { what: "source", want: 36, found: 35 }));
    let error = cpu::filter(&chain, &from, &[0; 36], &from, &mut result[1..], Threads::All).unwrap_err();
    assert_eq!(error.to_string(), "the result has 35 bytes; its pixels take 36");
    let four = Chain::one(Stage::Median { size: 4 }, Border::Wrap);
    assert!(cpu::filter(&four, &from, &[0; 36], &from, &mut result, Threads::All).is_err());
    assert_eq!(result, [7; 36]);
    // No pixels: there is nothing to do.
    for size in [Size::new(0, 3), Size::new(4, 0), Size::square(0)] {
        let none = Raster::packed(size, 3, PixelType::U8);
        cpu::filter(&chain, &none, &[], &none, &mut [], Threads::All).unwrap();
    }
}
