//! Branch coverage of the program.
//!
//! With `-Cpasses=sancov-module` and `-sanitizer-coverage-inline-bool-flag`, as `cargo fuzz` sets
//! them, the stable compiler inserts a flag for each branch, and passes the location of the flags
//! before `main` is called. Otherwise there are no flags, and fuzzing is not guided.

#![expect(unsafe_code, reason = "the compiler gives the flags as two pointers")]

use std::slice;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// All flags of the program.
static FLAGS: OnceLock<&'static [AtomicU8]> = OnceLock::new();

/// Called once by each part of the program that was compiled with flags; the linker has merged them
/// into one array, so that each call passes the same range.
// SAFETY: the compiler's pass reserves the name for this function, and nothing else defines it.
#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_bool_flag_init(start: *mut u8, stop: *mut u8) {
    let count = (stop as usize).saturating_sub(start as usize);
    // SAFETY: the compiler's pass calls this with both ends of one array of bytes, which is valid
    // as long as the program runs and is written by it, one byte per flag. `AtomicU8` has the size
    // and alignment of a byte and may be modified while it is shared.
    let flags = unsafe { slice::from_raw_parts(start.cast::<AtomicU8>(), count) };
    let _ = FLAGS.set(flags);
}

/// The covered branches.
#[derive(Debug, Default)]
pub(super) struct Edges {
    /// The flags that are already covered.
    known: Vec<u8>,
    count: usize,
}

impl Edges {
    /// Returns the number of set flags.
    pub(super) fn up() -> usize {
        // SAFETY: eight bytes that may be modified while shared are an integer that may be, and the
        // slices in the middle are aligned to eight bytes.
        let (before, eights, after) = unsafe { flags().align_to::<AtomicU64>() };
        let ones = before.iter().chain(after);
        let ones = ones.map(|flag| usize::from(flag.load(Ordering::Relaxed)));
        // Each byte is 0 or 1.
        let eights = eights
            .iter()
            .map(|it| it.load(Ordering::Relaxed).count_ones() as usize);
        ones.sum::<usize>() + eights.sum::<usize>()
    }

    /// Returns the number of covered branches.
    pub(super) const fn count(&self) -> usize {
        self.count
    }

    /// Returns whether flags are set that are not covered yet. Covered flags are never cleared, so
    /// that comparing the counts is sufficient.
    pub(super) fn has_more(&self) -> bool {
        Self::up() > self.count
    }

    /// Clears every flag that is not covered yet, and returns those that were set.
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

    /// Returns whether this flag is set.
    pub(super) fn is_up(at: usize) -> bool {
        flags()
            .get(at)
            .is_some_and(|flag| flag.load(Ordering::Relaxed) > 0)
    }

    /// Sets these flags.
    pub(super) fn put_up(all: &[usize]) {
        for flag in all.iter().filter_map(|at| flags().get(*at)) {
            flag.store(1, Ordering::Relaxed);
        }
    }

    /// Marks all set flags as covered.
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
