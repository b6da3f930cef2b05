//! Counts, as Prometheus reads them (text format 0.0.4).

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// One count that only grows.
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

/// One count that grows and shrinks.
#[derive(Debug, Default)]
pub(crate) struct Gauge(AtomicU64);

/// Holds a gauge one higher.
#[derive(Debug)]
pub(crate) struct Held<'a>(&'a Gauge);

impl Gauge {
    pub(crate) fn hold(&self) -> Held<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Held(self)
    }

    fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Everything that is counted.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) requests: Counter,
    pub(crate) refused: Counter,
    pub(crate) guesses: Counter,
    pub(crate) created: Counter,
    pub(crate) disposed: Counter,
    pub(crate) prompts: Counter,
    pub(crate) tickets: Counter,
    pub(crate) frames: Door,
    pub(crate) panel: Door,
    pub(crate) grpc: Door,
}

/// What is counted of each door.
#[derive(Debug, Default)]
pub(crate) struct Door {
    pub(crate) attaches: Counter,
    pub(crate) open: Gauge,
    /// Bytes from clients.
    pub(crate) taken: Counter,
    /// Bytes to clients.
    pub(crate) given: Counter,
}

impl Metrics {
    /// All counts, and how many sessions there are.
    pub(crate) fn text(&self, live: u64, ended: u64) -> String {
        let mut page = Page::default();
        page.family("bowline_sessions", "gauge", "Sessions by state.");
        page.line("bowline_sessions{state=\"running\"}", live);
        page.line("bowline_sessions{state=\"ended\"}", ended);
        for (name, help, counter) in self.counters() {
            page.family(name, "counter", help);
            page.line(name, counter.value());
        }
        self.doors(&mut page);
        page.text
    }

    const fn counters(&self) -> [(&'static str, &'static str, &Counter); 7] {
        [
            (
                "bowline_requests_total",
                "Requests that came in.",
                &self.requests,
            ),
            (
                "bowline_refused_total",
                "Requests that were turned away at the gate.",
                &self.refused,
            ),
            (
                "bowline_wrong_tokens_total",
                "Requests with a wrong token.",
                &self.guesses,
            ),
            (
                "bowline_sessions_created_total",
                "Sessions created.",
                &self.created,
            ),
            (
                "bowline_sessions_disposed_total",
                "Sessions ended on request.",
                &self.disposed,
            ),
            ("bowline_prompts_total", "Prompts written.", &self.prompts),
            ("bowline_tickets_total", "Tickets issued.", &self.tickets),
        ]
    }

    fn doors(&self, page: &mut Page) {
        let doors = [
            ("frames", &self.frames),
            ("panel", &self.panel),
            ("grpc", &self.grpc),
        ];
        type Read = fn(&Door) -> u64;
        let families: [(&str, &str, &str, Read); 4] = [
            (
                "bowline_attaches_total",
                "counter",
                "Attaches by door.",
                |it| it.attaches.value(),
            ),
            (
                "bowline_attached",
                "gauge",
                "Clients that are attached.",
                |it| it.open.value(),
            ),
            (
                "bowline_taken_bytes_total",
                "counter",
                "Bytes from clients.",
                |it| it.taken.value(),
            ),
            (
                "bowline_given_bytes_total",
                "counter",
                "Bytes to clients.",
                |it| it.given.value(),
            ),
        ];
        for (name, kind, help, read) in families {
            page.family(name, kind, help);
            for (label, door) in doors {
                page.line(&format!("{name}{{door=\"{label}\"}}"), read(door));
            }
        }
    }
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    /// Writing into a string cannot fail, here and below.
    fn family(&mut self, name: &str, kind: &str, help: &str) {
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
    fn counts_are_told_as_text() {
        let metrics = Metrics::default();
        metrics.created.add(3);
        let held = metrics.panel.open.hold();
        let text = metrics.text(2, 1);
        for line in [
            "# TYPE bowline_sessions gauge",
            "bowline_sessions{state=\"running\"} 2",
            "bowline_sessions{state=\"ended\"} 1",
            "bowline_sessions_created_total 3",
            "bowline_attached{door=\"panel\"} 1",
            "bowline_attached{door=\"grpc\"} 0",
        ] {
            assert!(
                text.lines().any(|it| it == line),
                "{line} is not in\n{text}"
            );
        }
        drop(held);
        assert!(
            metrics
                .text(0, 0)
                .contains("bowline_attached{door=\"panel\"} 0\n")
        );
    }
}
