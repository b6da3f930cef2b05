//! The watchdog itself: a clock face that is looked at, and never one that rings by itself.

use std::time::Duration;

use bowline_transport::Vitals;

use super::{Activity, ActivitySource, ProbeAnswer, Silence, WatchdogConfiguration, WorkPhase};

/// A look that comes after more than this many times its planned interval is not late: the machine
/// slept.
const ASLEEP: u32 = 3;

/// Share of an inquiry that a processor must have been at work, one part in so many, to count as
/// life: an agent that waits for an API uses less for its timers.
const BUSY_PART: u32 = 50;

/// Bytes that must have moved during an inquiry to count as life.
const BUSY_BYTES: u64 = 4 << 10;

/// The watchdog of one session.
#[derive(Debug)]
pub(crate) struct Guard {
    configuration: WatchdogConfiguration,
    /// The last sign that the agent or its host gave.
    heard: Activity,
    /// When life was last seen, by an inquiry too.
    seen: Duration,
    phase: WorkPhase,
    /// When the phase was looked at last, which is when the next look was planned.
    looked: Duration,
    /// When to look again; never while nothing is waited for.
    next: Option<Duration>,
    inquiry: Option<Inquiry>,
}

#[derive(Debug)]
struct Inquiry {
    due: Duration,
    probe: ProbeAnswer,
    before: Option<Vitals>,
    has_begun: bool,
    is_deciding: bool,
}

/// What is to be done now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing.
    Wait,
    /// Look at the processes, and ask the agent a question.
    Inquire,
    /// Look at the processes once more.
    LookAgain,
    /// There was life after all.
    Alive(Silence),
    /// The agent is to be killed.
    Kill(Silence),
}

/// What the session knows beside the silence.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) open_tools: Vec<String>,
    pub(crate) open_tasks: usize,
}

impl Guard {
    pub(crate) fn new(configuration: WatchdogConfiguration) -> Self {
        Self {
            configuration,
            heard: Activity::default(),
            seen: Duration::ZERO,
            phase: WorkPhase::Idle,
            looked: Duration::ZERO,
            next: None,
            inquiry: None,
        }
    }

    pub(crate) const fn deadline(&self) -> Option<Duration> {
        self.next
    }

    pub(crate) const fn last(&self) -> Activity {
        self.heard
    }

    /// A sign of life.
    pub(crate) fn heard(&mut self, source: ActivitySource, now: Duration) {
        self.heard = Activity {
            at: now,
            source,
            phase: self.phase,
        };
        self.seen = now;
        self.inquiry = None;
    }

    /// The session is busy with this from now on. What it does next gets the whole of its time.
    pub(crate) fn enter(&mut self, phase: WorkPhase, now: Duration) {
        if self.phase != phase {
            self.phase = phase;
            self.heard.phase = phase;
            self.seen = now;
            self.inquiry = None;
            self.next = None;
        }
        if self.configuration.limit(phase).is_none() {
            self.next = None;
        } else if self.next.is_none() {
            self.looked = now;
            self.next = Some(now.saturating_add(self.configuration.pace(phase)));
        }
    }

    /// Nothing is looked at any more.
    pub(crate) fn stop(&mut self) {
        self.next = None;
        self.inquiry = None;
        self.configuration = WatchdogConfiguration::never();
    }

    /// The agent has answered the question.
    pub(crate) const fn answered(&mut self) {
        if let Some(inquiry) = &mut self.inquiry {
            inquiry.probe = ProbeAnswer::Answered;
        }
    }

    /// Looks, if it is time to.
    pub(crate) fn look(&mut self, now: Duration, facts: Facts) -> Step {
        let Some(planned) = self.next.filter(|next| *next <= now) else {
            return Step::Wait;
        };
        let Some(limit) = self.configuration.limit(self.phase) else {
            self.next = None;
            return Step::Wait;
        };
        self.wake(planned, now);
        let pace = self.configuration.pace(self.phase);
        self.looked = now;
        self.next = Some(now.saturating_add(pace));
        if limit
            .at_most
            .is_some_and(|most| now.saturating_sub(self.heard.at) >= most)
        {
            return self.kill(now, facts);
        }
        let silent_for = now.saturating_sub(self.seen);
        match &mut self.inquiry {
            None if silent_for < limit.silence => Step::Wait,
            None => self.begin(now, facts),
            Some(inquiry) if inquiry.due <= now && !inquiry.is_deciding => {
                inquiry.is_deciding = true;
                Step::LookAgain
            }
            Some(_) => Step::Wait,
        }
    }

    /// A gap between two looks that is far over the planned one is sleep, and nobody's silence.
    fn wake(&mut self, planned: Duration, now: Duration) {
        let interval = planned.saturating_sub(self.looked);
        let gap = now.saturating_sub(self.looked);
        if gap > interval.saturating_mul(ASLEEP) {
            let slept = now.saturating_sub(planned);
            self.heard.at = now.min(self.heard.at + slept);
            self.seen = now.min(self.seen + slept);
            // What was measured before says nothing about what comes now.
            self.inquiry = None;
        }
    }

    fn begin(&mut self, now: Duration, facts: Facts) -> Step {
        let Some(length) = self.configuration.inquiry else {
            return self.kill(now, facts);
        };
        self.next = Some(now.saturating_add(length.min(self.configuration.check)));
        self.inquiry = Some(Inquiry {
            due: now.saturating_add(length),
            probe: ProbeAnswer::Unanswered,
            before: None,
            has_begun: false,
            is_deciding: false,
        });
        Step::Inquire
    }

    fn kill(&mut self, now: Duration, facts: Facts) -> Step {
        let silence = self.silence(now, facts, None);
        self.stop();
        Step::Kill(silence)
    }

    /// What the processes have used up to now.
    pub(crate) fn vitals(&mut self, vitals: Option<Vitals>, now: Duration, facts: Facts) -> Step {
        let Some(inquiry) = &mut self.inquiry else {
            return Step::Wait;
        };
        if !inquiry.has_begun {
            inquiry.has_begun = true;
            inquiry.before = vitals;
            return Step::Wait;
        }
        if !inquiry.is_deciding {
            return Step::Wait;
        }
        let silence = self.silence(now, facts, vitals);
        let is_alive = self.is_alive(&silence, vitals);
        self.inquiry = None;
        if is_alive {
            self.seen = now;
            Step::Alive(silence)
        } else {
            self.stop();
            Step::Kill(silence)
        }
    }

    fn is_alive(&self, silence: &Silence, after: Option<Vitals>) -> bool {
        let before = self.inquiry.as_ref().and_then(|inquiry| inquiry.before);
        let has_forked = before
            .zip(after)
            .is_some_and(|(a, b)| a.processes != b.processes);
        let length = self.configuration.inquiry.unwrap_or_default();
        silence.probe == ProbeAnswer::Answered
            || has_forked
            || silence
                .cpu
                .is_some_and(|cpu| cpu.saturating_mul(BUSY_PART) >= length)
            || silence.io_bytes.is_some_and(|bytes| bytes >= BUSY_BYTES)
    }

    /// The silence as it is now.
    pub(crate) fn silence(&self, now: Duration, facts: Facts, after: Option<Vitals>) -> Silence {
        let inquiry = self.inquiry.as_ref();
        let both = inquiry.and_then(|inquiry| inquiry.before).zip(after);
        Silence {
            phase: self.phase,
            silent_for: now.saturating_sub(self.heard.at),
            last: self.heard,
            probe: inquiry.map_or(ProbeAnswer::NotAsked, |inquiry| inquiry.probe),
            cpu: both.map(|(before, after)| after.cpu.saturating_sub(before.cpu)),
            io_bytes: both.map(|(before, after)| after.io_bytes.saturating_sub(before.io_bytes)),
            processes: after.map(|after| after.processes),
            open_tools: facts.open_tools,
            open_tasks: facts.open_tasks,
        }
    }
}
