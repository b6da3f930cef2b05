//! MCP servers of sessions that are created over REST.

use serde_json::{Value, json};

use super::rig::{Daemon, results};

#[tokio::test(flavor = "multi_thread")]
async fn mcp_servers_of_a_request_reach_the_agent() {
    let daemon = Daemon::start().await;
    let server = json!({"name": "files", "command": "/bin/mcp", "args": ["-x"],
        "env": [{"name": "KEY", "value": "secret"}]});
    for dialect in ["codex", "acp"] {
        let mut typed = server.clone();
        typed["type"] = json!("stdio");
        for written in [&server, &typed] {
            let more = json!({"prompt": "hello", "mcp_servers": [written]});
            let id = daemon.agent(dialect, more).await;
            daemon.until(&id, |it| results(it) == 1).await;
            let path = format!("/api/sessions/{id}/log?stream=input");
            let input = daemon.get(&path).await;
            let mut lines = input
                .lines()
                .map(|it| serde_json::from_str::<Value>(it).unwrap());
            let opens =
                |line: &Value| line["method"] == "session/new" || line["method"] == "thread/start";
            let params = lines.find(opens).expect("a session")["params"].clone();
            match dialect {
                "codex" => assert_eq!(
                    params["config"]["mcp_servers"]["files"],
                    json!({"command": "/bin/mcp", "args": ["-x"], "env": {"KEY": "secret"}})
                ),
                _ => assert_eq!(params["mcpServers"], json!([server])),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mcp_server_that_is_wrong_or_unreachable_is_refused_by_name() {
    let daemon = Daemon::start().await;
    let sse = json!({"type": "sse", "name": "old", "url": "https://h", "headers": []});
    let mut radio = sse.clone();
    radio["type"] = json!("radio");
    let bare = json!({"type": "http", "name": "web"});
    for (servers, code, named) in [
        (json!([sse]), "AGENT_REFUSED", "the MCP server old over SSE"),
        (
            json!([radio]),
            "INVALID_BODY",
            "\"old\" has an unknown type",
        ),
        (json!([bare]), "INVALID_BODY", "\"web\" is incomplete"),
    ] {
        let body = json!({"agent": "codex", "cwd": "/tmp", "mcp_servers": servers});
        let (status, problem) = daemon.request("POST", "/api/sessions", Some(&body)).await;
        assert_eq!((status, &problem["code"]), (422, &json!(code)), "{problem}");
        let detail = problem["detail"].as_str().expect("a detail");
        assert!(detail.contains(named), "{problem}");
    }
    let (_, list) = daemon.request("GET", "/api/sessions", None).await;
    assert_eq!(list["sessions"], json!([]));
}
