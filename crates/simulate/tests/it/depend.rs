//! The lines that a number depends on, against lines counted by hand.

use std::sync::Arc;

use tripipe_launch::{Access, Argument, Executor, Launch, MemoryKind, NdRange, Program};
use tripipe_simulate::{Options, Simulator};

/// The lines that element `index` of `out` depends on. The body starts at line 2, and the kernel `k` runs with 8 work-items
/// in one work-group. `out` has 16 elements.
struct Slices {
    source: String,
    input: Vec<i32>,
}

impl Slices {
    /// `None`, with a message, if there is no clang, unless `TRIPIPE_REQUIRE_CLANG` is set.
    fn of(body: &str, input: &[i32]) -> Option<Self> {
        Self::with("", body, input)
    }

    /// With functions, after the kernel.
    fn with(functions: &str, body: &str, input: &[i32]) -> Option<Self> {
        let head = "int before(int x); kernel void k(global const int *in, global int *out) {\n";
        let source = format!("{head}{body}\n}}\n{functions}");
        let slices = Self { source, input: input.to_vec() };
        let (mut simulator, launch, _) = slices.launch();
        if let Err(error) = simulator.prepare(&launch.program, &launch.entry) {
            assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{error}");
            eprintln!("left out: {error}");
            return None;
        }
        Some(slices)
    }

    fn launch(&self) -> (Simulator, Launch, tripipe_launch::MemoryId) {
        let mut simulator = Simulator::new(Options::default());
        let bytes: Vec<u8> = self.input.iter().flat_map(|number| number.to_le_bytes()).collect();
        let mut buffer = |bytes: &[u8]| {
            let kind = MemoryKind::Buffer { bytes: bytes.len() };
            simulator.allocate(&kind, Access::ReadWrite, Some(bytes)).unwrap()
        };
        let (from, to) = (buffer(&bytes), buffer(&[0; 64]));
        let launch = Launch {
            program: Arc::new(Program::from_source("k.cl", self.source.clone())),
            entry: "k".into(),
            arguments: vec![Argument::Memory(from), Argument::Memory(to)],
            range: NdRange::d1(8).local(8, 1, 1),
        };
        (simulator, launch, to)
    }

    /// The lines, and the value.
    fn at(&self, index: usize) -> (Vec<u32>, i32) {
        let (mut simulator, launch, out) = self.launch();
        let lines = simulator.needed_lines(&launch, (out, 4 * index)).unwrap();
        assert!(lines.needed.is_subset(&lines.known), "{lines:?}");
        let needed = lines.needed.iter().map(|(file, line)| {
            assert_eq!(file, "k.cl");
            *line
        });
        let mut value = [0; 4];
        simulator.read(out, 4 * index, &mut value).unwrap();
        (needed.collect(), i32::from_le_bytes(value))
    }
}

const INPUT: [i32; 9] = [20, 3, 4, 50, 6, 7, 8, 9, 10];

#[test]
fn values_bring_the_lines_that_compute_them() {
    let body = "    size_t i = get_global_id(0);
    int a = in[i];
    int b = in[i + 1];
    int c = a * 3;
    int d = b * 5;
    out[i] = c;
    out[i + 8] = d;";
    let Some(slices) = Slices::of(body, &INPUT) else { return };
    assert_eq!(slices.at(0), (vec![2, 3, 5, 7], 60));
    assert_eq!(slices.at(8), (vec![2, 4, 6, 8], 15));
}

/// Equal expressions are computed once: here the address of the second load.
#[test]
fn equal_expressions_belong_to_the_first_line() {
    let body = "    size_t i = get_global_id(0);
    out[i] = in[i + 1];
    out[i + 8] = in[i + 1];";
    let Some(slices) = Slices::of(body, &INPUT) else { return };
    assert_eq!(slices.at(0), (vec![2, 3], 3));
    assert_eq!(slices.at(8), (vec![2, 3, 4], 3));
}

#[test]
fn what_is_overwritten_is_not_needed() {
    let body = "    size_t i = get_global_id(0);
    global int *to = out + i;
    global int *far = out + (i ^ 8);
    global const int *from = in + i;
    *to = from[1] * 9;
    *to = *from + 1;
    *far = *from * 2;
    *far += 5;
    int kept[2] = { 0, 0 };
    kept[i & 1] = 7;
    kept[1] = *from * 3;
    if (i == 7) *far = kept[1];";
    let Some(slices) = Slices::of(body, &INPUT) else { return };
    assert_eq!(slices.at(0), (vec![2, 3, 5, 7], 21));
    assert_eq!(slices.at(8), (vec![2, 4, 5, 8, 9], 45));
    // Work-item 7 overwrites what it added to, by private memory, whose first values are overwritten too;
    // its declaration, line 10, has the address.
    assert_eq!(slices.at(15), (vec![2, 4, 5, 10, 12, 13], 27));
}

#[test]
fn branches_that_a_work_item_takes_are_needed() {
    let body = "    size_t i = get_global_id(0);
    int v = in[i] + 1;
    int which = in[8 - i];
    if (which == 10)
        v = in[i + 1] * 2;
    else if (which == 8)
        v = in[0];
    int w = in[8];
    out[i] = v;
    out[i + 8] = w;";
    let Some(slices) = Slices::of(body, &INPUT) else { return };
    // 10: the first branch. 8: the second one, which runs only because of the first. The others keep their value.
    assert_eq!(slices.at(0), (vec![2, 4, 5, 6, 10], 6));
    assert_eq!(slices.at(2), (vec![2, 4, 5, 7, 8, 10], 20));
    assert_eq!(slices.at(8), (vec![2, 9, 11], 10));
    let (lines, value) = slices.at(1);
    assert_eq!(value, 4);
    assert!([2, 3, 10].iter().all(|line| lines.contains(line)), "{lines:?}");
    assert!([6, 8, 9, 11].iter().all(|line| !lines.contains(line)), "{lines:?}");
}

/// What was assigned is a constant, so that nothing but the branches tells how it came about.
#[test]
fn constants_that_branches_choose_bring_the_branches() {
    // With a store besides, so that the branch cannot become a selection.
    for other in ["", "out[15] = 1;"] {
        let body = format!(
            "    size_t i = get_global_id(0);
    int v = 1;
    int which = in[i];
    if (which > 10) {{ v = 7; {other} }}
    out[i] = v;"
        );
        let Some(slices) = Slices::of(&body, &INPUT) else { return };
        assert_eq!(slices.at(0), (vec![2, 4, 5, 6], 7), "{other}");
    }
}

/// A loop that only counts: its result depends on how often it ran.
#[test]
fn the_number_of_iterations_depends_on_the_condition() {
    let body = "    size_t i = get_global_id(0);
    int n = in[1];
    int other = in[2];
    int j = 0;
    while (j * j < n)
        j++;
    out[i] = j;
    out[i + 8] = other;";
    let Some(slices) = Slices::of(body, &INPUT) else { return };
    let (lines, value) = slices.at(0);
    assert_eq!(value, 2);
    assert!([2, 3, 6, 7, 8].iter().all(|line| lines.contains(line)), "{lines:?}");
    assert!([4, 9].iter().all(|line| !lines.contains(line)), "{lines:?}");
}

#[test]
fn loops_bring_their_conditions_and_what_goes_from_one_iteration_to_the_next() {
    let body = "    size_t i = get_global_id(0);
    int s = in[i];
    int p = in[i + 1];
    for (int j = 0; j < 3; j++) {
        s += in[j];
        p *= 2;
    }
    out[i] = s;
    out[i + 8] = p;";
    let Some(slices) = Slices::of(body, &INPUT) else { return };
    assert_eq!(slices.at(0), (vec![2, 3, 5, 6, 9], 20 + 27));
    assert_eq!(slices.at(8), (vec![2, 4, 5, 7, 10], 3 * 8));
}

#[test]
fn local_memory_brings_what_the_other_work_item_stored_and_the_barrier() {
    let body = "    local int t[8];
    local int u[8];
    size_t l = get_local_id(0);
    int mine = in[l];
    t[l] = mine + 1;
    u[l] = mine * 2;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[l] = t[7 - l];
    out[l + 8] = u[l ^ 7];";
    let Some(slices) = Slices::of(body, &INPUT) else { return };
    assert_eq!(slices.at(0), (vec![4, 5, 6, 8, 9], 10));
    assert_eq!(slices.at(8), (vec![4, 5, 7, 8, 10], 18));
}

#[test]
fn a_value_through_local_memory_brings_the_branch_of_the_work_item_that_stored_it() {
    let body = "    local int t[16];
    size_t l = get_local_id(0);
    if (l == 3 && in[0] > 10)
        t[0] = in[l];
    else
        t[l + 8] = in[8] + l;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[l] = t[l == 0 || l == 3 ? 0 : l + 8];";
    let Some(slices) = Slices::of(body, &INPUT) else { return };
    assert_eq!(slices.at(0), (vec![3, 4, 5, 8, 9], 50));
    assert_eq!(slices.at(2), (vec![3, 4, 7, 8, 9], 12));
}

#[test]
fn values_go_through_two_barriers() {
    let body = "    local int t[8];
    size_t l = get_local_id(0);
    local int *own = t + l;
    int dead = in[l + 1] * 9;
    *own = in[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    int sum = *own + t[l ^ 1];
    dead += sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    *own = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[l] = t[l ^ 2];
    out[l + 8] = dead;";
    let Some(slices) = Slices::of(body, &INPUT) else { return };
    // 4 + 50, and the barriers; what only `dead` needs is not there.
    assert_eq!(slices.at(0), (vec![3, 4, 6, 7, 8, 10, 11, 12, 13], 54));
    assert_eq!(slices.at(8), (vec![3, 4, 5, 6, 7, 8, 9, 10, 12, 14], 27 + 23));
}

#[test]
fn functions_and_atomic_operations_bring_their_lines() {
    let functions = "int before(int x) {
    int y = x * 4;
    return y - 1;
}
";
    let body = "    size_t i = get_global_id(0);
    int a = before(in[i]);
    int b = before(in[i + 1]);
    out[i] = a;
    atomic_add(&out[8], in[8 - i]);
    if (i == 0) out[9] = b;";
    let Some(slices) = Slices::with(functions, body, &INPUT) else { return };
    // The kernel ends at line 8, so that the function is at 9 to 12.
    assert_eq!(slices.at(0), (vec![2, 3, 5, 10, 11], 79));
    assert_eq!(slices.at(8), (vec![2, 6], 10 + 9 + 8 + 7 + 6 + 50 + 4 + 3));
    assert_eq!(slices.at(9), (vec![2, 4, 7, 10, 11], 11));
    // Nothing is written there.
    assert_eq!(slices.at(15), (vec![], 0));
}
