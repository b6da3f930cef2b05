//! `bowline run` with agents that fail, and with interrupts and signals.

use std::io::{BufRead as _, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{AGENT, BOWLINE, ScriptedAgent, TIMEOUT, command, finish};

/// Prints a line, then runs a tool until it is interrupted.
const LONG_TOOL: &str = "[[turn]]\nsteps = [ { text = \"One line.\\nAnd another.\" }, { tool = { name = 'Bash', \
    input = { command = 'sleep' }, duration_ms = 600000 } } ]";

/// Prints a line and ignores its input.
const UNRESPONSIVE: &str = "[[turn]]\nsteps = [ { ignore_stdin = true }, { text = \"One line.\\nAnd another.\" }, \
    { hang = {} } ]";

#[test]
fn agent_exit_during_turn_is_a_failure() {
    let scripted = ScriptedAgent::new(
        "[[turn]]\nsteps = [ { text = 'So' }, { stderr = 'out of luck' }, { exit = 3 } ]",
    );
    let done = scripted.run(&["hi"]);
    assert!(
        done.stdout
            .contains("! the process ended unexpectedly: exit code 3: out of luck\n"),
        "{done:?}"
    );
    let line = done.failed(1);
    assert!(
        line.contains("the agent ended unexpectedly: exit code 3: out of luck"),
        "{line}"
    );
    assert!(line.contains("--resume "), "{line}");
}

#[test]
fn killed_agent_is_a_failure() {
    let scripted = ScriptedAgent::new("[[turn]]\nsteps = [ { text = 'So' }, { die = 'SIGKILL' } ]");
    let line = scripted.run(&["hi"]).failed(1);
    assert!(
        line.contains("the agent ended unexpectedly: signal 9"),
        "{line}"
    );
}

#[test]
fn agent_exit_without_answer_is_a_failure() {
    let line = crate::support::bowline(&["run", "--agent", "true", "hi"]).failed(1);
    assert!(
        line.contains("the agent ended unexpectedly: exit code 0"),
        "{line}"
    );
}

#[test]
fn agent_that_dies_after_its_answer_is_no_failure() {
    let result = "{ raw = { type = 'result', subtype = 'success', is_error = false, result = 'Done.', \
                  duration_ms = 1, num_turns = 1, total_cost_usd = 0.0, session_id = '{{session_id}}', \
                  uuid = '{{uuid}}' } }";
    for end in ["die = 'SIGKILL'", "exit = 3"] {
        let steps = format!("[[turn]]\nsteps = [ {{ text = 'Done.' }}, {result}, {{ {end} }} ]");
        // The end of the agent and the request to end it race each time.
        for _ in 0..5 {
            let scripted = ScriptedAgent::new(&steps);
            assert!(scripted.run(&["hi"]).ok().contains("Done."));
        }
    }
}

#[test]
fn stderr_of_failed_agent_is_shown() {
    let scripted = ScriptedAgent::new("startup = { stderr = \"one\\ntwo\\nthree\", exit = 2 }");
    let done = scripted.run(&["hi"]);
    assert_eq!(done.code, Some(1));
    let wanted =
        "  agent: one\n  agent: two\nbowline: the agent ended unexpectedly: exit code 2: three\n";
    assert_eq!(done.stderr, wanted);
}

#[test]
fn long_stderr_is_abbreviated() {
    let lines: Vec<_> = (1..=20).map(|n| format!("word {n}\\n")).collect();
    let scripted = ScriptedAgent::new(&format!(
        "startup = {{ stderr = \"{}\", exit = 2 }}",
        lines.concat()
    ));
    let done = scripted.run(&["hi"]);
    assert_eq!(done.code, Some(1));
    let lines: Vec<_> = done.stderr.lines().collect();
    let wanted = [
        "  agent: word 1",
        "  agent: word 2",
        "  agent: word 3",
        "  … 11 more lines",
        "  agent: word 15",
    ];
    assert_eq!(lines[..5], wanted);
    assert_eq!(lines[8], "  agent: word 19");
    assert_eq!(
        lines[9..],
        ["bowline: the agent ended unexpectedly: exit code 2: word 20"]
    );
}

#[test]
fn failure_reports_the_cost() {
    let scripted = ScriptedAgent::new(
        "[[turn]]\nresult = { cost_usd = 0.25 }\nsteps = [ { text = 'So' } ]\n\
         [[turn]]\nresult = { cost_usd = 0.25 }\nsteps = [ { fail = { status = 400, text = 'API Error: 400 no' } } ]",
    );
    let first = scripted.run(&["--output", "transcript", "hi"]);
    assert_eq!(first.code, Some(0), "{first:?}");
    let failing = ScriptedAgent::new(
        "[[turn]]\nresult = { cost_usd = 0.25 }\nsteps = [ { fail = { status = 400, text = 'API Error: 400 no' } } ]",
    );
    let line = failing.run(&["--output", "transcript", "hi"]);
    let line = line.failed(1);
    assert!(
        line.starts_with("bowline: the turn failed: API Error: 400 no, $0.2500 so far; resume"),
        "{line}"
    );
}

#[test]
fn failed_turn_is_a_failure() {
    let scripted = ScriptedAgent::new(
        "[[turn]]\nsteps = [ { fail = { status = 400, text = 'API Error: 400 no' } } ]",
    );
    let done = scripted.run(&["hi"]);
    assert!(done.stdout.contains("✗ failed after "), "{done:?}");
    let line = done.failed(1);
    assert!(
        line.contains("the turn failed: API Error: 400 no"),
        "{line}"
    );
}

/// The processes of the agent hold the write end of a pipe, which ends with the last of them.
#[test]
fn killed_run_leaves_no_process() {
    let scripted = ScriptedAgent::new("");
    let fifo = scripted.path("alive");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    let script =
        scripted.script("exec 7>\"$ALIVE\"\nsetsid sleep 1000 &\necho here >&7\nexec sleep 1000");
    // Opening a FIFO for reading and writing does not block (fifo(7)).
    let both = std::fs::File::options()
        .read(true)
        .write(true)
        .open(&fifo)
        .unwrap();
    let mut alive = std::io::BufReader::new(std::fs::File::open(&fifo).unwrap());
    let mut running = command(&["run", "--agent", &script, "hi"])
        .env("ALIVE", &fifo)
        .spawn()
        .unwrap();
    let mut line = String::new();
    alive.read_line(&mut line).unwrap();
    assert_eq!(line, "here\n");
    drop(both);
    running.kill().unwrap();
    running.wait().unwrap();
    let (ended, end) = channel();
    std::thread::spawn(move || {
        let read = alive.read_to_string(&mut line).unwrap();
        ended.send(read).unwrap();
    });
    assert_eq!(end.recv_timeout(TIMEOUT), Ok(0), "a process is left");
}

#[test]
fn interrupt_ends_the_turn() {
    let scripted = ScriptedAgent::new(LONG_TOOL);
    let running = scripted.run_until(&["--agent-arg", "--pace=1", "hi"], "● Bash");
    running.signal(Signal::INT);
    let done = running.finish();
    assert_eq!(done.code, Some(130), "{done:?}");
    assert!(
        done.stdout.contains("⊘ interrupted after "),
        "{}",
        done.stdout
    );
    let lines: Vec<_> = done.stderr.lines().collect();
    assert_eq!(lines[0], "interrupting; press ^C again to end the session");
    assert!(
        lines[1].starts_with("bowline: interrupted")
            && lines[1].contains("resume with `bowline run"),
        "{lines:?}"
    );
    assert_eq!(lines.len(), 2);
}

/// The suggested command line starts the same agent, whatever its name contains.
#[test]
fn resume_hint_is_a_shell_command() {
    let scripted = ScriptedAgent::new(
        "[[turn]]\nsteps = [ { fail = { status = 400, text = 'API Error: 400 no' } } ]\n\
         [[turn]]\non = 'resume'\nsteps = [ { text = 'Welcome back.' } ]",
    );
    let agent = scripted.path("an agent's");
    std::os::unix::fs::symlink(AGENT, &agent).unwrap();
    let scenario = format!("--scenario={}", scripted.path("scenario.toml"));
    let line = ["run", "--agent", &agent, "--agent-arg", &scenario, "hi"];
    let stderr = finish(command(&line).spawn().unwrap()).failed(1);
    let way = stderr.split('`').nth(1).unwrap();
    let way = way.replacen("bowline", "\"$BOWLINE\"", 1);
    let mut shell = Command::new("sh");
    shell.args(["-c", &way]).env("BOWLINE", BOWLINE);
    let output = shell.output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains("Welcome back."), "{way}: {printed}");
}

/// The file size limit is one block.
#[test]
fn incomplete_recording_is_reported_with_agent_failure() {
    let scripted = ScriptedAgent::new(
        "[[turn]]\nsteps = [ { many = { times = 2000, steps = [ { text = \"word\\n\" } ] } }, { exit = 3 } ]",
    );
    let record = scripted.path("record.jsonl");
    let line = scripted.line(&["--record", &record, "hi"]);
    let mut shell = Command::new("sh");
    let limited = "ulimit -f 1; exec \"$BOWLINE\" \"$@\"";
    shell.args(["-c", limited, "sh"]).args(line);
    let output = shell.env("BOWLINE", BOWLINE).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<_> = stderr.lines().collect();
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("bowline: the recording is incomplete: ")),
        "{stderr}"
    );
    assert!(
        lines[lines.len() - 1].starts_with("bowline: the agent ended unexpectedly: exit code 3"),
        "{stderr}"
    );
}

#[test]
fn turn_that_ignores_interrupt_completes() {
    let steps = "[[turn]]\nsteps = [ { text = \"One line.\\nAnd another.\" }, \
        { delay_ms = 2000 }, { text = ' Done.' } ]";
    for (reply, stderr) in [
        ("response = {}", ""),
        (
            "error = 'not now'",
            "bowline: failed to interrupt: the agent refused, not now\n",
        ),
    ] {
        let reply = format!("control = [ {{ subtype = 'interrupt', {reply} }} ]");
        let scripted = ScriptedAgent::new(&format!("{reply}\n{steps}"));
        let running = scripted.run_until(&["--agent-arg", "--pace=1", "hi"], "One line.");
        running.signal(Signal::INT);
        let done = running.finish();
        assert_eq!(done.code, Some(0), "{done:?}");
        let first = "interrupting; press ^C again to end the session\n";
        assert_eq!(done.stderr, format!("{first}{stderr}"));
        assert!(done.stdout.contains("Done."), "{done:?}");
    }
}

#[test]
fn interrupt_stops_background_work() {
    let scripted = ScriptedAgent::new(
        "[[turn]]\nsteps = [ { agent = { description = 'watch', prompt = 'Watch.', background = true, \
         steps = [ { delay_ms = 600000 }, { text = 'seen' } ] } }, { text = 'Started.' } ]",
    );
    let more = ["--agent-arg", "--pace=1", "Watch it."];
    let running = scripted.run_until(&more, "waiting for background work");
    running.signal(Signal::INT);
    let done = running.finish();
    assert_eq!(done.code, Some(130), "{done:?}");
    let stderr = "interrupting; press ^C again to end the session\nbowline: interrupted, ";
    assert!(done.stderr.starts_with(stderr), "{done:?}");
    assert!(
        done.stdout
            .contains("⊘ in the background: watch, stopped\n"),
        "{done:?}"
    );
}

#[test]
fn second_interrupt_ends_the_session() {
    let scripted = ScriptedAgent::new(UNRESPONSIVE);
    let mut running = scripted.run_until(&["hi"], "One line.");
    running.signal(Signal::INT);
    let stderr = running.until_stderr("interrupting");
    assert_eq!(stderr, "interrupting; press ^C again to end the session\n");
    running.signal(Signal::INT);
    let done = running.finish();
    assert_eq!(done.code, Some(130), "{done:?}");
    assert!(done.stderr.contains("bowline: interrupted"), "{done:?}");
}

#[test]
fn sigterm_and_sighup_end_the_session() {
    for signal in [Signal::TERM, Signal::HUP] {
        let running = ScriptedAgent::new(UNRESPONSIVE).run_until(&["hi"], "One line.");
        running.signal(signal);
        let done = running.finish();
        assert_eq!(done.code, Some(130), "{done:?}");
        assert!(
            done.stderr.contains("bowline: ended by a signal"),
            "{done:?}"
        );
    }
}

/// Standard output is a full pipe that is never read.
#[test]
fn signal_ends_session_with_blocked_stdout() {
    for signal in [Signal::TERM, Signal::HUP] {
        let scripted = ScriptedAgent::new(LONG_TOOL);
        let life = scripted.path("life");
        let made = Command::new("mkfifo").arg(&life).status().unwrap();
        assert!(made.success());
        let agent = scripted
            .script("exec 9> \"${0%/*}/life\"\necho >&9\nexec \"$BOWLINE\" understudy \"$@\"");
        let scenario = format!("--scenario={}", scripted.path("scenario.toml"));
        let (_reader, writer) = rustix::pipe::pipe().unwrap();
        fill_up(&writer);
        let mut command = command(&["run", "--agent", &agent, "--agent-arg", &scenario, "hi"]);
        let child = command.stdout(writer).spawn().unwrap();
        let (send, signs) = channel();
        std::thread::spawn(move || {
            let mut life = std::fs::File::open(life).unwrap();
            let mut rest = Vec::new();
            send.send(life.read_exact(&mut [0])).unwrap();
            send.send(life.read_to_end(&mut rest).map(drop)).unwrap();
        });
        signs.recv_timeout(TIMEOUT).unwrap().unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        let done = finish(child);
        assert_eq!(done.code, Some(130), "{done:?}");
        signs.recv_timeout(TIMEOUT).unwrap().unwrap();
    }
}

/// Writes until the pipe is full.
fn fill_up(writer: &OwnedFd) {
    let flags = fcntl_getfl(writer).unwrap();
    fcntl_setfl(writer, flags | OFlags::NONBLOCK).unwrap();
    while rustix::io::write(writer, &[0; 4096]).is_ok() {}
    while rustix::io::write(writer, &[0]).is_ok() {}
    fcntl_setfl(writer, flags).unwrap();
}

/// The prompt is larger than what a terminal and a pipe take without a reader.
#[test]
fn terminal_agent_may_end_with_unread_input() {
    let scripted = ScriptedAgent::new("");
    let agent = scripted.script("head -c 1 > /dev/null");
    let mut command = command(&["run", "--agent", &agent, "--stdio", "pty", "-"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin
        .write_all("a short line\n".repeat(80_000).as_bytes())
        .unwrap();
    drop(stdin);
    let line = finish(child).failed(1);
    assert!(
        line.contains("the agent ended unexpectedly: exit code 0"),
        "{line}"
    );
}

#[test]
fn closed_stdout_ends_the_session() {
    let scripted = ScriptedAgent::new(
        "[[turn]]\nsteps = [ { many = { times = 100000, steps = [ { text = \"word\\n\" } ] } } ]",
    );
    let mut child = scripted.command(&["hi"]).spawn().unwrap();
    drop(child.stdout.take());
    let done = finish(child);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
}
