//! Events that an ordinary turn does not cause; each is provoked.
//!
//! Those that need more than a turn are in `provoked`.

use std::fs;

use bowline_hooks::{HookConfiguration, HookEvent, HookKind, HookPayload, HookServer};
use bowline_lifecycle::{Decision, Prompt};
use bowline_tests::real_agent::{Block, Home, Lanes, Reply, Scenario};
use bowline_tests::session::{until, within};
use serde_json::{Value, json};

use super::rig::{Rig, hooks, names, server};

fn all() -> HookConfiguration {
    HookConfiguration {
        kinds: Some(HookKind::ALL.to_vec()),
        ..hooks()
    }
}

fn bash(command: &str) -> Reply {
    let id = format!("toolu_{}", command.len());
    let input = json!({"command": command, "description": "Run a scripted command"});
    Reply::new([Block::tool(&id, "Bash", input)])
}

/// An agent with all events enabled, and the server that receives them.
async fn rig(replies: Vec<Reply>, prepare: impl FnOnce(&Home)) -> (HookServer, Rig) {
    let server = server(all()).await;
    let scenario = Scenario {
        script: Lanes::main(replies),
        prompts: vec!["go"],
        args: vec!["--allowedTools", "Bash"],
    };
    let rig = Rig::start_in(scenario, &server, prepare).await;
    (server, rig)
}

/// Sends the prompts in sequence, each after the previous answer.
async fn answered(rig: &Rig, prompts: &[&str]) {
    for prompt in prompts {
        let sent = rig.session.send(Prompt::text(*prompt)).await;
        let mut receipt = sent.expect("the prompt is sent");
        within("an answer", receipt.settled()).await;
    }
}

/// Payload of the first event of this name.
fn payload(events: &[HookEvent], name: &str) -> Value {
    let found = events.iter().find(|event| event.kind.name() == name);
    let event = found.unwrap_or_else(|| panic!("no {name} in {:?}", names(events)));
    assert_ne!(event.payload, HookPayload::Other, "{}", event.raw());
    serde_json::from_str(event.raw()).expect("a payload is JSON")
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn tool_directory_and_settings_events_arrive() {
    let replies = vec![
        bash("mkdir -p below && cd below"),
        bash("false"),
        bash("cd .. && mkdir -p .claude && echo '{\"env\":{\"A\":\"B\"}}' > .claude/settings.json"),
        Reply::text("Done."),
    ];
    let (_server, mut rig) = rig(replies, |_| {}).await;
    answered(&rig, &["go"]).await;
    // The agent reports a change once the file has been stable for a while.
    let events = rig.received(HookKind::ConfigChange).await;
    let moved = payload(&events, "CwdChanged");
    let path = moved["new_cwd"].as_str().expect("a path");
    assert!(path.ends_with("/below"), "{moved}");
    let failed = payload(&events, "PostToolUseFailure");
    assert_eq!(failed["tool_input"]["command"], "false");
    let changed = payload(&events, "ConfigChange");
    assert_eq!(changed["source"], "project_settings");
    rig.finish().await;
}

#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn command_instruction_and_compaction_events_arrive() {
    let replies = vec![
        Reply::text("Hello."),
        Reply::text("A summary."),
        Reply::text("Still here."),
    ];
    let prompts = ["/hello you", "/compact", "/model claude-sonnet-4-5", "and?"];
    let prepare = |home: &Home| {
        let commands = home.project().join(".claude/commands");
        fs::create_dir_all(&commands).expect("a folder");
        fs::write(commands.join("hello.md"), "Say hello to $ARGUMENTS").expect("a file");
        fs::write(home.project().join("CLAUDE.md"), "Be brief.").expect("a file");
    };
    let (_server, rig) = rig(replies, prepare).await;
    answered(&rig, &prompts).await;
    let (_, events) = rig.finish().await;
    let expanded = payload(&events, "UserPromptExpansion");
    assert_eq!(
        (&expanded["command_name"], &expanded["command_args"]),
        (&json!("hello"), &json!("you"))
    );
    let read = payload(&events, "InstructionsLoaded");
    let path = read["file_path"].as_str().expect("a path");
    assert!(path.ends_with("/CLAUDE.md"), "{read}");
    assert_eq!(payload(&events, "PreCompact")["trigger"], "manual");
    let summary = &payload(&events, "PostCompact")["compact_summary"];
    assert_eq!(*summary, "A summary.");
    for name in ["PreModelSwitch", "PostModelSwitch"] {
        assert_eq!(payload(&events, name)["to_model"], "claude-sonnet-4-5");
    }
}

/// The agent sends this some seconds after the request, and only while the request is open.
#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn pending_permission_is_notified() {
    let write = json!({"file_path": "permitted.txt", "content": "permitted"});
    let replies = vec![
        Reply::tool("toolu_write", "Write", write),
        bash("git init -q ."),
        Reply::tool("toolu_enter", "EnterWorktree", json!({"name": "tree"})),
        Reply::text("Done."),
    ];
    let (_server, mut rig) = rig(replies, |_| {}).await;
    let mut receipt = rig.ask().await;
    let events = rig.received(HookKind::Notification).await;
    let asked = payload(&events, "PermissionRequest");
    assert_eq!(asked["tool_name"], "Write");
    let notified = payload(&events, "Notification");
    assert_eq!(notified["notification_type"], "permission_prompt");
    let now = until(&rig.session, "a permission request", |it| {
        !it["permissions"].as_array().is_none_or(Vec::is_empty)
    })
    .await;
    let request = now["permissions"][0]["request_id"].as_str().expect("an id");
    let allow = Decision::Allow {
        updated_input: None,
        updated_permissions: None,
    };
    let answer = rig.session.answer_permission(request, allow).await;
    answer.expect("the answer counts");
    within("an answer", receipt.settled()).await;
    let (_, events) = rig.finish().await;
    assert_eq!(payload(&events, "WorktreeCreate")["name"], "tree");
}

/// An MCP server with one tool, which requests input from the user and returns the answer.
const ASKER: &str = r#"
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
  *'"initialize"'*)
    version=$(printf '%s' "$line" | sed -n 's/.*"protocolVersion":"\([^"]*\)".*/\1/p')
    say "\"id\":$id,\"result\":{\"protocolVersion\":\"$version\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"asker\",\"version\":\"1\"}}" ;;
  *'"tools/list"'*)
    say "\"id\":$id,\"result\":{\"tools\":[{\"name\":\"ask\",\"description\":\"asks\",\"inputSchema\":{\"type\":\"object\"}}]}" ;;
  *'"tools/call"'*)
    call=$id
    say '"id":"colour","method":"elicitation/create","params":{"message":"Which colour?","requestedSchema":{"type":"object","properties":{"colour":{"type":"string"}}}}' ;;
  *'"id":"colour"'*)
    say "\"id\":$call,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"was told\"}]}" ;;
  *'"id"'*) say "\"id\":$id,\"result\":{}" ;;
  esac
done
"#;

/// The dialogue cannot forward a server's request to a person and reports that; the agent gives up.
#[tokio::test]
#[ignore = "run by .ci/agents"]
async fn elicitation_arrives_with_its_answer() {
    let replies = vec![
        Reply::tool("toolu_ask", "mcp__asker__ask", json!({})),
        Reply::text("Done."),
    ];
    let prepare = |home: &Home| {
        let server = json!({"mcpServers": {"asker": {"command": "sh", "args": ["asker.sh"]}}});
        let settings = json!({
            "enableAllProjectMcpServers": true, "permissions": {"allow": ["mcp__asker"]},
        });
        let files = [
            (home.project().join("asker.sh"), ASKER.to_owned()),
            (home.project().join(".mcp.json"), server.to_string()),
            (home.config().join("settings.json"), settings.to_string()),
        ];
        for (path, text) in files {
            fs::write(path, text).expect("a file");
        }
    };
    let (_server, rig) = rig(replies, prepare).await;
    answered(&rig, &["go"]).await;
    let (transcript, events) = rig.finish().await;
    assert_eq!(payload(&events, "Elicitation")["message"], "Which colour?");
    let answer = payload(&events, "ElicitationResult");
    assert_eq!(answer["action"], "cancel");
    assert_eq!(transcript["tool_calls"]["toolu_ask"]["state"], "succeeded");
}
