//! The part of a transcript's state that the chat shows below it.

use bowline_lifecycle::Capability;
use bowline_reducer::model::QueuedState;
use bowline_reducer::{Phase, Transcript};

use super::super::area::AreaContent;
use super::super::queue::QueuedPrompt;
use super::ChatView;
use crate::failure::Failure;
use crate::style::Paint;
use crate::text::{one_line, text_width};

/// Lines of a running tool's output that are shown.
const LIVE_LINES: usize = 3;

/// Summary of a transcript for the area below it.
#[derive(Debug, Default)]
pub(super) struct ChatState {
    pub(super) has_open_turn: bool,
    /// Number of background tasks that are running.
    pub(super) tasks: usize,
    is_starting: bool,
    /// Ids of the open permission requests.
    pub(super) permissions: Vec<String>,
    pub(super) conversation: Option<String>,
    /// The prompts that have no turn yet.
    pub(super) queue: Vec<QueuedPrompt>,
    /// Names of the agent's commands.
    pub(super) commands: Vec<String>,
    model: Option<String>,
    mode: Option<String>,
    cost_usd: f64,
    /// Used and available tokens of the context.
    context: Option<(u64, u64)>,
}

impl ChatState {
    pub(super) fn of(transcript: &Transcript) -> Self {
        let session = transcript.session();
        let option = |id: &str| {
            let option = session.options().iter().find(|it| it.id == id)?;
            option.value.clone()
        };
        let status = transcript.status();
        Self {
            has_open_turn: transcript.has_open_turn(),
            tasks: transcript.tasks().filter(|it| it.state().is_open()).count(),
            is_starting: status.phase == Phase::Starting,
            permissions: transcript
                .pending_permissions()
                .map(|it| it.request_id().to_owned())
                .collect(),
            conversation: session.id().map(str::to_owned),
            queue: session
                .queue()
                .map(|it| QueuedPrompt {
                    id: it.id.clone(),
                    text: it.text.clone(),
                    is_waiting: it.state == QueuedState::Waiting,
                })
                .collect(),
            commands: session
                .commands()
                .iter()
                .map(|it| it.name.clone())
                .collect(),
            model: session
                .model()
                .map(str::to_owned)
                .or_else(|| option("model")),
            mode: session
                .permission_mode()
                .map(str::to_owned)
                .or_else(|| option("mode")),
            cost_usd: transcript.usage().cost_usd(),
            context: session.context_used().zip(session.context_size()),
        }
    }

    /// Whether the agent is working.
    pub(super) const fn is_working(&self) -> bool {
        self.has_open_turn || self.tasks > 0
    }
}

impl ChatView<'_> {
    /// Prints pending text, and draws the area below it.
    pub(super) fn draw(&mut self) -> Result<(), Failure> {
        let text = std::mem::take(&mut self.unprinted);
        let width = self.screen.columns().saturating_sub(1);
        let mut lines = self.activity_lines(width);
        lines.extend(self.waiting_lines(width));
        let mut content = AreaContent {
            footer: self.footer(),
            mark: (Paint::Bold, "> "),
            prompt: self.editor.line(),
            ..AreaContent::default()
        };
        if let Some(answer) = &self.answer {
            lines.extend(wrapped(&format!("? {}", answer.choices()), width));
            (content.mark, content.prompt) = match answer.typed() {
                Some((editor, mark)) => ((Paint::Ask, mark), editor.line()),
                None => ((Paint::Ask, "? "), ("", 0)),
            };
        } else if let Some(search) = self.editor.search() {
            lines.push((Paint::Dim, format!("search: {search}")));
        }
        content.lines = lines;
        self.screen.draw(&text, &content)
    }

    /// The agent's activity, and the last output of a tool.
    fn activity_lines(&mut self, width: usize) -> Vec<(Paint, String)> {
        let spinner = self.screen.spinner();
        let mut lines = Vec::new();
        if self.is_ending {
            lines.push((Paint::Dim, format!("{spinner} ending the session")));
        } else if self.state.has_open_turn
            && self.answer.is_none()
            && let Some(renderer) = self.printer.renderer()
        {
            let output = renderer.live_output(LIVE_LINES);
            lines.extend(output.into_iter().map(|it| (Paint::Dim, format!("  {it}"))));
            let activity = renderer.activity(width.saturating_sub(2));
            lines.push((Paint::Dim, format!("{spinner} {activity}")));
        } else if self.state.tasks > 0 && self.answer.is_none() {
            let tasks = self.state.tasks;
            let plural = if tasks == 1 { "" } else { "s" };
            lines.push((
                Paint::Dim,
                format!("{spinner} {tasks} background task{plural}"),
            ));
        } else if self.state.is_starting && !self.prompts.is_empty() {
            lines.push((Paint::Dim, format!("{spinner} starting the agent")));
        }
        lines
    }

    /// The prompts that wait, and the candidates of a completion.
    fn waiting_lines(&self, width: usize) -> Vec<(Paint, String)> {
        let label = if !self.state.has_open_turn {
            "sent"
        } else if self.chat.supported.has(Capability::Steer) {
            "steers this turn"
        } else {
            "queued"
        };
        let queue = &self.state.queue;
        let sent = self.prompts.iter();
        let sent = sent.filter(|(id, _)| queue.iter().all(|it| it.id != *id));
        let sent = sent.map(|(_, text)| (label.to_owned(), text));
        let queued = queue.iter().map(|prompt| {
            let number = self.queue_numbers.of(&prompt.id);
            let label = match number.filter(|_| prompt.is_waiting) {
                Some(number) => format!("queued {number}"),
                None => label.to_owned(),
            };
            (label, &prompt.text)
        });
        let line = |(label, text): (String, &String)| {
            let room = width.saturating_sub(text_width(&label) + 4);
            (Paint::Dim, format!("… {label}: {}", one_line(text, room)))
        };
        let mut lines: Vec<_> = sent.chain(queued).map(line).collect();
        if !self.candidates.is_empty() {
            lines.extend(
                wrapped(&self.candidates.join("  "), width)
                    .into_iter()
                    .map(|(_, it)| (Paint::Dim, it)),
            );
        }
        lines
    }

    fn footer(&self) -> String {
        let state = &self.state;
        let mut parts = vec![self.chat.agent.clone()];
        parts.extend(state.model.clone());
        let mode = state.mode.as_deref().filter(|it| *it != "default");
        parts.extend(mode.map(|mode| format!("mode {mode}")));
        if state.cost_usd > 0.0 {
            parts.push(format!("${:.4}", state.cost_usd));
        }
        if let Some((used, size)) = state.context.filter(|(_, size)| *size > 0) {
            parts.push(format!("{} % of context", used * 100 / size));
        }
        parts.push(self.chat.place());
        parts.join(" · ")
    }
}

/// Wraps a line between words.
fn wrapped(text: &str, width: usize) -> Vec<(Paint, String)> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if text_width(line) + 1 + text_width(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.into_iter().map(|it| (Paint::Ask, it)).collect()
}
