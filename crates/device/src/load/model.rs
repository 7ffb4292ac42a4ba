//! Reads the sections of a model file.

use std::ops::RangeInclusive;

use super::error::{DataError, DataReason};
use super::images_of;
use super::reader::{Section, Sources};
use crate::document::Table;
use crate::family::{Family, Vendor};
use crate::gpu::{
    Configuration, Core, Gpu, Identity, Images, IssueRule, LocalMemory, LocalPlacement, Memory,
    OperationsPerClock, Registers, Supports, Texture, VectorWidth, VectorWidths,
};
use crate::nearest::nearest;
use crate::occupancy::{OccupancyStep, RegisterFile};
use crate::sourced::Sourced;

/// Every section a model file may have.
const SECTIONS: [&str; 13] = [
    "identity",
    "configuration",
    "core",
    "operations_per_clock_per_core",
    "supports",
    "vector_width",
    "registers",
    "memory",
    "local_memory",
    "texture",
    "images",
    "measured",
    "sources",
];

/// Reads a whole model.
pub(super) fn read(root: &Table<'_>, sources: &Sources) -> Result<Gpu, DataError> {
    let error =
        |location, reason| DataError { file: root.file().to_owned(), location, reason: Box::new(reason) };
    if let Some((section, location)) = root.stranger(|key| SECTIONS.contains(&key)) {
        let nearest = nearest(section, SECTIONS.into_iter()).map(str::to_owned);
        return Err(error(location, DataReason::UnknownSection { section: section.to_owned(), nearest }));
    }
    let optional = |name: &'static str| -> Result<Option<Section<'_>>, DataError> {
        let Some(item) = root.get(name) else {
            return Ok(None);
        };
        let table = item.as_table(format!("[{name}]")).ok_or_else(|| item.wrong_type("a section"))?;
        Ok(Some(Section::new(table, sources)))
    };
    let section = |name: &'static str| {
        optional(name)?.ok_or_else(|| error(root.location(), DataReason::MissingSection { section: name }))
    };
    let identity = identity(section("identity")?)?;
    let core = core(section("core")?)?;
    let measured = match optional("measured")? {
        Some(mut section) => section.figures()?,
        None => std::collections::BTreeMap::new(),
    };
    let images = match optional("images")? {
        Some(section) => images(section)?,
        None => images_of(identity.family).clone(),
    };
    let drivers = crate::opencl::drivers_of(&identity)
        .map_err(|message| error(root.location(), DataReason::Contradiction { message }))?;
    Ok(Gpu {
        configuration: configuration(section("configuration")?)?,
        operations_per_clock_per_core: operations(section("operations_per_clock_per_core")?)?,
        supports: supports(section("supports")?)?,
        vector_width: vector_widths(section("vector_width")?)?,
        registers: registers(section("registers")?, identity.vendor, &core)?,
        memory: memory(section("memory")?)?,
        local_memory: local_memory(section("local_memory")?)?,
        texture: texture(section("texture")?)?,
        images,
        drivers,
        measured,
        identity,
        core,
    })
}

/// Valid range of a count. Counts of real GPUs are far below the limit.
const COUNT: RangeInclusive<i64> = 1..=1_000_000;
const COUNT_OR_NONE: RangeInclusive<i64> = 0..=1_000_000;
/// Sizes in bytes.
const BYTES: RangeInclusive<i64> = 0..=1 << 40;

type Optional<T> = Result<Option<Sourced<T>>, DataError>;
type Required<T> = Result<Sourced<T>, DataError>;

/// Readers for the kinds of numbers in a model.
impl Section<'_> {
    fn count_optional(&mut self, key: &'static str) -> Optional<u32> {
        let found = self.whole(key, &COUNT, "from 1 to 1000000")?;
        Ok(found.map(|count| count.map(|count| count as u32)))
    }

    fn count(&mut self, key: &'static str) -> Required<u32> {
        let found = self.count_optional(key)?;
        self.must(key, found)
    }

    fn amount(&mut self, key: &'static str) -> Required<u32> {
        let found = self.whole(key, &COUNT_OR_NONE, "from 0 to 1000000")?;
        let amount = self.must(key, found)?;
        Ok(amount.map(|amount| amount as u32))
    }

    fn bytes_optional(&mut self, key: &'static str) -> Optional<u64> {
        let found = self.whole(key, &BYTES, "from 0 to 2^40 bytes")?;
        Ok(found.map(|bytes| bytes.map(|bytes| bytes as u64)))
    }

    fn bytes(&mut self, key: &'static str) -> Required<u64> {
        let found = self.bytes_optional(key)?;
        self.must(key, found)
    }

    fn rate(&mut self, key: &'static str) -> Required<f64> {
        let found = self.positive(key)?;
        self.must(key, found)
    }

    /// A count or 0 without provenance of its own, inside an inline table.
    fn plain_amount(&mut self, key: &'static str) -> Result<u32, DataError> {
        Ok(self.plain_whole(key, &COUNT_OR_NONE, "from 0 to 1000000")? as u32)
    }
}

fn identity(mut s: Section<'_>) -> Result<Identity, DataError> {
    let vendor: Vendor = s.plain_word("vendor", Vendor::WORDS)?;
    let family: Family = s.plain_word("family", Family::WORDS)?;
    if family.vendor() != vendor {
        let message = format!("{family} is not a family of {vendor}");
        return Err(s.error_at("family", DataReason::Contradiction { message }));
    }
    let basis = s.basis()?;
    let source = s.default_source()?;
    let unproven = |what| DataReason::NoProvenance { key: "family".to_owned(), what };
    let identity = Identity {
        name: s.plain("name")?,
        vendor,
        family,
        generation: s.plain("generation")?,
        basis: basis.ok_or_else(|| s.error(unproven("basis")))?,
        source: source.ok_or_else(|| s.error(unproven("source")))?,
        notes: s.plain_optional("notes")?.unwrap_or_default(),
    };
    s.finish()?;
    Ok(identity)
}

fn configuration(mut s: Section<'_>) -> Result<Configuration, DataError> {
    let cores = s.count("cores")?;
    let core_groups: Option<Sourced<Vec<u32>>> = s.optional("core_groups")?;
    if let Some(groups) = &core_groups {
        if groups.value.contains(&0) {
            return Err(s.impossible("core_groups", "a list of counts above 0"));
        }
        let sum: u64 = groups.value.iter().map(|group| u64::from(*group)).sum();
        if sum != u64::from(cores.value) {
            let message = format!("core_groups add up to {sum}, but cores is {}", cores.value);
            return Err(s.error_at("core_groups", DataReason::Contradiction { message }));
        }
    }
    let configuration = Configuration {
        soc: s.required("soc")?,
        cores,
        core_groups,
        clock_mhz: s.count("clock_mhz")?,
        dram_gb_s_peak: s.rate("dram_gb_s_peak")?,
        system_cache_bytes: s.bytes_optional("system_cache_bytes")?,
        other_socs: s.required("other_socs")?,
    };
    s.finish()?;
    Ok(configuration)
}

fn core(mut s: Section<'_>) -> Result<Core, DataError> {
    let core = Core {
        warp_width: s.count("warp_width")?,
        warp_width_double: s.count_optional("warp_width_double")?,
        arithmetic_pipes: s.count("arithmetic_pipes")?,
        lanes_per_pipe: s.count_optional("lanes_per_pipe")?,
        issue_rule: s.optional_word("issue_rule", IssueRule::WORDS)?,
        max_threads: s.count("max_threads")?,
        max_work_group_size: s.count("max_work_group_size")?,
        preferred_work_group_multiple: s.count("preferred_work_group_multiple")?,
    };
    if let Some(double) = &core.warp_width_double
        && double.value <= core.warp_width.value
    {
        return Err(s.impossible("warp_width_double", "more than warp_width"));
    }
    s.finish()?;
    Ok(core)
}

fn operations(mut s: Section<'_>) -> Result<OperationsPerClock, DataError> {
    let operations = OperationsPerClock {
        fp32_fma: s.count("fp32_fma")?,
        fp16_fma: s.amount("fp16_fma")?,
        fp32_add: s.count_optional("fp32_add")?,
        fp32_mad_vector_lanes: s.count_optional("fp32_mad_vector_lanes")?,
        fma_builtin: s.count_optional("fma_builtin")?,
        int32_add: s.count("int32_add")?,
        int16_add: s.count("int16_add")?,
        int8_add: s.count("int8_add")?,
        int32_mul: s.count("int32_mul")?,
        int24_mad: s.count_optional("int24_mad")?,
        int16_mul: s.count("int16_mul")?,
        int8_mul: s.count_optional("int8_mul")?,
        int32_mad: s.count_optional("int32_mad")?,
        int8_mad: s.count_optional("int8_mad")?,
        int8_dot_mac: s.amount("int8_dot_mac")?,
        int32_logic_shift: s.count_optional("int32_logic_shift")?,
        convert: s.count_optional("convert")?,
        special: s.count("special")?,
        fp32_flops_datasheet: s.count_optional("fp32_flops_datasheet")?,
        fp16_flops_datasheet: s.count_optional("fp16_flops_datasheet")?,
    };
    s.finish()?;
    Ok(operations)
}

fn supports(mut s: Section<'_>) -> Result<Supports, DataError> {
    let supports = Supports {
        fp16: s.required("fp16")?,
        fp64: s.required("fp64")?,
        fused_multiply_add: s.required("fused_multiply_add")?,
    };
    s.finish()?;
    Ok(supports)
}

fn vector_widths(mut s: Section<'_>) -> Result<VectorWidths, DataError> {
    let native = s.table("native", vector_width)?;
    let widths =
        VectorWidths { native: s.must("native", native)?, reported: s.table("reported", vector_width)? };
    s.finish()?;
    Ok(widths)
}

fn vector_width(mut s: Section<'_>) -> Result<VectorWidth, DataError> {
    let width = VectorWidth {
        char: s.plain_amount("char")?,
        short: s.plain_amount("short")?,
        int: s.plain_amount("int")?,
        long: s.plain_amount("long")?,
        half: s.plain_amount("half")?,
        float: s.plain_amount("float")?,
        double: s.plain_amount("double")?,
    };
    s.finish()?;
    Ok(width)
}

fn registers(mut s: Section<'_>, vendor: Vendor, core: &Core) -> Result<Registers, DataError> {
    let max = s.count("max")?;
    let file = match vendor {
        Vendor::Arm => steps(&mut s, max.value, core)?,
        Vendor::Qualcomm => waves(&mut s, max.value, core)?,
    };
    let registers = Registers {
        width_bits: s.count("width_bits")?,
        max,
        uniform_max: s.count_optional("uniform_max")?,
        file,
    };
    s.finish()?;
    Ok(registers)
}

fn steps(s: &mut Section<'_>, max: u32, core: &Core) -> Result<RegisterFile, DataError> {
    let found = s.tables("occupancy", |mut step| {
        let read = OccupancyStep {
            registers: step.plain_amount("registers")?,
            threads: step.plain_amount("threads")?,
        };
        step.finish()?;
        Ok(read)
    })?;
    let steps = s.must("occupancy", found)?;
    let wrong = |message| Err(s.error_at("occupancy", DataReason::Contradiction { message }));
    let (Some(first), Some(last)) = (steps.value.first(), steps.value.last()) else {
        return wrong("occupancy has no steps".to_owned());
    };
    if first.registers == 0 || last.threads == 0 {
        return wrong("an occupancy step has no registers or no threads".to_owned());
    }
    for pair in steps.value.windows(2) {
        let &[a, b] = pair else { continue };
        if b.registers <= a.registers || b.threads >= a.threads {
            return wrong(format!(
                "occupancy must have rising registers and falling threads, but {} registers give \
                 {} threads and then {} give {}",
                a.registers, a.threads, b.registers, b.threads
            ));
        }
    }
    if last.registers != max {
        return wrong(format!(
            "the last occupancy step ends at {} registers, but max is {max}",
            last.registers
        ));
    }
    if first.threads != core.max_threads.value {
        return wrong(format!(
            "the first occupancy step has {} threads, but max_threads in [core] is {}",
            first.threads, core.max_threads.value
        ));
    }
    Ok(RegisterFile::Steps(steps))
}

fn waves(s: &mut Section<'_>, max: u32, core: &Core) -> Result<RegisterFile, DataError> {
    let file_vec4 = s.count("file_vec4")?;
    let max_waves = s.count("max_waves")?;
    let wave_granularity = s.count("wave_granularity")?;
    if file_vec4.value < max {
        let message = format!(
            "file_vec4 is {}, too small for one work-item with max = {max} registers",
            file_vec4.value
        );
        return Err(s.error_at("file_vec4", DataReason::Contradiction { message }));
    }
    let width = core.warp_width_double.as_ref().unwrap_or(&core.warp_width);
    let threads = u64::from(max_waves.value) * u64::from(width.value);
    if threads != u64::from(core.max_threads.value) {
        let message = format!(
            "{} waves of {} work-items are {threads} threads, but max_threads in [core] is {}",
            max_waves.value, width.value, core.max_threads.value
        );
        return Err(s.error_at("max_waves", DataReason::Contradiction { message }));
    }
    if wave_granularity.value > max_waves.value {
        return Err(s.impossible("wave_granularity", "at most max_waves"));
    }
    Ok(RegisterFile::Waves { file_vec4, max_waves, wave_granularity })
}

fn memory(mut s: Section<'_>) -> Result<Memory, DataError> {
    let memory = Memory {
        load_store_bytes_per_clock: s.count("load_store_bytes_per_clock")?,
        load_store_issue_per_clock: s.rate("load_store_issue_per_clock")?,
        load_store_issue_sustained_per_clock: s.positive("load_store_issue_sustained_per_clock")?,
        atomics_per_clock: s.positive("atomics_per_clock")?,
        cache_line_bytes: s.count("cache_line_bytes")?,
        l1_bytes: s.bytes("l1_bytes")?,
        l2_bytes: s.bytes("l2_bytes")?,
        l2_slices: s.count("l2_slices")?,
        l2_to_core_bytes_per_clock: s.count_optional("l2_to_core_bytes_per_clock")?,
        external_bus_bytes_per_clock_per_slice: s.count_optional("external_bus_bytes_per_clock_per_slice")?,
        gmem_bytes: s.bytes_optional("gmem_bytes")?,
        constant_ram_bytes_per_core: s.bytes_optional("constant_ram_bytes_per_core")?,
    };
    if !memory.cache_line_bytes.value.is_power_of_two() {
        return Err(s.impossible("cache_line_bytes", "a power of two"));
    }
    s.finish()?;
    Ok(memory)
}

fn local_memory(mut s: Section<'_>) -> Result<LocalMemory, DataError> {
    let memory = LocalMemory {
        placement: s.required_word("placement", LocalPlacement::WORDS)?,
        bytes: s.bytes("bytes")?,
    };
    s.finish()?;
    Ok(memory)
}

fn texture(mut s: Section<'_>) -> Result<Texture, DataError> {
    let texture = Texture {
        texels_per_clock: s.rate("texels_per_clock")?,
        image_accesses_per_clock: s.positive("image_accesses_per_clock")?,
        l1_bytes: s.bytes("l1_bytes")?,
    };
    s.finish()?;
    Ok(texture)
}

/// Extents of images: numbers of texels that OpenCL reports as `size_t`, all of them far below the limit.
const TEXELS: RangeInclusive<i64> = 1..=i32::MAX as i64;
const TEXELS_WORDS: &str = "from 1 to 2^31 - 1 texels";

pub(super) fn images(mut s: Section<'_>) -> Result<Images, DataError> {
    let texels = |s: &mut Section<'_>, key: &'static str| {
        let found = s.whole(key, &TEXELS, TEXELS_WORDS)?;
        Ok::<_, DataError>(s.must(key, found)?.map(|texels| texels as u32))
    };
    let images = Images {
        max_2d: extents(&mut s, "max_2d")?,
        max_3d: extents(&mut s, "max_3d")?,
        max_layers: texels(&mut s, "max_layers")?,
        max_1d_buffer: texels(&mut s, "max_1d_buffer")?,
        pitch_alignment: s.amount("pitch_alignment")?,
        base_address_alignment: s.amount("base_address_alignment")?,
    };
    s.finish()?;
    Ok(images)
}

fn extents<const N: usize>(s: &mut Section<'_>, key: &'static str) -> Required<[u32; N]> {
    let found: Sourced<Vec<u32>> = s.required(key)?;
    match <[u32; N]>::try_from(found.value.as_slice()) {
        Ok(extents) if !extents.contains(&0) => Ok(found.map(|_| extents)),
        _ => Err(s.impossible(key, &format!("a list of {N} extents above 0"))),
    }
}
