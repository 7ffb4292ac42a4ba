//! Properties that a live device reports.

use serde::{Deserialize, Serialize};

use crate::generation;
use crate::gpu::{Gpu, Images, LocalPlacement, VectorWidth};
use crate::opencl;
use crate::opencl::Svm;

/// The properties that a live OpenCL device (or a simulated GPU) reports.
///
/// An executor fills it. The matching ([`crate::catalog`]) and all code that must respect a limit read it. Sizes are
/// bytes unless a name says otherwise; a limit of 0 means that the device did not report it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Probe {
    /// `CL_PLATFORM_NAME`, e.g. `ARM Platform`.
    pub platform: String,
    /// `CL_DEVICE_NAME`, e.g. `Mali-G610 MC6 r0p0`.
    pub name: String,
    /// `CL_DEVICE_VENDOR`.
    pub vendor: String,
    /// `CL_DEVICE_VERSION`, e.g. `OpenCL 3.0 Adreno(TM) 642L`.
    pub version: String,
    /// `CL_DRIVER_VERSION`.
    pub driver: String,
    /// `CL_DEVICE_OPENCL_C_VERSION` as (major, minor); (0, 0) if it cannot be parsed.
    pub opencl_c: (u8, u8),
    /// What kind of processor runs the kernels.
    pub kind: DeviceKind,
    /// Whether memory is shared with the host (`CL_DEVICE_HOST_UNIFIED_MEMORY`).
    pub unified_memory: bool,
    /// Names of `CL_DEVICE_EXTENSIONS`.
    pub extensions: Vec<String>,
    /// Compute units: shader cores on Mali, SPs on Adreno.
    pub compute_units: u32,
    /// Highest clock in MHz, as reported; [`Probe::believed_clock_mhz`] leaves out impossible ones.
    pub clock_mhz: u32,
    /// Address width in bits, 32 or 64.
    pub address_bits: u32,
    /// Largest work-group, in work-items.
    pub max_work_group_size: usize,
    /// Largest work-group per dimension, in work-items.
    pub max_work_item_sizes: [usize; 3],
    /// Local memory of one work-group.
    pub local_memory_bytes: u64,
    /// Whether local memory is dedicated (`CL_LOCAL`) and not emulated in global memory.
    pub local_memory_dedicated: bool,
    /// Total size of global memory.
    pub global_memory_bytes: u64,
    /// Largest single buffer.
    pub max_buffer_bytes: u64,
    /// Largest constant buffer.
    pub max_constant_bytes: u64,
    /// Size of the global memory cache.
    pub cache_bytes: u64,
    /// Line size of the global memory cache.
    pub cache_line_bytes: u32,
    /// Alignment of a sub-buffer's offset.
    pub base_alignment_bytes: usize,
    /// Image limits; `None` if the device does not support images.
    pub images: Option<ImageLimits>,
    /// Supported kinds of shared virtual memory.
    pub svm: Svm,
    /// Whether a work-group at the edge of the global size may be smaller, without a build option (OpenCL C 2.0, or
    /// 3.0 with the feature).
    pub non_uniform_work_groups: bool,
    /// Preferred vector width in elements: char, short, int, long, float, double, half.
    pub preferred_vector_width: [u32; 7],
}

impl Probe {
    /// The highest clock in MHz, if the driver reports one that can be true: some drivers of GPUs report 1 or 5 MHz.
    /// `data/products.toml` has the limit.
    pub fn believed_clock_mhz(&self) -> Option<u32> {
        (self.clock_mhz >= generation::lowest_clock_mhz()).then_some(self.clock_mhz)
    }

    /// Whether the device lists the extension `name`.
    pub fn has_extension(&self, name: &str) -> bool {
        self.extensions.iter().any(|extension| extension == name)
    }

    /// Whether build options allow work-groups of different sizes by Arm's extension of OpenCL C 1.2.
    pub fn allows_arms_non_uniform<'o>(&self, mut options: impl Iterator<Item = &'o str>) -> bool {
        self.has_extension("cl_arm_non_uniform_work_group_size")
            && options.any(|option| option == "-cl-arm-non-uniform-work-group-size")
    }

    /// Half-precision arithmetic (`cl_khr_fp16`).
    pub fn fp16(&self) -> bool {
        self.has_extension("cl_khr_fp16")
    }

    /// Double-precision arithmetic (`cl_khr_fp64`).
    pub fn fp64(&self) -> bool {
        self.has_extension("cl_khr_fp64")
    }
}

impl Gpu {
    /// What a current driver of this GPU is expected to report: name, limits and features of the model, and what
    /// [`Gpu::opencl`] offers. Limits that the model does not have are 0, as for a device that reports none.
    pub fn expected_probe(&self) -> Probe {
        let images = self.image_limits();
        let opencl = self.opencl();
        let mut extensions = opencl.extensions.clone();
        extensions.retain(|name| images.from_buffer || name != "cl_khr_image2d_from_buffer");
        let limits = opencl::limits();
        let group = self.core.max_work_group_size.value as usize;
        Probe {
            name: self.name().to_owned(),
            vendor: opencl::vendor_names(self.vendor()).name.clone(),
            version: format!("OpenCL {}", opencl.version_text(opencl.version)),
            opencl_c: opencl.newest_c(),
            kind: DeviceKind::Gpu,
            unified_memory: true,
            extensions,
            compute_units: self.configuration.cores.value,
            clock_mhz: self.configuration.clock_mhz.value,
            address_bits: 64,
            max_work_group_size: group,
            max_work_item_sizes: [group; 3],
            local_memory_bytes: self.local_memory.bytes.value,
            local_memory_dedicated: self.local_memory.placement.value == LocalPlacement::Dedicated,
            max_constant_bytes: limits.constant_bytes,
            cache_bytes: self.memory.l2_bytes.value,
            cache_line_bytes: self.memory.cache_line_bytes.value,
            base_alignment_bytes: limits.base_alignment_bytes,
            images: Some(images),
            svm: opencl.svm,
            non_uniform_work_groups: opencl.non_uniform_work_groups,
            preferred_vector_width: {
                let reported = self.vector_width.reported.as_ref().unwrap_or(&self.vector_width.native);
                let VectorWidth { char, short, int, long, half, float, double } = reported.value;
                [char, short, int, long, float, double, half]
            },
            ..Probe::default()
        }
    }

    fn image_limits(&self) -> ImageLimits {
        let Images { max_2d, max_3d, max_layers, max_1d_buffer, pitch_alignment, base_address_alignment } =
            &self.images;
        ImageLimits {
            max_2d: max_2d.value.map(|extent| extent as usize),
            max_3d: max_3d.value.map(|extent| extent as usize),
            max_layers: max_layers.value as usize,
            max_1d_buffer: max_1d_buffer.value as usize,
            from_buffer: pitch_alignment.value > 0,
            pitch_alignment: pitch_alignment.value,
            base_address_alignment: base_address_alignment.value,
        }
    }
}

/// The kind of processor of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeviceKind {
    /// A graphics processor.
    Gpu,
    /// The host's own processor.
    Cpu,
    /// Some other accelerator.
    Accelerator,
    /// The device did not report its kind.
    #[default]
    Other,
}

/// Image limits of a device, in texels unless a name says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImageLimits {
    /// Width and height of a 2D image.
    pub max_2d: [usize; 2],
    /// Width, height and depth of a 3D image.
    pub max_3d: [usize; 3],
    /// Layers of a 1D or 2D array.
    pub max_layers: usize,
    /// Width of an `image1d_buffer_t`.
    pub max_1d_buffer: usize,
    /// Whether a 2D image can be made from a buffer.
    pub from_buffer: bool,
    /// Pitch of such an image must be a multiple of this many texels; 0 when not offered.
    pub pitch_alignment: u32,
    /// Address of such an image must be a multiple of this many texels; 0 when not offered.
    pub base_address_alignment: u32,
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::catalog::{catalog, find};

    /// The value of a key of a section: bare, or with a basis or source of its own.
    fn value<'a>(file: &'a toml::Table, section: &str, key: &str) -> &'a toml::Value {
        let found = &file[section][key];
        found.get("value").unwrap_or(found)
    }

    fn number(value: &toml::Value) -> u64 {
        value.as_integer().unwrap().try_into().unwrap()
    }

    /// The files are read by another reader of TOML.
    #[test]
    fn expected_probes_have_the_limits_of_their_files() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
        let read =
            |path: &str| -> toml::Table { fs::read_to_string(folder.join(path)).unwrap().parse().unwrap() };
        let families = read("images.toml");
        for gpu in catalog() {
            let vendor = gpu.vendor().to_string().to_lowercase();
            let file = read(&format!("{vendor}/{}.toml", gpu.id()));
            let number_of = |section: &str, key: &str| number(value(&file, section, key));
            let probe = gpu.expected_probe();
            let name = gpu.name();
            let group = number_of("core", "max_work_group_size");
            assert_eq!(probe.max_work_group_size as u64, group, "{name}");
            assert_eq!(probe.max_work_item_sizes.map(|size| size as u64), [group; 3], "{name}");
            let compute_units = number_of("configuration", "cores");
            assert_eq!(u64::from(probe.compute_units), compute_units, "{name}");
            assert_eq!(u64::from(probe.clock_mhz), number_of("configuration", "clock_mhz"), "{name}");
            assert_eq!(probe.local_memory_bytes, number_of("local_memory", "bytes"), "{name}");
            let placement = value(&file, "local_memory", "placement").as_str().unwrap();
            assert_eq!(probe.local_memory_dedicated, placement == "dedicated", "{name}");
            assert_eq!(probe.cache_bytes, number_of("memory", "l2_bytes"), "{name}");
            assert_eq!(u64::from(probe.cache_line_bytes), number_of("memory", "cache_line_bytes"), "{name}");
            let images = probe.images.unwrap();
            let (file, section) =
                if file.contains_key("images") { (&file, "images") } else { (&families, gpu.family().id()) };
            let all = |key: &str| match value(file, section, key) {
                toml::Value::Array(extents) => extents.iter().map(number).collect(),
                single => vec![number(single)],
            };
            assert_eq!(images.max_2d.map(|extent| extent as u64).to_vec(), all("max_2d"), "{name}");
            assert_eq!(images.max_3d.map(|extent| extent as u64).to_vec(), all("max_3d"), "{name}");
            let others = [
                (images.max_layers, "max_layers"),
                (images.max_1d_buffer, "max_1d_buffer"),
                (images.pitch_alignment as usize, "pitch_alignment"),
                (images.base_address_alignment as usize, "base_address_alignment"),
            ];
            for (found, key) in others {
                assert_eq!(vec![found as u64], all(key), "{name}: {key}");
            }
            assert_eq!(images.from_buffer, images.pitch_alignment > 0, "{name}");
        }
    }

    /// What `clinfo` printed on the devices that the sources name.
    #[test]
    fn images_are_as_published_reports_say() {
        for (gpu, width, depth, buffer, alignments) in [
            ("Mali-T860", 65536, 65536, 65536, [16, 32]),
            ("Mali-T628", 65536, 65536, 65536, [16, 32]),
            ("Mali-G610", 65536, 65536, 65536, [64, 32]),
            ("Adreno 640", 16384, 2048, 134_217_728, [64, 64]),
        ] {
            let images = find(gpu).unwrap().expected_probe().images.unwrap();
            let [pitch_alignment, base_address_alignment] = alignments;
            let want = ImageLimits {
                max_2d: [width; 2],
                max_3d: [width, width, depth],
                max_layers: 2048,
                max_1d_buffer: buffer,
                from_buffer: true,
                pitch_alignment,
                base_address_alignment,
            };
            assert_eq!(images, want, "{gpu}");
        }
    }
}
