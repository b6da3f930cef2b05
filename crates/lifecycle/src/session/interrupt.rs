//! How much an interrupt stops.

use bowline_jsonl::HostRequest;
use serde::Deserialize;

use super::DialogueSession;
use crate::error::DialogueError;
use crate::machine::{Command, Reply};

/// How much an interrupt stops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum InterruptScope {
    /// The running turn. Prompts that wait run right after it.
    #[default]
    Turn,
    /// The running turn and the prompts that wait.
    TurnAndQueued,
    /// The running turn, and the background tasks that are open then.
    TurnAndTasks,
    /// The running turn, the prompts that wait, and the background tasks that are open then.
    All,
    /// One task, by its `task_id`. The turn goes on.
    Task(String),
}

/// What an interrupt has stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interrupted {
    /// Prompts that wait still, by uuid.
    pub still_queued: Vec<String>,
    /// Prompts that were given up, by uuid.
    pub cancelled: Vec<String>,
    /// Tasks that were asked to end, by id.
    pub tasks: Vec<String>,
}

/// The agent's receipt (protocol, section B.4).
#[derive(Default, Deserialize)]
#[serde(default)]
struct Receipt {
    still_queued: Vec<String>,
    cancelled: Vec<String>,
}

impl DialogueSession {
    /// Stops as much as `scope` says. The turn's result comes later, and belongs to the prompts
    /// that it names, whatever was sent since.
    ///
    /// # Errors
    ///
    /// The session has ended, or the agent refused or did not answer.
    pub async fn interrupt_scope(
        &self,
        scope: InterruptScope,
    ) -> Result<Interrupted, DialogueError> {
        match scope {
            InterruptScope::Turn => self.stop_turn(false).await,
            InterruptScope::TurnAndQueued => self.stop_turn_and_queued().await,
            InterruptScope::TurnAndTasks => {
                let mut stopped = self.stop_turn(false).await?;
                stopped.tasks = self.stop_tasks().await?;
                Ok(stopped)
            }
            InterruptScope::All => {
                let mut stopped = self.stop_turn_and_queued().await?;
                stopped.tasks = self.stop_tasks().await?;
                Ok(stopped)
            }
            InterruptScope::Task(task) => Ok(Interrupted {
                tasks: vec![self.stop_task(task).await?],
                ..Interrupted::default()
            }),
        }
    }

    async fn stop_turn(&self, cancel_queued: bool) -> Result<Interrupted, DialogueError> {
        let answer = self.interrupt(cancel_queued).await?;
        // An agent that says nothing about its queue is believed to have none.
        let receipt: Receipt = serde_json::from_str(&answer).unwrap_or_default();
        Ok(Interrupted {
            still_queued: receipt.still_queued,
            cancelled: receipt.cancelled,
            tasks: Vec::new(),
        })
    }

    async fn stop_turn_and_queued(&self) -> Result<Interrupted, DialogueError> {
        let held = self.give_up_held().await?;
        let mut stopped = self.stop_turn(true).await?;
        stopped.cancelled.extend(held);
        Ok(stopped)
    }

    async fn stop_tasks(&self) -> Result<Vec<String>, DialogueError> {
        let mut stopped = Vec::new();
        for task in self.open_tasks().await {
            stopped.push(self.stop_task(task).await?);
        }
        Ok(stopped)
    }

    /// Gives up the prompts that a pause has kept back.
    async fn give_up_held(&self) -> Result<Vec<String>, DialogueError> {
        match self.command(Command::CancelHeld).await? {
            Reply::Answer(uuids) => Ok(serde_json::from_str(&uuids).unwrap_or_default()),
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

    /// A task that has ended meanwhile is no error to the agent.
    async fn stop_task(&self, task: String) -> Result<String, DialogueError> {
        let request = HostRequest::StopTask {
            task_id: task.clone(),
        };
        self.request(request).await.map(|_| task)
    }
}
