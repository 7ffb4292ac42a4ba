//! The JSON format of Arm's offline compiler: its schema `performance`, version 2, for programs that read that.
//!
//! Figures are in malioc's scale: a load or store counts 1 for each message whatever its lines, and arithmetic of
//! Valhall and later half of what a core's lanes would need (docs/model.md). A value that is not a number is `null`,
//! such as the cost of a loop with unknown trip count. The schema does not support Adreno.

use serde_json::{Value, json};
use tripipe_analyze::{Analysis, Column, Cycles, Polynomial};
use tripipe_device::{Family, Vendor};

use super::Priced;

/// One document for all kernels on all Mali GPUs among them; `file` is the source's name.
pub fn malioc(all: &[Priced<'_>], file: &str) -> Value {
    let shaders: Vec<Value> = all
        .iter()
        .flat_map(|priced| priced.analyses)
        .filter(|analysis| analysis.gpu.vendor() == Vendor::Arm)
        .map(|analysis| shader(analysis, file))
        .collect();
    json!({
        "schema": { "name": "performance", "version": 2 },
        "producer": {
            "name": "Tripipe",
            "version": version(),
            "build": "",
            "documentation": "docs/model.md",
        },
        "shaders": shaders,
    })
}

fn version() -> Vec<u32> {
    // The schema wants numbers only.
    env!("CARGO_PKG_VERSION").split('.').filter_map(|part| part.parse().ok()).collect()
}

fn shader(analysis: &Analysis, file: &str) -> Value {
    let gpu = analysis.gpu;
    let family = gpu.family();
    let columns = analysis.columns;
    let pipelines: Vec<Value> = columns
        .iter()
        .map(|column| {
            json!({
                "name": name(*column, family),
                "display_name": column.head(family),
                "description": description(*column),
            })
        })
        .collect();
    let names: Vec<&str> = columns.iter().map(|column| name(*column, family)).collect();
    let registers = &analysis.registers;
    let occupancy = (100.0 * registers.occupancy.share()).floor() as u32;
    let architecture = match family {
        Family::Arm5thGen => "Arm 5th Gen".to_owned(),
        other => other.to_string(),
    };
    json!({
        "filename": file,
        "driver": "",
        "hardware": {
            "architecture": architecture,
            "core": gpu.name(),
            "revision": "",
            "pipelines": pipelines,
        },
        "shader": { "api": "OpenCL", "type": "Compute", "name": analysis.kernel },
        "warnings": [],
        "notes": analysis.left_out,
        "properties": [
            property("has_uniform_computation", "Has uniform computation", analysis.hoisted > 0),
        ],
        "variants": [{
            "name": "Main",
            "performance": {
                "pipelines": names,
                "total_cycles": cycles(analysis, &analysis.total),
                "shortest_path_cycles": cycles(analysis, &analysis.shortest),
                "longest_path_cycles": cycles(analysis, &analysis.longest),
            },
            "properties": [
                property("work_registers_used", "Work registers", registers.work.used),
                property("uniform_registers_used", "Uniform registers", registers.uniform),
                property("thread_occupancy", "Thread occupancy", occupancy),
                property("has_stack_spilling", "Stack spilling", registers.work.spill_bytes > 0),
                property("stack_spill_bytes", "Stack spill bytes", registers.work.spill_bytes),
                property("stack_size", "Stack use", analysis.stack_bytes),
                property("shared_storage_size", "Shared storage size", analysis.local_bytes),
                property(
                    "fp16_arithmetic",
                    "16-bit arithmetic",
                    analysis.narrow_arithmetic.map(|share| (100.0 * share).round()),
                ),
            ],
        }],
    })
}

fn property(name: &str, display_name: &str, value: impl Into<Value>) -> Value {
    json!({ "name": name, "display_name": display_name, "description": display_name, "value": value.into() })
}

/// Cycles of one path, and the pipelines that bound it according to them.
fn cycles(analysis: &Analysis, cycles: &Cycles) -> Value {
    let family = analysis.gpu.family();
    let counts: Option<Vec<f64>> = analysis
        .columns
        .iter()
        .zip(&cycles.columns)
        .map(|(column, cost)| in_scale(*column, family, cost, &cycles.messages))
        .collect();
    // With one unknown column, it is not known which pipeline bounds.
    let Some(counts) = counts else {
        return json!({ "cycle_count": vec![Value::Null; analysis.columns.len()], "bound_pipelines": [null] });
    };
    let most = counts.iter().copied().fold(0.0, f64::max);
    let bound: Vec<&str> = analysis
        .columns
        .iter()
        .zip(&counts)
        // Equal costs that were added in another order may differ in their last bits.
        .filter(|(_, count)| most > 0.0 && **count >= most * (1.0 - 1e-9))
        .map(|(column, _)| name(*column, family))
        .collect();
    let bound: Value = if bound.is_empty() { json!([null]) } else { json!(bound) };
    json!({ "cycle_count": counts, "bound_pipelines": bound })
}

/// A column in malioc's scale; `None` if it is not a number.
fn in_scale(column: Column, family: Family, cost: &Polynomial, messages: &Polynomial) -> Option<f64> {
    let later = matches!(family, Family::Valhall | Family::Arm5thGen);
    match column {
        Column::LoadStore => messages.as_constant(),
        Column::Texture => cost.as_constant(),
        _ if later => cost.as_constant().map(|cycles| cycles / 2.0),
        _ => cost.as_constant(),
    }
}

fn name(column: Column, family: Family) -> &'static str {
    let later = matches!(family, Family::Valhall | Family::Arm5thGen);
    match column {
        Column::Arithmetic if later => "arith_total",
        Column::Arithmetic => "arithmetic",
        Column::Fma => "arith_fma",
        Column::Convert => "arith_cvt",
        Column::Special => "arith_sfu",
        Column::LoadStore => "load_store",
        Column::Texture => "texture",
    }
}

fn description(column: Column) -> &'static str {
    match column {
        Column::Arithmetic => "All arithmetic",
        Column::Fma => "Floating-point multiplication and addition",
        Column::Convert => "Conversions, comparisons and integer addition",
        Column::Special => "Special functions, integer multiplication, shifts and logic",
        Column::LoadStore => "Loads and stores",
        Column::Texture => "Image reads",
    }
}
