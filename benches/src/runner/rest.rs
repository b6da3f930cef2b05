//! The REST API: events to one and to many readers, the first window of a long transcript, and the list of many
//! sessions.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::agent::{AGENT, LAST, PAUSE};
use super::http::Client;
use super::processor::ProcessorTime;
use super::readers::Readers;
use super::served::Served;
use super::{Plan, Row};
use super::{bare_events, processor};
use crate::terminal::median;

/// The metric of the reads of transcripts for events.
const EVENT_READS: &str = "bowline_event_reads_total";

/// The readers of the events of one session.
const READERS: usize = 100;

/// Entries of a window.
const WINDOW: usize = 100;

/// Pause between two messages of an answer that is read as it is written.
const PAUSE_MS: u64 = 5;

/// How long the transcript may take to grow.
const TIME_LIMIT: Duration = Duration::from_secs(300);

pub(super) async fn rows(served: &Served, plan: &Plan) -> Result<Vec<Row>> {
    let client = served.client();
    let mut rows = fan_outs(&client, plan).await?;
    rows.extend(first_window(&client, plan).await?);
    rows.push(list(served, plan).await?);
    Ok(rows)
}

/// What an answer cost.
struct FanOut {
    processor: ProcessorTime,
    took: Duration,
    reads: u64,
    /// Memory of the readers before the answer.
    waiting_kib: u64,
}

impl FanOut {
    fn row(&self, what: &'static str, contender: &'static str, ratio: Option<f64>) -> Row {
        Row {
            what,
            contender,
            figure: format!(
                "{}, {:.0} ms, {} reads",
                self.processor,
                self.took.as_secs_f64() * 1000.0,
                self.reads
            ),
            ratio,
            goal: None,
        }
    }
}

/// Delivers answers to one reader and to many, and measures the memory of a reader that waits.
async fn fan_outs(client: &Client, plan: &Plan) -> Result<Vec<Row>> {
    let answers = [
        ("events of an answer at once", plan.answer, 0),
        ("events of an answer in 5 ms steps", plan.stream, PAUSE_MS),
    ];
    let (mut rows, mut waiting) = (Vec::new(), 0);
    for (what, bytes, pause) in answers {
        // The first session makes what later ones share.
        fan_out(client, bytes, pause, 1).await?;
        let one = fan_out(client, bytes, pause, 1).await?;
        let many = fan_out(client, bytes, pause, READERS).await?;
        let bare = bare_events::fan_out(bytes, many.reads, many.took, READERS).await?;
        let ratio = |it: ProcessorTime| it.all() / one.processor.all();
        rows.push(one.row(what, "1 reader", None));
        rows.push(many.row(what, "100 readers", Some(ratio(many.processor))));
        rows.push(Row {
            what,
            contender: "100 sockets, bare",
            figure: bare.to_string(),
            ratio: Some(ratio(bare)),
            goal: None,
        });
        waiting = many.waiting_kib;
    }
    rows.push(Row {
        what: "memory of a reader of events that waits",
        contender: "the runner's process",
        figure: format!("{:.1} KiB", waiting as f64 / READERS as f64),
        ratio: None,
        goal: None,
    });
    Ok(rows)
}

/// Delivers an answer to readers, and measures what this process, the runner, spends on it.
async fn fan_out(client: &Client, bytes: usize, pause: u64, readers: usize) -> Result<FanOut> {
    let id = start_agent(client, bytes, pause).await?;
    let before = resident_kib()?;
    let path = format!("/api/sessions/{id}/events");
    let reading = Readers::start(client, &path, readers).await?;
    let waiting_kib = resident_kib()?.saturating_sub(before);
    let reads = client.metric(EVENT_READS).await?;
    let (started, spent) = (Instant::now(), processor::time()?);
    prompt(client, &id).await?;
    reading.finish().await?;
    let fan_out = FanOut {
        processor: processor::time()? - spent,
        took: started.elapsed(),
        reads: client.metric(EVENT_READS).await? - reads,
        waiting_kib,
    };
    end(client, &id).await?;
    Ok(fan_out)
}

async fn prompt(client: &Client, id: &str) -> Result<()> {
    let path = format!("/api/sessions/{id}/prompt");
    let body = json!({"text": "go"});
    client.call("POST", &path, Some(&body)).await.map(drop)
}

/// Opens a long transcript: of a session that runs, at its end, and of the same once it has ended, whose log is folded.
async fn first_window(client: &Client, plan: &Plan) -> Result<[Row; 2]> {
    let id = start_agent(client, plan.transcript, 0).await?;
    let path = format!("/api/sessions/{id}");
    prompt(client, &id).await?;
    let window = format!("{path}/transcript?limit={WINDOW}");
    let started = Instant::now();
    while !client.get(&window).await?.contains(LAST) {
        ensure!(
            started.elapsed() < TIME_LIMIT,
            "the transcript does not grow"
        );
    }
    let mut times = Vec::new();
    for _ in 0..plan.rounds {
        let started = Instant::now();
        let body = client.get(&window).await?;
        times.push(started.elapsed());
        let entries = serde_json::from_str::<Value>(&body)?["entries"]
            .as_array()
            .map(Vec::len);
        ensure!(entries == Some(WINDOW), "{entries:?} entries");
    }
    end(client, &id).await?;
    let started = Instant::now();
    client.get(&window).await?;
    let folded = started.elapsed();
    let mib = plan.transcript >> 20;
    let row = |contender: &'static str, took: Duration| Row {
        what: "newest entries of a long transcript",
        contender,
        figure: format!("{mib} MiB: {:.1} ms", took.as_secs_f64() * 1000.0),
        ratio: None,
        goal: Some("<= 300 ms"),
    };
    Ok([
        row("running", median(times)),
        row("ended, first read", folded),
    ])
}

/// Lists many sessions that have ended.
async fn list(served: &Served, plan: &Plan) -> Result<Row> {
    let spec = json!({"kind": "dialogue", "program": "/bin/sh", "args": ["-c", "exit"]});
    let client = served.client();
    let created = client.call("POST", "/api/sessions", Some(&spec)).await?;
    let id = created["id"].as_str().context("an id")?;
    end(&client, id).await?;
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
        let body = client.get("/api/sessions").await?;
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

async fn start_agent(client: &Client, bytes: usize, pause: u64) -> Result<String> {
    let set = json!({AGENT: bytes.to_string(), PAUSE: pause.to_string()});
    let body = json!({
        "agent": std::env::current_exe()?, "dialect": "claude", "env": {"set": set},
    });
    let created = client.call("POST", "/api/sessions", Some(&body)).await?;
    let id = created["id"].as_str();
    Ok(id
        .with_context(|| format!("an id in {created}"))?
        .to_owned())
}

async fn end(client: &Client, id: &str) -> Result<()> {
    let path = format!("/api/sessions/{id}?force=true");
    client.call("DELETE", &path, None).await.map(drop)
}

/// Returns the resident memory of this process, in KiB.
fn resident_kib() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:"));
    let kib = line.and_then(|it| it.split_whitespace().next());
    Ok(kib.context("VmRSS")?.parse()?)
}
