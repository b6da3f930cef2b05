//! Carries out the commands of the chat.

use std::path::{Path, PathBuf};

use bowline_history::Query;
use bowline_lifecycle::Priority;
use bowline_reducer::{Schema, Transcript};

use super::super::command::{ChatCommand, help};
use super::super::outbox::Outgoing;
use super::super::queue::{QueueCommand, USAGE};
use super::{ChatView, Leaving, report};
use crate::history::history;
use crate::table::{age, now_ms};
use crate::text::{escape_json, one_line};

/// Past conversations that are listed.
const LISTED: usize = 10;

impl ChatView<'_> {
    pub(super) async fn on_command(&mut self, command: ChatCommand, arguments: &str) {
        self.chat.update_capabilities().await;
        if let Some(refusal) = command.refusal(&self.chat.supported) {
            return self.note(&refusal);
        }
        match command {
            ChatCommand::Help => {
                let text = help(&self.chat.supported, &self.state.commands);
                self.print_block(&text);
            }
            ChatCommand::Model => self.on_option("model", arguments).await,
            ChatCommand::Mode => self.on_option("mode", arguments).await,
            ChatCommand::Resume if arguments.is_empty() => self.list_conversations(),
            ChatCommand::Resume => self.switch(arguments.to_owned(), false),
            ChatCommand::Fork => self.fork(),
            ChatCommand::Queue => self.on_queue(arguments).await,
            ChatCommand::Usage => self.print_report(report::usage).await,
            ChatCommand::Inspect => self.print_report(report::counts).await,
            ChatCommand::Export => self.export(arguments).await,
            ChatCommand::Detach => self.detach(),
            ChatCommand::End => self.leaving = Some(Leaving::End),
        }
    }

    async fn print_report(&mut self, read: fn(&Transcript) -> String) {
        let text = self.chat.session.inspect(read).await;
        self.print_block(&text);
    }

    /// Sets an option, or lists its values.
    async fn on_option(&mut self, option: &'static str, value: &str) {
        if !value.is_empty() {
            return self.send(Outgoing::Option(option, value.to_owned()));
        }
        let read = move |transcript: &Transcript| report::option(transcript, option);
        let text = self.chat.session.inspect(read).await;
        self.print_block(&text);
    }

    /// Lists the prompts that wait, or changes one.
    async fn on_queue(&mut self, arguments: &str) {
        match QueueCommand::read(arguments) {
            None => self.note(USAGE),
            Some(QueueCommand::Add(text)) => {
                self.enter_prompt(text, Some(Priority::Later)).await;
            }
            Some(QueueCommand::List) if self.state.queue.is_empty() => {
                self.note("no prompts wait; /queue add TEXT queues one");
            }
            Some(QueueCommand::List) => {
                let list = self.queue_numbers.list(&self.state.queue);
                self.print_block(&list);
            }
            Some(change) => match self.queue_numbers.edit(&change, &self.state.queue) {
                Ok(Some((edit, done))) => self.send(Outgoing::Queue(edit, done)),
                Ok(None) => {}
                Err(refusal) => self.note(&format!("/queue: {refusal}")),
            },
        }
    }

    fn detach(&mut self) {
        if self.chat.is_remote() {
            self.leaving = Some(Leaving::Detach);
        } else {
            self.note(
                "/detach: this session runs in this program; start it without --no-runner to leave it running",
            );
        }
    }

    fn fork(&mut self) {
        match self.state.conversation.clone() {
            Some(id) => self.switch(id, true),
            None => self.note("/fork: the agent has not opened a conversation yet"),
        }
    }

    fn switch(&mut self, conversation: String, fork: bool) {
        if !self.chat.can_switch {
            let id = one_line(&conversation, 60);
            return self.note(&format!(
                "this session was started elsewhere; use `bowline chat --resume {id}` in another terminal"
            ));
        }
        self.leaving = Some(Leaving::Switch { conversation, fork });
    }

    fn list_conversations(&mut self) {
        let query = Query {
            cwd: Some(self.cwd.clone()),
            limit: Some(LISTED),
            ..Query::default()
        };
        let listing = match history().list(&query) {
            Ok(listing) => listing,
            Err(error) => return self.note(&format!("/resume: {error}")),
        };
        let now = now_ms();
        let lines = listing.conversations.iter().map(|it| {
            let seconds = now.saturating_sub(it.last_activity_ms) / 1000;
            let title = one_line(it.title.as_deref().unwrap_or("-"), 60);
            format!("  {}  {:>4}  {title}\n", one_line(&it.id, 40), age(seconds))
        });
        let lines: String = lines.collect();
        if lines.is_empty() {
            return self.note("no past conversations in this folder; `bowline history` lists all");
        }
        self.print_block(&format!("{lines}  /resume ID continues one\n"));
    }

    async fn export(&mut self, path: &str) {
        let path = if path.is_empty() {
            let id = self.chat.session.id().to_string();
            PathBuf::from(format!("bowline-{}.json", id.get(..8).unwrap_or_default()))
        } else {
            PathBuf::from(path)
        };
        let read =
            |transcript: &Transcript| serde_json::to_string_pretty(&transcript.json(Schema::Two));
        let document = self.chat.session.inspect(read).await;
        let document = document.map_err(std::io::Error::from);
        let path = self.cwd.join(path);
        let written = document.and_then(|it| write_new(&path, &(escape_json(it) + "\n")));
        let name = path.display();
        self.note(&match written {
            Ok(()) => format!("wrote {name}"),
            Err(error) => format!("/export: cannot write {name}: {error}; name another file"),
        });
    }
}

fn write_new(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    let mut file = std::fs::File::create_new(path)?;
    file.write_all(text.as_bytes())
}
