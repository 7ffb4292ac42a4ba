//! Uses of a context while some of its memory is mapped, and from wakers: each works, or is refused.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context as Task, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use tripipe::filter::{Border, Chain};
use tripipe::gemm::Product;
use tripipe::{Context, Device, Error, ErrorKind, Extents, Image, Matrix, Size, Vector};

use crate::library::bytes;

/// Runs `work` with every available context, on a separate thread: if it hangs the test fails, and the suite continues.
fn watched(work: impl Fn(&Context) + Send + Sync + 'static) {
    let work = Arc::new(work);
    for device in Device::list() {
        for falls_back in [false, true] {
            let (tell, told) = channel();
            let work = Arc::clone(&work);
            let device = device.clone();
            let name = device.name();
            thread::spawn(move || {
                let context = Context::builder().cpu_when_faster(falls_back).build(&device).unwrap();
                work(&context);
                tell.send(()).unwrap();
            });
            assert_eq!(
                told.recv_timeout(Duration::from_secs(900)),
                Ok(()),
                "{name}, falls back: {falls_back}"
            );
        }
    }
}

fn matrix(context: &Context, value: f32) -> Matrix<f32> {
    Matrix::from_slice(context, Extents::new(4, 4), &[value; 16]).unwrap()
}

/// A product, a filter, a sum, an upload, a copy, a download.
fn everything(context: &Context) {
    let a = matrix(context, 2.0);
    let c = Product::new(&a, &a).unwrap().into_matrix().unwrap();
    assert_eq!(c.to_context(context).unwrap().to_vec().unwrap(), [16.0; 16]);
    let image = Image::from_slice(context, Size::new(20, 10), 1, &[7u8; 200]).unwrap();
    let chain = Chain::parse("box:3", Border::Replicate).unwrap();
    assert_eq!(image.filtered::<u8>(&chain).unwrap().to_vec().unwrap(), [7; 200]);
    let vector = Vector::from_slice(context, &[3u8; 100]).unwrap();
    assert_eq!(vector.sum().unwrap().wait().unwrap(), 300);
    context.finish().unwrap();
    assert!(!context.explain().is_empty());
}

#[test]
fn a_context_works_while_memory_is_mapped() {
    watched(|context| {
        let mut vector = Vector::from_slice(context, &[1.0f32; 100]).unwrap();
        let mut other = Vector::from_slice(context, &[5u8; 10]).unwrap();
        let gone = Vector::from_slice(context, &[1u8; 10]).unwrap();
        let seen = vector.map(|values| {
            everything(context);
            drop(gone);
            other
                .map_mut(|bytes| {
                    everything(context);
                    bytes[0] = 6;
                })
                .unwrap();
            (values.to_vec(), other.to_vec().unwrap())
        });
        assert_eq!(seen.unwrap(), (vec![1.0; 100], vec![6, 5, 5, 5, 5, 5, 5, 5, 5, 5]));
        let edited = vector.map_mut(|values| {
            everything(context);
            values[0] = 2.0;
        });
        edited.unwrap();
        assert_eq!(vector.to_vec().unwrap()[..2], [2.0, 1.0]);
    });
}

/// Operations can read memory that is mapped for reading.
#[test]
fn memory_that_is_mapped_for_reading_can_be_read() {
    watched(|context| {
        let a = matrix(context, 2.0);
        let found = a.map(|values| {
            let c = Product::new(&a, &a).unwrap().into_matrix().unwrap().to_vec().unwrap();
            let again = a.map(|values| values[5]).unwrap();
            let copy = a.to_context(context).unwrap().to_vec().unwrap();
            (values[0], c, again, a.to_vec().unwrap(), copy)
        });
        assert_eq!(found.unwrap(), (2.0, vec![16.0; 16], 2.0, vec![2.0; 16], vec![2.0; 16]));
    });
}

#[track_caller]
fn mapped<T: std::fmt::Debug>(result: Result<T, Error>) {
    let error = result.unwrap_err();
    assert!(error.kind() == ErrorKind::Mapped, "{error}");
}

/// Two names for one piece of memory: writing mapped memory, or reading memory that is mapped for writing, is refused.
#[test]
fn memory_that_is_mapped_is_not_changed() {
    watched(|context| {
        let vector = Vector::from_slice(context, &[2.0f32; 16]).unwrap();
        let mut alias = vector.share().into_matrix(Extents::new(4, 4)).unwrap();
        let a = matrix(context, 2.0);
        vector
            .map(|values| {
                mapped(Product::new(&a, &a).unwrap().store(&mut alias));
                mapped(alias.write(&[0.0; 16]));
                mapped(alias.map_mut(|_| ()));
                assert_eq!(alias.to_vec().unwrap(), values);
            })
            .unwrap();
        let mut alias_of_vector = vector.share().into_matrix(Extents::new(4, 4)).unwrap();
        alias_of_vector
            .map_mut(|values| {
                values[0] = 9.0;
                mapped(vector.to_vec());
                mapped(vector.map(<[f32]>::len));
                mapped(vector.sum());
                mapped(vector.to_context(context));
                mapped(alias.write(&[0.0; 16]));
                mapped(Product::new(&alias, &a).unwrap().into_matrix());
            })
            .unwrap();
        // The memory is free again, and none of the refused operations had an effect.
        assert_eq!(vector.to_vec().unwrap()[..2], [9.0, 2.0]);
        alias.write(&[1.0; 16]).unwrap();
        assert_eq!(vector.sum().unwrap().wait().unwrap(), 16.0);
    });
}

/// A panic in the closure leaves nothing mapped.
#[test]
fn memory_is_free_after_a_panic() {
    watched(|context| {
        let mut vector = Vector::from_slice(context, &[2.0f32; 16]).unwrap();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            vector.map_mut(|_| std::panic::resume_unwind(Box::new("as it should")))
        }));
        assert!(panicked.is_err());
        vector.write(&[3.0; 16]).unwrap();
        assert_eq!(vector.sum().unwrap().wait().unwrap(), 48.0);
        everything(context);
    });
}

/// The closure may wait for another thread that works in the same context.
#[test]
fn other_threads_work_while_memory_is_mapped() {
    watched(|context| {
        let a = matrix(context, 2.0);
        let product = || Product::new(&a, &a).unwrap().into_matrix().unwrap().to_vec().unwrap();
        let found = a.map(|_| {
            thread::scope(|scope| {
                let all: Vec<_> = (0..3)
                    .map(|_| {
                        scope.spawn(|| {
                            everything(context);
                            let gone = Vector::from_slice(context, &[1u8; 10]).unwrap();
                            drop(gone);
                            product()
                        })
                    })
                    .collect();
                all.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
            })
        });
        assert_eq!(found.unwrap(), vec![vec![16.0; 16]; 3]);
    });
}

/// A waker that does everything an application might do.
struct Busy {
    context: Context,
    vector: Mutex<Vector<u8>>,
    done: AtomicBool,
}

impl Wake for Busy {
    fn wake(self: Arc<Self>) {
        let mut vector = self.vector.lock().unwrap();
        let sum = vector.map(|bytes| bytes.iter().map(|byte| i64::from(*byte)).sum::<i64>()).unwrap();
        assert_eq!(vector.sum().unwrap().wait().unwrap(), sum);
        vector.map_mut(|bytes| bytes[0] = 1).unwrap();
        everything(&self.context);
        *vector = Vector::from_slice(&self.context, &[1; 5]).unwrap();
        self.done.store(true, Ordering::SeqCst);
    }
}

#[test]
fn woken_tasks_may_use_the_context() {
    watched(|context| {
        let pixels = bytes(640 * 480);
        let chain = Chain::parse("gaussian:5,box:3", Border::Reflect101).unwrap();
        let image = Image::from_slice(context, Size::new(640, 480), 1, &pixels).unwrap();
        let mut result = Image::<u8>::zeros(context, *image.raster()).unwrap();
        let filter = context.filter(&chain, image.raster(), image.raster()).unwrap();
        let busy = Arc::new(Busy {
            context: context.clone(),
            vector: Mutex::new(Vector::from_slice(context, &[2; 5]).unwrap()),
            done: AtomicBool::new(false),
        });
        let waker = Waker::from(Arc::clone(&busy));
        let mut woken = 0;
        for ahead in 0..20 {
            // The more is queued ahead, the less likely it has all ended before the question.
            for _ in 0..ahead {
                drop(filter.run(&image, &mut result).unwrap());
            }
            let mut pending = Box::pin(filter.run(&image, &mut result).unwrap());
            if pending.as_mut().poll(&mut Task::from_waker(&waker)).is_pending() {
                loop {
                    while !busy.done.swap(false, Ordering::SeqCst) {
                        thread::sleep(Duration::from_millis(1));
                    }
                    // A waker may be called once more than necessary, also for the operation before.
                    match pending.as_mut().poll(&mut Task::from_waker(&waker)) {
                        Poll::Ready(result) => break result.unwrap(),
                        Poll::Pending => {}
                    }
                }
                woken += 1;
            }
        }
        // An operation that the CPU path does as a fallback for a device has ended when the call returns.
        assert!(woken > 0 || filter.explain().fallback.is_some(), "nothing was waited for");
    });
}
