//! Counts descriptors, tasks, children and files before and after many commands. Alone in
//! its program, so that no other test opens descriptors.

#[path = "executor/agent.rs"]
#[expect(dead_code, reason = "shared with the tests of the executor")]
mod agent;

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use bowline_shell::{Evidence, ExecutorConfiguration, PtyTerminal, TerminalExecutor};

use agent::Agent;

const CYCLES: usize = 100;

pub(crate) async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(Duration::from_secs(60), work).await;
    done.unwrap_or_else(|_| panic!("no {what} in time"))
}

/// Open descriptors, the runtime's tasks, and children of this process.
fn open_resources() -> (usize, usize, String) {
    let descriptors = fs::read_dir("/proc/self/fd").expect("/proc").count();
    let tasks = tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks();
    let own = std::process::id();
    let children = fs::read_to_string(format!("/proc/self/task/{own}/children"));
    (descriptors, tasks, children.unwrap_or_default())
}

async fn cycle(agent: &Agent, acts: &str) {
    let terminal = Arc::new(PtyTerminal::default());
    let mut configuration = ExecutorConfiguration::new("s");
    configuration.hook_grace = Duration::from_millis(1);
    let executor = TerminalExecutor::start(configuration, terminal).await;
    let executor = executor.expect("an executor");
    let result = within("a result", executor.execute(agent.command("hello", acts))).await;
    let expected = match acts {
        "killed" => Evidence::NoSessionEnd,
        _ => Evidence::Complete,
    };
    assert_eq!(result.expect("a result").evidence, expected);
    within("a clean-up", executor.cleanup()).await;
}

/// Tasks that were let go run once more to their end.
async fn settled() -> (usize, usize, String) {
    within("the same count", async {
        loop {
            let now = open_resources();
            tokio::task::yield_now().await;
            if now.1 == 0 {
                return now;
            }
        }
    })
    .await
}

#[tokio::test]
async fn many_commands_leak_nothing() {
    let agent = Agent::new();
    // The first one brings what stays: the runtime's own descriptors.
    cycle(&agent, "").await;
    let before = settled().await;
    for round in 0..CYCLES {
        cycle(&agent, if round % 4 == 3 { "killed" } else { "" }).await;
    }
    assert_eq!(settled().await, before);
    assert_eq!(before.2, "", "no child is left");
}
