//! Boards and phones: a CPU and a GPU that share a memory.

use std::sync::LazyLock;

use crate::cpu::Cpu;
use crate::gpu::Gpu;
use crate::sourced::Sourced;

macro_rules! files {
    ($($id:literal),* $(,)?) => {
        &[$(($id, include_str!(concat!("../data/boards/", $id, ".toml")))),*]
    };
}

/// Every file of `data/boards/`, by its name without ending. A test compares the list with the folder.
static FILES: &[(&str, &str)] = files![
    "arndale",
    "firefly-rk3399",
    "galaxy-s20",
    "odroid-xu4",
    "pixel-4",
    "pixel-6",
    "pixel-8",
    "rk3588",
    "snapdragon-8-gen-1",
    "snapdragon-8-gen-2",
    "snapdragon-8-gen-3",
    "snapdragon-865",
    "snapdragon-888",
];

#[allow(clippy::panic, reason = "embedded data: a test reads it and fails if it is malformed")]
static BOARDS: LazyLock<Vec<Board>> = LazyLock::new(|| {
    let read = |id: &str, text: &str| Board::from_toml(text, id).unwrap_or_else(|error| panic!("{error}"));
    FILES.iter().map(|(id, text)| read(id, text)).collect()
});

/// A board or phone.
#[derive(Clone, Debug, PartialEq)]
pub struct Board {
    /// The name of its file, by which it is chosen: `arndale`.
    pub id: String,
    /// Its name for display.
    pub name: String,
    /// Its chip.
    pub soc: Sourced<String>,
    /// The fastest of its cores that there is a model of.
    pub cpu: Sourced<&'static Cpu>,
    /// The highest clock of these cores in MHz.
    pub cpu_clock_mhz: Sourced<f64>,
    /// Its GPU's model. The model's cores and clock may be those of another product.
    pub gpu: Sourced<&'static Gpu>,
    /// Peak bandwidth of the memory that CPU and GPU share, in 10^9 bytes per second.
    pub memory_gb_s_peak: Sourced<f64>,
    /// Microseconds of the host for a launch.
    pub launch_us: Sourced<f64>,
    /// Microseconds of the host to map or unmap a buffer, without copies.
    pub map_us: Sourced<f64>,
}

/// All built-in boards, by name of file.
pub fn boards() -> &'static [Board] {
    &BOARDS
}

/// The board of that name. Case, spaces, dashes and underscores are ignored: `Odroid XU4` is `odroid-xu4`.
pub fn find_board(name: &str) -> Option<&'static Board> {
    let plain = |name: &str| name.to_lowercase().replace([' ', '-', '_'], "");
    boards().iter().find(|board| plain(&board.id) == plain(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_built_in_and_reads() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data/boards");
        let mut on_disk: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        on_disk.sort();
        let mut built_in: Vec<String> = FILES.iter().map(|(id, _)| format!("{id}.toml")).collect();
        built_in.sort();
        assert_eq!(on_disk, built_in);
        for board in boards() {
            let cpu = board.cpu.value;
            let clocks = cpu.min_mhz.value..=cpu.max_mhz.value;
            assert!(clocks.contains(&board.cpu_clock_mhz.value), "{}", board.id);
            assert!(crate::find(&board.id).is_err(), "{} is also a GPU's name", board.id);
        }
    }

    /// The board of the published Laplace study: one Cortex-A15 at 1.7 GHz beside a Mali-T604.
    #[test]
    fn the_arndale_is_the_published_one() {
        let board = find_board("Arndale").unwrap();
        assert_eq!((board.cpu.value.name.as_str(), board.cpu_clock_mhz.value), ("Cortex-A15", 1700.0));
        assert_eq!(board.gpu.value.name(), "Mali-T604");
        assert!(find_board("arndal").is_none());
    }

    #[test]
    fn unknown_parts_are_located() {
        let (_, text) = FILES[0];
        let wrong = text.replace("mali-t604", "mali-t605").replace("cortex-a15", "cortex-a16");
        let error = Board::from_toml(&wrong, "a.toml").unwrap_err().to_string();
        assert!(error.starts_with("a.toml:") && error.contains("cortex-a16"), "{error}");
    }
}
