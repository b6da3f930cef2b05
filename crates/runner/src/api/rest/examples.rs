//! An example of each operation, as a command of curl.
//!
//! `SOCKET` is the runner's Unix socket, `SESSION` and `TERMINAL` the ids of sessions of an agent and of a shell, `PROMPT`
//! and `OTHER` those of prompts that wait in its queue, `REQUEST` that of a permission request, and `CONVERSATION` that of
//! a past conversation.

use serde_json::json;
use utoipa::openapi::OpenApi;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::path::{Operation, PathItem};

/// The extension that documents have samples in.
const SAMPLES: &str = "x-codeSamples";

/// The end of a command that upgrades a path.
macro_rules! web_socket {
    ($path:literal) => {
        concat!(
            $path,
            r#"" --http1.1 --include --max-time 2 --header "Connection: Upgrade" --header "Upgrade: websocket""#,
            r#" --header "Sec-WebSocket-Version: 13" --header "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==""#,
            r#" | head --lines 1"#
        )
    };
}

/// Operations, each with the end of its command.
const EXAMPLES: [(&str, &str); 41] = [
    (
        "createSession",
        r#"/api/sessions" --json '{"cwd": "/tmp", "label": "a shell"}'"#,
    ),
    (
        "listSessions",
        r#"/api/sessions?state=running,idle&limit=10""#,
    ),
    ("session", r#"/api/sessions/$SESSION""#),
    (
        "updateSession",
        r#"/api/sessions/$SESSION" --request PATCH --json '{"labels": {"team": "blue"}}'"#,
    ),
    (
        "endSession",
        r#"/api/sessions/$SESSION?remove=true" --request DELETE"#,
    ),
    (
        "restoreSession",
        r#"/api/sessions/$SESSION/restore" --request POST"#,
    ),
    (
        "restartSession",
        r#"/api/sessions/$SESSION/restart" --request POST"#,
    ),
    (
        "prompt",
        r#"/api/sessions/$SESSION/prompt" --json '{"text": "hello", "queue": true}'"#,
    ),
    ("queue", r#"/api/sessions/$SESSION/queue""#),
    (
        "changeQueuedPrompt",
        r#"/api/sessions/$SESSION/queue/$PROMPT" --request PATCH --json '{"text": "another text"}'"#,
    ),
    (
        "cancelQueuedPrompt",
        r#"/api/sessions/$SESSION/queue/$OTHER" --request DELETE"#,
    ),
    ("permissions", r#"/api/sessions/$SESSION/permissions""#),
    (
        "answerPermission",
        r#"/api/sessions/$SESSION/permissions" --json "{\"request_id\": \"$REQUEST\", \"decision\": \"allow\"}""#,
    ),
    (
        "interrupt",
        r#"/api/sessions/$SESSION/interrupt" --json '{"cancel_queued": true}'"#,
    ),
    (
        "setOption",
        r#"/api/sessions/$SESSION/options" --json '{"option": "model", "value": "sonnet"}'"#,
    ),
    ("log", r#"/api/sessions/$SESSION/log" --range 0-99"#),
    (
        "arrivals",
        r#"/api/sessions/$SESSION/arrivals?stream=input""#,
    ),
    (
        "transcript",
        r#"/api/sessions/$SESSION/transcript?limit=100""#,
    ),
    (
        "sessionEvents",
        r#"/api/sessions/$SESSION/events" | head --lines 3"#,
    ),
    (
        "events",
        r#"/api/events?types=phase,permission" | head --lines 3"#,
    ),
    ("allPermissions", r#"/api/permissions""#),
    ("history", r#"/api/history""#),
    ("pastConversation", r#"/api/history/$CONVERSATION""#),
    (
        "pastTranscript",
        r#"/api/history/$CONVERSATION/transcript""#,
    ),
    (
        "issueTicket",
        r#"/api/tickets" --json "{\"session\": \"$SESSION\", \"lease\": \"read\"}""#,
    ),
    ("createLoginLink", r#"/api/login-links" --request POST"#),
    ("scrollback", r#"/api/sessions/$TERMINAL/scrollback""#),
    ("screen", r#"/api/sessions/$TERMINAL/screen?at=0" | base64"#),
    ("changes", r#"/api/sessions/$SESSION/changes?max=50""#),
    ("lines", r#"/api/sessions/$SESSION/lines?max=50""#),
    (
        "unknownMembers",
        r#"/api/sessions/$SESSION/unknown-members?from=0""#,
    ),
    ("search", r#"/api/sessions/$SESSION/search?q=rm""#),
    ("timeline", r#"/api/sessions/$SESSION/timeline""#),
    ("agents", r#"/api/agents""#),
    ("folders", r#"/api/folders?prefix=/""#),
    ("attach", WEB_SOCKET[0]),
    ("panel", WEB_SOCKET[1]),
    ("editor", WEB_SOCKET[2]),
    ("healthz", r#"/healthz""#),
    ("readyz", r#"/readyz""#),
    ("metrics", r#"/metrics""#),
];

/// The ends of the commands that upgrade to WebSocket, of which curl shows the beginning.
const WEB_SOCKET: [&str; 3] = [
    web_socket!("/api/sessions/$TERMINAL/attach"),
    web_socket!("/api/panel"),
    web_socket!("/acp?protocol=1"),
];

/// Adds the examples to the operations.
pub(super) fn add(document: &mut OpenApi) {
    for item in document.paths.paths.values_mut() {
        let PathItem {
            get,
            post,
            patch,
            delete,
            ..
        } = item;
        for operation in [get, post, patch, delete].into_iter().flatten() {
            add_to(operation);
        }
    }
}

fn add_to(operation: &mut Operation) {
    let id = operation.operation_id.as_deref().unwrap_or_default();
    let Some((_, rest)) = EXAMPLES.iter().find(|(of, _)| *of == id) else {
        return;
    };
    let source = format!(
        r#"curl --silent --show-error --fail-with-body --no-buffer --unix-socket "$SOCKET" "http://localhost{rest}"#
    );
    let samples = json!([{"lang": "Shell", "source": source}]);
    let extensions = ExtensionsBuilder::new().add(SAMPLES, samples).build();
    operation.extensions = Some(extensions);
}
