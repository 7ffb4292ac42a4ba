//! Reads the files of CPUs and boards.

use super::error::{DataError, DataReason};
use super::reader::{FromToml, Section};
use super::{SHARED_SOURCES, Sources};
use crate::boards::Board;
use crate::cpu::{Cpu, IssueOrder, cpus, find_cpu};
use crate::document::{Document, Table};
use crate::nearest::nearest;
use crate::sourced::Sourced;

fn section<'a>(
    root: &'a Table<'a>,
    sources: &'a Sources,
    name: &'static str,
) -> Result<Section<'a>, DataError> {
    let item = root.must(name)?;
    let table = item.as_table(format!("[{name}]")).ok_or_else(|| item.wrong_type("a section"))?;
    Ok(Section::new(table, sources))
}

fn number(section: &mut Section<'_>, key: &'static str) -> Result<Sourced<f64>, DataError> {
    let found = section.positive(key)?;
    section.must(key, found)
}

fn name(root: &Table<'_>) -> Result<String, DataError> {
    Ok(String::from_toml(&root.must("name")?)?)
}

impl Cpu {
    /// Parses the text of a file of `data/cpu/`. `id` names it, in messages too.
    pub(crate) fn from_toml(text: &str, id: &str) -> Result<Self, DataError> {
        let document = Document::parse(text, id)?;
        let root = document.root("a CPU");
        root.check_keys(&["name", "clock", "core", "latency_clocks", "caches", "memory"])?;
        let part = |name| section(&root, &SHARED_SOURCES, name);
        let (mut clock, mut core, mut latency) = (part("clock")?, part("core")?, part("latency_clocks")?);
        let (mut caches, mut memory) = (part("caches")?, part("memory")?);
        let cpu = Self {
            id: id.to_owned(),
            name: name(&root)?,
            min_mhz: number(&mut clock, "min_mhz")?,
            max_mhz: number(&mut clock, "max_mhz")?,
            order: core.required_word("order", IssueOrder::WORDS)?,
            issue_width: number(&mut core, "issue_width")?,
            integer_pipes: number(&mut core, "integer_pipes")?,
            multiply_pipes: number(&mut core, "multiply_pipes")?,
            load_pipes: number(&mut core, "load_pipes")?,
            store_pipes: number(&mut core, "store_pipes")?,
            loads_share_stores_pipes: core.required("loads_share_stores_pipes")?,
            vector_pipes: number(&mut core, "vector_pipes")?,
            vector_bits: number(&mut core, "vector_bits")?,
            issue_efficiency: number(&mut core, "issue_efficiency")?,
            integer: number(&mut latency, "integer")?,
            multiply: number(&mut latency, "multiply")?,
            load: number(&mut latency, "load")?,
            float_add: number(&mut latency, "float_add")?,
            float_multiply: number(&mut latency, "float_multiply")?,
            float_multiply_add: number(&mut latency, "float_multiply_add")?,
            l2_hit: number(&mut latency, "l2_hit")?,
            line_bytes: number(&mut caches, "line_bytes")?,
            l1_data_bytes: number(&mut caches, "l1_data_bytes")?,
            l1_data_ways: number(&mut caches, "l1_data_ways")?,
            l2_bytes: number(&mut caches, "l2_bytes")?,
            l2_ways: number(&mut caches, "l2_ways")?,
            one_core_gb_s: number(&mut memory, "one_core_gb_s")?,
        };
        for section in [clock, core, latency, caches, memory] {
            section.finish()?;
        }
        Ok(cpu)
    }
}

impl Board {
    /// Parses the text of a file of `data/boards/`. `id` names it, in messages too.
    pub(crate) fn from_toml(text: &str, id: &str) -> Result<Self, DataError> {
        let document = Document::parse(text, id)?;
        let root = document.root("a board");
        root.check_keys(&["name", "board", "host"])?;
        let mut board = section(&root, &SHARED_SOURCES, "board")?;
        let mut host = section(&root, &SHARED_SOURCES, "host")?;
        let contradiction = |section: &Section<'_>, key, message| {
            section.error_at(key, DataReason::Contradiction { message })
        };
        let cpu: Sourced<String> = board.required("cpu")?;
        let model = find_cpu(&cpu.value).ok_or_else(|| {
            let near = nearest(&cpu.value, cpus().iter().map(|cpu| cpu.id.as_str()));
            let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            contradiction(&board, "cpu", format!("no CPU model is called \"{}\"{hint}", cpu.value))
        })?;
        let gpu: Sourced<String> = board.required("gpu")?;
        let gpu_model =
            crate::find(&gpu.value).map_err(|error| contradiction(&board, "gpu", error.to_string()))?;
        let read = Self {
            id: id.to_owned(),
            name: name(&root)?,
            soc: board.required("soc")?,
            cpu: cpu.map(|_| model),
            cpu_clock_mhz: number(&mut board, "cpu_clock_mhz")?,
            gpu: gpu.map(|_| gpu_model),
            memory_gb_s_peak: number(&mut board, "memory_gb_s_peak")?,
            launch_us: number(&mut host, "launch_us")?,
            map_us: number(&mut host, "map_us")?,
        };
        board.finish()?;
        host.finish()?;
        Ok(read)
    }
}
