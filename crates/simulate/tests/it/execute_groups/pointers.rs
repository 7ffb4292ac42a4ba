//! Pointers in memory.

use tripipe_launch::NdRange;

use super::bench::{Bench, memory};

#[test]
fn a_pointer_is_written_to_where_it_points() {
    let source = "typedef global int *Pointer;\n\
                  kernel void k(global Pointer *slots, global int *out) {\n    int i = get_global_id(0);\n    \
                  global Pointer *slot = slots + (i * 7 & 63);\n    *slot = (Pointer)slot;\n    \
                  out[i] = *slot == (Pointer)slot ? i : -1;\n}\n";
    let Some(mut bench) = Bench::new(source, "") else { return };
    let (slots, out) = (bench.buffer(&[0u64; 64]), bench.buffer(&[0i32; 64]));
    let arguments = [memory(slots), memory(out)];
    bench.run("k", NdRange::d1(64), &arguments);
    assert_eq!(bench.read::<i32>(out, 64), (0..64).collect::<Vec<i32>>());
    assert!(bench.check("k", NdRange::d1(64), &arguments).is_empty());
}
