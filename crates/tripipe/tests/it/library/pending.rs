//! Queued operations: waited for, awaited, dropped, from any thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::task::{Context as Task, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use half::f16;
use tripipe::filter::{Border, Chain};
use tripipe::gemm::{Accumulate, Product};
use tripipe::{Context, Device, Extents, Image, Matrix, Size};

use crate::library::{bytes, contexts};

/// Runs a future on this thread, which sleeps until it is woken.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread, AtomicBool);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.1.store(true, Ordering::SeqCst);
            self.0.unpark();
        }
    }
    let unpark = Arc::new(Unpark(thread::current(), AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&unpark));
    let mut future = std::pin::pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Task::from_waker(&waker)) {
            return output;
        }
        while !unpark.1.swap(false, Ordering::SeqCst) {
            thread::park();
        }
    }
}

fn blurred(context: &Context, pixels: &[u8], size: Size) -> Vec<u8> {
    let chain = Chain::parse("gaussian:5,box:3", Border::Reflect101).unwrap();
    let image = Image::from_slice(context, size, 1, pixels).unwrap();
    image.filtered::<u8>(&chain).unwrap().to_vec().unwrap()
}

#[test]
fn an_operation_can_be_awaited() {
    let chain = Chain::parse("gaussian:5,box:3", Border::Reflect101).unwrap();
    for context in contexts() {
        let size = Size::new(640, 480);
        let pixels = bytes(size.width * size.height);
        let source = Image::from_slice(&context, size, 1, &pixels).unwrap();
        let mut result = Image::<u8>::zeros(&context, *source.raster()).unwrap();
        let filter = context.filter(&chain, source.raster(), source.raster()).unwrap();
        block_on(async {
            for _ in 0..3 {
                filter.run(&source, &mut result).unwrap().await.unwrap();
            }
        });
        assert_eq!(result.to_vec().unwrap(), blurred(&context, &pixels, size));
        let pending = filter.run(&source, &mut result).unwrap();
        assert!(pending.seconds().unwrap() > 0.0);
        context.finish().unwrap();
        assert!(filter.run(&source, &mut result).is_ok_and(|pending| pending.wait().is_ok()));
    }
}

#[test]
fn a_context_is_everyones() {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Context>();
    is_send_and_sync::<Image<u8>>();
    is_send_and_sync::<Matrix<f32>>();
    is_send_and_sync::<tripipe::Event>();
    is_send_and_sync::<tripipe::Pending<u8>>();
    is_send_and_sync::<tripipe::Error>();
    for context in contexts() {
        let size = Size::new(200, 100);
        let all: Vec<Vec<u8>> =
            (1..5).map(|seed| bytes(20_000 * seed)[20_000 * (seed - 1)..].to_vec()).collect();
        let alone: Vec<_> = all.iter().map(|pixels| blurred(&context, pixels, size)).collect();
        let together: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> =
                all.iter().map(|pixels| scope.spawn(|| blurred(&context, pixels, size))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(alone, together);
    }
}

/// A caller that has queued an operation and waits for all has waited for it, whatever others queue meanwhile.
#[test]
fn finishing_waits_for_ones_own() {
    let chain = Chain::parse("gaussian:5,box:3", Border::Reflect101).unwrap();
    for context in contexts() {
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let size = Size::new(64, 48);
                    let source = Image::from_slice(&context, size, 1, &bytes(64 * 48)).unwrap();
                    let mut result = Image::<u8>::zeros(&context, *source.raster()).unwrap();
                    let filter = context.filter(&chain, source.raster(), source.raster()).unwrap();
                    for _ in 0..300 {
                        let pending = filter.run(&source, &mut result).unwrap();
                        context.finish().unwrap();
                        assert!(pending.is_done(), "{}", context.name());
                    }
                });
            }
        });
    }
}

/// All threads of the application's pool may be waiting, and a thread of it takes other work while it waits: neither
/// blocks the CPU path, on its own or as a fallback for a device.
#[test]
fn workers_of_a_pool_may_wait() {
    use rayon::prelude::*;
    let mut contexts = contexts();
    contexts.extend(Device::list().into_iter().map(|device| Context::new(&device).unwrap()));
    for context in contexts {
        let (tell, told) = channel();
        let name = context.name().to_owned();
        thread::spawn(move || {
            (0..4 * rayon::current_num_threads()).into_par_iter().for_each(|_| {
                // One size below and one above the size from which several threads are used.
                for side in [64, 640] {
                    let result = blurred(&context, &bytes(side * side), Size::square(side));
                    assert_eq!(result.len(), side * side);
                }
                let a =
                    Matrix::from_slice(&context, Extents::new(200, 200), &vec![f16::ONE; 40_000]).unwrap();
                let product = Product::new(&a, &a).unwrap().accumulate(Accumulate::F16);
                assert_eq!(
                    product.into_matrix().unwrap().to_vec().unwrap(),
                    vec![f16::from_f32(200.0); 40_000]
                );
            });
            tell.send(()).unwrap();
        });
        assert_eq!(told.recv_timeout(Duration::from_secs(900)), Ok(()), "{name}");
    }
}
