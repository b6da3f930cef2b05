//! Counters, rendered in the Prometheus text format 0.0.4.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

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
    pub(crate) created: Counter,
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

impl Metrics {
    /// Renders all metrics, and the number of sessions.
    pub(crate) fn render(&self, sessions: SessionCounts) -> String {
        let ended = sessions.total.saturating_sub(sessions.running);
        let mut page = Page::default();
        page.family("bowline_sessions", "gauge", "Sessions by state.");
        page.line(
            "bowline_sessions{state=\"running\"}",
            sessions.running as u64,
        );
        page.line("bowline_sessions{state=\"ended\"}", ended as u64);
        for (name, help, counter) in self.counters() {
            page.family(name, "counter", help);
            page.line(name, counter.value());
        }
        self.endpoints(&mut page);
        page.text
    }

    const fn counters(&self) -> [(&'static str, &'static str, &Counter); 8] {
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
                "bowline_sessions_created_total",
                "Sessions created.",
                &self.created,
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
        let families: [(&str, &str, &str, Read); 4] = [
            (
                "bowline_attaches_total",
                "counter",
                "Attaches by endpoint.",
                |it| it.attaches.value(),
            ),
            ("bowline_attached", "gauge", "Attached clients.", |it| {
                it.connections.value()
            }),
            (
                "bowline_received_bytes_total",
                "counter",
                "Bytes received from clients.",
                |it| it.received_bytes.value(),
            ),
            (
                "bowline_sent_bytes_total",
                "counter",
                "Bytes sent to clients.",
                |it| it.sent_bytes.value(),
            ),
        ];
        for (name, kind, help, read) in families {
            page.family(name, kind, help);
            for (label, endpoint) in endpoints {
                page.line(&format!("{name}{{endpoint=\"{label}\"}}"), read(endpoint));
            }
        }
    }
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, series: &str, value: u64) {
        let _ = writeln!(self.text, "{series} {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_render_as_prometheus_text() {
        let metrics = Metrics::default();
        metrics.created.add(3);
        let guard = metrics.web_terminal.connections.increment();
        let mut counts = SessionCounts {
            running: 2,
            total: 3,
        };
        let text = metrics.render(counts);
        for line in [
            "# TYPE bowline_sessions gauge",
            "bowline_sessions{state=\"running\"} 2",
            "bowline_sessions{state=\"ended\"} 1",
            "bowline_sessions_created_total 3",
            "bowline_attached{endpoint=\"web_terminal\"} 1",
            "bowline_attached{endpoint=\"grpc\"} 0",
        ] {
            assert!(
                text.lines().any(|it| it == line),
                "missing {line} in\n{text}"
            );
        }
        drop(guard);
        counts.running = 0;
        assert!(
            metrics
                .render(counts)
                .contains("bowline_attached{endpoint=\"web_terminal\"} 0\n")
        );
    }
}
