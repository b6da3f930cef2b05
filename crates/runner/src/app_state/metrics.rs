//! Counters, rendered in the Prometheus text format 0.0.4 and as OpenMetrics 1.0.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};

use bowline_lifecycle::{KnownAgent, Metrics as DialogueMetrics, TurnCount};
use bowline_reducer::Outcome;
use parking_lot::Mutex;

use crate::sessions::SessionCounts;

/// A count that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A count that grows and shrinks.
#[derive(Debug, Default)]
pub(crate) struct Gauge(AtomicU64);

/// Decrements its gauge on drop.
#[derive(Debug)]
pub(crate) struct GaugeGuard<'a>(&'a Gauge);

impl Gauge {
    /// Increments the gauge until the guard is dropped.
    pub(crate) fn increment(&self) -> GaugeGuard<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        GaugeGuard(self)
    }

    fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for GaugeGuard<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// All metrics of the daemon.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) requests: Counter,
    pub(crate) refused: Counter,
    pub(crate) wrong_tokens: Counter,
    pub(crate) created_by_agent: CreatedByAgent,
    pub(crate) terminated: Counter,
    pub(crate) prompts: Counter,
    pub(crate) tickets: Counter,
    pub(crate) event_reads: Counter,
    pub(crate) frames: EndpointMetrics,
    pub(crate) web_terminal: EndpointMetrics,
    pub(crate) grpc: EndpointMetrics,
}

/// Metrics of one kind of attach endpoint.
#[derive(Debug, Default)]
pub(crate) struct EndpointMetrics {
    pub(crate) attaches: Counter,
    pub(crate) connections: Gauge,
    pub(crate) received_bytes: Counter,
    pub(crate) sent_bytes: Counter,
}

/// A form of the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricsFormat {
    /// The Prometheus text format 0.0.4.
    Prometheus,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl MetricsFormat {
    /// Returns the format that a client asks for by its header `Accept`.
    pub(crate) fn accepted(accept: &str) -> Self {
        let names = |it: &str| it.trim_start().starts_with("application/openmetrics-text");
        if accept.split(',').any(names) {
            Self::OpenMetrics
        } else {
            Self::Prometheus
        }
    }

    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// What is counted elsewhere.
#[derive(Debug)]
pub(crate) struct OtherCounts {
    /// The sessions.
    pub(crate) sessions: SessionCounts,
    /// Those of the dialogues that this daemon drives.
    pub(crate) dialogues: DialogueMetrics,
    /// Their turns.
    pub(crate) turns: Vec<TurnCount>,
}

impl Metrics {
    /// Renders all metrics.
    pub(crate) fn render(&self, counts: &OtherCounts, format: MetricsFormat) -> String {
        let sessions = counts.sessions;
        let ended = sessions.total.saturating_sub(sessions.running);
        let mut page = Page::new(format);
        page.family("bowline_sessions", Kind::Gauge, "Sessions by state.");
        page.line(
            "bowline_sessions",
            &[("state", "running")],
            sessions.running,
        );
        page.line("bowline_sessions", &[("state", "ended")], ended);
        for (name, help, counter) in self.counters() {
            page.family(name, Kind::Counter, help);
            page.line(name, &[], counter.value());
        }
        self.created_by_agent.render(&mut page);
        dialogues(&mut page, counts);
        self.endpoints(&mut page);
        page.finish()
    }

    const fn counters(&self) -> [(&'static str, &'static str, &Counter); 7] {
        [
            ("bowline_requests_total", "HTTP requests.", &self.requests),
            (
                "bowline_refused_total",
                "Requests refused by authentication.",
                &self.refused,
            ),
            (
                "bowline_wrong_tokens_total",
                "Requests with a wrong token.",
                &self.wrong_tokens,
            ),
            (
                "bowline_sessions_disposed_total",
                "Sessions terminated by the runner.",
                &self.terminated,
            ),
            (
                "bowline_prompts_total",
                "Prompts sent to sessions.",
                &self.prompts,
            ),
            ("bowline_tickets_total", "Tickets issued.", &self.tickets),
            (
                "bowline_event_reads_total",
                "Reads of transcripts for event streams, which readers share.",
                &self.event_reads,
            ),
        ]
    }

    fn endpoints(&self, page: &mut Page) {
        let endpoints = [
            ("frames", &self.frames),
            ("web_terminal", &self.web_terminal),
            ("grpc", &self.grpc),
        ];
        type Read = fn(&EndpointMetrics) -> u64;
        let families: [(&str, Kind, &str, Read); 4] = [
            (
                "bowline_attaches_total",
                Kind::Counter,
                "Attaches by endpoint.",
                |it| it.attaches.value(),
            ),
            ("bowline_attached", Kind::Gauge, "Attached clients.", |it| {
                it.connections.value()
            }),
            (
                "bowline_received_bytes_total",
                Kind::Counter,
                "Bytes received from clients.",
                |it| it.received_bytes.value(),
            ),
            (
                "bowline_sent_bytes_total",
                Kind::Counter,
                "Bytes sent to clients.",
                |it| it.sent_bytes.value(),
            ),
        ];
        for (name, kind, help, read) in families {
            page.family(name, kind, help);
            for (label, endpoint) in endpoints {
                page.line(name, &[("endpoint", label)], read(endpoint));
            }
        }
    }
}

/// Renders what the dialogues that this daemon drives have done since it started.
fn dialogues(page: &mut Page, counts: &OtherCounts) {
    let name = "bowline_turns_total";
    page.family(name, Kind::Counter, "Turns by agent and outcome.");
    for count in &counts.turns {
        let outcome = match count.outcome {
            Outcome::Completed => "completed",
            Outcome::Cancelled => "cancelled",
            Outcome::Failed => "failed",
            Outcome::Suspended => "suspended",
            _ => "other",
        };
        let labels = [("agent", &*count.agent), ("outcome", outcome)];
        page.line(name, &labels, count.turns);
    }
    let it = &counts.dialogues;
    let name = "bowline_tokens_total";
    page.family(name, Kind::Counter, "Tokens by kind.");
    for (kind, count) in [
        ("input", it.input_tokens),
        ("output", it.output_tokens),
        ("cache_read", it.cache_read_tokens),
        ("cache_creation", it.cache_creation_tokens),
    ] {
        page.line(name, &[("kind", kind)], count);
    }
    let name = "bowline_cost_usd_total";
    page.family(
        name,
        Kind::Counter,
        "Cost that the agents report, in US dollars.",
    );
    page.line(name, &[], it.cost_usd);
    let name = "bowline_permissions_open";
    page.family(
        name,
        Kind::Gauge,
        "Permission requests that wait for an answer.",
    );
    page.line(name, &[], it.open_permissions);
    for (name, help, count) in [
        (
            "bowline_permissions_total",
            "Permission requests.",
            it.permissions,
        ),
        (
            "bowline_inquiries_total",
            "Inquiries of watchdogs.",
            it.inquiries,
        ),
        (
            "bowline_timeouts_total",
            "Agents that watchdogs terminated.",
            it.timeouts,
        ),
        (
            "bowline_unexpected_ends_total",
            "Sessions that ended without being asked to.",
            it.unexpected_ends,
        ),
    ] {
        page.family(name, Kind::Counter, help);
        page.line(name, &[], count);
    }
}

/// Sessions created, by agent.
#[derive(Debug, Default)]
pub(crate) struct CreatedByAgent(Mutex<BTreeMap<String, u64>>);

impl CreatedByAgent {
    /// Counts a session of an agent; `None` is another program. Agents that are given by a path are counted together.
    pub(crate) fn add(&self, agent: Option<&str>) {
        let known = agent.map(|agent| {
            let is_it = |it: &&KnownAgent| it.name == agent;
            let known = KnownAgent::ALL.iter().find(is_it);
            known.map_or("other", |it| it.name)
        });
        let name = known.unwrap_or("none");
        *self.0.lock().entry(name.to_owned()).or_default() += 1;
    }

    fn render(&self, page: &mut Page) {
        let name = "bowline_sessions_created_total";
        page.family(name, Kind::Counter, "Sessions created, by agent.");
        for (agent, count) in &*self.0.lock() {
            page.line(name, &[("agent", agent)], *count);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
}

struct Page {
    text: String,
    format: MetricsFormat,
}

impl Page {
    const fn new(format: MetricsFormat) -> Self {
        let text = String::new();
        Self { text, format }
    }

    fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let (kind, suffix) = match kind {
            Kind::Counter => ("counter", "_total"),
            Kind::Gauge => ("gauge", ""),
        };
        // The family of a counter has no suffix in OpenMetrics.
        let family = match self.format {
            MetricsFormat::OpenMetrics => name.strip_suffix(suffix).unwrap_or(name),
            MetricsFormat::Prometheus => name,
        };
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "# HELP {family} {help}\n# TYPE {family} {kind}");
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl fmt::Display) {
        let labels = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
        let labels: Vec<_> = labels.collect();
        let labels = match &*labels {
            [] => String::new(),
            labels => format!("{{{}}}", labels.join(",")),
        };
        let _ = writeln!(self.text, "{name}{labels} {value}");
    }

    fn finish(mut self) -> String {
        if self.format == MetricsFormat::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }
}

/// Returns the value of a label as the formats have it.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(running: usize) -> OtherCounts {
        OtherCounts {
            sessions: SessionCounts { running, total: 3 },
            dialogues: DialogueMetrics::default(),
            turns: Vec::new(),
        }
    }

    #[test]
    fn metrics_render_as_prometheus_text() {
        let metrics = Metrics::default();
        metrics.created_by_agent.add(Some("claude"));
        metrics.created_by_agent.add(Some("/some/program"));
        metrics.created_by_agent.add(None);
        let guard = metrics.web_terminal.connections.increment();
        let text = metrics.render(&counts(2), MetricsFormat::Prometheus);
        for line in [
            "# TYPE bowline_sessions gauge",
            "bowline_sessions{state=\"running\"} 2",
            "bowline_sessions{state=\"ended\"} 1",
            "# TYPE bowline_sessions_created_total counter",
            "bowline_sessions_created_total{agent=\"claude\"} 1",
            "bowline_sessions_created_total{agent=\"other\"} 1",
            "bowline_sessions_created_total{agent=\"none\"} 1",
            "bowline_cost_usd_total 0",
            "bowline_attached{endpoint=\"web_terminal\"} 1",
            "bowline_attached{endpoint=\"grpc\"} 0",
        ] {
            assert!(
                text.lines().any(|it| it == line),
                "missing {line} in\n{text}"
            );
        }
        drop(guard);
        let text = metrics.render(&counts(0), MetricsFormat::Prometheus);
        assert!(text.contains("bowline_attached{endpoint=\"web_terminal\"} 0\n"));
        assert!(!text.contains("# EOF"));
    }

    #[test]
    fn open_metrics_names_families_without_suffix() {
        let text = Metrics::default().render(&counts(0), MetricsFormat::OpenMetrics);
        assert!(text.contains("# TYPE bowline_requests counter\nbowline_requests_total 0\n"));
        assert!(text.ends_with("# EOF\n"));
        let accept = "application/openmetrics-text; version=1.0.0,text/plain;q=0.5";
        assert_eq!(MetricsFormat::accepted(accept), MetricsFormat::OpenMetrics);
        assert_eq!(MetricsFormat::accepted("*/*"), MetricsFormat::Prometheus);
    }

    #[test]
    fn label_is_escaped() {
        let mut page = Page::new(MetricsFormat::Prometheus);
        page.line("m", &[("a", "x\"\\\n")], 1);
        assert_eq!(page.text, "m{a=\"x\\\"\\\\\\n\"} 1\n");
    }
}
