//! MCP servers of a request, in the form of ACP's `session/new`.

use agent_client_protocol_schema::v1::{HttpHeader, McpServer as Requested};
use bowline_lifecycle::{McpServer, McpTransport};
use serde_json::Value;

/// Reads a server.
///
/// # Errors
///
/// It is none of the three kinds, one line that names it.
pub(super) fn read(server: &Value) -> Result<McpServer, String> {
    let name = server["name"].as_str().unwrap_or_default();
    let kind = server["type"].as_str();
    let wrong = |why: &str| format!("the MCP server {name:?} {why}");
    if !matches!(kind, None | Some("stdio" | "http" | "sse")) {
        return Err(wrong("has an unknown type; use stdio, http or sse"));
    }
    let read = serde_json::from_value(server.clone());
    let read = read.map_err(|_| match kind {
        Some("http" | "sse") => wrong("is incomplete; it has name, type, url and headers"),
        _ => wrong("is incomplete; it has name, command, args and env"),
    });
    self::server(read?)
}

/// Converts a server.
///
/// # Errors
///
/// Its transport is not known, or its path is not UTF-8; one line.
pub(super) fn server(server: Requested) -> Result<McpServer, String> {
    let (name, transport) = match server {
        Requested::Stdio(it) => {
            let env = it.env.into_iter().map(|it| (it.name, it.value));
            let command = it.command.into_os_string().into_string();
            let command = command
                .map_err(|_| format!("the path of the MCP server {} is not UTF-8", it.name))?;
            let transport = McpTransport::Stdio {
                command,
                args: it.args,
                env: env.collect(),
            };
            (it.name, transport)
        }
        Requested::Http(it) => {
            let (url, headers) = (it.url, pairs(it.headers));
            (it.name, McpTransport::Http { url, headers })
        }
        Requested::Sse(it) => {
            let (url, headers) = (it.url, pairs(it.headers));
            (it.name, McpTransport::Sse { url, headers })
        }
        _ => {
            return Err(
                "an MCP server has an unknown transport; use stdio, http or sse".to_owned(),
            );
        }
    };
    Ok(McpServer { name, transport })
}

fn pairs(headers: Vec<HttpHeader>) -> Vec<(String, String)> {
    headers.into_iter().map(|it| (it.name, it.value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn server_that_is_wrong_is_named_with_its_members() {
        let refused = |server| read(&server).expect_err("a refusal");
        let radio = refused(json!({"name": "files", "type": "radio", "url": "x"}));
        assert_eq!(
            radio,
            "the MCP server \"files\" has an unknown type; use stdio, http or sse"
        );
        let remote = refused(json!({"name": "web", "type": "http"}));
        assert!(
            remote.contains("\"web\"") && remote.contains("url"),
            "{remote}"
        );
        let local = refused(json!({"name": "files", "args": []}));
        assert!(local.contains("command"), "{local}");
        assert!(refused(json!(3)).contains("incomplete"));
    }
}
