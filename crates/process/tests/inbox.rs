//! A request that is being sent while its inbox is dropped. The allocator of this test holds the sender
//! between the steps of the send.

#![expect(unsafe_code, reason = "an allocator is unsafe by its trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::thread::{spawn, yield_now};

use bowline_process::Inbox;
use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

/// Requests for which tokio's channel allocates at once (`BLOCK_CAP` of its list). The send of the next one
/// allocates, when the request is counted and before it is there.
const BLOCK: usize = 32;

/// A request large enough that a block of them is the largest allocation of a send.
struct Request {
    _reply: oneshot::Sender<()>,
    _content: [u64; 16],
}

#[derive(Clone, Copy, PartialEq)]
enum Hold {
    Free,
    Held,
    Released,
}

static HOLD: (Mutex<Hold>, Condvar) = (Mutex::new(Hold::Free), Condvar::new());

fn set(hold: Hold) {
    *HOLD.0.lock() = hold;
    HOLD.1.notify_all();
}

fn wait_for(hold: Hold) {
    HOLD.1.wait_while(&mut HOLD.0.lock(), |now| *now != hold);
}

thread_local! {
    /// Whether this thread is held at its next allocation of a block.
    static IS_HELD: Cell<bool> = const { Cell::new(false) };
}

struct HoldingAllocator;

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for HoldingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= BLOCK * size_of::<Request>() && IS_HELD.replace(false) {
            set(Hold::Held);
            wait_for(Hold::Released);
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: HoldingAllocator = HoldingAllocator;

fn request() -> (Request, oneshot::Receiver<()>) {
    let (reply, waiting) = oneshot::channel();
    let request = Request {
        _reply: reply,
        _content: [0; 16],
    };
    (request, waiting)
}

/// Sends the last request of a block while the inbox is dropped.
fn drop_while_sent(
    inbox: Inbox<Request>,
    send: impl Fn(Request) -> bool + Send + 'static,
) -> Result<(), TryRecvError> {
    let queued = [(); BLOCK].map(|()| {
        let (request, waiting) = request();
        assert!(send(request));
        waiting
    });
    let (last, mut waiting) = request();
    set(Hold::Free);
    let sending = spawn(move || {
        IS_HELD.set(true);
        assert!(send(last));
    });
    wait_for(Hold::Held);
    let dropping = spawn(move || drop(inbox));
    for waiting in queued {
        assert!(waiting.blocking_recv().is_err(), "dropped without a reply");
    }
    // The inbox has dropped all that is there. It waits for the last request, or is gone without it.
    (0..10_000)
        .take_while(|_| !dropping.is_finished())
        .for_each(|_| yield_now());
    set(Hold::Released);
    sending.join().expect("the sender ends");
    dropping.join().expect("the inbox is dropped");
    waiting.try_recv()
}

// One test: the allocator holds one sender at a time.
#[test]
fn request_sent_while_inbox_is_dropped_is_dropped() {
    let (requests, inbox) = Inbox::new();
    let sender = requests.clone();
    let reply = drop_while_sent(inbox, move |request| sender.send(request).is_ok());
    assert_eq!(reply, Err(TryRecvError::Closed));
    assert!(requests.is_closed(), "although a sender is left");

    let (requests, inbox) = Inbox::bounded(2 * BLOCK);
    let sender = requests.clone();
    let reply = drop_while_sent(inbox, move |request| sender.try_send(request).is_ok());
    assert_eq!(reply, Err(TryRecvError::Closed));
    assert!(requests.is_closed(), "although a sender is left");
}
