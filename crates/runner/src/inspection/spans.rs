//! What lasts, observed line by line: turns, calls of a model, permission requests; and how full the context is.

use std::collections::HashMap;

use bowline_jsonl::Item;
use bowline_reducer::{
    CallId, CallState, Entry, EntryKind, PermissionId, PermissionState, Transcript,
};

use super::line_index::Target;
use super::timeline::{Compaction, ContextPoint, ModelCallSpan, Span, Timeline, TurnSpan};
use super::usage::{CallTokens, usage_of};

/// The thread of a line: the id of the call that holds it; `None` for the main one.
type ThreadKey = Option<String>;

#[derive(Debug, Default)]
pub(super) struct Spans {
    turns: Vec<TurnSpan>,
    model_calls: Vec<ModelCallSpan>,
    /// Model calls by their entry.
    by_entry: HashMap<u32, usize>,
    /// Usage that came before the entry of its message.
    pending: HashMap<String, CallTokens>,
    /// The newest model call of each thread.
    current: HashMap<ThreadKey, usize>,
    /// When each thread last got what a model answers: a prompt or a result.
    asked: HashMap<ThreadKey, (u64, u64)>,
    context: Vec<ContextPoint>,
    context_used: Option<u64>,
    compactions: Vec<Compaction>,
    /// When permission requests were decided, and at which offset.
    decided: HashMap<PermissionId, (u64, u64)>,
    cost_usd: f64,
}

/// When and where a line came.
#[derive(Clone, Copy)]
struct At {
    ms: u64,
    from: u64,
    to: u64,
}

impl At {
    const fn span(self) -> Span {
        Span {
            from_ms: known(self.ms),
            to_ms: known(self.ms),
            bytes: [self.from, self.to],
        }
    }
}

const fn known(ms: u64) -> Option<u64> {
    if ms > 0 { Some(ms) } else { None }
}

impl Span {
    fn extend(&mut self, at: At) {
        self.from_ms = self.from_ms.or_else(|| known(at.ms));
        self.to_ms = known(at.ms).or(self.to_ms);
        self.bytes[1] = self.bytes[1].max(at.to);
    }
}

impl Spans {
    /// Observes a line of output that was folded, and what it became.
    pub(super) fn output(
        &mut self,
        transcript: &Transcript,
        item: &Item<'_>,
        targets: &[Target],
        at_ms: u64,
    ) {
        let at = At {
            ms: at_ms,
            from: item.at.offset,
            to: item.at.end,
        };
        self.targets(transcript, targets, at);
        if let Ok(event) = &item.event
            && let Some((message, tokens)) = usage_of(event)
        {
            let thread = event.parent_tool_use_id;
            let thread = thread.map(|id| id.decode().into_owned());
            self.usage(transcript, message, thread, tokens, at);
        }
        let used = transcript.session().context_used();
        if used != self.context_used {
            self.context_used = used;
            self.context_point(transcript, used, at);
        }
    }

    /// Observes a line of input that was folded.
    pub(super) fn input(&mut self, transcript: &Transcript, targets: &[Target], at_ms: u64) {
        let end = transcript.applied();
        let at = At {
            ms: at_ms,
            from: end,
            to: end,
        };
        self.targets(transcript, targets, at);
        self.asked.insert(None, (at_ms, end));
    }

    fn targets(&mut self, transcript: &Transcript, targets: &[Target], at: At) {
        for target in targets {
            match *target {
                Target::Entry(id, _) => {
                    if let Some(entry) = transcript.entry_by_id(id) {
                        self.entry(entry, at);
                        self.cost(transcript, entry);
                    }
                }
                Target::Call(id, _) => self.call(transcript, id, at),
                Target::Permission(id) => self.permission(transcript, id, at),
                _ => {}
            }
        }
    }

    fn entry(&mut self, entry: Entry<'_>, at: At) {
        let thread = entry.thread().call().map(|call| call.id().to_owned());
        if thread.is_none() && !entry.is_history() {
            self.turn(entry, at);
        }
        match entry.kind() {
            EntryKind::Assistant {
                message_id, model, ..
            } => self.model_call(entry, thread, message_id, model, at),
            EntryKind::User { .. } => {
                self.asked.insert(thread, (at.ms, at.from));
            }
            EntryKind::Notice {
                notice: "compact_boundary",
                ..
            } => {
                let number = entry.id().number();
                if self.compactions.last().is_none_or(|it| it.entry != number) {
                    self.compactions.push(Compaction {
                        entry: number,
                        at_ms: known(at.ms),
                        offset: at.to,
                    });
                }
            }
            _ => {}
        }
    }

    fn turn(&mut self, entry: Entry<'_>, at: At) {
        let Some(turn) = entry.turn() else { return };
        let is_same = |it: &TurnSpan| it.turn == *turn;
        match self.turns.last_mut().filter(|it| is_same(it)) {
            Some(last) => last.span.extend(at),
            None => self.turns.push(TurnSpan {
                turn: turn.into_owned(),
                span: at.span(),
                entry: entry.id().number(),
                outcome: None,
                cost_usd: None,
            }),
        }
        if let EntryKind::Result { outcome, .. } = entry.kind()
            && let Some(last) = self.turns.last_mut()
        {
            last.outcome = Some(outcome);
        }
    }

    /// The cost of a turn is what its result adds to that of the session.
    fn cost(&mut self, transcript: &Transcript, entry: Entry<'_>) {
        if !matches!(entry.kind(), EntryKind::Result { .. }) {
            return;
        }
        let cost = transcript.usage().cost_usd();
        let added = cost - std::mem::replace(&mut self.cost_usd, cost);
        if added > 0.0
            && let Some(last) = self.turns.last_mut()
        {
            last.cost_usd = Some(last.cost_usd.unwrap_or(0.0) + added);
        }
    }

    fn model_call(
        &mut self,
        entry: Entry<'_>,
        thread: ThreadKey,
        message: &str,
        model: Option<&str>,
        at: At,
    ) {
        let number = entry.id().number();
        if let Some(known) = self.by_entry.get(&number) {
            return self.model_calls[*known].span.extend(at);
        }
        let mut span = at.span();
        // The model works from the line that it answers on.
        if let Some((ms, _)) = self.asked.get(&thread)
            && *ms > 0
        {
            span.from_ms = known(*ms);
        }
        let place = self.model_calls.len();
        self.by_entry.insert(number, place);
        self.current.insert(thread.clone(), place);
        self.model_calls.push(ModelCallSpan {
            entry: number,
            span,
            thread,
            message_id: message.to_owned(),
            model: model.map(str::to_owned),
            usage: self.pending.remove(message),
        });
    }

    fn usage(
        &mut self,
        transcript: &Transcript,
        message: Option<String>,
        thread: ThreadKey,
        tokens: CallTokens,
        at: At,
    ) {
        let is_main = thread.is_none();
        let current = self.current.get(&thread).copied();
        let of_message = |it: &usize| match &message {
            Some(message) => self.model_calls[*it].message_id == *message,
            None => true,
        };
        match (current.filter(of_message), message) {
            (Some(place), _) => {
                let usage = &mut self.model_calls[place].usage;
                *usage = Some(usage.unwrap_or_default().max(tokens));
                self.model_calls[place].span.extend(at);
            }
            (None, Some(message)) => {
                let usage = self.pending.entry(message).or_default();
                *usage = usage.max(tokens);
            }
            (None, None) => {}
        }
        if is_main && transcript.session().context_used().is_none() && tokens.context() > 0 {
            self.context_point(transcript, Some(tokens.context()), at);
        }
    }

    fn context_point(&mut self, transcript: &Transcript, used: Option<u64>, at: At) {
        let Some(used) = used else { return };
        if self.context.last().is_some_and(|last| last.used == used) {
            return;
        }
        self.context.push(ContextPoint {
            at_ms: known(at.ms),
            offset: at.to,
            used,
            size: transcript.session().context_size(),
        });
    }

    fn call(&mut self, transcript: &Transcript, id: CallId, at: At) {
        let Some(call) = transcript.tool_call_by_id(id) else {
            return;
        };
        let is_open = matches!(
            call.state(),
            CallState::Pending | CallState::AwaitingPermission | CallState::Running
        );
        if !is_open {
            let thread = call.thread().call().map(|call| call.id().to_owned());
            self.asked.insert(thread, (at.ms, at.to));
        }
    }

    fn permission(&mut self, transcript: &Transcript, id: PermissionId, at: At) {
        let mut all = transcript.permissions();
        let Some(permission) = all.find(|it| it.permission_id() == id) else {
            return;
        };
        if !matches!(permission.state(), PermissionState::Open) {
            self.decided.entry(id).or_insert((at.ms, at.to));
        }
    }

    /// Returns the spans as they are now.
    pub(super) fn timeline(&self, transcript: &Transcript) -> Timeline {
        let decided = |id: PermissionId| self.decided.get(&id).copied();
        Timeline::of(transcript, decided)
            .with_turns(&self.turns)
            .with_model_calls(&self.model_calls)
            .with_context(&self.context, &self.compactions)
    }
}
