//! Conversions between vectors, matrices and images.

use half::f16;
use tripipe::filter::{PixelType, Raster};
use tripipe::gemm::Product;
use tripipe::{ErrorKind, Extents, Image, Matrix, Order, Size, Vector};

use crate::library::{bytes, contexts};

/// If the layouts agree both share the memory: a write to one is visible in the other.
#[test]
fn layouts_that_agree_share_memory() {
    for context in contexts() {
        let name = context.name();
        let pixels: Vec<f32> = (0..12).map(|value| value as f32).collect();
        let mut shared = Vector::from_slice(&context, &pixels).unwrap();
        let matrix = shared.share().into_matrix(Extents::new(3, 4)).unwrap();
        let image = matrix.into_image().unwrap();
        assert_eq!((image.size(), image.channels()), (Size::new(4, 3), 1), "{name}");
        let matrix = image.into_matrix().unwrap();
        assert_eq!([matrix.rows(), matrix.columns()], [3, 4]);
        let vector = matrix.into_vector().unwrap();
        let image = vector.into_image(Raster::packed(Size::square(2), 3, PixelType::F32)).unwrap();
        let vector = image.into_vector().unwrap();
        let matrix = vector.into_matrix(Extents::new(6, 2)).unwrap();
        shared.write(&[5.0; 12]).unwrap();
        assert_eq!(matrix.to_vec().unwrap(), [5.0; 12], "{name}");
    }
}

/// If they do not, a copy is made, and the result is the same.
#[test]
fn other_layouts_are_copied() {
    for context in contexts() {
        let name = context.name();
        let columns =
            Matrix::with_order(&context, Extents::new(2, 3), Order::ColumnMajor, &[1i16, 4, 2, 5, 3, 6])
                .unwrap();
        assert_eq!(columns.to_vector().unwrap().to_vec().unwrap(), [1, 2, 3, 4, 5, 6], "{name}");
        let image = columns.to_image().unwrap();
        assert_eq!(
            (image.size(), image.to_vec().unwrap()),
            (Size::new(3, 2), vec![1, 2, 3, 4, 5, 6]),
            "{name}"
        );
        assert_eq!(
            columns.into_image().unwrap().into_vector().unwrap().to_vec().unwrap(),
            [1, 2, 3, 4, 5, 6]
        );

        let gaps = Raster { offset: 2, ..Raster::packed(Size::new(3, 2), 1, PixelType::U8) }.with_pitch(5);
        let image = Image::with_raster(&context, gaps, &[0u8, 0, 1, 2, 3, 9, 9, 4, 5, 6]).unwrap();
        assert_eq!(image.to_matrix().unwrap().to_vec().unwrap(), [1, 2, 3, 4, 5, 6], "{name}");
        let matrix = image.into_matrix().unwrap();
        assert_eq!(
            ([matrix.rows(), matrix.columns()], matrix.to_vec().unwrap()),
            ([2, 3], vec![1, 2, 3, 4, 5, 6])
        );

        let pixels = bytes(30).into_iter().map(|byte| f16::from_f32(f32::from(byte))).collect::<Vec<_>>();
        let planar = Raster::planar(Size::new(5, 2), 3, PixelType::F16);
        let planes = Image::with_raster(&context, planar, &pixels).unwrap();
        let want: Vec<f16> = (0..30).map(|place| pixels[place % 3 * 10 + place / 3]).collect();
        assert_eq!(planes.to_vector().unwrap().to_vec().unwrap(), want, "{name}");
        let region = planes.region(3, 1, Size::new(2, 1)).unwrap();
        assert_eq!(region.to_vector().unwrap().to_vec().unwrap(), want[24..], "{name}");
        let own = region.to_image().unwrap();
        assert_eq!(
            (own.size(), own.channels(), own.to_vec().unwrap()),
            (Size::new(2, 1), 3, want[24..].to_vec())
        );
        assert_eq!(planes.into_vector().unwrap().to_vec().unwrap(), want, "{name}");

        let doubles =
            Matrix::from_slice(&context, Extents::new(2, 2), &[1.0f64, f64::NAN, -0.0, 4.0]).unwrap();
        let turned = doubles.transposed().to_matrix().unwrap().to_vec().unwrap();
        assert_eq!(
            turned.iter().map(|value| value.to_bits()).collect::<Vec<_>>(),
            [1.0, -0.0, f64::NAN, 4.0].map(f64::to_bits)
        );
    }
}

/// Views keep pitch and offset, and are read and written in place: a product into a region of an image.
#[test]
fn views_never_copy() {
    for context in contexts() {
        let name = context.name();
        let a = Matrix::from_slice(&context, Extents::new(2, 2), &[1.0f32, 2.0, 3.0, 4.0]).unwrap();
        let mut image = Image::from_slice(&context, Size::new(4, 3), 1, &[9.0f32; 12]).unwrap();
        let region = image.region_mut(1, 1, Size::square(2)).unwrap().as_matrix_mut().unwrap();
        Product::new(&a, &a).unwrap().store(region).unwrap().wait().unwrap();
        let want = [9.0, 9.0, 9.0, 9.0, 9.0, 7.0, 10.0, 9.0, 9.0, 15.0, 22.0, 9.0];
        assert_eq!(image.to_vec().unwrap(), want, "{name}");
        let view = image.region(1, 1, Size::square(2)).unwrap().as_matrix().unwrap();
        assert_eq!(view.to_vec().unwrap(), [7.0, 10.0, 15.0, 22.0], "{name}");
        assert_eq!(view.as_image().unwrap().to_packed_vec().unwrap(), [7.0, 10.0, 15.0, 22.0]);
        assert_eq!(view.transposed().as_image().unwrap_err().kind(), ErrorKind::Unsupported);
        let colour = Image::from_slice(&context, Size::square(2), 3, &[0u8; 12]).unwrap();
        assert!(colour.as_matrix().is_err() && colour.to_matrix().is_err() && colour.into_matrix().is_err());

        let mut matrix = Matrix::from_slice(&context, Extents::new(3, 4), &want).unwrap();
        assert_eq!(matrix.as_image().unwrap().raster().pitch, 4);
        let part = matrix.block_mut(0..2, 1..3).unwrap().as_image_mut().unwrap();
        tripipe::Elementwise::in_place(part).multiply_scalar(-1.0).run().unwrap().wait().unwrap();
        let mut found = want;
        for place in [1, 2, 5, 6] {
            found[place] = -found[place];
        }
        assert_eq!(matrix.to_vec().unwrap(), found, "{name}");
        let mut vector = Vector::from_slice(&context, &[1i32, 2, 3, 4, 5, 6]).unwrap();
        assert_eq!(
            vector.as_matrix(Extents::new(2, 3)).unwrap().transposed().to_vec().unwrap(),
            [1, 4, 2, 5, 3, 6]
        );
        tripipe::Elementwise::in_place(vector.as_matrix_mut(Extents::new(3, 2)).unwrap())
            .add_scalar(1)
            .run()
            .unwrap()
            .wait()
            .unwrap();
        assert_eq!(vector.to_vec().unwrap(), [2, 3, 4, 5, 6, 7], "{name}");
        assert!(vector.as_matrix(Extents::new(4, 2)).is_err());
    }
}
