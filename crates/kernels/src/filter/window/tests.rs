use super::*;

/// Laplace has two distinct rows; an outer product has one, however it is given.
#[test]
fn rows_are_multiples_of_few() {
    let laplace = [-1, -1, -1, -1, 9, -1, -1, -1, -1];
    let want = (vec![1, 1, 1, 1, -9, 1], vec![0, 1, 0], vec![-1, -1, -1]);
    assert_eq!(distinct_rows(&laplace, 3, primitive), want);
    let sobel = [-1, 0, 1, -2, 0, 2, -1, 0, 1];
    let want = (vec![1, 0, -1], vec![0, 0, 0], vec![-1, -2, -1]);
    assert_eq!(distinct_rows(&sobel, 3, primitive), want);
    let hole = [2, 4, 0, 0, 3, 6];
    assert_eq!(distinct_rows(&hole, 2, primitive), (vec![1, 2, 0, 0], vec![0, 1, 0], vec![2, 0, 3]));
}

/// For bytes: 17 x 255 and 8 x 255 fit `short`; 256 x 255 + 128 = 65408 fits `ushort`; 65536 x 255 needs `int`,
/// and so do signed sums with an offset that exceeds `short`. A mean of 225 is divided unsigned: 225 x 255 +
/// 112 = 57487.
#[test]
fn sums_have_the_narrowest_sufficient_type() -> Result<(), FilterError> {
    let work = |linear: &Linear, element: PixelType| {
        linear.fixed(element).map(|fixed| work_type(&fixed, element, true))
    };
    assert_eq!(work(&Linear::laplace_sharpen(), PixelType::U8)?, "short");
    assert_eq!(work(&Linear::sobel_x(), PixelType::U8)?, "short");
    assert_eq!(work(&Linear::gaussian(5, None)?, PixelType::U8)?, "ushort");
    assert_eq!(work(&Linear::gaussian(7, Some(1.0))?, PixelType::U8)?, "int");
    let large = Linear::full(Size::new(3, 1), vec![1 << 14, 1 << 14, 3], 1 << 15)?;
    assert_eq!(work(&large, PixelType::U16)?, "uint");
    assert_eq!(work(&Linear::gaussian(7, None)?, PixelType::I16)?, "int");
    assert_eq!(work(&Linear::mean(Size::square(15))?, PixelType::U8)?, "ushort");
    assert_eq!(work(&Linear::laplace4().with_offset(32000), PixelType::U8)?, "int");
    assert_eq!(work(&Linear::laplace4(), PixelType::I16)?, "int");
    Ok(())
}

#[test]
fn literals_read_back() {
    assert_eq!(float(0.1), "1e-1f");
    assert_eq!(float(-2.5), "-2.5e0f");
    assert_eq!(float(f64::INFINITY), "INFINITY");
    assert_eq!("1.1754944e-38".parse::<f32>(), Ok(f32::MIN_POSITIVE));
    assert_eq!(float(f64::from(f32::MIN_POSITIVE)), "1.1754944e-38f");
}
