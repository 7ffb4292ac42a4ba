//! Vectors, matrices and images: contents are returned unchanged.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tripipe::filter::{Border, Chain, PixelType, Raster};
use tripipe::gemm::Product;
use tripipe::{Context, Error, ErrorKind, Extents, Image, Matrix, Order, Size, Vector};
use tripipe_launch::{
    Access, ExecuteError, Executor, ImageShape, Intercept, Launch, Layer, MemoryId, MemoryKind, Prepared,
    Submission,
};
use tripipe_opencl::{ExecutorOptions, OpenClExecutor};

use crate::library::{bytes, contexts};

#[test]
fn written_elements_are_read_back() {
    for context in contexts() {
        let values: Vec<f32> = (0..35).map(|i| i as f32).collect();
        let mut vector = Vector::from_slice(&context, &values).unwrap();
        assert_eq!(vector.to_vec().unwrap(), values);
        vector.map_mut(|values| values[3] = -1.0).unwrap();
        assert_eq!(vector.map(|values| values[3]).unwrap(), -1.0);
        vector.write(&values).unwrap();
        assert_eq!(vector.to_vec().unwrap(), values);
        assert_eq!(Vector::<i32>::zeros(&context, 5).unwrap().to_vec().unwrap(), [0; 5]);
        assert!(Vector::<i32>::zeros(&context, 0).unwrap().to_vec().unwrap().is_empty());

        let matrix = Matrix::from_slice(&context, Extents::new(5, 7), &values).unwrap();
        assert_eq!(matrix.to_vec().unwrap(), values);
        let block = matrix.block(1..3, 2..4).unwrap();
        assert_eq!(block.to_vec().unwrap(), [9.0, 10.0, 16.0, 17.0]);
        assert_eq!(block.transposed().to_vec().unwrap(), [9.0, 16.0, 10.0, 17.0]);
        let fortran = Matrix::with_order(&context, Extents::new(7, 5), Order::ColumnMajor, &values).unwrap();
        assert_eq!(fortran.view().to_vec().unwrap(), matrix.transposed().to_vec().unwrap());
        assert_eq!(matrix.to_context(&context).unwrap().to_vec().unwrap(), values);

        let pixels = bytes(6 * 4 * 3);
        let image = Image::from_slice(&context, Size::new(6, 4), 3, &pixels).unwrap();
        assert_eq!(image.to_vec().unwrap(), pixels);
        let raster = Raster::packed(Size::new(6, 3), 3, PixelType::U8).with_pitch(20);
        let pitched = Image::with_raster(&context, raster, &pixels[..58]).unwrap();
        assert_eq!(pitched.to_vec().unwrap(), pixels[..58]);
    }
}

#[test]
fn mismatched_operands_are_rejected() {
    for context in contexts() {
        let refused = |error: Error, words: &str| {
            assert!(error.to_string().contains(words), "{error}");
        };
        refused(
            Matrix::from_slice(&context, Extents::new(2, 3), &[0.0f32; 5]).unwrap_err(),
            "5 elements, expected 6",
        );
        refused(Matrix::<f32>::zeros(&context, Extents::new(usize::MAX, 2)).unwrap_err(), "do not fit");
        refused(
            Image::from_slice(&context, Size::square(2), 3, &[0u8; 11]).unwrap_err(),
            "11 elements, expected 12",
        );
        refused(Image::from_slice(&context, Size::square(2), 5, &[0u8; 20]).unwrap_err(), "5 channels");
        let raster = Raster::packed(Size::square(2), 1, PixelType::U16);
        refused(Image::<u8>::zeros(&context, raster).unwrap_err(), "u8");
        let matrix = Matrix::from_slice(&context, Extents::new(2, 3), &[0.0f32; 6]).unwrap();
        refused(matrix.block(0..3, 0..1).unwrap_err(), "exceed a matrix of 2x3");
        refused(matrix.read(&mut [0.0; 7]).unwrap_err(), "7 elements, expected 6");
        let vector = Vector::from_slice(&context, &[0u8; 10]).unwrap();
        refused(
            vector.share().into_image(Raster::luma(Size::square(4), 4)).unwrap_err(),
            "10 elements, expected 16",
        );
    }
}

/// Neither a panic nor an attempt to allocate so much on the host.
#[test]
fn sizes_beyond_any_memory_are_rejected() {
    for context in contexts() {
        for length in [usize::MAX, usize::MAX / 2, 1 << 60] {
            assert!(Vector::<u8>::zeros(&context, length).is_err(), "{length} on {}", context.name());
            assert!(
                Image::<u8>::zeros(&context, Raster::packed(Size::new(length, 1), 1, PixelType::U8)).is_err()
            );
        }
    }
}

/// More memory than the host has: an error, and the process does not end. It runs in a separate process with a memory
/// limit.
#[cfg(target_os = "linux")]
#[test]
fn sizes_beyond_host_memory_are_rejected() {
    const ROLE: &str = "TRIPIPE_TEST_CHILD_OF_MEMORY";
    const BYTES: usize = 1 << 30;
    if std::env::var_os(ROLE).is_some() {
        let context = Context::new(&tripipe::Device::Cpu).unwrap();
        let no_room =
            |result: Result<Vec<u8>, Error>| assert_eq!(result.unwrap_err().kind(), ErrorKind::OutOfMemory);
        // Zeros that are never accessed use address space only.
        let vector = Vector::<u8>::zeros(&context, BYTES).unwrap();
        no_room(vector.to_vec());
        let matrix = vector.share().into_matrix(Extents::new(1 << 15, 1 << 15)).unwrap();
        no_room(matrix.to_vec());
        no_room(matrix.block(0..1 << 15, 1..1 << 15).unwrap().to_vec());
        no_room(matrix.transposed().to_vec());
        assert!(vector.to_context(&context).is_err());
        #[cfg(feature = "ndarray")]
        assert_eq!(matrix.to_ndarray().unwrap_err().kind(), ErrorKind::OutOfMemory);
        assert!(Vector::<u8>::zeros(&context, BYTES).is_err());
        assert_eq!(matrix.block(0..2, 0..2).unwrap().to_vec().unwrap(), [0; 4]);
        return;
    }
    let limited = format!("ulimit -v {}; exec \"$0\" \"$@\"", (3 * BYTES / 2) >> 10);
    let output = std::process::Command::new("sh")
        .args(["-c", &limited])
        .arg(std::env::current_exe().unwrap())
        .args(["library::memory::sizes_beyond_host_memory_are_rejected", "--exact", "--nocapture"])
        .env(ROLE, "1")
        // Otherwise glibc reserves address space for every thread.
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Counts the objects and the lists of launches of an executor.
struct Counting {
    objects: Arc<AtomicUsize>,
    /// Cloned into every list.
    lists: Arc<()>,
    /// Whether lists are refused.
    refuses: bool,
}

impl<E: Executor> Intercept<E> for Counting {
    fn allocate(
        &mut self,
        inner: &mut E,
        kind: &MemoryKind,
        access: Access,
        initial: Option<&[u8]>,
    ) -> Result<MemoryId, ExecuteError> {
        self.objects.fetch_add(1, Ordering::Relaxed);
        inner.allocate(kind, access, initial)
    }

    fn allocate_zeros(
        &mut self,
        inner: &mut E,
        kind: &MemoryKind,
        access: Access,
    ) -> Result<MemoryId, ExecuteError> {
        self.objects.fetch_add(1, Ordering::Relaxed);
        inner.allocate_zeros(kind, access)
    }

    fn image_over_buffer(
        &mut self,
        inner: &mut E,
        buffer: MemoryId,
        shape: &ImageShape,
        row_pitch_bytes: usize,
    ) -> Result<MemoryId, ExecuteError> {
        self.objects.fetch_add(1, Ordering::Relaxed);
        inner.image_over_buffer(buffer, shape, row_pitch_bytes)
    }

    fn release(&mut self, inner: &mut E, memory: MemoryId) -> Result<(), ExecuteError> {
        self.objects.fetch_sub(1, Ordering::Relaxed);
        inner.release(memory)
    }

    fn prepare_launches(&mut self, inner: &mut E, launches: &[Launch]) -> Result<Prepared, ExecuteError> {
        if self.refuses {
            let device = inner.probe().name.clone();
            return Err(ExecuteError::NotOffered { what: "a list of launches".to_owned(), device });
        }
        Ok(Prepared::with(launches, Arc::clone(&self.lists)))
    }

    fn submit_prepared(
        &mut self,
        inner: &mut E,
        prepared: &Prepared,
    ) -> Result<Box<dyn Submission>, ExecuteError> {
        inner.submit(prepared.launches())
    }
}

/// A context on an OpenCL device, the number of its objects, and the value that every list of launches has a clone of.
fn counting(refuses: bool) -> Option<(Context, Arc<AtomicUsize>, Arc<()>)> {
    let device = tripipe_opencl::devices().unwrap_or_default().pop()?;
    let inner = OpenClExecutor::new(&device, &ExecutorOptions::default()).unwrap();
    let (objects, lists) = (Arc::new(AtomicUsize::new(0)), Arc::new(()));
    let counting = Counting { objects: Arc::clone(&objects), lists: Arc::clone(&lists), refuses };
    Some((Context::builder().build_over(Layer::new(inner, counting)).unwrap(), objects, lists))
}

/// A list of launches keeps its objects alive, so it must not outlive them.
#[test]
fn operations_do_not_retain_freed_memory() {
    let Some((context, objects, lists)) = counting(false) else { return };
    let size = Size::new(40, 30);
    let raster = Raster::packed(size, 1, PixelType::U8);
    let chain = Chain::parse("box:3", Border::Replicate).unwrap();
    let filter = context.filter(&chain, &raster, &raster).unwrap();
    let pixels = bytes(size.width * size.height);
    let mut first = Image::<u8>::zeros(&context, raster).unwrap();
    // Not counting the executor's clone and the test's own.
    let known = || Arc::strong_count(&lists) - 2;
    for _ in 0..3 {
        let source = Image::from_slice(&context, size, 1, &pixels).unwrap();
        let mut second = Image::<u8>::zeros(&context, raster).unwrap();
        filter.run(&source, &mut first).unwrap().wait().unwrap();
        filter.run(&first, &mut second).unwrap().wait().unwrap();
        assert_eq!(known(), 2);
        drop(source);
        assert_eq!(known(), 1);
        drop(second);
        assert_eq!(known(), 0);
    }
    drop((filter, first, context));
    assert_eq!(objects.load(Ordering::Relaxed), 0);
}

#[test]
fn an_operation_that_cannot_be_queued_has_no_effect() {
    let Some((context, objects, _)) = counting(true) else { return };
    // Large enough for operands to be packed, which allocates memory.
    let a = Matrix::from_slice(&context, Extents::new(600, 600), &vec![1.0f32; 600 * 600]).unwrap();
    assert!(Product::new(&a, &a).unwrap().into_matrix().is_err());
    drop((a, context));
    assert_eq!(objects.load(Ordering::Relaxed), 0);
}

#[cfg(feature = "ndarray")]
#[test]
fn arrays_come_and_go() {
    use ndarray::{Array2, array};
    for context in contexts() {
        let rows = array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
        let columns = rows.t().to_owned().reversed_axes();
        for array in [rows.view(), columns.view(), rows.slice(ndarray::s![.., ..;2])] {
            let matrix = Matrix::from_ndarray(&context, &array).unwrap();
            let back: Array2<f32> = matrix.to_ndarray().unwrap();
            assert_eq!(back, array);
        }
        // 2 rows of 3 pixels of 4 channels, and a part that is not contiguous: every other pixel.
        let pixels = ndarray::Array3::from_shape_fn((2, 3, 4), |(y, x, c)| (100 * y + 10 * x + c) as u8);
        for array in [pixels.view(), pixels.slice(ndarray::s![.., ..;2, 1..])] {
            let image = Image::from_ndarray(&context, &array).unwrap();
            assert_eq!(image.to_ndarray().unwrap(), array);
        }
        let planes = Raster::planar(Size::new(3, 2), 4, PixelType::U8);
        let apart: Vec<u8> = (0..4).flat_map(|c| pixels.slice(ndarray::s![.., .., c]).to_owned()).collect();
        let image = Image::with_raster(&context, planes, &apart).unwrap();
        assert_eq!(image.to_ndarray().unwrap(), pixels);
    }
}

#[cfg(feature = "image")]
#[test]
fn pictures_come_and_go() {
    use image::DynamicImage;
    for context in contexts() {
        let pictures = [
            DynamicImage::new_luma8(5, 3),
            DynamicImage::new_luma_a8(5, 3),
            DynamicImage::new_rgb8(5, 3),
            DynamicImage::new_rgba8(5, 3),
        ];
        for mut picture in pictures {
            if let Some(bytes_of) = picture.as_mut_rgb8() {
                bytes_of.copy_from_slice(&bytes(45));
            }
            let image = Image::<u8>::from_picture(&context, &picture).unwrap();
            assert_eq!(image.to_picture().unwrap(), picture);
            let deep = Image::<u16>::from_picture(&context, &picture).unwrap();
            assert_eq!(deep.to_picture().unwrap().color().channel_count(), picture.color().channel_count());
        }
    }
}
