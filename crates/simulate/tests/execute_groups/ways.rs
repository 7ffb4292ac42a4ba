//! Work-items that go different ways through a kernel, and meet again.

use tripipe_launch::{Argument, NdRange};

use crate::bench::{Bench, memory};

/// Beside a merged condition a byte of those who went the one way: once they shared a register, and its leftovers in lanes
/// that had left the loop were taken for the condition of their neighbours.
#[test]
fn a_merged_condition_is_each_work_items_own() {
    let source = "kernel void border(global uchar *r, const int width) {
            const int x = get_global_id(0) * 8;
            if (x >= width * 3) return;
            uchar inner[8], outer[8];
            for (int i = 0; i < 8; ++i) { inner[i] = 1; outer[i] = i + 2; }
            for (int i = 0; i < min(8, width * 3 - x); ++i) {
                const int pixel = (x + i) / 3;
                const bool outside = pixel < 1 || pixel >= width - 1;
                r[x + i] = outside ? outer[i] : inner[i];
            }
        }";
    // Three bytes a pixel; the first pixel and the last count from 2 within their eight bytes, those between are 1.
    let rows: [&[u8]; 4] = [
        &[2, 3, 4, 1, 1, 1, 8, 9, 2],
        &[2, 3, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 6, 7, 8],
        &[2, 3, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 7, 8, 9],
        &[
            2, 3, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 8, 9, 2,
        ],
    ];
    let Some(mut bench) = Bench::new(source, "") else { return };
    for row in rows {
        let width = row.len() as i32 / 3;
        for items in [1, 8, 64] {
            let buffer = bench.buffer(&[0xffu8; 64]);
            let arguments = [memory(buffer), Argument::Value(width.into())];
            bench.run("border", NdRange::d1(64).local(items, 1, 1), &arguments);
            let found = bench.read::<u8>(buffer, 64);
            assert_eq!(&found[..row.len()], row, "width {width}, {items} work-items a group");
            assert_eq!(found[row.len()..], [0xff; 64][row.len()..], "width {width}");
        }
    }
}
