//! A small agent: reads its prompt, runs its hooks, and ends as its arguments say.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use bowline_hooks::{HookEvent, HookEventItem, HookPayload, HookSubscription};
use bowline_shell::ExecutorCommand;
use tempfile::TempDir;

use crate::within;

/// Speaks HTTP over bash's own /dev/tcp, so that a hook is a real request of a real process.
const SCRIPT: &str = r#"#!/bin/bash
hook() {
    local rest=${BOWLINE_HOOK_URL#http://}
    local host=${rest%%/*} path=/${rest#*/}
    exec 3<>"/dev/tcp/${host%:*}/${host#*:}"
    printf 'POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: %s\r\n\r\n%s' \
        "$path" "$host" "$BOWLINE_HOOK_TOKEN" "${#1}" "$1" >&3
    cat <&3 >/dev/null
    exec 3>&-
}
event() { hook "{\"hook_event_name\":\"$1\",\"session_id\":\"conversation-1\",\"cwd\":\"$PWD\",$2}"; }
prompt=$(cat)
event SessionStart "\"source\":\"startup\",\"pid\":$$"
echo "args: $*"
echo "prompt: ${#prompt} ${prompt:0:40}"
echo "variable: $HOST_VARIABLE"
case $AGENT_ACTS in
    killed) kill -KILL $$ ;;
    stays) event Notification '"message":"hanging"'; tail -f /dev/null ;;
    hangs) event Notification '"message":"hanging"'; exec tail -f /dev/null ;;
    holds) exec 4>"$AGENT_FIFO"; event Notification '"message":"hanging"'; read -r _ <"$AGENT_FIFO.in" ;;
    ends-and-hangs) event SessionEnd '"reason":"other"'; exec tail -f /dev/null ;;
    clears) event SessionEnd '"reason":"clear"'
            hook '{"hook_event_name":"SessionStart","session_id":"conversation-2","source":"clear"}'
            hook '{"hook_event_name":"SessionEnd","session_id":"conversation-2","reason":"other"}' ;;
    silent) ;;
    floods) seq "${@: -1}" ;;
    *) event SessionEnd '"reason":"other"' ;;
esac
exit "${AGENT_EXITS:-0}"
"#;

/// A folder with an agent called `claude`.
pub(crate) struct Agent {
    folder: TempDir,
}

impl Agent {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        // Written by another process: a child that another thread forks meanwhile would inherit the open
        // file, and execve(2) would fail with ETXTBSY.
        let write = r#"printf %s "$1" > "$2" && chmod 755 "$2""#;
        let mut shell = Command::new("sh");
        shell.args(["-c", write, "sh", SCRIPT]);
        let written = shell.arg(folder.path().join("claude")).status();
        assert!(written.expect("a shell").success());
        Self { folder }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("claude")
    }

    /// A command for this agent, whose variables select its behaviour.
    pub(crate) fn command(&self, prompt: &str, acts: &str) -> ExecutorCommand {
        let mut command = ExecutorCommand::new("interaction-1", prompt);
        command.program = self.path().into();
        let acts = acts.to_owned().into();
        command.variables.insert("AGENT_ACTS".to_owned(), acts);
        command
    }
}

/// Waits until the agent has reported its process id and hangs. Returns the id.
pub(crate) async fn hanging(events: &mut HookSubscription) -> u32 {
    let mut pid = None;
    loop {
        let Some(HookEventItem::Event(event)) = within("a hook", events.next()).await else {
            panic!("the hooks ended");
        };
        pid = pid.or_else(|| process(&event));
        if matches!(event.payload, HookPayload::Notification { .. }) {
            return pid.expect("the agent reports its process id first");
        }
    }
}

fn process(event: &HookEvent) -> Option<u32> {
    let raw: serde_json::Value = serde_json::from_str(event.raw()).ok()?;
    u32::try_from(raw["pid"].as_u64()?).ok()
}

/// Whether a process is there and not a mere entry of the table.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|it| it.chars().next());
    state.is_some_and(|it| it != 'Z')
}
