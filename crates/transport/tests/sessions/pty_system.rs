//! Conformance of the implementations of portable-pty's traits: every case of [`CASES`] runs against
//! both of them. Where they differ, the table has both results, so that a change of either is
//! noticed.

use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use bowline_transport::{HardenedPtySystem, PtyMode, SpawnError, pty_system};
use portable_pty::{
    Child, CommandBuilder, MasterPty, PtyPair, PtySize, PtySystem, native_pty_system,
};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{alone, is_gone};

struct Case {
    name: &'static str,
    run: fn(&dyn PtySystem) -> String,
    hardened: &'static str,
    /// `None` if the result is the same.
    native: Option<&'static str>,
}

const CASES: &[Case] = &[
    Case {
        name: "size, controlling terminal, environment, exit code",
        run: basics,
        hardened: "33 99, given, 7",
        native: None,
    },
    Case {
        name: "bytes read after the exit of a child that wrote 1 MB",
        run: tail,
        hardened: "1000000",
        native: None,
    },
    Case {
        name: "program without a command",
        run: default_program,
        hardened: "a login shell",
        native: None,
    },
    Case {
        name: "second writer",
        run: second_writer,
        hardened: "refused",
        native: None,
    },
    Case {
        name: "typed by a dropped writer",
        run: dropped_writer,
        hardened: "",
        native: Some("\\n\\u{4}"),
    },
    Case {
        name: "missing program",
        run: missing_program,
        hardened: "NotFound",
        native: Some("untyped error"),
    },
    Case {
        name: "missing interpreter",
        run: missing_interpreter,
        hardened: "MissingInterpreter",
        native: Some("started"),
    },
    Case {
        name: "missing working directory",
        run: missing_directory,
        hardened: "CwdMissing",
        native: Some("started"),
    },
    Case {
        name: "background process after kill",
        run: kill,
        hardened: "ended, SIGKILL",
        native: Some("alive, Hangup"),
    },
    Case {
        name: "flow control by ^S",
        run: flow_control,
        hardened: "-ixon",
        native: Some("ixon"),
    },
    Case {
        name: "size of 0 by 0, and of 65535 by 65535",
        run: extreme_sizes,
        hardened: "1 1, 1000 1000",
        native: Some("0 0, 65535 65535"),
    },
    Case {
        name: "umask of the command",
        run: umask,
        hardened: "ignored",
        native: Some("applied"),
    },
    Case {
        name: "variables of an outer agent",
        run: outer_agent,
        hardened: "removed",
        native: Some("inherited"),
    },
    Case {
        name: "terminals in a child that another thread starts",
        run: inherited,
        hardened: "none",
        native: Some("some"),
    },
];

#[test]
fn backends_conform_except_for_known_differences() {
    alone("pty_system::conformance", |command| {
        command.env("CLAUDECODE", "1");
    });
}

#[test]
#[ignore = "run in its own process by the test above"]
fn conformance() {
    let mut wrong = String::new();
    println!("| case | hardened | native |\n|---|---|---|");
    for case in CASES {
        let hardened = (case.run)(&HardenedPtySystem::default());
        let native = (case.run)(&*native_pty_system());
        println!("| {} | {hardened} | {native} |", case.name);
        let expected = (case.hardened, case.native.unwrap_or(case.hardened));
        if (hardened.as_str(), native.as_str()) != expected {
            let _ = writeln!(
                wrong,
                "{}: {hardened:?} and {native:?}, not {expected:?}",
                case.name
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn script(text: &str) -> CommandBuilder {
    let mut command = CommandBuilder::new("/bin/sh");
    command.args(["-c", text]);
    command
}

fn open(system: &dyn PtySystem, rows: u16, cols: u16) -> PtyPair {
    let size = PtySize {
        rows,
        cols,
        ..PtySize::default()
    };
    system.openpty(size).unwrap()
}

/// Spawns the command and closes the slave side, so that the output ends with the child.
fn start(
    system: &dyn PtySystem,
    command: CommandBuilder,
) -> (Box<dyn MasterPty>, Box<dyn Child + Send + Sync>) {
    let PtyPair { slave, master } = open(system, 33, 99);
    let child = slave.spawn_command(command).unwrap();
    (master, child)
}

fn all(master: &dyn MasterPty) -> String {
    let mut text = String::new();
    let mut reader = master.try_clone_reader().unwrap();
    reader.read_to_string(&mut text).unwrap();
    text
}

/// Runs a script to its end and returns its output.
fn output(system: &dyn PtySystem, command: CommandBuilder) -> String {
    let (master, mut child) = start(system, command);
    let text = all(&*master);
    child.wait().unwrap();
    text.trim().replace("\r\n", ", ")
}

fn basics(system: &dyn PtySystem) -> String {
    let mut command = script("stty size; tty -s < /dev/tty && echo $GIVEN; exit 7");
    command.env("GIVEN", "given");
    let (master, mut child) = start(system, command);
    let text = all(&*master).trim().replace("\r\n", ", ");
    let status = child.wait().unwrap();
    assert_eq!(status.signal(), None);
    assert_eq!(child.try_wait().unwrap().unwrap().exit_code(), 7);
    assert_eq!(master.get_size().unwrap().cols, 99);
    format!("{text}, {}", status.exit_code())
}

fn tail(system: &dyn PtySystem) -> String {
    let command = script("stty raw; head -c 1000000 /dev/zero");
    all(&*start(system, command).0).len().to_string()
}

fn default_program(system: &dyn PtySystem) -> String {
    let mut command = CommandBuilder::new_default_prog();
    command.env("SHELL", "/bin/sh");
    let (master, mut child) = start(system, command);
    let mut writer = master.take_writer().unwrap();
    writer.write_all(b"echo \"I am $0\"; exit 3\n").unwrap();
    let text = all(&*master);
    assert_eq!(child.wait().unwrap().exit_code(), 3);
    match text.contains("I am -sh") {
        true => "a login shell".into(),
        false => text,
    }
}

fn second_writer(system: &dyn PtySystem) -> String {
    let PtyPair { slave, master } = open(system, 24, 80);
    let _first = master.take_writer().unwrap();
    let second = master.take_writer();
    drop(slave);
    if second.is_err() { "refused" } else { "given" }.into()
}

/// Returns what arrives between the last bytes of a writer and the next bytes by other means.
fn dropped_writer(system: &dyn PtySystem) -> String {
    let (master, mut child) = start(system, script("stty raw -echo; echo ready; exec cat"));
    let mut reader = master.try_clone_reader().unwrap();
    read_until(&mut *reader, "ready\n");
    let mut writer = master.take_writer().unwrap();
    writer.write_all(b"half").unwrap();
    drop(writer);
    write(&*master, b"!");
    let seen = read_until(&mut *reader, "!");
    child.kill().unwrap();
    child.wait().unwrap();
    let typed = seen.strip_prefix("half").unwrap();
    typed.trim_end_matches('!').escape_default().to_string()
}

fn read_until(reader: &mut dyn std::io::Read, wanted: &str) -> String {
    let (mut seen, mut byte) = (Vec::new(), [0]);
    while !seen.ends_with(wanted.as_bytes()) {
        reader.read_exact(&mut byte).unwrap();
        seen.push(byte[0]);
    }
    String::from_utf8(seen).unwrap()
}

#[expect(
    unsafe_code,
    reason = "the trait gives a number, as portable-pty's own does"
)]
fn write(master: &dyn MasterPty, bytes: &[u8]) {
    // SAFETY: the master outlives this call.
    let fd = unsafe { std::os::fd::BorrowedFd::borrow_raw(master.as_raw_fd().unwrap()) };
    assert_eq!(rustix::io::write(fd, bytes).unwrap(), bytes.len());
}

/// Returns the variant of a refusal, or that there was none.
fn refusal(system: &dyn PtySystem, command: CommandBuilder) -> String {
    match open(system, 24, 80).slave.spawn_command(command) {
        Ok(mut child) => {
            child.wait().unwrap();
            "started".into()
        }
        Err(error) => match error.downcast::<SpawnError>() {
            Ok(SpawnError::NotFound { .. }) => "NotFound".into(),
            Ok(SpawnError::CwdMissing { .. }) => "CwdMissing".into(),
            Ok(SpawnError::MissingInterpreter { .. }) => "MissingInterpreter".into(),
            Ok(error) => error.to_string(),
            Err(_) => "untyped error".into(),
        },
    }
}

fn missing_program(system: &dyn PtySystem) -> String {
    refusal(system, CommandBuilder::new("/no/such/program"))
}

fn missing_interpreter(system: &dyn PtySystem) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("program");
    crate::refusals::write(&path, "#!/no/such/interpreter\n", 0o755);
    refusal(system, CommandBuilder::new(path))
}

fn missing_directory(system: &dyn PtySystem) -> String {
    let mut command = script("exit");
    command.cwd("/no/such/directory");
    refusal(system, command)
}

/// Kills a child that has a background process in a session of its own.
fn kill(system: &dyn PtySystem) -> String {
    let (master, mut child) = start(
        system,
        script("setsid sh -c 'echo $$; exec sleep 1000' & exec sleep 1000"),
    );
    let mut reader = master.try_clone_reader().unwrap();
    let background: u32 = read_until(&mut *reader, "\n").trim().parse().unwrap();
    let mut killer = child.clone_killer();
    killer.kill().unwrap();
    let signal = child.wait().unwrap().signal().unwrap().to_owned();
    let state = match is_gone(background) {
        true => "ended",
        false => {
            let pid = Pid::from_raw(background.cast_signed()).unwrap();
            kill_process(pid, Signal::KILL).unwrap();
            "alive"
        }
    };
    format!("{state}, {signal}")
}

fn flow_control(system: &dyn PtySystem) -> String {
    let text = output(system, script("stty -a"));
    let mut words = text.split([' ', ',']);
    words.find(|word| word.ends_with("ixon")).unwrap().into()
}

fn extreme_sizes(system: &dyn PtySystem) -> String {
    let sizes = [0, u16::MAX].map(|size| {
        let PtyPair { slave, master } = open(system, size, size);
        let mut child = slave.spawn_command(script("stty size")).unwrap();
        drop(slave);
        let text = all(&*master);
        child.wait().unwrap();
        text.trim().to_owned()
    });
    sizes.join(", ")
}

fn umask(system: &dyn PtySystem) -> String {
    let mut command = script("umask");
    command.umask(Some(0o077));
    match output(system, command).as_str() {
        "0077" => "applied".into(),
        _ => "ignored".into(),
    }
}

fn outer_agent(system: &dyn PtySystem) -> String {
    // A variable that is set explicitly stays.
    let mut explicit = script("echo $CLAUDECODE");
    explicit.env("CLAUDECODE", "by hand");
    assert_eq!(output(system, explicit), "by hand");
    match output(system, script("echo $CLAUDECODE")).as_str() {
        "" => "removed".into(),
        _ => "inherited".into(),
    }
}

/// Starts children while terminals are opened, until one has inherited a terminal.
fn inherited(system: &dyn PtySystem) -> String {
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let children = scope.spawn(|| {
            let found = (0..CHILDREN).any(|_| has_terminal());
            is_done.store(true, Ordering::Relaxed);
            found
        });
        while !is_done.load(Ordering::Relaxed) {
            drop(open(system, 24, 80));
        }
        match children.join().unwrap() {
            true => "some".into(),
            false => "none".into(),
        }
    })
}

/// About three in ten children inherit a terminal that is opened without close-on-exec.
const CHILDREN: u32 = 300;

fn has_terminal() -> bool {
    let listed = Command::new("ls").args(["-l", "/proc/self/fd"]).output();
    let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
    listed.contains("ptmx") || listed.contains("/dev/pts/")
}

#[test]
fn platform_has_a_pty_system() {
    let system = pty_system();
    assert_eq!(output(&*system, script("echo ready")), "ready");
    let raw = HardenedPtySystem { mode: PtyMode::Raw };
    assert_eq!(
        output(&raw, script("stty -a | grep -o -- -icanon")),
        "-icanon"
    );
}
