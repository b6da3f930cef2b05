//! The REST API: events to one and to many readers, the first window of a long transcript, and the list of many
//! sessions.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::agent::{AGENT, LAST};
use super::served::Served;
use super::{Plan, Row};
use crate::terminal::median;

/// The readers of the events of one session.
const READERS: usize = 100;

/// Entries of a window.
const WINDOW: usize = 100;

/// What a reader of events may take, in all.
const TIME_LIMIT: Duration = Duration::from_secs(300);

pub(super) async fn rows(served: &Served, plan: &Plan) -> Result<Vec<Row>> {
    let mut rows = fan_out(served, plan).await?;
    rows.push(first_window(served, plan).await?);
    rows.push(list(served, plan).await?);
    Ok(rows)
}

/// Delivers an answer to one reader and to many, and measures what a reader takes that waits.
async fn fan_out(served: &Served, plan: &Plan) -> Result<Vec<Row>> {
    let id = start_agent(served, plan.answer).await?;
    let path = format!("/api/sessions/{id}/events");
    let (mut turn, mut took, mut reads) = (0, Vec::new(), Vec::new());
    let mut idle = 0;
    for readers in [1, READERS] {
        let before = resident_kib()?;
        let mut tasks = JoinSet::new();
        for _ in 0..readers {
            let stream = open(served, "GET", &path, None).await?;
            // The next answer, or that after it.
            tasks.spawn(read_until(stream, format!("{LAST} of turn {}", turn + 1)));
        }
        // Each reader has sent its request; what follows reaches all.
        get(served, "/healthz").await?;
        idle = resident_kib()?.saturating_sub(before);
        let counted = metric(served, "bowline_event_reads_total").await?;
        let started = Instant::now();
        turn += 1;
        let prompt = json!({"text": "go"});
        call(
            served,
            "POST",
            &format!("/api/sessions/{id}/prompt"),
            Some(&prompt),
        )
        .await?;
        while let Some(read) = tasks.join_next().await {
            read??;
        }
        took.push(started.elapsed());
        reads.push(metric(served, "bowline_event_reads_total").await? - counted);
    }
    end(served, &id).await?;
    let ms = |at: usize| took[at].as_secs_f64() * 1000.0;
    let row = |at: usize, contender| Row {
        what: "events of an answer, to all readers",
        contender,
        figure: format!("{:.0} ms, {} reads of the transcript", ms(at), reads[at]),
        ratio: (at > 0).then(|| ms(at) / ms(0)),
        goal: None,
    };
    Ok(vec![
        row(0, "1 reader"),
        row(1, "100 readers"),
        Row {
            what: "memory of a reader of events that waits",
            contender: "both ends",
            figure: format!("{:.1} KiB", idle as f64 / READERS as f64),
            ratio: None,
            goal: None,
        },
    ])
}

/// Opens a long transcript of a session that runs at its end.
async fn first_window(served: &Served, plan: &Plan) -> Result<Row> {
    let id = start_agent(served, plan.transcript).await?;
    let path = format!("/api/sessions/{id}");
    call(
        served,
        "POST",
        &format!("{path}/prompt"),
        Some(&json!({"text": "go"})),
    )
    .await?;
    let window = format!("{path}/transcript?limit={WINDOW}");
    let started = Instant::now();
    while !get(served, &window).await?.contains(LAST) {
        ensure!(
            started.elapsed() < TIME_LIMIT,
            "the transcript does not grow"
        );
    }
    let mut times = Vec::new();
    for _ in 0..plan.rounds {
        let started = Instant::now();
        let body = get(served, &window).await?;
        times.push(started.elapsed());
        let entries = serde_json::from_str::<Value>(&body)?["entries"]
            .as_array()
            .map(Vec::len);
        ensure!(entries == Some(WINDOW), "{entries:?} entries");
    }
    end(served, &id).await?;
    let mib = plan.transcript >> 20;
    Ok(Row {
        what: "newest entries of a long transcript",
        contender: "REST",
        figure: format!("{mib} MiB: {:.1} ms", median(times).as_secs_f64() * 1000.0),
        ratio: None,
        goal: Some("<= 300 ms"),
    })
}

/// Lists many sessions that have ended.
async fn list(served: &Served, plan: &Plan) -> Result<Row> {
    let spec = json!({"kind": "dialogue", "program": "/bin/sh", "args": ["-c", "exit"]});
    let created = call(served, "POST", "/api/sessions", Some(&spec)).await?;
    let id = created["id"].as_str().context("an id")?;
    call(
        served,
        "DELETE",
        &format!("/api/sessions/{id}?keep=true"),
        None,
    )
    .await?;
    let state = served.state();
    let folder = state.join(id);
    let copies: Vec<_> = (1..plan.sessions)
        .map(|number| state.join(format!("00000000-0000-4000-8000-{number:012}")))
        .collect();
    for copy in &copies {
        copy_session(&folder, id, copy)?;
    }
    let mut times = Vec::new();
    for _ in 0..plan.rounds {
        let started = Instant::now();
        let body = get(served, "/api/sessions").await?;
        times.push(started.elapsed());
        let list = serde_json::from_str::<Value>(&body)?;
        let count = list["sessions"].as_array().map_or(0, Vec::len);
        ensure!(count >= plan.sessions, "{count} sessions are listed");
    }
    for copy in &copies {
        std::fs::remove_dir_all(copy)?;
    }
    Ok(Row {
        what: "list of sessions that have ended",
        contender: "REST",
        figure: format!(
            "{} sessions: {:.1} ms",
            plan.sessions,
            median(times).as_secs_f64() * 1000.0
        ),
        ratio: None,
        goal: Some("<= 100 ms"),
    })
}

/// Copies the folder of a session, under another id.
fn copy_session(folder: &Path, id: &str, copy: &Path) -> Result<()> {
    let name = copy
        .file_name()
        .and_then(|it| it.to_str())
        .context("an id")?;
    std::fs::create_dir(copy)?;
    for file in std::fs::read_dir(folder)? {
        let file = file?;
        if !file.file_type()?.is_file() {
            continue;
        }
        let bytes = std::fs::read(file.path())?;
        let target = copy.join(file.file_name());
        match String::from_utf8(bytes) {
            Ok(text) => std::fs::write(target, text.replace(id, name))?,
            Err(binary) => std::fs::write(target, binary.into_bytes())?,
        }
    }
    Ok(())
}

async fn start_agent(served: &Served, bytes: usize) -> Result<String> {
    let body = json!({
        "agent": std::env::current_exe()?, "dialect": "claude", "env": {"set": {AGENT: bytes.to_string()}},
    });
    let created = call(served, "POST", "/api/sessions", Some(&body)).await?;
    let id = created["id"].as_str();
    Ok(id
        .with_context(|| format!("an id in {created}"))?
        .to_owned())
}

async fn end(served: &Served, id: &str) -> Result<()> {
    let path = format!("/api/sessions/{id}?force=true");
    call(served, "DELETE", &path, None).await.map(drop)
}

/// Sends a request on a connection of its own.
async fn open(
    served: &Served,
    method: &str,
    path: &str,
    body: Option<&Value>,
) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(served.address()).await?;
    let body = body.map(Value::to_string).unwrap_or_default();
    let (address, token, length) = (served.address(), served.token(), body.len());
    let request = format!(
        "{method} {path} HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await?;
    Ok(stream)
}

async fn read_until(mut stream: TcpStream, text: String) -> Result<()> {
    let (mut buffer, mut kept) = (vec![0; 1 << 16], Vec::new());
    loop {
        let count = stream.read(&mut buffer).await?;
        ensure!(count > 0, "the events end before {text}");
        kept.extend_from_slice(buffer.get(..count).unwrap_or_default());
        if memchr::memmem::find(&kept, text.as_bytes()).is_some() {
            return Ok(());
        }
        let rest = kept.len().saturating_sub(text.len());
        kept.drain(..rest);
    }
}

async fn get(served: &Served, path: &str) -> Result<String> {
    let mut stream = open(served, "GET", path, None).await?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await?;
    let (head, body) = response.split_once("\r\n\r\n").context("a response")?;
    ensure!(head.contains(" 200 "), "{path}: {head} {body}");
    Ok(body.to_owned())
}

async fn call(served: &Served, method: &str, path: &str, body: Option<&Value>) -> Result<Value> {
    let mut stream = open(served, method, path, body).await?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await?;
    let (head, body) = response.split_once("\r\n\r\n").context("a response")?;
    if !head.split(' ').nth(1).is_some_and(|it| it.starts_with('2')) {
        bail!("{method} {path}: {body}");
    }
    Ok(serde_json::from_str(body)?)
}

async fn metric(served: &Served, name: &str) -> Result<u64> {
    let page = get(served, "/metrics").await?;
    let value = page.lines().find_map(|it| it.strip_prefix(name));
    Ok(value.context("a metric")?.trim().parse()?)
}

/// Returns the resident memory of this process, in KiB.
fn resident_kib() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"));
    let kib = line.and_then(|it| it.split_whitespace().next());
    Ok(kib.context("VmRSS")?.parse()?)
}
