//! The published product of half matrices on a Mali-G77 and an Adreno 650.

use std::fmt::Write as _;

use tripipe_analyze::{Setup, analyze};
use tripipe_device::find;
use tripipe_ir::front::clang::build_file;
use tripipe_ladders::published::Published;

use crate::held::{compiled, error, file, keep, percent, without_waiting};

#[test]
fn speedups_of_steps_match_published_ones() {
    let Some(module) = compiled(|build| build_file(&file("gemm_fp16.cl"), build)) else { return };
    let mut table = String::from(
        "| step | over | GPU | published | model | error | bound |\n|---|---|---|--:|--:|--:|---|\n",
    );
    let size = 1024_u64;
    let time = |name: &str, gpu: &str| {
        let kernel = module.kernel(&name.replace('-', "_")).unwrap();
        let each = if name == "naive" { 1 } else { 4 };
        let sizes = kernel.parameters.iter().enumerate();
        let sizes = sizes.filter(|(_, parameter)| ["m", "n", "k"].contains(&parameter.name.as_str()));
        let setup = Setup {
            arguments: sizes.map(|(position, _)| (position, size.cast_signed())).collect(),
            global: Some([size / each, size / each, 1]),
            local: None,
        };
        let analysis = analyze(kernel, find(gpu).unwrap(), &setup);
        let bound = &analysis.longest.bound;
        let heads = bound.iter().map(|at| analysis.columns[*at].head(analysis.gpu.family()));
        let heads: Vec<&str> = heads.collect();
        (without_waiting(&analysis).0, heads.join(", "))
    };
    for ratio in &Published::load().unwrap().gemm_fp16_1024.ratio {
        for (gpu, published) in &ratio.gpus {
            // Versions that were tuned by hand in unpublished ways.
            if module.kernel(&ratio.version.replace('-', "_")).is_none() {
                continue;
            }
            let ((before, _), (after, bound)) = (time(&ratio.over, gpu), time(&ratio.version, gpu));
            let found = before / after;
            let _ = writeln!(
                table,
                "| {} | {} | {gpu} | {published} | {found:.2} | {} | {bound} |",
                ratio.version,
                ratio.over,
                percent(error(found, *published))
            );
        }
    }
    keep("products", &table);
}
