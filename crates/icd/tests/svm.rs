//! Shared virtual memory with pointers to shared virtual memory in it.
#![allow(unsafe_code, unused_unsafe, reason = "calls of a C API")]
#![allow(clippy::unwrap_used, clippy::macro_metavars_in_unsafe, reason = "tests of a C API")]

mod support;

use std::ptr::{null, null_mut};

use opencl_sys as cl;
use support::{Application, application};

/// A list, as host and kernel have it.
#[repr(C)]
#[derive(Clone, Copy)]
struct Node {
    value: i32,
    next: *mut Node,
}

const SOURCE: &str = "typedef struct Node { int value; global struct Node *next; } Node;
    kernel void follow(global Node *first, global int *sums) {
        int sum = 0;
        for (global Node *node = first; node; node = node->next) {
            sum += node->value;
            if (get_global_id(0) == 0)
                node->value = -node->value;
        }
        sums[get_global_id(0)] = sum;
    }
    // Links nodes in reverse order.
    kernel void link(global Node *nodes) {
        int i = get_global_id(0);
        nodes[i].value = 10 * i;
        nodes[i].next = i > 0 ? &nodes[i - 1] : 0;
    }
    typedef struct { global int *to; global const float4 *from; } Both;
    kernel void gather(global const Both *each) {
        int i = get_global_id(0);
        float4 v = *each[i].from;
        each[i].to[i & 1] = (int)(v.x + v.y + v.z + v.w);
    }
    kernel void distance(global const int *a, global const int *b, global long *to) { *to = b - a; }
    kernel void count(global const Both *each) { atomic_add(each->to, 1); }";

fn shared<T>(app: &Application, count: usize) -> *mut T {
    let flags = cl::CL_MEM_READ_WRITE;
    let memory = cl!(clSVMAlloc(app.context, flags, count * size_of::<T>(), 0));
    assert!(!memory.is_null());
    memory.cast()
}

fn kernels(app: &Application) -> cl::cl_program {
    let program = app.program(SOURCE);
    let built = cl!(clBuildProgram(program, 0, null(), null(), None, null_mut()));
    assert_eq!(built, cl::CL_SUCCESS, "{}", app.log(program));
    program
}

/// Sets an argument, and what else the kernel reaches.
fn set<T>(kernel: cl::cl_kernel, index: u32, pointer: *const T) {
    assert_eq!(cl!(clSetKernelArgSVMPointer(kernel, index, pointer.cast())), cl::CL_SUCCESS);
}

fn reaches(kernel: cl::cl_kernel, pointers: &[usize]) {
    let query = cl::CL_KERNEL_EXEC_INFO_SVM_PTRS;
    let told = cl!(clSetKernelExecInfo(kernel, query, size_of_val(pointers), pointers.as_ptr().cast()));
    assert_eq!(told, cl::CL_SUCCESS);
}

fn follow_and_link() {
    let app = application(0);
    let program = kernels(&app);

    // A list over three allocations, which the host linked.
    let follow = made!(clCreateKernel(program, c"follow".as_ptr()));
    let nodes: [*mut Node; 3] = std::array::from_fn(|_| shared::<Node>(&app, 40));
    let places: Vec<*mut Node> = (0..120).map(|i| nodes[i * 7 % 3].wrapping_add(i / 3)).collect();
    for (i, node) in places.iter().enumerate() {
        let next = places.get(i + 1).copied().unwrap_or(null_mut());
        // SAFETY: 40 nodes were allocated in each.
        unsafe { node.write(Node { value: i as i32, next }) };
    }
    let sums = app.buffer(0, &[0i32; 64]);
    set(follow, 0, places[0]);
    app.set(follow, 1, &sums);
    reaches(follow, &nodes.map(|block| block as usize));
    // One work-item alone changes the list, so that one is enough.
    app.run(follow, 1);
    assert_eq!(app.read::<i32>(sums, 1), [119 * 120 / 2]);
    for (i, node) in places.iter().enumerate() {
        // SAFETY: as above.
        assert_eq!(unsafe { (**node).value }, -(i as i32));
    }

    // A list that a kernel links, and the host follows.
    let link = made!(clCreateKernel(program, c"link".as_ptr()));
    set(link, 0, nodes[0]);
    app.run(link, 40);
    let (mut node, mut values) = (nodes[0].wrapping_add(39), Vec::new());
    while !node.is_null() {
        // SAFETY: the kernel linked the nodes of this block.
        let Node { value, next } = unsafe { *node };
        values.push(value);
        node = next;
    }
    assert_eq!(values, (0..40).rev().map(|i| 10 * i).collect::<Vec<_>>());

    // Each work-item has pointers of its own into several allocations.
    let gather = made!(clCreateKernel(program, c"gather".as_ptr()));
    let each = shared::<[usize; 2]>(&app, 100);
    let (to, from) = (shared::<i32>(&app, 200), [shared::<[f32; 4]>(&app, 50), shared::<[f32; 4]>(&app, 50)]);
    for i in 0..100 {
        let source = from[i % 2].wrapping_add(i / 2);
        // SAFETY: all are inside of what was allocated.
        unsafe {
            source.write([i as f32, 1.0, 2.0, 3.0]);
            each.add(i).write([to.wrapping_add(2 * (99 - i)) as usize, source as usize]);
            to.add(2 * i).cast::<[i32; 2]>().write([-1, -1]);
        }
    }
    set(gather, 0, each);
    reaches(gather, &[to as usize, from[0] as usize, from[1] as usize]);
    app.run(gather, 100);
    for i in 0..100usize {
        let mut expected = [-1, -1];
        expected[i & 1] = i as i32 + 6;
        // SAFETY: as above.
        assert_eq!(unsafe { to.add(2 * (99 - i)).cast::<[i32; 2]>().read() }, expected, "{i}");
    }

    // Pointers keep their distance; atomic operations follow them.
    let distance = made!(clCreateKernel(program, c"distance".as_ptr()));
    let result = app.buffer(0, &[0i64]);
    set(distance, 0, to.wrapping_add(3));
    set(distance, 1, to.wrapping_add(45));
    app.set(distance, 2, &result);
    app.run(distance, 1);
    assert_eq!(app.read::<i64>(result, 1), [42]);
    let count = made!(clCreateKernel(program, c"count".as_ptr()));
    // SAFETY: as above.
    unsafe {
        each.cast::<usize>().write(to.wrapping_add(5) as usize);
        to.add(5).write(1000);
    }
    set(count, 0, each);
    reaches(count, &[to as usize]);
    app.run(count, 77);
    // SAFETY: as above.
    assert_eq!(unsafe { to.add(5).read() }, 1077);
}

#[test]
fn kernels_follow_pointers_in_shared_memory() {
    follow_and_link();
}

/// OpenCL 3.0, clSetKernelExecInfo: a size of 0 names no pointer, and takes those back that were named.
#[test]
fn named_pointers_are_taken_back() {
    let app = application(0);
    let program = kernels(&app);
    let follow = made!(clCreateKernel(program, c"follow".as_ptr()));
    let (first, second) = (shared::<Node>(&app, 1), shared::<Node>(&app, 1));
    // SAFETY: one node was allocated in each.
    unsafe {
        second.write(Node { value: 2, next: null_mut() });
        first.write(Node { value: 1, next: second });
    }
    let sums = app.buffer(0, &[0i32]);
    set(follow, 0, first);
    app.set(follow, 1, &sums);
    reaches(follow, &[second as usize]);
    app.run(follow, 1);
    assert_eq!(app.read::<i32>(sums, 1), [3]);
    let query = cl::CL_KERNEL_EXEC_INFO_SVM_PTRS;
    assert_eq!(cl!(clSetKernelExecInfo(follow, query, 0, null())), cl::CL_SUCCESS);
    assert_eq!(cl!(clSetKernelExecInfo(follow, query, 8, null())), cl::CL_INVALID_VALUE);
    // Now the pointer leads nowhere, which is an error of the launch.
    let (global, mut event) = (1usize, null_mut());
    let at = &raw const global;
    let ran =
        cl!(clEnqueueNDRangeKernel(app.queue, follow, 1, null(), at, null(), 0, null(), &raw mut event));
    assert_eq!(ran, cl::CL_SUCCESS);
    let waited = cl!(clWaitForEvents(1, &raw const event));
    assert_eq!(waited, cl::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
}

/// The variable that makes this program the application of a test.
/// The same with all checks, which find nothing, and then an access past shared memory, which they find.
#[test]
fn checks_follow_pointers_in_shared_memory() {
    let Some(said) = support::again("checks_follow_pointers_in_shared_memory", &[("TRIPIPE_CHECK", "1")])
    else {
        follow_and_link();
        let app = application(0);
        let program = kernels(&app);
        let gather = made!(clCreateKernel(program, c"gather".as_ptr()));
        let each = shared::<[usize; 2]>(&app, 1);
        let (to, from) = (shared::<i32>(&app, 2), shared::<[f32; 4]>(&app, 1));
        // SAFETY: they were allocated.
        unsafe {
            from.write([1.0; 4]);
            each.write([to.wrapping_add(2) as usize, from as usize]);
        }
        set(gather, 0, each);
        reaches(gather, &[to as usize, from as usize]);
        app.run(gather, 1);
        return;
    };
    let found: Vec<&str> = said.lines().filter(|line| line.contains("error[")).collect();
    assert_eq!(found.len(), 1, "{said}");
    assert!(found[0].contains("`gather`"), "{said}");
}
