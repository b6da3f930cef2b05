//! Interrupting an agent's work.

use bowline_jsonl::HostRequest;
use bowline_reducer::{TaskState, Transcript};
use serde::Deserialize;

use super::handle::DialogueSession;
use crate::error::DialogueError;
use crate::machine::{Command, Reply};

/// How much an interrupt stops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum InterruptScope {
    /// The running turn. Queued prompts run after it.
    #[default]
    Turn,
    /// The running turn and the queued prompts.
    TurnAndQueued,
    /// The running turn and the open background tasks.
    TurnAndTasks,
    /// The running turn, the queued prompts and the open background tasks.
    All,
    /// One task, by its `task_id`. The turn continues.
    Task(String),
}

/// What an interrupt stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InterruptReport {
    /// Uuids of prompts that are still queued.
    pub still_queued: Vec<String>,
    /// Uuids of prompts that were cancelled.
    pub cancelled: Vec<String>,
    /// Ids of tasks that ended with the turn, or were asked to stop.
    pub tasks: Vec<String>,
}

/// The agent's response to an interrupt (`crates/jsonl/PROTOCOL.md`).
#[derive(Default, Deserialize)]
#[serde(default)]
struct InterruptResponse {
    still_queued: Vec<String>,
    cancelled: Vec<String>,
}

impl DialogueSession {
    /// Interrupts the running turn. Queued prompts run after it, unless `cancel_queued` is set.
    /// Returns the agent's response, a JSON object.
    ///
    /// The result of the turn arrives later, as a change.
    ///
    /// # Errors
    ///
    /// The session has ended, or the agent refused or did not answer.
    pub async fn interrupt(&self, cancel_queued: bool) -> Result<String, DialogueError> {
        self.request(HostRequest::Interrupt { cancel_queued }).await
    }

    /// Interrupts what `scope` includes. The result of the turn arrives later, and names the prompts
    /// that it belongs to.
    ///
    /// # Errors
    ///
    /// The session has ended, or the agent refused or did not answer.
    pub async fn interrupt_scope(
        &self,
        scope: InterruptScope,
    ) -> Result<InterruptReport, DialogueError> {
        match scope {
            InterruptScope::Turn => self.stop_turn(false).await,
            InterruptScope::TurnAndQueued => self.stop_turn_and_queued().await,
            InterruptScope::TurnAndTasks => {
                let open = self.open_tasks().await;
                let mut stopped = self.stop_turn(false).await?;
                stopped.tasks = self.stop_tasks(open).await?;
                Ok(stopped)
            }
            InterruptScope::All => {
                let open = self.open_tasks().await;
                let mut stopped = self.stop_turn_and_queued().await?;
                stopped.tasks = self.stop_tasks(open).await?;
                Ok(stopped)
            }
            InterruptScope::Task(task) => Ok(InterruptReport {
                tasks: vec![self.stop_task(task).await?],
                ..InterruptReport::default()
            }),
        }
    }

    async fn stop_turn(&self, cancel_queued: bool) -> Result<InterruptReport, DialogueError> {
        let response = self.interrupt(cancel_queued).await?;
        // An agent whose response lacks the queue has none.
        let response: InterruptResponse = serde_json::from_str(&response).unwrap_or_default();
        Ok(InterruptReport {
            still_queued: response.still_queued,
            cancelled: response.cancelled,
            tasks: Vec::new(),
        })
    }

    async fn stop_turn_and_queued(&self) -> Result<InterruptReport, DialogueError> {
        let cancelled = self.cancel_queued().await?;
        let mut stopped = self.stop_turn(true).await?;
        stopped.cancelled.extend(cancelled);
        Ok(stopped)
    }

    /// Stops the open tasks. Of `before`, those that were open before the turn was stopped, returns also the ones
    /// that have ended with it: an agent may stop its sub-agents itself.
    async fn stop_tasks(&self, before: Vec<String>) -> Result<Vec<String>, DialogueError> {
        let with_turn = move |transcript: &Transcript| {
            let killed = transcript
                .tasks()
                .filter(|task| matches!(task.state(), TaskState::Killed | TaskState::Lost))
                .map(|task| task.id().to_owned());
            killed.filter(|id| before.contains(id)).collect()
        };
        let mut stopped: Vec<String> = self.inspect(with_turn).await;
        for task in self.open_tasks().await {
            stopped.push(self.stop_task(task).await?);
        }
        Ok(stopped)
    }

    /// Cancels the prompts that a pause has queued, and returns their uuids.
    async fn cancel_queued(&self) -> Result<Vec<String>, DialogueError> {
        match self.command(Command::CancelQueued).await? {
            Reply::Response(uuids) => Ok(serde_json::from_str(&uuids).unwrap_or_default()),
            Reply::Done => Ok(Vec::new()),
        }
    }

    async fn open_tasks(&self) -> Vec<String> {
        self.inspect(|transcript| {
            let open = transcript.tasks().filter(|task| task.state().is_open());
            open.map(|task| task.id().to_owned()).collect()
        })
        .await
    }

    /// Stops a task. The agent accepts the request for a task that has ended meanwhile.
    async fn stop_task(&self, task: String) -> Result<String, DialogueError> {
        let request = HostRequest::StopTask {
            task_id: task.clone(),
        };
        self.request(request).await.map(|_| task)
    }
}
