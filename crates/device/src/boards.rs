//! Boards and phones: a CPU and a GPU that share a memory.

use std::sync::LazyLock;

use crate::cpu::Cpu;
use crate::gpu::Gpu;
use crate::load::read_all;
use crate::sourced::Sourced;

/// Every file of `data/boards/`, by its name without ending.
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/boards.rs"));

static BOARDS: LazyLock<Vec<Board>> = LazyLock::new(|| read_all(FILES, Board::from_toml));

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
