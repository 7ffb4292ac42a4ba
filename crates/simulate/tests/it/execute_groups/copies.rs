//! Copies of whole objects, and asynchronous copies.

use tripipe_launch::{Argument, NdRange};

use crate::execute_groups::bench::{Bench, memory};

#[test]
fn structs_between_all_spaces() {
    let source = "
        struct S { int a; char b[5]; double c[7]; };
        kernel void f(global struct S *in, constant struct S *table, struct S value, global struct S *out) {
            int i = get_global_id(0), k = get_local_id(0);
            local struct S near[70];
            struct S own = in[i];
            own.a += i;
            near[k] = own;
            barrier(CLK_LOCAL_MEM_FENCE);
            struct S other = near[(k + 1) % get_local_size(0)];
            if (i % 4 == 0)
                other = table[1];
            else if (i % 4 == 1)
                other = value;
            out[i] = other;
        }";
    let Some(mut bench) = Bench::new(source, "-cl-std=CL1.2") else { return };
    const BYTES: usize = 72;
    const ITEMS: usize = 140;
    let mut random = fastrand::Rng::with_seed(1);
    let mut bytes = |count: usize| -> Vec<u8> { (0..BYTES * count).map(|_| random.u8(..)).collect() };
    let (input, table, value) = (bytes(ITEMS), bytes(2), bytes(1));
    let buffers = [bench.buffer(&input), bench.buffer(&table), bench.buffer(&vec![0u8; BYTES * ITEMS])];
    bench.run(
        "f",
        NdRange::d1(ITEMS).local(70, 1, 1),
        &[memory(buffers[0]), memory(buffers[1]), Argument::Bytes(value.clone().into()), memory(buffers[2])],
    );
    let out = bench.read::<u8>(buffers[2], BYTES * ITEMS);
    // Padding may or may not be copied.
    let fields = |bytes: &[u8]| [&bytes[..9], &bytes[16..]].concat();
    for (i, found) in out.chunks(BYTES).enumerate() {
        let wanted = match i % 4 {
            0 => table[BYTES..].to_vec(),
            1 => value.clone(),
            _ => {
                let from = i / 70 * 70 + (i + 1) % 70;
                let mut own = input[from * BYTES..(from + 1) * BYTES].to_vec();
                let a = i32::from_le_bytes(own[..4].try_into().unwrap()).wrapping_add(from as i32);
                own[..4].copy_from_slice(&a.to_le_bytes());
                own
            }
        };
        assert_eq!(fields(found), fields(&wanted), "{i}");
    }
}

#[test]
fn asynchronous() {
    let source = "
        kernel void there_and_back(global const int *in, global int *out, local int *tile) {
            size_t n = get_local_size(0), base = get_group_id(0) * n;
            event_t e = async_work_group_copy(tile, in + base, n, 0);
            wait_group_events(1, &e);
            int x = tile[n - 1 - get_local_id(0)];
            barrier(CLK_LOCAL_MEM_FENCE);
            tile[get_local_id(0)] = x * 2;
            barrier(CLK_LOCAL_MEM_FENCE);
            e = async_work_group_copy(out + base, tile, n, 0);
            wait_group_events(1, &e);
        }
        kernel void columns(global const int *in, global int *out, local int *tile, int rows, int columns) {
            int column = get_group_id(0);
            event_t events[2];
            events[0] = async_work_group_strided_copy(tile, in + column, rows, columns, 0);
            events[1] = async_work_group_copy(tile + rows, in, 1, 0);
            wait_group_events(2, events);
            for (int row = get_local_id(0); row < rows; row += get_local_size(0))
                tile[row] += tile[rows];
            barrier(CLK_LOCAL_MEM_FENCE);
            event_t back = async_work_group_strided_copy(out + column, tile, rows, columns, 0);
            wait_group_events(1, &back);
        }
        kernel void joined(global const float3 *a, global const float3 *b, global float3 *out) {
            local float3 s[140];
            event_t e = 0;
            e = async_work_group_copy(s, a, 70, e);
            e = async_work_group_copy(s + 70, b, 70, e);
            wait_group_events(1, &e);
            int i = get_local_id(0);
            out[i] = s[i] - s[139 - i];
        }
        kernel void none(global const int *in, global int *out) {
            local int s[4];
            s[get_local_id(0) % 4] = 5;
            event_t e = async_work_group_copy(s, in, 0, 0);
            wait_group_events(1, &e);
            out[get_local_id(0)] = s[get_local_id(0) % 4];
        }";
    let Some(mut bench) = Bench::new(source, "-cl-std=CL1.2") else { return };
    let local = |items: usize| Argument::Local { bytes: 4 * items };
    for items in [1, 7, 64, 65, 256] {
        let input: Vec<i32> = (0..3 * items as i32).map(|i| i * i - 50).collect();
        let buffers = [bench.buffer(&input), bench.buffer(&vec![0; 3 * items])];
        let arguments = [memory(buffers[0]), memory(buffers[1]), local(items)];
        bench.run("there_and_back", NdRange::d1(3 * items).local(items, 1, 1), &arguments);
        let wanted: Vec<i32> =
            input.chunks(items).flat_map(|group| group.iter().rev().map(|x| x * 2)).collect();
        assert_eq!(bench.read::<i32>(buffers[1], 3 * items), wanted, "{items}");
    }

    let (rows, columns) = (90, 6);
    let input: Vec<i32> = (0..rows * columns).map(|i| i + 100).collect();
    let buffers = [bench.buffer(&input), bench.buffer(&vec![0; (rows * columns) as usize])];
    let arguments =
        [memory(buffers[0]), memory(buffers[1]), local(rows as usize + 1), rows.into(), columns.into()];
    bench.run("columns", NdRange::d1(6 * 80).local(80, 1, 1), &arguments);
    let wanted: Vec<i32> = input.iter().map(|x| x + 100).collect();
    assert_eq!(bench.read::<i32>(buffers[1], wanted.len()), wanted);

    // Vectors of three take the space of four.
    let a: Vec<f32> = (0..280u16).map(f32::from).collect();
    let b: Vec<f32> = a.iter().map(|x| x * 3.0).collect();
    let buffers = [bench.buffer(&a), bench.buffer(&b), bench.buffer(&[0f32; 280])];
    bench.run("joined", NdRange::d1(70).local(70, 1, 1), &buffers.map(memory));
    let out = bench.read::<f32>(buffers[2], 280);
    for i in 0..70 {
        for component in 0..3 {
            let wanted = a[4 * i + component] - b[4 * (69 - i) + component];
            assert_eq!(out[4 * i + component], wanted, "{i}, {component}");
        }
    }

    let buffers = [bench.buffer(&[1]), bench.buffer(&[0; 8])];
    bench.run("none", NdRange::d1(8).local(8, 1, 1), &buffers.map(memory));
    assert_eq!(bench.read::<i32>(buffers[1], 8), [5; 8]);
}

#[test]
fn outside_is_a_fault() {
    let source = "
        kernel void f(global const int *in, global int *out, int n) {
            local int s[10];
            event_t e = async_work_group_copy(s, in, n, 0);
            wait_group_events(1, &e);
            out[get_local_id(0)] = s[0];
        }
        kernel void strided(global const int *in, global int *out, int n) {
            local int s[10];
            event_t e = async_work_group_strided_copy(s, in, 4, n, 0);
            wait_group_events(1, &e);
            out[get_local_id(0)] = s[0];
        }";
    let Some(mut bench) = Bench::new(source, "-cl-std=CL1.2") else { return };
    let (input, short) = (bench.buffer(&[0; 20]), bench.buffer(&[0; 4]));
    let out = bench.buffer(&[0; 80]);
    let mut error = |entry: &str, from, n: i32, items: usize| {
        let range = NdRange::d1(items).local(items, 1, 1);
        bench.try_run(entry, range, &[memory(from), memory(out), n.into()]).unwrap_err()
    };
    for items in [1, 80] {
        let past = error("f", input, 11, items);
        assert!(past.contains("writes 44 bytes at offset 0 of `f.s`, which has 40 bytes"), "{past}");
        assert!(past.contains("work-item [0, 0, 0]") && past.contains("test.cl:4:25"), "{past}");
        let past = error("f", short, 10, items);
        assert!(past.contains("reads 40 bytes at offset 0 of `in`, which has 16 bytes"), "{past}");
        let past = error("strided", input, 7, items);
        assert!(past.contains("reads 4 bytes at offset 84 of `in`, which has 80 bytes"), "{past}");
        // A count so large that the copy would never finish.
        let past = error("f", input, -1, items);
        assert!(past.contains("of `in`, which has 80 bytes"), "{past}");
    }
}
