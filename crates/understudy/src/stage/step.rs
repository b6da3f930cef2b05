//! Playing one cue; spelling a step out in cues.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::track::{Block, Cue, Flow, Job, OpenBlock, Track, Wait};
use super::{Act, Exit, Stage};
use crate::frames::{synthetic, system};
use crate::scenario::{ApiFailure, ApiRetry, Call, Many, Raw, Step, Text, WaitFor};

/// Characters a delta of a tool input, as in the recordings.
const JSON_DELTA: usize = 28;

/// What the agent tells itself after a cut stream (observed.md 30).
const CUT_OFF: &str = "Your response above was cut off mid-stream. Resume directly from where it \
                       stops — no apology, no recap. If none of it survived, answer the request \
                       from the start.";

impl Stage {
    pub(super) fn play(&mut self, track: &mut Track, cue: Cue) -> Act {
        match cue {
            Cue::Step(step) => return self.step(track, *step),
            Cue::Decide(decision) => self.decide(track, decision),
            Cue::Return(decision) => self.give_result(track, &decision),
            Cue::Run => self.run_job(track),
            Cue::Start(jobs) => self.start_jobs(track, jobs),
            Cue::EndTurn => self.end_turn(track),
            Cue::Fold if track.is_main() => self.fold(),
            Cue::Fold => {}
            Cue::Announce(card) => self.announce(&card),
            Cue::Prompt(card) => self.prompt_agent(&card),
            Cue::AgentEnd => self.agent_end(track),
            Cue::ShellTask(card) => self.shell_task(track, *card),
            Cue::ShellEnd => self.shell_end(track),
            Cue::Frame(frame) => self.print(&frame),
            Cue::Withdraw(request_id) => self.withdraw(&request_id),
            other => self.speech(track, other),
        }
        Ok(())
    }

    fn speech(&mut self, track: &mut Track, cue: Cue) {
        match cue {
            Cue::Wait(ms) => track.due = track.due.saturating_add(Duration::from_millis(ms)),
            Cue::Open(block) => self.open_block(track, block),
            Cue::Delta(piece) => self.delta(track, &piece),
            Cue::Stream(flow) => self.flow(track, flow),
            Cue::Close => self.close_block(track),
            Cue::MessageDelta => self.message_delta(track),
            Cue::MessageStop => self.message_stop(track),
            Cue::Abandon(from) => {
                if let Some(open) = track
                    .message
                    .as_mut()
                    .and_then(|message| message.open.take())
                {
                    self.stream(
                        track,
                        json!({"type": "content_block_stop", "index": open.index}),
                    );
                }
                self.abandon(track, from);
            }
            Cue::Retry {
                attempt,
                attempts,
                status,
                error,
                delay_ms,
            } => {
                let rest = json!({
                    "attempt": attempt, "max_retries": attempts.max(10),
                    "retry_delay_ms": delay_ms, "error_status": status, "error": error,
                    "session_id": self.session.id,
                });
                self.print(&system(&self.session, "api_retry", rest));
            }
            _ => {}
        }
    }

    fn step(&mut self, track: &mut Track, step: Step) -> Act {
        match step {
            Step::Text(text) => self.say(track, Block::Text, text),
            Step::Thinking(text) => self.say(track, Block::Thinking, text),
            Step::RedactedThinking(data) => {
                track.push_front([Cue::Open(Block::Redacted(data)), Cue::Close]);
            }
            Step::Tool(tool) => self.call(track, vec![Call::Tool(tool)]),
            Step::Agent(agent) => self.call(track, vec![Call::Agent(agent)]),
            Step::Parallel(calls) => self.call(track, calls),
            Step::NewMessage(_) => track.push_front([Cue::MessageDelta, Cue::MessageStop]),
            Step::ApiRetry(retry) => self.api_retry(track, retry),
            Step::CutOff(text) => self.cut_off(track, &text),
            Step::Fail(failure) => self.fail(track, &failure),
            Step::MaxTurns(limit) => self.max_turns(track, limit),
            Step::Raw(raw) => self.raw(raw),
            Step::Many(many) => repeat(track, many),
            Step::Request(request) => self.ask_anything(track, request),
            Step::DelayMs(ms) => track.push_front([Cue::Wait(ms)]),
            Step::WaitFor(what) => self.wait_for(track, what),
            Step::System(fields) => self.system_line(&fields),
            Step::Notice(text) => self.notice(&text),
            Step::Clear(_) => self.clear(),
            trouble => return self.mischief(track, trouble),
        }
        Ok(())
    }

    /// A text or thinking block, delta by delta.
    fn say(&mut self, track: &mut Track, block: Block, text: Text) {
        let (text, delta, delta_ms) = text.parts();
        let text = self.fill(&text, None);
        let flow = Flow {
            text,
            said: 0,
            delta,
            delta_ms,
        };
        track.push_front([
            Cue::Open(block),
            Cue::Wait(delta_ms),
            Cue::Stream(flow),
            Cue::Close,
        ]);
    }

    /// One delta; the rest follows.
    fn flow(&mut self, track: &mut Track, mut flow: Flow) {
        let Some(piece) = flow.next() else { return };
        self.delta(track, &piece);
        if !flow.is_over() {
            track.push_front([Cue::Wait(flow.delta_ms), Cue::Stream(flow)]);
        }
    }

    /// One message with these calls, then the calls themselves.
    fn call(&mut self, track: &mut Track, calls: Vec<Call>) {
        let jobs: Vec<Job> = calls
            .into_iter()
            .map(|call| self.plan(track, call))
            .collect();
        let mut cues = Vec::new();
        for job in &jobs {
            let block = job.block();
            cues.push(Cue::Open(block.clone()));
            cues.extend(input_deltas(&block).map(Cue::Delta));
            cues.push(Cue::Close);
            if let Job::Agent { card, .. } = job {
                cues.push(Cue::Announce(card.clone()));
            }
        }
        cues.push(Cue::MessageDelta);
        for job in &jobs {
            if let Job::Agent { card, .. } = job {
                cues.push(Cue::Prompt(card.clone()));
            }
        }
        cues.extend([Cue::MessageStop, Cue::Start(jobs)]);
        track.push_front(cues);
    }

    fn api_retry(&mut self, track: &mut Track, retry: ApiRetry) {
        let ApiRetry {
            attempts,
            status,
            error,
            delay_ms,
            draft,
        } = retry;
        let mut cues = Vec::new();
        if track.message.is_some() {
            cues.extend([Cue::MessageDelta, Cue::MessageStop]);
        }
        if let Some(draft) = draft {
            cues.push(Cue::Open(Block::Text));
            cues.push(Cue::Stream(Flow {
                text: draft,
                said: 0,
                delta: 8,
                delta_ms: 20,
            }));
            cues.push(Cue::Abandon(0));
        }
        for attempt in 1..=attempts {
            let error = error.clone();
            cues.push(Cue::Retry {
                attempt,
                attempts,
                status,
                error,
                delay_ms,
            });
            cues.push(Cue::Wait(delay_ms));
        }
        track.push_front(cues);
        self.request();
    }

    fn cut_off(&mut self, track: &mut Track, text: &str) {
        let text = self.fill(text, None);
        self.open_block(track, Block::Text);
        for piece in pieces(&text, 8) {
            self.delta(track, &piece);
        }
        let next = track
            .message
            .as_ref()
            .map_or(0, |message| message.next_index);
        self.close_block(track);
        self.abandon(track, next);
        track.message = None;
        let mut frame = crate::frames::user_text(&self.session, &track.speaker, CUT_OFF);
        frame.insert("isSynthetic".to_owned(), true.into());
        self.print(&frame.into());
    }

    fn fail(&mut self, track: &mut Track, failure: &ApiFailure) {
        let text = self.fill(&failure.text, None);
        if let Some(Job::Agent { agent, .. }) = &mut track.call {
            agent.fails = Some(text);
            track.cues = [Cue::AgentEnd].into();
            return;
        }
        self.request();
        let request_id = self.session.fresh("req");
        self.print(&synthetic(
            &self.session,
            &text,
            &failure.error,
            failure.status,
            &request_id,
        ));
        if let Some(turn) = &mut self.turn {
            turn.end_failed(failure.status, text);
        }
        finish(track);
    }

    fn max_turns(&mut self, track: &mut Track, limit: u64) {
        if let Some(turn) = self.turn.as_mut().filter(|_| track.is_main()) {
            turn.end_at_limit(limit);
            finish(track);
        }
    }

    fn raw(&self, raw: Raw) {
        let line = match raw {
            Raw::Line(line) => self.fill(&line, None),
            Raw::Json(value) => self.fill_value(&value, None).to_string(),
        };
        self.output.write(format!("{line}\n").into_bytes());
    }

    fn system_line(&self, fields: &Map<String, Value>) {
        let mut fields = self.fill_map(fields, None);
        let subtype = fields.shift_remove("subtype").unwrap_or_default();
        let subtype = subtype.as_str().unwrap_or("informational");
        self.print(&system(&self.session, subtype, fields.into()));
    }

    fn notice(&self, text: &str) {
        let rest = json!({"content": self.fill(text, None), "level": "info"});
        self.print(&system(&self.session, "informational", rest));
    }

    fn wait_for(&self, track: &mut Track, what: WaitFor) {
        let met = match what {
            WaitFor::Eof => self.eof,
            WaitFor::Prompt => !self.queue.is_empty(),
            WaitFor::Interrupt | WaitFor::Control(_) => false,
        };
        if !met {
            track.wait = Wait::Host(what);
        }
    }

    /// Ends the process at once.
    pub(super) fn quit(code: u8) -> Act {
        Err(Exit::Code(code))
    }
}

/// Nothing more on this track but the end of its turn, its open message closed first.
fn finish(track: &mut Track) {
    track.cues.clear();
    if track.message.is_some() {
        track.cues.extend([Cue::MessageDelta, Cue::MessageStop]);
    }
    track.cues.push_back(Cue::EndTurn);
}

fn repeat(track: &mut Track, many: Many) {
    let Many { times, steps } = many;
    if let Some(left) = times.checked_sub(1) {
        let again = Step::Many(Many {
            times: left,
            steps: steps.clone(),
        });
        track.push_front(steps.into_iter().chain([again]).map(Cue::step));
    }
}

/// The text in pieces of so many characters.
fn pieces(text: &str, size: usize) -> impl Iterator<Item = String> + use<'_> {
    let mut rest = text.chars();
    std::iter::from_fn(move || {
        let piece: String = rest.by_ref().take(size.max(1)).collect();
        (!piece.is_empty()).then_some(piece)
    })
}

/// A tool input as the API streams it: an empty delta, then the JSON.
fn input_deltas(block: &Block) -> impl Iterator<Item = String> + use<> {
    let json = match block {
        Block::Call { input, .. } => Value::from(input.clone()).to_string(),
        _ => String::new(),
    };
    let parts: Vec<String> = pieces(&json, JSON_DELTA).collect();
    std::iter::once(String::new()).chain(parts)
}

/// The head of an assistant line, for `torn`.
pub(super) fn torn_block(text: String) -> OpenBlock {
    OpenBlock {
        index: 0,
        block: Block::Text,
        text,
    }
}
