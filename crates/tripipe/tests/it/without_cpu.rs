//! The library without the CPU path: `cargo test -p tripipe --no-default-features --features opencl --test it`.
//! `scripts/check-library` runs it. With the feature `cpu` there is nothing here to test.

use tripipe::{Choice, Device, Error, ErrorKind};

fn refused<T>(result: Result<T, Error>, kind: ErrorKind, text: &str) {
    let error = result.err().unwrap();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(text), "{error}");
}

#[test]
fn the_cpu_path_is_refused_by_name() {
    refused(Choice::Cpu.resolve(), ErrorKind::Unsupported, "the feature `cpu` of the crate `tripipe` is off");
    assert_eq!("cpu".parse::<Choice>().unwrap().to_string(), "cpu");
}

#[test]
fn devices_are_opencl_devices() {
    let found = Device::list();
    assert!(found.devices.iter().all(|device| device.opencl().is_some()));
    match found.devices.first() {
        Some(_) => assert!(Device::best().unwrap().opencl().is_some()),
        None if found.no_opencl.is_some() => refused(Device::best(), ErrorKind::NoOpenCl, "OpenCL"),
        None => refused(Device::best(), ErrorKind::NoSuchDevice, "no OpenCL device"),
    }
}

#[cfg(feature = "opencl")]
mod on_opencl {
    use tripipe::filter::{Border, Chain};
    use tripipe::gemm::ProductExtents;
    use tripipe::{Context, Extents, Image, Matrix, Size, Team, Vector};

    use super::*;

    fn devices() -> Vec<Device> {
        let devices = Device::list().devices;
        assert!(
            !devices.is_empty() || std::env::var_os("TRIPIPE_REQUIRE_OPENCL").is_none(),
            "no OpenCL device"
        );
        devices
    }

    /// Products of `f64` have no kernels.
    #[test]
    fn an_operation_without_kernels_returns_an_error_with_the_reason() {
        for device in devices() {
            let context = Context::new(&device).unwrap();
            let a = Matrix::from_slice(&context, Extents::new(1, 1), &[3.0f64]).unwrap();
            let product = a.matmul(&a);
            let text = format!(
                "{} cannot run a product: needs kernels for products in double precision",
                device.name()
            );
            refused(product, ErrorKind::Unsupported, &text);
            // The context works as before.
            let b = Matrix::from_slice(&context, Extents::new(1, 1), &[3.0f32]).unwrap();
            assert_eq!(b.matmul(&b).unwrap().to_vec().unwrap(), [9.0]);
        }
    }

    /// With the CPU path, some of these would be left to it.
    #[test]
    fn small_operations_run_on_the_device() {
        for device in devices() {
            let context = Context::new(&device).unwrap();
            let photo = Image::from_slice(&context, Size::new(4, 3), 1, &[8u8; 12]).unwrap();
            let blurred: Image<u8> =
                photo.filtered(&Chain::parse("box:3", Border::Replicate).unwrap()).unwrap();
            assert_eq!(blurred.to_vec().unwrap(), [8; 12]);
            let x = Vector::from_slice(&context, &[3i32, -1, 2]).unwrap();
            assert_eq!(
                (x.sum().unwrap().wait().unwrap(), x.min().unwrap().wait().unwrap()),
                (4, Some((-1, 1)))
            );
            let explained = context.explain();
            assert!(explained.len() >= 3 && explained.iter().all(|one| one.fallback.is_none()));
        }
    }

    #[test]
    fn background_builds_are_waited_for() {
        for device in devices() {
            let context = Context::builder().longest_build(std::time::Duration::ZERO).build(&device).unwrap();
            // A kernel that no driver has cached from an earlier run: the border's value is new.
            let nanoseconds = std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos();
            let chain = Chain::parse("box:3", Border::Constant(nanoseconds as f32 * 1e-7)).unwrap();
            let photo = Image::from_slice(&context, Size::square(5), 1, &[9u8; 25]).unwrap();
            let blurred: Image<u8> = photo.filtered(&chain).unwrap();
            assert_eq!(blurred.to_vec().unwrap()[6..9], [9; 3]);
            assert!(context.explain().iter().all(|one| one.fallback.is_none()));
        }
    }

    #[test]
    fn a_team_of_devices_multiplies_and_filters() {
        for device in devices() {
            let contexts = (0..2).map(|_| Context::new(&device).unwrap()).collect();
            let team = Team::new(contexts).unwrap();
            let (a, b) = (vec![1.0f32; 128 * 3], vec![2.0f32; 3 * 2]);
            let mut c = vec![0.0f32; 128 * 2];
            team.product(&a, &b, &mut c, ProductExtents { m: 128, n: 2, k: 3 }).unwrap();
            assert_eq!(c, [6.0; 256]);
            let chain = Chain::parse("box:3", Border::Replicate).unwrap();
            let raster =
                tripipe::filter::Raster::packed(Size::new(8, 256), 1, tripipe::filter::PixelType::U8);
            let mut result = vec![0u8; 8 * 256];
            team.filter(&chain, &raster, &vec![7u8; 8 * 256], &raster, &mut result).unwrap();
            assert_eq!(result, [7; 8 * 256]);
        }
    }
}

#[cfg(not(feature = "opencl"))]
#[test]
fn without_opencl_there_are_no_devices() {
    assert_eq!(Device::list().into_iter().count(), 0);
}
