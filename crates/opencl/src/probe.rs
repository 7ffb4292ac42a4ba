//! Fills a [`Probe`] from a live device.

use opencl_sys as cl;
use opencl_sys::cl_device_id;
use tripipe_device::{DeviceKind, ImageLimits, Probe, Svm};

use crate::info::Ask;

/// The query of `cl_arm_shared_virtual_memory`, for Mali drivers that report OpenCL 1.2.
const CL_DEVICE_SVM_CAPABILITIES_ARM: u32 = 0x40B6;

/// Queries `device` for all fields of a probe. A query that the driver refuses leaves its field empty.
pub(crate) fn probe(platform: &str, device: cl_device_id) -> Probe {
    let ask = Ask(device);
    let version = ask.text(cl::CL_DEVICE_VERSION);
    let number = opencl_version(&version);
    let extensions: Vec<String> =
        ask.text(cl::CL_DEVICE_EXTENSIONS).split_whitespace().map(str::to_owned).collect();
    let offers = |name: &str| extensions.iter().any(|extension| extension == name);

    let sizes = ask.sizes(cl::CL_DEVICE_MAX_WORK_ITEM_SIZES);
    let mut max_work_item_sizes = [0; 3];
    for (to, from) in max_work_item_sizes.iter_mut().zip(sizes) {
        *to = from;
    }

    let svm = match ask.number(cl::CL_DEVICE_SVM_CAPABILITIES) {
        Some(bits) if number >= (2, 0) => bits,
        _ if offers("cl_arm_shared_virtual_memory") => ask.or_zero(CL_DEVICE_SVM_CAPABILITIES_ARM),
        _ => 0,
    };

    Probe {
        platform: platform.to_owned(),
        name: ask.text(cl::CL_DEVICE_NAME),
        vendor: ask.text(cl::CL_DEVICE_VENDOR),
        driver: ask.text(cl::CL_DRIVER_VERSION),
        opencl_c: opencl_c_version(ask, number),
        kind: kind(ask.or_zero(cl::CL_DEVICE_TYPE)),
        unified_memory: ask.is(cl::CL_DEVICE_HOST_UNIFIED_MEMORY),
        compute_units: ask.or_zero(cl::CL_DEVICE_MAX_COMPUTE_UNITS) as u32,
        clock_mhz: ask.or_zero(cl::CL_DEVICE_MAX_CLOCK_FREQUENCY) as u32,
        address_bits: ask.or_zero(cl::CL_DEVICE_ADDRESS_BITS) as u32,
        max_work_group_size: ask.or_zero(cl::CL_DEVICE_MAX_WORK_GROUP_SIZE) as usize,
        max_work_item_sizes,
        local_memory_bytes: ask.or_zero(cl::CL_DEVICE_LOCAL_MEM_SIZE),
        // CL_LOCAL is 1, CL_GLOBAL 2.
        local_memory_dedicated: ask.number(cl::CL_DEVICE_LOCAL_MEM_TYPE) == Some(1),
        global_memory_bytes: ask.or_zero(cl::CL_DEVICE_GLOBAL_MEM_SIZE),
        max_buffer_bytes: ask.or_zero(cl::CL_DEVICE_MAX_MEM_ALLOC_SIZE),
        max_constant_bytes: ask.or_zero(cl::CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE),
        cache_bytes: ask.or_zero(cl::CL_DEVICE_GLOBAL_MEM_CACHE_SIZE),
        cache_line_bytes: ask.or_zero(cl::CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE) as u32,
        // The driver answers in bits.
        base_alignment_bytes: ask.or_zero(cl::CL_DEVICE_MEM_BASE_ADDR_ALIGN) as usize / 8,
        images: ask.is(cl::CL_DEVICE_IMAGE_SUPPORT).then(|| images(ask, number, &offers)),
        svm: Svm { coarse_buffer: svm & 1 != 0, fine_buffer: svm & 2 != 0, fine_system: svm & 4 != 0 },
        non_uniform_work_groups: match number {
            // Part of OpenCL 2.x, a separate query in 3.0.
            (2, _) => true,
            version if version >= (3, 0) => ask.is(cl::CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT),
            _ => false,
        },
        preferred_vector_width: [
            cl::CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR,
            cl::CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT,
            cl::CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT,
            cl::CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG,
            cl::CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT,
            cl::CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE,
            cl::CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF,
        ]
        .map(|question| ask.or_zero(question) as u32),
        version,
        extensions,
    }
}

fn kind(bits: u64) -> DeviceKind {
    // CL_DEVICE_TYPE_CPU, _GPU, _ACCELERATOR; bit 0 only means "default".
    match bits & 0b1110 {
        2 => DeviceKind::Cpu,
        4 => DeviceKind::Gpu,
        8 => DeviceKind::Accelerator,
        _ => DeviceKind::Other,
    }
}

fn images(ask: Ask, version: (u8, u8), offers: &dyn Fn(&str) -> bool) -> ImageLimits {
    let pitch_alignment = ask.or_zero(cl::CL_DEVICE_IMAGE_PITCH_ALIGNMENT) as u32;
    let base_address_alignment = ask.or_zero(cl::CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT) as u32;
    let from_buffer = match version {
        // Required since 2.0; optional again in 3.0, where a pitch alignment of 0 means "not offered".
        (2, _) => true,
        (major, _) if major >= 3 => pitch_alignment > 0 || offers("cl_khr_image2d_from_buffer"),
        _ => offers("cl_khr_image2d_from_buffer"),
    };
    ImageLimits {
        max_2d: [
            ask.or_zero(cl::CL_DEVICE_IMAGE2D_MAX_WIDTH) as usize,
            ask.or_zero(cl::CL_DEVICE_IMAGE2D_MAX_HEIGHT) as usize,
        ],
        max_3d: [
            ask.or_zero(cl::CL_DEVICE_IMAGE3D_MAX_WIDTH) as usize,
            ask.or_zero(cl::CL_DEVICE_IMAGE3D_MAX_HEIGHT) as usize,
            ask.or_zero(cl::CL_DEVICE_IMAGE3D_MAX_DEPTH) as usize,
        ],
        max_layers: ask.or_zero(cl::CL_DEVICE_IMAGE_MAX_ARRAY_SIZE) as usize,
        max_1d_buffer: ask.or_zero(cl::CL_DEVICE_IMAGE_MAX_BUFFER_SIZE) as usize,
        from_buffer,
        pitch_alignment: if from_buffer { pitch_alignment } else { 0 },
        base_address_alignment: if from_buffer { base_address_alignment } else { 0 },
    }
}

/// `OpenCL 3.0 Adreno(TM) 642L` is (3, 0); (0, 0) if it cannot be parsed.
pub(crate) fn opencl_version(text: &str) -> (u8, u8) {
    version_after(text, "OpenCL ").unwrap_or((0, 0))
}

fn version_after(text: &str, prefix: &str) -> Option<(u8, u8)> {
    let number = text.strip_prefix(prefix)?.split_whitespace().next()?;
    let (major, minor) = number.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The newest OpenCL C version that the compiler supports. Since 3.0, `CL_DEVICE_OPENCL_C_VERSION` stays at 1.2, and
/// `CL_DEVICE_OPENCL_C_ALL_VERSIONS` lists the others (each entry is a packed version and a 64-byte name).
fn opencl_c_version(ask: Ask, device: (u8, u8)) -> (u8, u8) {
    let one = version_after(&ask.text(cl::CL_DEVICE_OPENCL_C_VERSION), "OpenCL C ").unwrap_or((0, 0));
    if device < (3, 0) {
        return one;
    }
    let all = ask.bytes(cl::CL_DEVICE_OPENCL_C_ALL_VERSIONS).unwrap_or_default();
    // cl_name_version: cl_uint of 10 bits major, 10 minor, 12 patch, then char[64].
    all.chunks_exact(68)
        .map(|entry| u32::from_ne_bytes([entry[0], entry[1], entry[2], entry[3]]))
        .map(|packed| ((packed >> 22) as u8, ((packed >> 12) & 0x3ff) as u8))
        .fold(one, Ord::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_drivers_write_them() {
        assert_eq!(opencl_version("OpenCL 3.0 Adreno(TM) 642L"), (3, 0));
        assert_eq!(opencl_version("OpenCL 1.2 v1.r14p0-00cet0.0-eac.a1b2c3"), (1, 2));
        assert_eq!(opencl_version("OpenCL 2.1"), (2, 1));
        assert_eq!(opencl_version("Vulkan 1.3"), (0, 0));
        assert_eq!(version_after("OpenCL C 2.0 ", "OpenCL C "), Some((2, 0)));
    }

    #[test]
    fn device_type_ignores_the_default_bit() {
        assert_eq!(kind(0b0101), DeviceKind::Gpu);
        assert_eq!(kind(2), DeviceKind::Cpu);
        assert_eq!(kind(0), DeviceKind::Other);
    }
}
