//! The periodic check of a session for silence.

use std::time::Duration;

use bowline_transport::ResourceUsage;

use super::{
    Activity, ActivitySource, ProbeAnswer, Silence, SilenceCause, SilenceLimit, WatchdogPolicy,
    WorkPhase,
};

/// A check that comes later than this many times its planned interval means that the machine was
/// suspended.
const SUSPEND_FACTOR: u32 = 3;

/// Minimum CPU time that counts as life, as a divisor of the inquiry's length. An agent that waits
/// for an API uses less for its timers.
const MIN_CPU_DIVISOR: u32 = 50;

/// Minimum I/O during an inquiry that counts as life, in bytes.
const MIN_IO_BYTES: u64 = 4 << 10;

/// Maximum silence before an inquiry if a cause of the silence is known.
const MAX_SILENCE_WITH_CAUSE: Duration = Duration::from_secs(60);

/// The watchdog of one session.
#[derive(Debug)]
pub(crate) struct Watchdog {
    policy: WatchdogPolicy,
    /// The last sign of life from the agent or its host.
    last: Activity,
    /// When the agent was last known to be alive, also by an inquiry.
    alive_at: Duration,
    phase: WorkPhase,
    /// When the phase was checked last and the next check was planned.
    checked_at: Duration,
    /// When the next check is due; none while nothing is awaited.
    next: Option<Duration>,
    inquiry: Option<Inquiry>,
}

#[derive(Debug)]
struct Inquiry {
    due: Duration,
    probe: ProbeAnswer,
    /// The first measurement.
    before: Option<ResourceUsage>,
    is_measured: bool,
    /// Whether the second measurement is under way.
    is_deciding: bool,
}

/// What the session has to do after a check.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WatchdogAction {
    None,
    /// Measure the resource usage, and send the agent a liveness probe.
    Probe,
    /// Measure the resource usage again.
    Measure,
    /// Report that the agent is alive.
    Alive(Silence),
    /// Terminate the agent.
    Kill(Silence),
}

/// The open work of a session, as evidence.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenWork {
    /// Names of open tools.
    pub(crate) tools: Vec<String>,
    /// Number of open background tasks.
    pub(crate) tasks: usize,
    /// What a silence may be due to, and the remedy.
    pub(crate) cause: Option<SilenceCause>,
}

/// Returns the silence after which an inquiry begins.
fn until_inquiry(limit: SilenceLimit, open: &OpenWork) -> Duration {
    match open.cause {
        Some(_) => limit.silence.min(MAX_SILENCE_WITH_CAUSE),
        None => limit.silence,
    }
}

impl Watchdog {
    pub(crate) fn new(policy: WatchdogPolicy) -> Self {
        Self {
            policy,
            last: Activity::default(),
            alive_at: Duration::ZERO,
            phase: WorkPhase::Idle,
            checked_at: Duration::ZERO,
            next: None,
            inquiry: None,
        }
    }

    pub(crate) const fn deadline(&self) -> Option<Duration> {
        self.next
    }

    pub(crate) const fn last_activity(&self) -> Activity {
        self.last
    }

    /// Notes a sign of life.
    pub(crate) fn activity(&mut self, source: ActivitySource, now: Duration) {
        self.last = Activity {
            at: now,
            source,
            phase: self.phase,
        };
        self.alive_at = now;
        self.inquiry = None;
    }

    /// Sets the phase. A new phase has the whole of its limit from now on.
    pub(crate) fn enter(&mut self, phase: WorkPhase, now: Duration) {
        if self.phase != phase {
            self.phase = phase;
            self.last.phase = phase;
            self.alive_at = now;
            self.inquiry = None;
            self.next = None;
        }
        if self.policy.limit(phase).is_none() {
            self.next = None;
        } else if self.next.is_none() {
            self.checked_at = now;
            self.next = Some(now.saturating_add(self.policy.interval(phase)));
        }
    }

    /// Stops all checks.
    pub(crate) fn stop(&mut self) {
        self.next = None;
        self.inquiry = None;
        self.policy = WatchdogPolicy::disabled();
    }

    /// Notes that the agent has answered the liveness probe.
    pub(crate) const fn probe_answered(&mut self) {
        if let Some(inquiry) = &mut self.inquiry {
            inquiry.probe = ProbeAnswer::Answered;
        }
    }

    /// Checks for silence, if a check is due.
    pub(crate) fn check(&mut self, now: Duration, open: OpenWork) -> WatchdogAction {
        let Some(planned) = self.next.filter(|next| *next <= now) else {
            return WatchdogAction::None;
        };
        let Some(limit) = self.policy.limit(self.phase) else {
            self.next = None;
            return WatchdogAction::None;
        };
        self.discount_suspension(planned, now);
        self.checked_at = now;
        self.next = Some(now.saturating_add(self.policy.interval(self.phase)));
        let silent_for = now.saturating_sub(self.last.at);
        if limit.max_silence.is_some_and(|max| silent_for >= max) {
            return self.kill(now, open);
        }
        match &mut self.inquiry {
            None if now.saturating_sub(self.alive_at) < until_inquiry(limit, &open) => {
                WatchdogAction::None
            }
            None => self.begin_inquiry(now, open),
            Some(inquiry) if inquiry.due <= now && !inquiry.is_deciding => {
                inquiry.is_deciding = true;
                WatchdogAction::Measure
            }
            Some(_) => WatchdogAction::None,
        }
    }

    /// Takes the time that the machine was suspended out of the silence.
    fn discount_suspension(&mut self, planned: Duration, now: Duration) {
        let interval = planned.saturating_sub(self.checked_at);
        let elapsed = now.saturating_sub(self.checked_at);
        if elapsed > interval.saturating_mul(SUSPEND_FACTOR) {
            let suspended = now.saturating_sub(planned);
            self.last.at = now.min(self.last.at + suspended);
            self.alive_at = now.min(self.alive_at + suspended);
            // An earlier measurement cannot be compared with a later one.
            self.inquiry = None;
        }
    }

    fn begin_inquiry(&mut self, now: Duration, open: OpenWork) -> WatchdogAction {
        let Some(length) = self.policy.probe else {
            return self.kill(now, open);
        };
        self.next = Some(now.saturating_add(length.min(self.policy.check_interval)));
        self.inquiry = Some(Inquiry {
            due: now.saturating_add(length),
            probe: ProbeAnswer::Unanswered,
            before: None,
            is_measured: false,
            is_deciding: false,
        });
        WatchdogAction::Probe
    }

    fn kill(&mut self, now: Duration, open: OpenWork) -> WatchdogAction {
        let silence = self.silence(now, open, None);
        self.stop();
        WatchdogAction::Kill(silence)
    }

    /// Takes a measurement of the resource usage, and decides the inquiry with the second one.
    pub(crate) fn usage(
        &mut self,
        usage: Option<ResourceUsage>,
        now: Duration,
        open: OpenWork,
    ) -> WatchdogAction {
        let Some(inquiry) = &mut self.inquiry else {
            return WatchdogAction::None;
        };
        if !inquiry.is_measured {
            inquiry.is_measured = true;
            inquiry.before = usage;
            return WatchdogAction::None;
        }
        if !inquiry.is_deciding {
            return WatchdogAction::None;
        }
        let silence = self.silence(now, open, usage);
        // An inquiry ahead of the limit is for the report of its cause.
        let limit = self.policy.limit(self.phase);
        let is_early = limit.is_some_and(|it| silence.silent_for < it.silence);
        let is_alive = is_early || self.is_alive(&silence, usage);
        self.inquiry = None;
        if is_alive {
            self.alive_at = now;
            WatchdogAction::Alive(silence)
        } else {
            self.stop();
            WatchdogAction::Kill(silence)
        }
    }

    fn is_alive(&self, silence: &Silence, after: Option<ResourceUsage>) -> bool {
        let before = self.inquiry.as_ref().and_then(|inquiry| inquiry.before);
        let has_forked = before
            .zip(after)
            .is_some_and(|(before, after)| before.processes != after.processes);
        let length = self.policy.probe.unwrap_or_default();
        let is_busy = |cpu: Duration| cpu.saturating_mul(MIN_CPU_DIVISOR) >= length;
        silence.probe == ProbeAnswer::Answered
            || has_forked
            || silence.cpu.is_some_and(is_busy)
            || silence.io_bytes.is_some_and(|bytes| bytes >= MIN_IO_BYTES)
    }

    /// Returns the current silence, if it lasts so long that an inquiry is due.
    pub(crate) fn overdue(&self, now: Duration, open: OpenWork) -> Option<Silence> {
        let limit = self.policy.limit(self.phase)?;
        let silent_for = now.saturating_sub(self.last.at);
        let is_overdue = silent_for >= until_inquiry(limit, &open);
        is_overdue.then(|| self.silence(now, open, None))
    }

    /// Returns the evidence about the current silence.
    pub(crate) fn silence(
        &self,
        now: Duration,
        open: OpenWork,
        after: Option<ResourceUsage>,
    ) -> Silence {
        let inquiry = self.inquiry.as_ref();
        let both = inquiry.and_then(|inquiry| inquiry.before).zip(after);
        Silence {
            phase: self.phase,
            silent_for: now.saturating_sub(self.last.at),
            last: self.last,
            probe: inquiry.map_or(ProbeAnswer::NotAsked, |inquiry| inquiry.probe),
            cpu: both.map(|(before, after)| after.cpu.saturating_sub(before.cpu)),
            io_bytes: both.map(|(before, after)| after.io_bytes.saturating_sub(before.io_bytes)),
            processes: after.map(|after| after.processes),
            open_tools: open.tools,
            open_tasks: open.tasks,
            cause: open.cause,
        }
    }
}
