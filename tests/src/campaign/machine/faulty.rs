//! A disk on which any call can fail, and which tracks what a loss of power would leave.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, IoSlice};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bowline_transport::journal::{Disk, Folder};
use parking_lot::{Mutex, MutexGuard};

/// Effect of a failing call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// ENOSPC.
    Full,
    /// EIO.
    Broken,
    /// Half of the bytes are written, then ENOSPC.
    Short,
    /// All bytes are written, then EIO.
    Late,
}

impl Fault {
    pub(super) const ALL: [Self; 4] = [Self::Full, Self::Broken, Self::Short, Self::Late];

    fn error(self) -> io::Error {
        io::Error::from_raw_os_error(match self {
            // errno(3)
            Self::Full | Self::Short => 28,
            Self::Broken | Self::Late => 5,
        })
    }
}

/// The calls that fail.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) fault: Fault,
    /// Number of the first failing call, from 0. Calls that read are not counted.
    pub(super) from: u64,
    /// Number of failing calls.
    pub(super) count: u64,
}

#[derive(Debug, Default)]
struct State {
    calls: u64,
    plan: Option<Plan>,
    /// Bytes that all segments may have, and those reserved for each.
    capacity: Option<u64>,
    reserved: BTreeMap<u32, u64>,
    /// When a call first failed.
    failed: Option<Instant>,
    /// Bytes of each segment: written, and durable.
    lengths: BTreeMap<u32, (u64, u64)>,
    /// Segments of which a sync has failed. Data that was not durable then may be lost, even if a
    /// later sync succeeds (fsync(2)).
    poisoned: BTreeSet<u32>,
}

/// A folder with planned failures. Clones refer to the same disk.
#[derive(Clone, Debug)]
pub(super) struct Faulty {
    folder: Folder,
    state: Arc<Mutex<State>>,
}

/// An open segment, and its number.
#[derive(Debug)]
pub(super) struct Segment {
    file: File,
    number: u32,
}

impl Faulty {
    pub(super) fn new(path: &Path, plan: Option<Plan>) -> io::Result<Self> {
        let state = State {
            plan,
            ..State::default()
        };
        Ok(Self {
            folder: Folder::make(path)?,
            state: Arc::new(Mutex::new(state)),
        })
    }

    /// Creates a disk with space for `capacity` bytes.
    pub(super) fn with_capacity(path: &Path, capacity: u64) -> io::Result<Self> {
        let disk = Self::new(path, None)?;
        disk.state().capacity = Some(capacity);
        Ok(disk)
    }

    /// Length that a segment may have.
    fn space(&self, number: u32) -> u64 {
        let state = self.state();
        let size = |number: &u32| {
            let length = state.lengths.get(number).map_or(0, |length| length.0);
            let reserved = state.reserved.get(number).copied();
            length.max(reserved.unwrap_or(0))
        };
        let others = state.lengths.keys().filter(|other| **other != number);
        let others: u64 = others.map(size).sum();
        let capacity = state.capacity.unwrap_or(u64::MAX);
        capacity.saturating_sub(others)
    }

    /// When a call first failed.
    pub(super) fn failed(&self) -> Option<Instant> {
        self.state().failed
    }

    /// Copies the state that a loss of power would leave.
    pub(super) fn copy_safe(&self, from: &Path, to: &Path) -> io::Result<()> {
        let lengths = self.state().lengths.clone();
        for (number, (_, safe)) in lengths {
            let name = format!("{number:08}.bjl");
            let content = std::fs::read(from.join(&name))?;
            let safe = content.get(..safe as usize).unwrap_or(&content);
            std::fs::write(to.join(name), safe)?;
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Counts a call, and returns the fault to apply.
    fn call(&self) -> Option<Fault> {
        let mut state = self.state();
        let call = state.calls;
        state.calls += 1;
        let plan = state.plan?;
        let is_hit = (plan.from..plan.from + plan.count).contains(&call);
        is_hit.then_some(plan.fault)
    }

    fn fail(&self, fault: Fault) -> io::Error {
        let mut state = self.state();
        state.failed.get_or_insert_with(Instant::now);
        fault.error()
    }

    fn wrote(&self, number: u32, bytes: usize) {
        self.state().lengths.entry(number).or_default().0 += bytes as u64;
    }
}

impl Disk for Faulty {
    type File = Segment;

    fn segments(&self) -> io::Result<Vec<u32>> {
        self.folder.segments()
    }

    fn create(&self, segment: u32) -> io::Result<Segment> {
        if let Some(fault) = self.call() {
            return Err(self.fail(fault));
        }
        let file = self.folder.create(segment)?;
        self.wrote(segment, 0);
        Ok(Segment {
            file,
            number: segment,
        })
    }

    fn open(&self, segment: u32) -> io::Result<Segment> {
        Ok(Segment {
            file: self.folder.open(segment)?,
            number: segment,
        })
    }

    fn remove(&self, segment: u32) -> io::Result<()> {
        if let Some(fault) = self.call() {
            return Err(self.fail(fault));
        }
        self.folder.remove(segment)?;
        self.state().lengths.remove(&segment);
        Ok(())
    }

    fn write(&self, file: &Segment, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        let fault = self.call();
        let whole: Vec<u8> = bytes
            .iter()
            .flat_map(|slice| slice.iter().copied())
            .collect();
        let length = self.state().lengths.get(&file.number).map_or(0, |it| it.0);
        let space = self.space(file.number).saturating_sub(length);
        let whole = match whole.get(..usize::try_from(space).unwrap_or(usize::MAX)) {
            Some([]) if !whole.is_empty() => return Err(self.fail(Fault::Full)),
            Some(fits) => fits,
            None => &whole,
        };
        let taken = match fault {
            None | Some(Fault::Late) => whole,
            Some(Fault::Short) => whole.get(..whole.len() / 2).unwrap_or_default(),
            Some(_) => &[],
        };
        let mut left = taken;
        while !left.is_empty() {
            let written = self.folder.write(&file.file, &[IoSlice::new(left)])?;
            self.wrote(file.number, written);
            left = left.get(written..).unwrap_or_default();
        }
        match fault {
            None => Ok(whole.len()),
            Some(Fault::Short) if !taken.is_empty() => Ok(taken.len()),
            Some(fault) => Err(self.fail(fault)),
        }
    }

    fn reserve(&self, file: &Segment, _from: u64, to: u64) -> io::Result<()> {
        if to > self.space(file.number) {
            return Err(self.fail(Fault::Full));
        }
        self.state().reserved.insert(file.number, to);
        Ok(())
    }

    fn release(&self, file: &Segment, _length: u64) {
        self.state().reserved.remove(&file.number);
    }

    fn read(&self, file: &Segment, position: u64, into: &mut [u8]) -> io::Result<usize> {
        self.folder.read(&file.file, position, into)
    }

    fn sync(&self, file: &Segment) -> io::Result<()> {
        if let Some(fault) = self.call() {
            self.state().poisoned.insert(file.number);
            return Err(self.fail(fault));
        }
        let written = self.state().lengths.get(&file.number).map(|it| it.0);
        self.folder.sync(&file.file)?;
        let mut state = self.state();
        if !state.poisoned.contains(&file.number)
            && let (Some(written), Some(length)) = (written, state.lengths.get_mut(&file.number))
        {
            // Another thread may have started a later sync and finished earlier.
            length.1 = length.1.max(written);
        }
        Ok(())
    }
}
