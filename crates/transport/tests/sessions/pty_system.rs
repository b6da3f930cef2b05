//! The PTY implementation of portable-pty's traits, in cases where portable-pty's own fails.

use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};

use bowline_transport::{HardenedPtySystem, PtyMode, SpawnError, pty_system};
use portable_pty::{Child, CommandBuilder, MasterPty, PtyPair, PtySize, PtySystem as _};

use crate::support::is_gone;

fn open(mode: PtyMode) -> PtyPair {
    let size = PtySize {
        rows: 33,
        cols: 99,
        ..PtySize::default()
    };
    HardenedPtySystem { mode }.openpty(size).unwrap()
}

fn script(text: &str) -> CommandBuilder {
    let mut command = CommandBuilder::new("/bin/sh");
    command.args(["-c", text]);
    command
}

/// Spawns the command and closes the slave side, so that the output ends with the child.
fn start(mode: PtyMode, command: CommandBuilder) -> (Box<dyn MasterPty>, Box<dyn Child>) {
    let PtyPair { slave, master } = open(mode);
    let child = slave.spawn_command(command).unwrap();
    (master, child)
}

fn all(master: &dyn MasterPty) -> String {
    let mut text = String::new();
    let mut reader = master.try_clone_reader().unwrap();
    reader.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn size_streams_environment_and_exit_match() {
    let mut command = script("stty size; tty; echo $GIVEN; exit 7");
    command.env("GIVEN", "given");
    let (master, mut child) = start(PtyMode::Cooked, command);
    let text = all(&*master);
    let name = master.tty_name().unwrap();
    assert_eq!(text, format!("33 99\r\n{}\r\ngiven\r\n", name.display()));
    let status = child.wait().unwrap();
    assert_eq!((status.exit_code(), status.signal()), (7, None));
    assert_eq!(child.try_wait().unwrap().unwrap().exit_code(), 7);
    assert_eq!(master.get_size().unwrap().cols, 99);
}

#[test]
fn dropped_writer_writes_nothing() {
    let (master, mut child) = start(
        PtyMode::Raw,
        script("echo ready; head -c 4; exec sleep 1000"),
    );
    let mut reader = master.try_clone_reader().unwrap();
    let mut ready = [0; 6];
    reader.read_exact(&mut ready).unwrap();
    let mut writer = master.take_writer().unwrap();
    writer.write_all(b"half").unwrap();
    drop(writer);
    assert!(master.take_writer().is_err(), "only once");
    let mut half = [0; 4];
    reader.read_exact(&mut half).unwrap();
    assert_eq!(&half, b"half");
    // head has read four bytes only: later input is still queued.
    let theirs = std::fs::File::open(master.tty_name().unwrap()).unwrap();
    assert_eq!(rustix::io::ioctl_fionread(theirs).unwrap(), 0);
    child.kill().unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some("SIGKILL"));
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");

    // A full queue does not block the drop.
    let (master, mut child) = start(PtyMode::Raw, script("exec sleep 1000"));
    fill(&*master);
    let writer = master.take_writer().unwrap();
    let started = Instant::now();
    drop(writer);
    assert!(started.elapsed() < Duration::from_secs(1));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Writes until the queue is full.
#[expect(
    unsafe_code,
    reason = "the trait gives a number, as portable-pty's own does"
)]
fn fill(master: &dyn MasterPty) {
    // SAFETY: the master outlives this call.
    let fd = unsafe { std::os::fd::BorrowedFd::borrow_raw(master.as_raw_fd().unwrap()) };
    rustix::io::ioctl_fionbio(fd, true).unwrap();
    while rustix::io::write(fd, &[b'x'; 4096]).is_ok() {}
    rustix::io::ioctl_fionbio(fd, false).unwrap();
}

#[test]
fn failed_spawn_names_its_cause() {
    let refused = |command: CommandBuilder| {
        let error = open(PtyMode::Cooked).slave.spawn_command(command);
        let error = error.map(drop).unwrap_err();
        match error.downcast::<SpawnError>() {
            Ok(error) => error,
            Err(error) => panic!("no SpawnError inside {error:?}"),
        }
    };
    let missing = refused(CommandBuilder::new("/no/such/program"));
    assert!(matches!(missing, SpawnError::NotFound { .. }));
    let mut elsewhere = script("pwd");
    elsewhere.cwd("/no/such/directory");
    assert!(matches!(refused(elsewhere), SpawnError::CwdMissing { .. }));
    let directory = refused(CommandBuilder::new("/bin"));
    assert!(matches!(directory, SpawnError::NotExecutable { .. }));
}

#[test]
fn kill_ends_process_tree() {
    let text = "setsid sleep 1000 & echo $!; (setsid sh -c 'trap \"\" TERM HUP; sleep 1000' &); \
                echo ready; sleep 1000";
    let (master, mut child) = start(PtyMode::Cooked, script(text));
    let mut reader = master.try_clone_reader().unwrap();
    let (mut seen, mut buffer) = (String::new(), [0; 256]);
    while !seen.contains("ready") {
        let count = reader.read(&mut buffer).unwrap();
        seen.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
    let hidden: u32 = seen.lines().next().unwrap().parse().unwrap();
    assert!(!is_gone(hidden) && child.try_wait().unwrap().is_none());
    let mut killer = child.clone_killer();
    killer.kill().unwrap();
    assert!(is_gone(hidden) && is_gone(child.process_id().unwrap()));
    assert_eq!(child.wait().unwrap().signal(), Some("SIGKILL"));
    killer.kill().unwrap();
}

#[test]
fn default_program_is_login_shell() {
    let mut command = CommandBuilder::new_default_prog();
    command.env("SHELL", "/bin/sh");
    let PtyPair { slave, master } = pty_system().openpty(PtySize::default()).unwrap();
    let mut child = slave.spawn_command(command).unwrap();
    drop(slave);
    let mut writer = master.take_writer().unwrap();
    writer.write_all(b"echo \"I am $0\"; exit 3\n").unwrap();
    let text = all(&*master);
    assert!(text.contains("I am -sh"), "{text:?}");
    assert_eq!(child.wait().unwrap().exit_code(), 3);
}

#[test]
fn outer_agent_is_not_inherited() {
    // An explicitly set variable stays; an inherited one is removed.
    let mut command = script("echo [$CLAUDECODE]");
    command.env("CLAUDECODE", "by hand");
    let (master, mut child) = start(PtyMode::Cooked, command);
    assert_eq!(all(&*master), "[by hand]\r\n");
    child.wait().unwrap();
}
