//! What sysctl(3) of macOS returns about processes: records of the process table (`KERN_PROC`), and the
//! arguments and environment of one process (`KERN_PROCARGS2`). Pure, so that the layouts are tested on
//! every system.

use super::Process;

/// Size of `struct kinfo_proc` of <sys/sysctl.h> in a 64-bit process: `struct extern_proc` of <sys/proc.h>
/// with 296 bytes, and `struct eproc` with 352.
pub(super) const RECORD_BYTES: usize = 648;

/// Offsets of `kp_proc.p_starttime`, of its microseconds, and of `p_stat` and `p_pid`.
const START_SECONDS: usize = 0;
const START_MICROSECONDS: usize = 8;
const STATE: usize = 36;
const PID: usize = 40;

/// Offsets of `kp_eproc.e_ppid` and `e_pgid`.
const PARENT: usize = 296 + 264;
const GROUP: usize = 296 + 268;

/// `SZOMB` of <sys/proc.h>: ended, and not reaped yet.
const ZOMBIE: u8 = 5;

/// Parses the records of a process table. `session` returns the session of a process, which the records
/// do not contain. Start times are in microseconds since the epoch. Bytes after the last whole record are
/// ignored.
pub(super) fn processes(records: &[u8], session: impl Fn(i32) -> i32) -> Vec<Process> {
    let records = records.chunks_exact(RECORD_BYTES);
    let parsed = records.filter_map(|record| {
        let seconds = u64::from_ne_bytes(field(record, START_SECONDS)?);
        let microseconds = u32::from_ne_bytes(field(record, START_MICROSECONDS)?);
        let pid = i32::from_ne_bytes(field(record, PID)?);
        Some(Process {
            pid,
            parent: i32::from_ne_bytes(field(record, PARENT)?),
            group: i32::from_ne_bytes(field(record, GROUP)?),
            session: session(pid),
            start_time: seconds
                .saturating_mul(1_000_000)
                .saturating_add(microseconds.into()),
            zombie: record.get(STATE) == Some(&ZOMBIE),
            marker: None,
        })
    });
    parsed.collect()
}

/// Returns a variable of the environment in what `KERN_PROCARGS2` returns: the number of arguments, the
/// path of the program, NULs up to the next word, the arguments, and the variables, each string with a
/// NUL. The strings of the dynamic linker, which follow the variables, have other names.
pub(super) fn variable(area: &[u8], name: &str) -> Option<Box<str>> {
    let arguments = usize::try_from(i32::from_ne_bytes(field(area, 0)?)).ok()?;
    let mut strings = area.get(size_of::<i32>()..)?;
    take_string(&mut strings)?;
    let padding = strings.iter().take_while(|byte| **byte == 0).count();
    strings = strings.get(padding..)?;
    for _ in 0..arguments {
        take_string(&mut strings)?;
    }
    let value = std::iter::from_fn(|| take_string(&mut strings))
        .find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    Some(std::str::from_utf8(value).ok()?.into())
}

/// Takes a string and its NUL off the front; `None` without a NUL.
fn take_string<'a>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = from.iter().position(|byte| *byte == 0)?;
    let (string, rest) = from.split_at(length);
    *from = rest.get(1..)?;
    Some(string)
}

fn field<const N: usize>(record: &[u8], offset: usize) -> Option<[u8; N]> {
    record.get(offset..offset + N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record(pid: i32, parent: i32, group: i32, state: u8) -> [u8; RECORD_BYTES] {
        let mut record = [0xee; RECORD_BYTES];
        record[..8].copy_from_slice(&1_700_000_000_u64.to_ne_bytes());
        record[8..12].copy_from_slice(&250_000_u32.to_ne_bytes());
        record[36] = state;
        record[40..44].copy_from_slice(&pid.to_ne_bytes());
        record[560..564].copy_from_slice(&parent.to_ne_bytes());
        record[564..568].copy_from_slice(&group.to_ne_bytes());
        record
    }

    #[test]
    fn records_are_parsed_and_a_partial_one_is_ignored() {
        let mut table = [record(7, 1, 6, 2), record(8, 7, 6, 5)].concat();
        table.extend_from_slice(&record(9, 7, 6, 2)[..640]);
        let found = processes(&table, |pid| pid + 100);
        let seen: Vec<_> = found
            .iter()
            .map(|it| (it.pid, it.parent, it.group, it.session, it.zombie))
            .collect();
        assert_eq!(seen, [(7, 1, 6, 107, false), (8, 7, 6, 108, true)]);
        assert_eq!(found[0].start_time, 1_700_000_000_250_000);
    }

    fn area(arguments: i32, strings: &[u8]) -> Vec<u8> {
        [&arguments.to_ne_bytes(), strings].concat()
    }

    #[test]
    fn variable_follows_padding_and_all_arguments() {
        let strings =
            b"/bin/zsh\0\0\0\0\0zsh\0\0X=argument\0PATH=/bin\0X=1:2\0\0executable_path=/bin/zsh\0";
        let area = area(3, strings);
        assert_eq!(variable(&area, "X").as_deref(), Some("1:2"));
        assert_eq!(variable(&area, "PATH").as_deref(), Some("/bin"));
        assert_eq!(variable(&area, "PAT"), None);
        assert_eq!(variable(&area, "X="), None);
    }

    #[test]
    fn withheld_environment_has_no_variables() {
        assert_eq!(variable(&area(1, b"/bin/ps\0\0\0ps\0"), "X"), None);
        assert_eq!(variable(&area(9, b"/bin/ps\0ps\0X=1\0"), "X"), None);
        assert_eq!(variable(&area(-1, b"/bin/ps\0ps\0X=1\0"), "X"), None);
        assert_eq!(variable(&area(1, b"/bin/ps\0ps\0X=\xff\0"), "X"), None);
        assert_eq!(variable(b"\x01\0", "X"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_accepted(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            let found = processes(&bytes, |pid| pid);
            prop_assert_eq!(found.len(), bytes.len() / RECORD_BYTES);
            variable(&bytes, "X");
        }
    }
}
