//! Records of work-groups, against what a small kernel does by hand.

use std::sync::Arc;

use tripipe_launch::{Access, Argument, Executor, Launch, MemoryId, MemoryKind, NdRange, Program};
use tripipe_simulate::trace::{Action, GroupTrace, Reach};
use tripipe_simulate::{Options, Simulator};

/// Odd work-items read an element twice as far, even ones nothing; all write after a barrier.
const KERNEL: &str = "
kernel void odd(global const int *from, global int *to, local int *shared)
{
    const int i = get_global_id(0), l = get_local_id(0);
    int value = 7;
    if (i & 1)
        value = from[2 * i];
    shared[l] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    to[i] += shared[l ^ 1];
}";

const ITEMS: usize = 256;

fn launch(simulator: &mut Simulator) -> (Launch, MemoryId) {
    let ones: Vec<u8> = (0..2 * ITEMS).flat_map(|_| 1_i32.to_le_bytes()).collect();
    let mut buffer = |bytes: usize| {
        let kind = MemoryKind::Buffer { bytes };
        simulator.allocate(&kind, Access::ReadWrite, Some(&ones[..bytes])).unwrap()
    };
    let (from, to) = (buffer(8 * ITEMS), buffer(4 * ITEMS));
    let launch = Launch {
        program: Arc::new(Program::from_source("odd.cl", KERNEL)),
        entry: "odd".into(),
        arguments: vec![Argument::Memory(from), Argument::Memory(to), Argument::Local { bytes: 4 * 128 }],
        range: NdRange::d1(ITEMS).local(128, 1, 1),
    };
    (launch, to)
}

/// A simulator and a launch; `None`, with a message, if there is no clang, unless `TRIPIPE_REQUIRE_CLANG` is set.
fn ready() -> Option<(Simulator, Launch, MemoryId)> {
    let mut simulator = Simulator::new(Options::default());
    let (launch, to) = launch(&mut simulator);
    if let Err(error) = simulator.prepare(&launch.program, &launch.entry) {
        assert!(std::env::var_os("TRIPIPE_REQUIRE_CLANG").is_none(), "{error}");
        eprintln!("left out: {error}");
        return None;
    }
    Some((simulator, launch, to))
}

#[test]
fn paths_and_addresses_are_those_of_the_kernel() {
    let Some((mut simulator, launch, _)) = ready() else { return };
    let (second, regions) = simulator
        .trace(&launch, |tracer| {
            assert_eq!(tracer.groups(), [2, 1, 1]);
            assert_eq!(tracer.local_bytes(), 512);
            Ok((tracer.group(1)?, tracer.regions()))
        })
        .unwrap();
    let GroupTrace { items, warps } = second;
    assert_eq!((items, warps.len()), (128, 2));
    let base = |name: &str| regions.iter().find(|region| &*region.name == name).unwrap().base;
    for (index, warp) in warps.iter().enumerate() {
        assert_eq!((warp.first_item as usize, warp.lanes), (64 * index, u64::MAX));
        let of = |reach: Reach, action: Action| {
            let of = warp.accesses().iter().map(|(_, access)| access);
            of.filter(move |access| (access.reach, access.action) == (reach, action)).collect::<Vec<_>>()
        };
        let items = 128 + 64 * index as u64..128 + 64 * (index as u64 + 1);
        // `from[2 * i]` of the odd work-items, in a block that only they enter.
        let [load, sum] = of(Reach::Global, Action::Read)[..] else { panic!("two loads from buffers") };
        assert_eq!(load.mask, 0xaaaa_aaaa_aaaa_aaaa);
        assert!(warp.visits().iter().any(|visit| visit.mask == load.mask));
        let odd = items.clone().filter(|item| item % 2 == 1);
        let want: Vec<u64> = odd.map(|item| base("from") + 8 * item).collect();
        assert_eq!(warp.addresses(load), want);
        // `to[i]`, read and written by all.
        let want: Vec<u64> = items.map(|item| base("to") + 4 * item).collect();
        assert_eq!(warp.addresses(sum), want);
        let [store] = of(Reach::Global, Action::Write)[..] else { panic!("one store to a buffer") };
        assert_eq!((store.mask, warp.addresses(store)), (u64::MAX, &want[..]));
        // Local memory: written in order, read with neighbours swapped.
        let local: Vec<u64> = (64 * index as u64..64 * (index as u64 + 1)).collect();
        let [store] = of(Reach::Local, Action::Write)[..] else { panic!("one store to local memory") };
        assert_eq!(warp.addresses(store), local.iter().map(|item| 4 * item).collect::<Vec<_>>());
        let [load] = of(Reach::Local, Action::Read)[..] else { panic!("one load from local memory") };
        assert_eq!(warp.addresses(load), local.iter().map(|item| 4 * (item ^ 1)).collect::<Vec<_>>());
    }
}

#[test]
fn memory_keeps_its_contents() {
    let Some((mut simulator, launch, to)) = ready() else { return };
    let twice = simulator.trace(&launch, |tracer| Ok([tracer.group(0)?, tracer.group(0)?])).unwrap();
    assert_eq!(twice[0], twice[1]);
    let mut bytes = vec![0; 4 * ITEMS];
    simulator.read(to, 0, &mut bytes).unwrap();
    assert!(bytes.chunks(4).all(|chunk| chunk == 1_i32.to_le_bytes()));
}

/// What is stored has no influence on path or addresses, so it is not computed; where it is stored is checked all the same.
#[test]
fn accesses_outside_a_buffer_are_errors() {
    let Some((mut simulator, mut launch, _)) = ready() else { return };
    launch.range = NdRange::d1(2 * ITEMS).local(128, 1, 1);
    let results = simulator.trace(&launch, |tracer| Ok([tracer.group(0).is_ok(), tracer.group(3).is_ok()]));
    assert_eq!(results.unwrap(), [true, false]);
}
