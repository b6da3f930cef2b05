//! MCP servers of a session, in the form of each agent.

use std::collections::BTreeSet;

use bowline_reducer::dialect::DialectName;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A server of the Model Context Protocol that the agent of a session connects to, beside those that the agent
/// is configured with.
///
/// ```
/// use bowline_lifecycle::{DialogueConfiguration, McpServer, McpTransport};
///
/// let files = McpServer {
///     name: "files".to_owned(),
///     transport: McpTransport::Stdio {
///         command: "mcp-files".to_owned(),
///         args: vec!["/srv".to_owned()],
///         env: Vec::new(),
///     },
/// };
/// let configuration = DialogueConfiguration {
///     mcp_servers: vec![files],
///     ..DialogueConfiguration::default()
/// };
/// # assert_eq!(configuration.mcp_servers.len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpServer {
    /// Its name, different from those of the session's other servers.
    pub name: String,
    /// How the agent reaches it.
    pub transport: McpTransport,
}

/// How an agent reaches an MCP server. See [`McpServer`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum McpTransport {
    /// The agent starts it, and writes to its standard input.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Names and values of variables beside the agent's own.
        env: Vec<(String, String)>,
    },
    /// Streamable HTTP.
    Http {
        /// The endpoint.
        url: String,
        /// Names and values of headers.
        headers: Vec<(String, String)>,
    },
    /// HTTP with server-sent events, an older transport of the protocol.
    Sse {
        /// The endpoint.
        url: String,
        /// Names and values of headers.
        headers: Vec<(String, String)>,
    },
}

/// Returns what of the servers a dialect cannot pass on, if anything.
pub(crate) fn unsupported(dialect: DialectName, servers: &[McpServer]) -> Option<String> {
    let mut names = BTreeSet::new();
    servers.iter().find_map(|server| {
        let name = &server.name;
        if !names.insert(name) {
            return Some(format!("a second MCP server with the name {name}"));
        }
        match (dialect, &server.transport) {
            (DialectName::Claude | DialectName::Acp, _) => None,
            (DialectName::Codex, McpTransport::Sse { .. }) => Some(over(name, "SSE")),
            (DialectName::Codex, _) => None,
            _ => Some(format!("the MCP server {name}")),
        }
    })
}

/// Returns the first server that an agent of ACP cannot reach: all of them start servers, the rest is declared.
pub(crate) fn unreachable(servers: &[McpServer], has_http: bool, has_sse: bool) -> Option<String> {
    servers.iter().find_map(|server| match server.transport {
        McpTransport::Http { .. } if !has_http => Some(over(&server.name, "HTTP")),
        McpTransport::Sse { .. } if !has_sse => Some(over(&server.name, "SSE")),
        _ => None,
    })
}

fn over(name: &str, transport: &str) -> String {
    format!("the MCP server {name} over {transport}")
}

/// Returns the servers in the form of Claude Code's option `--mcp-config`.
pub(crate) fn claude(servers: &[McpServer]) -> String {
    let named = named(servers, |transport| match transport {
        McpTransport::Stdio { command, args, env } => {
            json!({"type": "stdio", "command": command, "args": args, "env": object(env)})
        }
        McpTransport::Http { url, headers } => {
            json!({"type": "http", "url": url, "headers": object(headers)})
        }
        McpTransport::Sse { url, headers } => {
            json!({"type": "sse", "url": url, "headers": object(headers)})
        }
    });
    json!({ "mcpServers": named }).to_string()
}

/// Returns the servers as members of Codex' `config.toml`.
pub(crate) fn codex(servers: &[McpServer]) -> String {
    let named = named(servers, |transport| match transport {
        McpTransport::Stdio { command, args, env } => {
            json!({"command": command, "args": args, "env": object(env)})
        }
        McpTransport::Http { url, headers } | McpTransport::Sse { url, headers } => {
            json!({"url": url, "http_headers": object(headers)})
        }
    });
    json!({ "mcp_servers": named }).to_string()
}

/// Returns the servers as `session/new` of ACP has them.
pub(crate) fn acp(servers: &[McpServer]) -> String {
    let server = |McpServer { name, transport }: &McpServer| match transport {
        McpTransport::Stdio { command, args, env } => {
            json!({"name": name, "command": command, "args": args, "env": pairs(env)})
        }
        McpTransport::Http { url, headers } => {
            json!({"type": "http", "name": name, "url": url, "headers": pairs(headers)})
        }
        McpTransport::Sse { url, headers } => {
            json!({"type": "sse", "name": name, "url": url, "headers": pairs(headers)})
        }
    };
    Value::from_iter(servers.iter().map(server)).to_string()
}

fn named(servers: &[McpServer], value: impl Fn(&McpTransport) -> Value) -> Map<String, Value> {
    let named = |it: &McpServer| (it.name.clone(), value(&it.transport));
    servers.iter().map(named).collect()
}

fn object(pairs: &[(String, String)]) -> Map<String, Value> {
    let pair = |(name, value): &(String, String)| (name.clone(), value.as_str().into());
    pairs.iter().map(pair).collect()
}

fn pairs(pairs: &[(String, String)]) -> Value {
    let pair = |(name, value): &(String, String)| json!({"name": name, "value": value});
    Value::from_iter(pairs.iter().map(pair))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str) -> Vec<(String, String)> {
        vec![(name.to_owned(), "v".to_owned())]
    }

    fn servers() -> Vec<McpServer> {
        let server = |name: &str, transport| McpServer {
            name: name.to_owned(),
            transport,
        };
        let url = || "https://h/mcp".to_owned();
        vec![
            server(
                "a.b",
                McpTransport::Stdio {
                    command: "run".to_owned(),
                    args: vec!["-x".to_owned()],
                    env: pair("KEY"),
                },
            ),
            server(
                "web",
                McpTransport::Http {
                    url: url(),
                    headers: pair("h"),
                },
            ),
            server(
                "old",
                McpTransport::Sse {
                    url: url(),
                    headers: pair("h"),
                },
            ),
        ]
    }

    fn parsed(text: &str) -> Value {
        serde_json::from_str(text).expect("JSON")
    }

    #[test]
    fn each_agent_gets_its_form() {
        let servers = servers();
        assert_eq!(
            parsed(&claude(&servers)),
            json!({"mcpServers": {
                "a.b": {"type": "stdio", "command": "run", "args": ["-x"], "env": {"KEY": "v"}},
                "web": {"type": "http", "url": "https://h/mcp", "headers": {"h": "v"}},
                "old": {"type": "sse", "url": "https://h/mcp", "headers": {"h": "v"}},
            }})
        );
        assert_eq!(
            parsed(&codex(&servers[..2])),
            json!({"mcp_servers": {
                "a.b": {"command": "run", "args": ["-x"], "env": {"KEY": "v"}},
                "web": {"url": "https://h/mcp", "http_headers": {"h": "v"}},
            }})
        );
        assert_eq!(
            parsed(&acp(&servers)),
            json!([
                {"name": "a.b", "command": "run", "args": ["-x"], "env": [{"name": "KEY", "value": "v"}]},
                {"type": "http", "name": "web", "url": "https://h/mcp", "headers": [{"name": "h", "value": "v"}]},
                {"type": "sse", "name": "old", "url": "https://h/mcp", "headers": [{"name": "h", "value": "v"}]},
            ])
        );
    }

    #[test]
    fn server_that_cannot_be_passed_on_is_named() {
        let mut servers = servers();
        assert_eq!(unsupported(DialectName::Claude, &servers), None);
        let refused = |dialect, servers: &[McpServer]| unsupported(dialect, servers);
        let over_sse = Some("the MCP server old over SSE".to_owned());
        assert_eq!(refused(DialectName::Codex, &servers), over_sse);
        let any = Some("the MCP server a.b".to_owned());
        assert_eq!(refused(DialectName::Qwen, &servers), any);
        let over_http = Some("the MCP server web over HTTP".to_owned());
        assert_eq!(unreachable(&servers, false, false), over_http);
        assert_eq!(unreachable(&servers, true, false), over_sse);
        assert_eq!(unreachable(&servers, true, true), None);
        servers[2].name = "web".to_owned();
        let again = Some("a second MCP server with the name web".to_owned());
        assert_eq!(refused(DialectName::Acp, &servers), again);
    }

    #[test]
    fn server_is_kept_as_json() {
        for server in servers() {
            let text = serde_json::to_string(&server).expect("JSON");
            assert_eq!(
                serde_json::from_str::<McpServer>(&text).expect(&text),
                server
            );
        }
    }
}
