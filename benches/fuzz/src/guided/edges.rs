//! Which branches of the program have been taken.
//!
//! The compiler puts a flag behind each branch when it is told to (`-Cpasses=sancov-module` with
//! `-sanitizer-coverage-inline-bool-flag`, as `cargo fuzz` does; the stable compiler takes both),
//! and says where the flags are before `main` is called. Without that there are no flags, and a
//! hunt is blind.

#![expect(unsafe_code, reason = "the compiler gives the flags as two pointers")]

use std::slice;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Every flag of the program.
static FLAGS: OnceLock<&'static [AtomicU8]> = OnceLock::new();

/// Called once by each part of the program that was compiled with flags; the linker has put them all
/// into one row, so that each call says the same.
// SAFETY: the name is reserved for this function by the compiler's pass, and nobody else defines it.
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_bool_flag_init(start: *mut u8, stop: *mut u8) {
    let count = (stop as usize).saturating_sub(start as usize);
    // SAFETY: the compiler's pass calls this with both ends of one row of bytes, which lasts as long
    // as the program and is written by it, one byte a flag. `AtomicU8` has the size and the alignment
    // of a byte, and may be changed while it is shared.
    let flags = unsafe { slice::from_raw_parts(start.cast::<AtomicU8>(), count) };
    let _ = FLAGS.set(flags);
}

/// What has been reached.
#[derive(Debug, Default)]
pub(super) struct Edges {
    /// The flags that count as reached.
    known: Vec<u8>,
    count: usize,
}

impl Edges {
    /// How many flags are up.
    pub(super) fn up() -> usize {
        // SAFETY: eight bytes that may be changed while they are shared are a number that may be, and
        // the slices in the middle begin at a multiple of eight.
        let (before, eights, behind) = unsafe { flags().align_to::<AtomicU64>() };
        let ones = before.iter().chain(behind);
        let ones = ones.map(|flag| usize::from(flag.load(Ordering::Relaxed)));
        // Each byte is 0 or 1.
        let eights = eights
            .iter()
            .map(|it| it.load(Ordering::Relaxed).count_ones() as usize);
        ones.sum::<usize>() + eights.sum::<usize>()
    }

    /// How many count as reached.
    pub(super) const fn count(&self) -> usize {
        self.count
    }

    /// Whether flags are up that do not count as reached yet. What counts is never taken down, so
    /// that the number tells.
    pub(super) fn has_more(&self) -> bool {
        Self::up() > self.count
    }

    /// Takes down every flag that does not count as reached; which were up.
    pub(super) fn take_down(&self) -> Vec<usize> {
        let flags = flags().iter().enumerate();
        let is_new = |at: usize| self.known.get(at).is_none_or(|known| *known == 0);
        let up = |(at, flag): (usize, &AtomicU8)| {
            let was_up = is_new(at) && flag.load(Ordering::Relaxed) > 0;
            was_up.then(|| {
                flag.store(0, Ordering::Relaxed);
                at
            })
        };
        flags.filter_map(up).collect()
    }

    /// Whether this flag is up.
    pub(super) fn is_up(at: usize) -> bool {
        flags()
            .get(at)
            .is_some_and(|flag| flag.load(Ordering::Relaxed) > 0)
    }

    /// Puts these flags up.
    pub(super) fn put_up(all: &[usize]) {
        for flag in all.iter().filter_map(|at| flags().get(*at)) {
            flag.store(1, Ordering::Relaxed);
        }
    }

    /// All that is up counts as reached from now on.
    pub(super) fn keep(&mut self) {
        self.known = read();
        self.count = self.known.iter().map(|&flag| usize::from(flag)).sum();
    }
}

fn flags() -> &'static [AtomicU8] {
    FLAGS.get().copied().unwrap_or_default()
}

fn read() -> Vec<u8> {
    let flags = flags().iter();
    flags.map(|flag| flag.load(Ordering::Relaxed)).collect()
}
