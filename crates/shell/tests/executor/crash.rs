//! A host that is killed leaves no prompt and no agent.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use bowline_shell::{ExecutorConfiguration, PtyTerminal, TerminalExecutor};

use crate::agent::{Agent, hanging};

/// Set in the process that plays the host: the folder of its agent's pipes.
const HOST: &str = "BOWLINE_TEST_HOST";

const ROUNDS: usize = 10;

/// Not a test but the host that is killed: this program again, with `HOST` set.
#[tokio::test]
async fn host_to_be_killed() {
    let Some(folder) = std::env::var_os(HOST) else {
        return;
    };
    let fifo = Path::new(&folder).join("fifo").display().to_string();
    let agent = Agent::new();
    let terminal = Arc::new(PtyTerminal::default());
    let configuration = ExecutorConfiguration::new("s");
    let executor = TerminalExecutor::start(configuration, terminal).await;
    let executor = executor.expect("an executor");
    let mut events = executor.subscribe().expect("a server");
    let mut command = agent.command("canary of the killed host", "holds");
    command
        .variables
        .insert("AGENT_FIFO".to_owned(), fifo.into());
    let reporting = async {
        hanging(&mut events).await;
        println!("\nhost: the agent hangs");
        std::future::pending::<()>().await;
    };
    let (result, ()) = tokio::join!(executor.execute(command), reporting);
    panic!("the agent ended: {result:?}");
}

#[test]
fn killed_host_leaves_no_prompt_or_agent() {
    for round in 0..ROUNDS {
        let folder = tempfile::tempdir().expect("a folder");
        let temporary = folder.path().join("tmp");
        std::fs::create_dir(&temporary).expect("a folder");
        for fifo in ["fifo", "fifo.in"] {
            let made = Command::new("mkfifo")
                .arg(folder.path().join(fifo))
                .status();
            assert!(made.expect("mkfifo").success());
        }
        let ended = end_of_agent(folder.path().join("fifo"));
        kill_a_host(folder.path(), &temporary, round);
        let ended = ended.recv_timeout(Duration::from_secs(60));
        ended.expect("the agent ends with its host's terminal");
        for left in files_below(&temporary) {
            let text = std::fs::read(&left).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            assert!(
                !text.contains("canary"),
                "{} has the prompt",
                left.display()
            );
            assert!(left.ends_with("claude"), "{} was left", left.display());
        }
    }
}

/// Starts a host, waits until its agent hangs, and kills it.
fn kill_a_host(folder: &Path, temporary: &Path, round: usize) {
    let mut host = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "crash::host_to_be_killed", "--nocapture"])
        .env(HOST, folder)
        .env("TMPDIR", temporary)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a host");
    let output = BufReader::new(host.stdout.take().expect("a pipe"));
    let mut lines = output.lines().map_while(Result::ok);
    let hangs = lines.any(|line| line == "host: the agent hangs");
    assert!(hangs, "the host of round {round} gave up");
    host.kill().expect("a kill");
    host.wait().expect("an end");
}

/// Tells when the agent has let go of its pipe, which it does with its end alone.
fn end_of_agent(fifo: std::path::PathBuf) -> mpsc::Receiver<()> {
    let (reporting, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let mut pipe = std::fs::File::open(fifo).expect("a pipe");
        let _ = pipe.read_to_end(&mut Vec::new());
        let _ = reporting.send(());
    });
    ended
}

fn files_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                files_below(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}
