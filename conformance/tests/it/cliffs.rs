//! A window that is a little larger takes a little longer, with the parameters that the library chooses. A sample:
//! `examples/cliffs` has all chains on all GPUs.

use tripipe_conformance::{cliffs, defaults};
use tripipe_device::find;
use tripipe_kernels::filter::{PixelType, Size};
use tripipe_timing::{VirtualGpu, VirtualOptions};

#[test]
fn neighbouring_sizes_take_neighbouring_times() {
    let groups = defaults::chains();
    let mut found = Vec::new();
    for (gpu, first) in [
        ("mali-g78", "gaussian:3"),
        ("mali-g78", "unsharp:3"),
        ("mali-t860", "gaussian:3"),
        ("adreno-650", "box:3"),
    ] {
        let group = groups.iter().find(|group| group[0] == first).unwrap();
        let options = VirtualOptions { time_only: true, ..VirtualOptions::default() };
        let mut executor = VirtualGpu::new(find(gpu).unwrap(), options);
        let times = match cliffs::times(&mut executor, group, Size::new(640, 480), 1, PixelType::U8) {
            Ok(times) => times,
            Err(error) => {
                assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{error}");
                eprintln!("skipped: {error}");
                return;
            }
        };
        assert_eq!(times.len(), group.len());
        let window = |time: &cliffs::FilterTime| time.name.split(" 640").next().unwrap().to_owned();
        found.extend(
            cliffs::cliffs(&times).map(|[one, next]| format!("{gpu}: {} to {}", window(one), window(next))),
        );
    }
    assert!(found.is_empty(), "{found:?}");
}
