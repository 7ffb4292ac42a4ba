//! Times a kernel of floats: `speed FILE KERNEL N THREADS`.
use std::sync::Arc;
use tripipe_launch::*;
use tripipe_simulate::*;
fn main() {
    let which = std::env::args().nth(1).unwrap();
    let n: usize = std::env::args().nth(2).map_or(512, |n| n.parse().unwrap());
    let threads: usize = std::env::args().nth(3).map_or(1, |n| n.parse().unwrap());
    let dir = "/work/shared/reference/oclgrind-cases";
    let mut sim = Simulator::new(Options { threads, ..Options::default() });
    let bytes =
        |count: usize| -> Vec<u8> { (0..count).flat_map(|i| ((i % 17) as f32).to_ne_bytes()).collect() };
    let mut buffer = |sim: &mut Simulator, count: usize| {
        sim.allocate(&MemoryKind::Buffer { bytes: count * 4 }, Access::ReadWrite, Some(&bytes(count)))
            .unwrap()
    };
    let (file, entry, args, range): (&str, &str, Vec<Argument>, NdRange) = match which.as_str() {
        "filter" => {
            let (a, b, w) = (buffer(&mut sim, n * n), buffer(&mut sim, n * n), buffer(&mut sim, 9));
            (
                "filter3x3.cl",
                "filter3x3",
                vec![
                    Argument::Memory(a),
                    Argument::Memory(b),
                    Argument::Memory(w),
                    (n as i32).into(),
                    (n as i32).into(),
                ],
                NdRange::d2(n, n).local(16, 16, 1),
            )
        }
        "saxpy" => {
            let (a, b) = (buffer(&mut sim, n), buffer(&mut sim, n));
            (
                "saxpy.cl",
                "saxpy",
                vec![Argument::Memory(a), Argument::Memory(b), 2.0f32.into()],
                NdRange::d1(n).local(256, 1, 1),
            )
        }
        _ => {
            let (a, b, c) = (buffer(&mut sim, n * n), buffer(&mut sim, n * n), buffer(&mut sim, n * n));
            (
                "sgemm_tiled.cl",
                "sgemm",
                vec![(n as i32).into(), Argument::Memory(a), Argument::Memory(b), Argument::Memory(c)],
                NdRange::d2(n, n).local(16, 16, 1),
            )
        }
    };
    let program =
        Arc::new(Program::from_source(file, std::fs::read_to_string(format!("{dir}/{file}")).unwrap()));
    let launch = Launch { program, entry: entry.into(), arguments: args, range };
    if std::env::args().nth(4).is_some() {
        for _ in 0..3 {
            let checked = sim.check(&launch, &watch::Checks::all()).unwrap();
            let r = checked.report;
            println!(
                "checked: {:.3} M items/s, {} findings",
                r.work_items as f64 / r.elapsed.as_secs_f64() / 1e6,
                checked.findings.len()
            );
        }
    }
    for _ in 0..5 {
        match sim.run(std::slice::from_ref(&launch)) {
            Ok(_) => {
                let r = sim.reports()[0];
                println!(
                    "{:.3} M items/s, {:.2} G lane-instructions/s, {:?}",
                    r.work_items as f64 / r.elapsed.as_secs_f64() / 1e6,
                    r.lane_instructions as f64 / r.elapsed.as_secs_f64() / 1e9,
                    r.elapsed
                );
            }
            Err(error) => {
                println!("{error}");
                return;
            }
        }
    }
}
