//! The known GPU models, as a table and as a result.

use std::fmt::Display;

use tripipe_device::{Basis, Gpu, Sourced};
use tripipe_results::{Devices, Figure, GpuModel};
use tripipe_timing::energy::{Power, power};

use crate::number::{bytes, significant};
use crate::style::{Canvas, paragraph};
use crate::table::{Cell, Group, Row, draw};

/// A table of the models' main figures: each product, its peak rates, and the figures of a core.
pub fn text(models: &[&Gpu], canvas: Canvas) -> String {
    let names: Vec<Cell> = models.iter().map(|model| Cell::new(model.name())).collect();
    let group = |title: &str, columns: &[&str], row: &dyn Fn(&Gpu) -> Vec<String>| Group {
        title: title.to_owned(),
        columns: columns.iter().map(|column| (*column).to_owned()).collect(),
        rows: models
            .iter()
            .map(|model| Row::Cells(row(model).into_iter().map(Cell::new).collect()))
            .collect(),
    };
    let groups = [
        group("product", &["generation", "chip", "cores", "MHz"], &|model| {
            let configuration = &model.configuration;
            vec![
                model.identity.generation.clone(),
                configuration.soc.value.clone(),
                figure(&configuration.cores),
                figure(&configuration.clock_mhz),
            ]
        }),
        group("at most, 10^9 per second", &["f32", "f16", "int8 dot", "bytes"], &|model| {
            let rates = &model.operations_per_clock_per_core;
            let rate = |rate: &Sourced<u32>| match rate.value {
                // A rate of 0 stands for an operation that the GPU does not have.
                0 => "-".to_owned(),
                value => marked(significant(model.operations_per_second(value) * 1e-9), rate.basis),
            };
            let memory = &model.configuration.dram_gb_s_peak;
            vec![
                rate(&rates.fp32_fma),
                rate(&rates.fp16_fma),
                rate(&rates.int8_dot_mac),
                marked(significant(memory.value), memory.basis),
            ]
        }),
        group("memory", &["L2", "local", "where"], &|model| {
            let size = |size: &Sourced<u64>| match size.value {
                0 => "-".to_owned(),
                value => marked(bytes(value), size.basis),
            };
            vec![
                size(&model.memory.l2_bytes),
                size(&model.local_memory.bytes),
                figure(&model.local_memory.placement),
            ]
        }),
        group("a core", &["threads", "warp", "group", "registers"], &|model| {
            vec![
                figure(&model.core.max_threads),
                figure(&model.core.warp_width),
                figure(&model.core.max_work_group_size),
                figure(&model.registers.max),
            ]
        }),
    ];
    let mut out = draw(canvas, "", &names, &groups, 0);
    out.push('\n');
    let legend = "~ marks a guess; `--format json` has the source of each figure. Rates are for all cores \
        at full clock; a multiply-add counts as two operations. Products with the same GPU differ in cores \
        and clocks. `tripipe analyze -g NAME` accepts these names.";
    out.push_str(&paragraph(canvas, "  ", 2, legend));
    out
}

fn marked(text: String, basis: Basis) -> String {
    if basis == Basis::Guessed { format!("~{text}") } else { text }
}

fn figure<T: Display>(figure: &Sourced<T>) -> String {
    marked(figure.value.to_string(), figure.basis)
}

/// A table of performance per watt: the peak rate, the power under load, and its source.
pub fn power_text(models: &[&Gpu], canvas: Canvas) -> String {
    let names: Vec<Cell> = models.iter().map(|model| Cell::new(model.name())).collect();
    let columns = ["f32 GFLOP/s", "W", "GFLOP/s per W", "power"];
    let row = |model: &&Gpu| {
        let rate = &model.operations_per_clock_per_core.fp32_fma;
        let peak = marked(significant(model.operations_per_second(rate.value) * 1e-9), rate.basis);
        let power = power(model);
        let or_none = |own: Option<f64>| own.map_or_else(|| "-".to_owned(), significant);
        let per_watt = power.as_ref().and_then(|power| power.peak_gflops_per_watt(model));
        let basis = power.as_ref().map_or("-", |power| power.basis);
        let cells =
            [peak, or_none(power.as_ref().map(|power| power.watts)), or_none(per_watt), basis.to_owned()];
        Row::Cells(cells.into_iter().map(Cell::new).collect())
    };
    let group = Group {
        title: "performance per watt".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: models.iter().map(row).collect(),
    };
    let mut out = draw(canvas, "", &names, &[group], 0);
    out.push('\n');
    let legend = "~ marks a guess; - stands where no power is published. Powers of different bases do not compare, and are not ranked together: \
        a measured one is that of a game, a documented one that of multiply-adds at the peak rate as Arm's driver \
        estimates it with its usual scale, several times what a phone can cool (docs/simulate.md).";
    out.push_str(&paragraph(canvas, "  ", 2, legend));
    // GPUs of one source are said together.
    let mut sources: Vec<(String, Vec<&str>)> = Vec::new();
    for model in models {
        let Some(Power { load, source, .. }) = power(model) else { continue };
        let said = format!("{load}; {source}");
        match sources.iter_mut().find(|(known, _)| *known == said) {
            Some((_, names)) => names.push(model.name()),
            None => sources.push((said, vec![model.name()])),
        }
    }
    for (said, names) in sources {
        out.push_str(&paragraph(canvas, "  ", 4, &format!("{}: {said}", names.join(", "))));
    }
    out
}

/// The models, each figure with its basis and its source.
pub fn result(models: &[&Gpu]) -> Devices {
    Devices::Virtual { models: models.iter().map(|own| model(own)).collect() }
}

fn model(model: &Gpu) -> GpuModel {
    let configuration = &model.configuration;
    let rates = &model.operations_per_clock_per_core;
    let rate = |rate: &Sourced<u32>| sourced(rate, model.operations_per_second(rate.value));
    let power = power(model);
    GpuModel {
        id: model.id(),
        name: model.name().to_owned(),
        vendor: model.vendor().to_string(),
        family: model.family().to_string(),
        generation: model.identity.generation.clone(),
        soc: of(&configuration.soc),
        cores: of(&configuration.cores),
        clock_mhz: of(&configuration.clock_mhz),
        f32_operations_per_second: rate(&rates.fp32_fma),
        f16_operations_per_second: rate(&rates.fp16_fma),
        int8_dot_operations_per_second: rate(&rates.int8_dot_mac),
        bytes_per_second: sourced(&configuration.dram_gb_s_peak, configuration.dram_gb_s_peak.value * 1e9),
        watts: power.as_ref().map(|power| Figure {
            value: power.watts,
            basis: power.basis.to_owned(),
            source: format!("{}: {}", power.source, power.load),
        }),
        gflops_per_watt: power.and_then(|power| power.peak_gflops_per_watt(model)),
        l2_bytes: of(&model.memory.l2_bytes),
        local_memory_bytes: of(&model.local_memory.bytes),
        local_memory: sourced(&model.local_memory.placement, model.local_memory.placement.value.to_string()),
        max_threads_per_core: of(&model.core.max_threads),
        warp_width: of(&model.core.warp_width),
        max_work_group_size: of(&model.core.max_work_group_size),
        registers: of(&model.registers.max),
        fp16: of(&model.supports.fp16),
        fp64: of(&model.supports.fp64),
    }
}

fn of<T: Clone>(figure: &Sourced<T>) -> Figure<T> {
    sourced(figure, figure.value.clone())
}

fn sourced<T, V>(figure: &Sourced<T>, value: V) -> Figure<V> {
    Figure { value, basis: figure.basis.to_string(), source: figure.source.citation.clone() }
}
