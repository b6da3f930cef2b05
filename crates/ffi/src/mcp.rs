//! MCP servers of a session.

use std::collections::HashMap;

use crate::core;

/// A server of the Model Context Protocol that the agent of a session connects to.
#[derive(Clone, Debug, uniffi::Record)]
pub struct McpServer {
    /// Its name, different from those of the session's other servers.
    pub name: String,
    /// How the agent reaches it.
    pub transport: McpTransport,
}

/// How an agent reaches an MCP server.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum McpTransport {
    /// The agent starts it, and writes to its standard input.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        #[uniffi(default)]
        args: Vec<String>,
        /// Variables beside the agent's own.
        #[uniffi(default)]
        env: HashMap<String, String>,
    },
    /// Streamable HTTP.
    Http {
        /// The endpoint.
        url: String,
        /// Headers of each request.
        #[uniffi(default)]
        headers: HashMap<String, String>,
    },
    /// HTTP with server-sent events, an older transport of the protocol.
    Sse {
        /// The endpoint.
        url: String,
        /// Headers of each request.
        #[uniffi(default)]
        headers: HashMap<String, String>,
    },
}

impl From<McpServer> for core::McpServer {
    fn from(server: McpServer) -> Self {
        let transport = match server.transport {
            McpTransport::Stdio { command, args, env } => core::McpTransport::Stdio {
                command,
                args,
                env: sorted(env),
            },
            McpTransport::Http { url, headers } => core::McpTransport::Http {
                url,
                headers: sorted(headers),
            },
            McpTransport::Sse { url, headers } => core::McpTransport::Sse {
                url,
                headers: sorted(headers),
            },
        };
        Self {
            name: server.name,
            transport,
        }
    }
}

/// Pairs by name, so that the same servers make the same command line.
fn sorted(pairs: HashMap<String, String>) -> Vec<(String, String)> {
    let mut pairs: Vec<_> = pairs.into_iter().collect();
    pairs.sort();
    pairs
}
