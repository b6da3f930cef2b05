//! Processes of macOS by sysctl(3). Unlike libproc, it answers for the processes of all users, and for
//! zombies.

use std::collections::HashMap;
use std::ffi::c_int;
use std::io;

use super::super::kinfo;
use super::super::process_table::{self, Process};

/// Attempts to read a process table that outgrows the buffer between the query of its size and the read.
const ATTEMPTS: u32 = 8;

/// Records of room for the processes that start between the two.
const SPARE_RECORDS: usize = 64;

/// Size of the buffer for arguments and environment: `kern.argmax` is 1 MiB (`ARG_MAX` of
/// <sys/syslimits.h>). A smaller buffer would get the end of the strings without their beginning.
const ARGUMENT_BYTES: usize = 1 << 20;

/// One reading of the process table.
pub(crate) struct Listing(HashMap<i32, Process>);

impl Listing {
    pub(crate) fn read() -> Self {
        let all = read(&mut [libc::CTL_KERN, libc::KERN_PROC, libc::KERN_PROC_ALL, 0]);
        Self(
            all.into_iter()
                .map(|process| (process.pid, process))
                .collect(),
        )
    }
}

impl process_table::Listing for Listing {
    fn pids(&self) -> Vec<i32> {
        self.0.keys().copied().collect()
    }

    fn look_up(&self, pid: i32) -> Option<Process> {
        self.0.get(&pid).cloned()
    }
}

/// Returns a process table entry without its marker.
pub(crate) fn look_up(pid: i32) -> Option<Process> {
    read(&mut [libc::CTL_KERN, libc::KERN_PROC, libc::KERN_PROC_PID, pid]).pop()
}

/// Returns a variable of the environment that a process was started with; `None` for processes of other
/// users and for restricted programs, whose environment the system withholds.
pub(crate) fn variable(pid: i32, name: &str) -> Option<Box<str>> {
    let mut query = [libc::CTL_KERN, libc::KERN_PROCARGS2, pid];
    let mut area = Vec::new();
    sysctl(&mut query, &mut area, ARGUMENT_BYTES).ok()?;
    kinfo::variable(&area, name)
}

fn read(name: &mut [c_int]) -> Vec<Process> {
    let mut records = Vec::new();
    for _ in 0..ATTEMPTS {
        let expected = size(name).unwrap_or(0);
        match sysctl(
            name,
            &mut records,
            expected + SPARE_RECORDS * kinfo::RECORD_BYTES,
        ) {
            Ok(()) => return kinfo::processes(&records, session),
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => {}
            Err(error) => {
                tracing::debug!(%error, "cannot read the process table");
                break;
            }
        }
    }
    Vec::new()
}

/// Returns the session of a process (getsid(2)); -1 if it has ended.
#[expect(unsafe_code, reason = "rustix returns no session of a zombie")]
fn session(pid: i32) -> i32 {
    // SAFETY: the call accesses no memory.
    unsafe { libc::getsid(pid) }
}

/// Returns the expected size of a value.
#[expect(unsafe_code, reason = "sysctl(3) has no safe form")]
fn size(name: &mut [c_int]) -> io::Result<usize> {
    let mut size = 0;
    let (name_at, length) = (name.as_mut_ptr(), name.len() as u32);
    let none = std::ptr::null_mut();
    // SAFETY: the name has `length` numbers; without a buffer, only `size` is written.
    match unsafe { libc::sysctl(name_at, length, none, &raw mut size, none, 0) } {
        0 => Ok(size),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Replaces `value` by the value of a name, which has at most `most` bytes.
#[expect(unsafe_code, reason = "sysctl(3) has no safe form")]
fn sysctl(name: &mut [c_int], value: &mut Vec<u8>, most: usize) -> io::Result<()> {
    value.clear();
    value.reserve(most);
    let mut size = most;
    let (name_at, length) = (name.as_mut_ptr(), name.len() as u32);
    // SAFETY: the name has `length` numbers. The buffer has at least `most` bytes, of which the call
    // initialises as many as it stores in `size`, which are never more.
    unsafe {
        let into = value.as_mut_ptr().cast();
        if libc::sysctl(
            name_at,
            length,
            into,
            &raw mut size,
            std::ptr::null_mut(),
            0,
        ) != 0
        {
            return Err(io::Error::last_os_error());
        }
        value.set_len(size.min(most));
    }
    Ok(())
}
