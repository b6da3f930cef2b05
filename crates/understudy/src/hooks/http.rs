//! HTTP handlers.

use std::env;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use super::output;

/// Posts an event to a handler's URL; only `http://` is supported.
pub(super) fn post(
    handler: &Value,
    body: &str,
    timeout: Duration,
) -> Result<Option<Value>, String> {
    let url = handler["url"].as_str().unwrap_or_default();
    let rest = url.strip_prefix("http://");
    let rest = rest.ok_or_else(|| format!("not an http:// URL: {url}"))?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let mut head = format!(
        "POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n",
        body.len()
    );
    for (name, value) in handler["headers"].as_object().into_iter().flatten() {
        let value = expanded(value.as_str().unwrap_or_default(), handler);
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let answer = exchange(host, &(head + body), timeout).map_err(|error| error.to_string())?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    match head.split(' ').nth(1) {
        Some(status) if status.starts_with('2') => Ok(output(body)),
        status => Err(format!("the hook answered {}", status.unwrap_or("nothing"))),
    }
}

fn exchange(host: &str, request: &str, timeout: Duration) -> io::Result<String> {
    let mut stream = TcpStream::connect(host)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Replaces the environment variables that the handler allows in a header.
fn expanded(value: &str, handler: &Value) -> String {
    let allowed = handler["allowedEnvVars"].as_array().into_iter().flatten();
    let allowed = allowed.filter_map(Value::as_str);
    allowed.fold(value.to_owned(), |value, name| {
        let found = env::var(name).unwrap_or_default();
        value.replace(&format!("${name}"), &found)
    })
}
