//! Nothing is allocated between fork and exec. The allocator of this test ends any process other than
//! the first one.

#![expect(unsafe_code, reason = "an allocator is unsafe by its trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use bowline_transport::{
    Configuration, Containment, ExitStatus, PtyMode, SpawnError, Stdio, TerminalEngine, WindowSize,
};

/// Exit code of a forked process that allocates or frees.
const CAUGHT: i32 = 99;

static OWNER: AtomicI32 = AtomicI32::new(0);

struct Guarded;

fn check() {
    // SAFETY: both calls are async-signal-safe and touch no memory.
    unsafe {
        let owner = OWNER.load(Ordering::Relaxed);
        if owner != 0 && libc::getpid() != owner {
            libc::_exit(CAUGHT);
        }
    }
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Guarded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        check();
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        check();
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Guarded = Guarded;

fn watch() {
    OWNER.store(std::process::id().cast_signed(), Ordering::Relaxed);
}

#[test]
fn allocation_in_child_is_detected() {
    watch();
    let mut command = Command::new("/bin/true");
    // SAFETY: not safe, and that is the point; the process does nothing else.
    unsafe {
        command.pre_exec(|| {
            drop(std::hint::black_box(vec![1_u8; 100]));
            Ok(())
        });
    }
    assert_eq!(command.status().unwrap().code(), Some(CAUGHT));
}

#[tokio::test]
async fn spawn_allocates_nothing_in_child() {
    watch();
    let pty = Stdio::Pty {
        size: WindowSize::default(),
        mode: PtyMode::Cooked,
    };
    for stdio in [Stdio::Pipes, pty] {
        for containment in [Containment::Group, Containment::Cgroup] {
            let mut configuration = Configuration::new("true");
            configuration.stdio = stdio;
            configuration.containment = Some(containment);
            configuration.cwd = Some("/".into());
            let session = TerminalEngine.make_session(configuration.clone()).unwrap();
            let exit = tokio::time::timeout(Duration::from_secs(20), session.exited());
            assert_eq!(exit.await.unwrap().status, ExitStatus::Code(0));

            // The way of an error goes through the same process.
            configuration.args = vec!["x".repeat(3 << 20).into()];
            let refused = TerminalEngine.make_session(configuration);
            assert!(matches!(refused, Err(SpawnError::ArgumentsTooLong)));
        }
    }
}
