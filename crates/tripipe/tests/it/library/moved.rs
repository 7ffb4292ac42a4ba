//! Elements that are moved into a context and out of it.

#[cfg(feature = "image")]
use image::DynamicImage;
use tripipe::filter::{Border, Chain, Raster};
use tripipe::{Context, Device, ErrorKind, Extents, Image, Matrix, Size, Vector};

use crate::library::{bytes, contexts};

fn cpu() -> Context {
    Context::new(&Device::Cpu).unwrap()
}

fn address<T>(elements: &[T]) -> usize {
    elements.as_ptr().addr()
}

#[test]
fn what_goes_in_comes_out_on_every_device() {
    for context in contexts() {
        let numbers: Vec<f32> = bytes(600).into_iter().map(f32::from).collect();
        let vector = Vector::from_vec(&context, numbers.clone()).unwrap();
        assert_eq!((vector.len(), vector.to_vec().unwrap()), (600, numbers.clone()));
        assert_eq!(vector.into_vec().unwrap(), numbers);
        let matrix = Matrix::from_vec(&context, Extents::new(20, 30), numbers.clone()).unwrap();
        assert_eq!((matrix.rows(), matrix.columns()), (20, 30));
        assert_eq!(matrix.to_transposed().unwrap().to_transposed().unwrap().into_vec().unwrap(), numbers);
        let image = Image::from_vec(&context, Size::new(20, 10), 3, bytes(600)).unwrap();
        assert_eq!(*image.raster(), Raster::packed(Size::new(20, 10), 3, tripipe::filter::PixelType::U8));
        assert_eq!(image.into_vec().unwrap(), bytes(600));
        assert!(Vector::<u16>::from_vec(&context, Vec::new()).unwrap().into_vec().unwrap().is_empty());
    }
}

/// The address of a `Vec` says whether it was moved.
#[test]
fn the_cpu_path_copies_nothing() {
    let context = cpu();
    let pixels = bytes(90_000);
    let begin = address(&pixels);
    let photo = Image::from_vec(&context, Size::new(300, 100), 3, pixels).unwrap();
    assert_eq!(photo.map(address).unwrap(), begin);
    let chain = Chain::parse("gaussian:5", Border::Reflect101).unwrap();
    let blurred: Image<u8> = photo.filtered(&chain).unwrap();
    let made = blurred.map(address).unwrap();
    assert_eq!(address(&blurred.into_vec().unwrap()), made);
    assert_eq!(address(&photo.into_packed_vec().unwrap()), begin);

    let mut vector = Vector::<f64>::zeros(&context, 5000).unwrap();
    for _ in 0..2 {
        let numbers = vec![1.5; 5000];
        let begin = address(&numbers);
        vector.write(numbers).unwrap();
        assert_eq!(vector.map(address).unwrap(), begin);
    }
    assert_eq!(vector.into_vec().unwrap(), vec![1.5; 5000]);
    let numbers = vec![7i16; 5000];
    let begin = address(&numbers);
    let vector = Vector::from_vec(&context, numbers).unwrap();
    assert_eq!(address(&vector.into_vec().unwrap()), begin);
}

#[test]
fn shared_memory_stays_with_the_others() {
    for context in contexts() {
        let vector = Vector::from_vec(&context, bytes(600)).unwrap();
        let image = vector
            .share()
            .into_image(Raster::packed(Size::new(20, 10), 3, tripipe::filter::PixelType::U8))
            .unwrap();
        assert_eq!(image.into_vec().unwrap(), bytes(600));
        assert_eq!(vector.into_vec().unwrap(), bytes(600));

        let mut vector = Vector::from_vec(&context, bytes(600)).unwrap();
        let image = vector
            .share()
            .into_image(Raster::packed(Size::new(20, 10), 3, tripipe::filter::PixelType::U8))
            .unwrap();
        let refused = vector.map_mut(|_| image.into_vec()).unwrap();
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Mapped);
        assert_eq!(vector.into_vec().unwrap(), bytes(600));
    }
}

#[test]
fn the_number_of_elements_is_checked() {
    for context in contexts() {
        let kind = |error: tripipe::Error| error.kind();
        let short = Matrix::from_vec(&context, Extents::new(2, 2), vec![1i32; 3]);
        assert_eq!(short.map_err(kind).unwrap_err(), ErrorKind::Shape);
        let short = Image::from_vec(&context, Size::square(2), 3, vec![1u8; 11]);
        assert_eq!(short.map_err(kind).unwrap_err(), ErrorKind::Shape);
    }
}

/// Rows with gaps are packed, which needs a copy.
#[test]
fn gaps_do_not_come_out() {
    for context in contexts() {
        let raster =
            Raster { pitch: 8, ..Raster::packed(Size::new(5, 4), 1, tripipe::filter::PixelType::U8) };
        let all = bytes(8 * 3 + 5);
        let want: Vec<u8> = all.chunks(8).flat_map(|row| &row[..5]).copied().collect();
        let image = Image::with_raster(&context, raster, &all).unwrap();
        assert_eq!(image.into_packed_vec().unwrap(), want);
    }
}

#[cfg(feature = "image")]
#[test]
fn pictures_are_moved_in_their_own_depth() {
    let rgb = image::RgbImage::from_raw(20, 10, bytes(600)).unwrap();
    let pictures = [
        DynamicImage::ImageRgb8(rgb.clone()),
        DynamicImage::ImageLumaA8(DynamicImage::ImageRgb8(rgb.clone()).to_luma_alpha8()),
        DynamicImage::ImageRgb16(DynamicImage::ImageRgb8(rgb.clone()).to_rgb16()),
        DynamicImage::ImageRgb32F(DynamicImage::ImageRgb8(rgb).to_rgb32f()),
    ];
    for context in contexts() {
        for picture in &pictures {
            let image = Image::<u8>::from_owned_picture(&context, picture.clone()).unwrap();
            let want = Image::<u8>::from_picture(&context, picture).unwrap().to_picture().unwrap();
            assert_eq!(image.into_picture().unwrap(), want);
            let deep = Image::<u16>::from_owned_picture(&context, picture.clone()).unwrap();
            let want = Image::<u16>::from_picture(&context, picture).unwrap().to_picture().unwrap();
            assert_eq!(deep.into_picture().unwrap(), want);
        }
    }
    let context = cpu();
    for picture in pictures {
        let begin = address(picture.as_bytes());
        let back = match picture {
            DynamicImage::ImageRgb16(_) => {
                Image::<u16>::from_owned_picture(&context, picture).unwrap().into_picture()
            }
            DynamicImage::ImageRgb32F(_) => {
                Image::<f32>::from_owned_picture(&context, picture).unwrap().into_picture()
            }
            _ => Image::<u8>::from_owned_picture(&context, picture).unwrap().into_picture(),
        };
        assert_eq!(address(back.unwrap().as_bytes()), begin);
    }
}
