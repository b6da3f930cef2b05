//! Resource usage of a process, by proc_pid_rusage of <libproc.h>.

use std::ffi::c_int;
use std::time::Duration;

use super::super::mach_time::duration;

/// Returns the processor time, and the bytes read from and written to disks, of a process and the children
/// that it has waited for (`struct rusage_info_v2` of <sys/resource.h>). Unlike on Linux, transfers of pipes
/// and sockets are not counted. `None` for processes of other users.
#[expect(unsafe_code, reason = "libproc has no safe form")]
pub(crate) fn usage(pid: i32) -> Option<(Duration, u64)> {
    // SAFETY: all zeroes is a valid value of the structure, which has the layout that the flavor names, so
    // that the call writes no more than its size.
    let used = unsafe {
        let mut used: libc::rusage_info_v2 = std::mem::zeroed();
        let into = (&raw mut used).cast();
        if libc::proc_pid_rusage(pid, libc::RUSAGE_INFO_V2, into) != 0 {
            return None;
        }
        used
    };
    let own = used.ri_user_time.saturating_add(used.ri_system_time);
    let children = used
        .ri_child_user_time
        .saturating_add(used.ri_child_system_time);
    let (numerator, denominator) = timebase()?;
    let cpu = duration(own.saturating_add(children), numerator, denominator);
    let bytes = used
        .ri_diskio_bytesread
        .saturating_add(used.ri_diskio_byteswritten);
    Some((cpu, bytes))
}

/// Returns the nanoseconds of a tick as a fraction (mach_timebase_info of <mach/mach_time.h>): 1/1 on Intel,
/// 125/3 on Apple's processors.
#[expect(unsafe_code, reason = "Mach has no safe form")]
fn timebase() -> Option<(u32, u32)> {
    let mut base = Timebase { numer: 0, denom: 0 };
    // SAFETY: the structure has the layout of <mach/mach_time.h>; the call writes to it only.
    let failed = unsafe { mach_timebase_info(&raw mut base) };
    (failed == 0 && base.denom != 0).then_some((base.numer, base.denom))
}

/// `struct mach_timebase_info` of <mach/mach_time.h>. That of libc is deprecated.
#[repr(C)]
struct Timebase {
    numer: u32,
    denom: u32,
}

#[expect(unsafe_code, reason = "declares a function of libSystem")]
unsafe extern "C" {
    fn mach_timebase_info(info: *mut Timebase) -> c_int;
}
