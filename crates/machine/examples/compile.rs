//! Prints what GPUs make of a kernel: `cargo run -p tripipe-machine --example compile -- FILE.spv GPU [KERNEL]`.

use tripipe_machine::{Pipe, compile};

#[allow(clippy::print_stdout, reason = "an example prints")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("which file?")?;
    let gpu = tripipe_device::find(&arguments.next().ok_or("which GPU?")?)?;
    let only = arguments.next();
    let options = tripipe_ir::front::spirv::Options::default();
    let bytes = if file.ends_with(".spv") {
        std::fs::read(&file)?
    } else {
        let build = tripipe_ir::front::clang::Build {
            optimization: tripipe_ir::front::clang::Optimization::Driver,
            ..Default::default()
        };
        tripipe_ir::front::clang::build_file(std::path::Path::new(&file), &build)?.spirv
    };
    let module = tripipe_ir::front::spirv::load(&bytes, &options)?;
    for kernel in &module.kernels {
        let code = compile(kernel, gpu);
        let mut total = [0.0; Pipe::ALL.len()];
        let mut issues = 0;
        for block in kernel.blocks.keys() {
            issues += code.blocks[block].len();
            code.cycles(block).iter().zip(&mut total).for_each(|(cycles, sum)| *sum += cycles);
        }
        println!(
            "{:20} {issues} issues, pipes {total:?}, {:?} uniform {} unknown {:?}",
            kernel.name,
            (code.work.used, code.work.needed, code.work.spill_bytes),
            code.uniform_bits / 32,
            code.unknown
        );
        if only.as_deref() == Some(&kernel.name) {
            for block in kernel.blocks.keys() {
                println!("{block}:");
                for issue in &code.blocks[block] {
                    let text: Vec<String> = issue
                        .operations
                        .iter()
                        .map(|(unit, operation)| {
                            format!(
                                "[{unit}] {}x{}/{} {:?} <- {:?}",
                                operation.work,
                                operation.lanes,
                                operation.bits,
                                operation.writes,
                                operation.reads
                            )
                        })
                        .collect();
                    println!("  {:?} {}", issue.pipe, text.join("  |  "));
                }
            }
        }
    }
    Ok(())
}
