//! The devices of a machine as text.

use std::fmt::Write as _;

use super::{Entry, OpenCl, features, result::kind};
use crate::number::bytes;
use crate::style::{Canvas, Tone, paragraph};

/// Characters before the device's name.
const INDENT: usize = 10;
/// Characters before a fact.
const FACT: usize = INDENT + 10;

/// Each device with its properties and features; at the end the reason if there is no OpenCL device.
pub fn text(entries: &[Entry], no_opencl: Option<&str>, canvas: Canvas) -> String {
    canvas.shown(drawn(entries, no_opencl, canvas))
}

fn drawn(entries: &[Entry], no_opencl: Option<&str>, canvas: Canvas) -> String {
    let mut out = String::new();
    for (index, entry) in entries.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let choice = format!("{:<width$} ", entry.choice, width = INDENT - 1);
        let _ = writeln!(out, "{choice}{}", canvas.paint(Tone::Heading, &entry.name));
        if let Some(opencl) = &entry.opencl {
            facts(opencl, canvas, &mut out);
        } else {
            let what = "filters and products in half, float and double; needs no OpenCL";
            fact("built in", what, canvas, &mut out);
        }
    }
    if let Some(reason) = no_opencl {
        let _ = writeln!(out, "\nno OpenCL device: {reason}");
    }
    out
}

fn units(count: u32) -> String {
    if count == 1 { "1 compute unit".to_owned() } else { format!("{count} compute units") }
}

fn fact(name: &str, text: &str, canvas: Canvas, out: &mut String) {
    let name = canvas.paint(Tone::Faint, &format!("{name:<width$}", width = FACT - INDENT));
    out.push_str(&paragraph(canvas, &format!("{}{name}", " ".repeat(INDENT)), FACT, text));
}

fn facts(opencl: &OpenCl, canvas: Canvas, out: &mut String) {
    let OpenCl { probe, identification } = opencl;
    let model = match identification.model {
        Some(model) => format!("{} ({}): {}", model.name(), identification.certainty, identification.why),
        None => format!("none ({}): {}", identification.certainty, identification.why),
    };
    fact("model", &model, canvas, out);
    for difference in &identification.differences {
        fact("", &format!("but {difference}"), canvas, out);
    }
    let mut driver = vec![probe.platform.clone(), probe.version.clone(), format!("driver {}", probe.driver)];
    // Drivers may report empty texts.
    driver.retain(|part| !part.trim().is_empty() && part != "driver ");
    fact("driver", &driver.join(", "), canvas, out);

    let (major, minor) = probe.opencl_c;
    let [x, y, z] = probe.max_work_item_sizes;
    let mut compute = vec![format!("{} with {}", kind(probe.kind), units(probe.compute_units))];
    // Some drivers report a clock that no GPU has.
    match probe.believed_clock_mhz() {
        Some(clock) => {
            let _ = write!(compute[0], " at {clock} MHz");
        }
        None if probe.clock_mhz > 0 => {
            let _ = write!(compute[0], " (the driver reports {} MHz)", probe.clock_mhz);
        }
        None => {}
    }
    if probe.opencl_c != (0, 0) {
        compute.push(format!("OpenCL C {major}.{minor}"));
    }
    compute.push(format!("{}-bit addresses", probe.address_bits));
    compute.push(format!("work-groups of up to {} work-items ({x} x {y} x {z})", probe.max_work_group_size));
    fact("compute", &compute.join(", "), canvas, out);

    let shared = if probe.unified_memory { "shared with the host" } else { "its own" };
    let local = if probe.local_memory_dedicated { "dedicated" } else { "part of global memory" };
    let mut memory = vec![
        format!("{}, {shared}", bytes(probe.global_memory_bytes)),
        format!("one buffer up to {}", bytes(probe.max_buffer_bytes)),
        format!("local {}, {local}", bytes(probe.local_memory_bytes)),
    ];
    if probe.cache_bytes > 0 {
        memory.push(format!(
            "cache {} in lines of {}",
            bytes(probe.cache_bytes),
            bytes(probe.cache_line_bytes.into())
        ));
    }
    fact("memory", &memory.join("; "), canvas, out);

    if let Some(images) = probe.images {
        let [width, height] = images.max_2d;
        let mut text =
            format!("2D up to {width} x {height}, 1D from a buffer up to {} texels", images.max_1d_buffer);
        if images.from_buffer {
            let _ =
                write!(text, "; 2D from a buffer, rows aligned to {} texels", images.pitch_alignment.max(1));
        }
        fact("images", &text, canvas, out);
    }
    let features = features(probe);
    let listed = |offered: bool| {
        features
            .iter()
            .filter(|feature| feature.1 == offered)
            .map(|feature| feature.0)
            .collect::<Vec<_>>()
            .join(", ")
    };
    for (name, list) in [("offers", listed(true)), ("lacks", listed(false))] {
        if !list.is_empty() {
            fact(name, &list, canvas, out);
        }
    }
}
