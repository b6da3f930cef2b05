//! A disk in memory of which any call can be made to fail.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::rc::Rc;

use super::super::Disk;

/// What a call does instead of its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// ENOSPC.
    Full,
    /// EIO.
    Io,
    /// Half of the bytes are taken, and then there is no space.
    Short,
    /// All of the bytes are taken, and then EIO.
    Late,
}

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<u32, Rc<RefCell<Vec<u8>>>>,
    calls: u64,
    bytes_read: u64,
    /// Bytes that all files may have, and those reserved for each.
    capacity: Option<u64>,
    reserved: BTreeMap<*const RefCell<Vec<u8>>, u64>,
    /// From which call on, for how many calls, and what.
    fault: Option<(u64, u64, Fault)>,
}

/// Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory(Rc<RefCell<State>>);

type Content = Rc<RefCell<Vec<u8>>>;

impl Memory {
    /// Lets `count` calls from the `from`th on fail. Calls are counted from 0, reads are not.
    pub(super) fn failing(from: u64, count: u64, fault: Fault) -> Self {
        let memory = Self::default();
        memory.0.borrow_mut().fault = Some((from, count, fault));
        memory
    }

    pub(super) fn calls(&self) -> u64 {
        self.0.borrow().calls
    }

    /// A disk with space for `capacity` bytes.
    pub(super) fn with_capacity(capacity: u64) -> Self {
        let memory = Self::default();
        memory.set_capacity(capacity);
        memory
    }

    pub(super) fn set_capacity(&self, capacity: u64) {
        self.0.borrow_mut().capacity = Some(capacity);
    }

    /// Length that a file may have.
    fn space(&self, file: &Content) -> u64 {
        let state = self.0.borrow();
        let size = |file: &Content| {
            let reserved = state.reserved.get(&Rc::as_ptr(file)).copied();
            reserved.unwrap_or(0).max(file.borrow().len() as u64)
        };
        let others = state
            .files
            .values()
            .filter(|other| !Rc::ptr_eq(other, file));
        let others: u64 = others.map(size).sum();
        state.capacity.map_or(u64::MAX, |all| all - others)
    }

    /// Number of bytes that were read.
    pub(super) fn bytes_read(&self) -> u64 {
        self.0.borrow().bytes_read
    }

    pub(super) fn contents(&self) -> BTreeMap<u32, Vec<u8>> {
        let state = self.0.borrow();
        let content = |(&number, file): (&u32, &Content)| (number, file.borrow().clone());
        state.files.iter().map(content).collect()
    }

    pub(super) fn of(contents: BTreeMap<u32, Vec<u8>>) -> Self {
        let memory = Self::default();
        let file = |(number, content)| (number, Rc::new(RefCell::new(content)));
        memory.0.borrow_mut().files = contents.into_iter().map(file).collect();
        memory
    }

    /// Appends to a segment.
    pub(super) fn extend(&self, segment: u32, bytes: &[u8]) {
        self.0.borrow().files[&segment].borrow_mut().extend(bytes);
    }

    /// Counts a call; gives what is to happen in its place.
    fn call(&self) -> Option<Fault> {
        let mut state = self.0.borrow_mut();
        let call = state.calls;
        state.calls += 1;
        let (from, count, fault) = state.fault?;
        (from..from + count).contains(&call).then_some(fault)
    }

    fn refused(&self) -> io::Result<()> {
        match self.call() {
            None => Ok(()),
            Some(fault) => Err(error(fault)),
        }
    }
}

fn error(fault: Fault) -> io::Error {
    match fault {
        Fault::Full | Fault::Short => io::Error::from_raw_os_error(libc::ENOSPC),
        Fault::Io | Fault::Late => io::Error::from_raw_os_error(libc::EIO),
    }
}

impl Disk for Memory {
    type File = Content;

    fn segments(&self) -> io::Result<Vec<u32>> {
        Ok(self.0.borrow().files.keys().copied().collect())
    }

    fn create(&self, segment: u32) -> io::Result<Content> {
        self.refused()?;
        let file = Content::default();
        let old = self.0.borrow_mut().files.insert(segment, Rc::clone(&file));
        assert!(old.is_none(), "a segment was written over");
        Ok(file)
    }

    fn open(&self, segment: u32) -> io::Result<Content> {
        let state = self.0.borrow();
        state
            .files
            .get(&segment)
            .cloned()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn remove(&self, segment: u32) -> io::Result<()> {
        self.refused()?;
        let removed = self.0.borrow_mut().files.remove(&segment);
        removed
            .map(drop)
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn write(&self, file: &Content, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        let all = bytes.iter().flat_map(|slice| slice.iter().copied());
        let length = bytes.iter().map(|slice| slice.len()).sum::<usize>();
        let space = self.space(file) - file.borrow().len() as u64;
        if space < length as u64 {
            file.borrow_mut().extend(all.take(space as usize));
            return if space > 0 {
                Ok(space as usize)
            } else {
                Err(error(Fault::Full))
            };
        }
        match self.call() {
            None => {
                file.borrow_mut().extend(all);
                return Ok(length);
            }
            // The first call takes half and says so, the one after it takes nothing.
            Some(Fault::Short) if length > 1 => {
                file.borrow_mut().extend(all.take(length / 2));
                return Ok(length / 2);
            }
            Some(Fault::Late) => file.borrow_mut().extend(all),
            Some(_) => {}
        }
        Err(error(Fault::Full))
    }

    fn reserve(&self, file: &Content, _from: u64, to: u64) -> io::Result<()> {
        if to > self.space(file) {
            return Err(error(Fault::Full));
        }
        self.0.borrow_mut().reserved.insert(Rc::as_ptr(file), to);
        Ok(())
    }

    fn release(&self, file: &Content, _length: u64) {
        self.0.borrow_mut().reserved.remove(&Rc::as_ptr(file));
    }

    fn read(&self, file: &Content, position: u64, into: &mut [u8]) -> io::Result<usize> {
        let content = file.borrow();
        let rest = content.get(position as usize..).unwrap_or_default();
        let length = rest.len().min(into.len());
        into[..length].copy_from_slice(&rest[..length]);
        self.0.borrow_mut().bytes_read += length as u64;
        Ok(length)
    }

    fn sync(&self, _file: &Content) -> io::Result<()> {
        self.refused()
    }
}
