//! Dialogues of a manager, and conversations that are resumed.

use std::path::Path;

use bowline_lifecycle::{
    Budget, Conversation, DialogueConfiguration, DialogueSession, PermissionAnswer,
    PermissionRecord, ReceiptState,
};
use bowline_manager::{
    EndReason, ManagerConfiguration, ManagerError, PromptOutcome, SessionInfo, SessionManager,
};
use bowline_shell::{ManagedId, SessionState};

use crate::support::{command, within};

struct Rig {
    folder: tempfile::TempDir,
    manager: SessionManager,
}

impl Rig {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["agent", "work", "elsewhere"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let manager = open(folder.path(), "state");
        Self { folder, manager }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn agent(&self, mode: &str) -> DialogueConfiguration {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/manager/agent.pl");
        let mut configuration = DialogueConfiguration {
            program: "perl".into(),
            leading_args: vec![script.into(), mode.into()],
            cwd: Some(self.path("work")),
            ..DialogueConfiguration::default()
        };
        configuration
            .env
            .set("CLAUDE_CONFIG_DIR", self.path("agent"));
        configuration
    }

    fn resuming(&self, id: &str, cwd: &str, fork: bool) -> DialogueConfiguration {
        DialogueConfiguration {
            cwd: Some(self.path(cwd)),
            conversation: Conversation::Resume {
                id: id.into(),
                fork,
            },
            ..self.agent("honest")
        }
    }

    /// Creates a dialogue and completes one turn.
    async fn dialogue(&self) -> SessionInfo {
        let info = self
            .manager
            .create_dialogue(self.agent("honest"), "dialogue")
            .await
            .unwrap();
        prompt(&self.manager, info.id).await;
        self.with_conversation(info.id).await
    }

    async fn with_conversation(&self, id: ManagedId) -> SessionInfo {
        until(&self.manager, id, |info| !info.conversations.is_empty()).await
    }

    async fn end(&self, id: ManagedId) -> SessionInfo {
        within(self.manager.dialogue(id).unwrap().end()).await;
        until(&self.manager, id, |info| info.end.is_some()).await
    }
}

fn open(folder: &Path, state: &str) -> SessionManager {
    let configuration = ManagerConfiguration {
        lease_directory: Some(folder.join("leases")),
        agent_directory: Some(folder.join("agent")),
        ..ManagerConfiguration::new(folder.join(state))
    };
    SessionManager::open(configuration).unwrap()
}

async fn prompt(manager: &SessionManager, id: ManagedId) {
    let outcome = within(manager.send_prompt(id, "hello")).await.unwrap();
    let PromptOutcome::Dialogue(mut receipt) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(within(receipt.settled()).await, ReceiptState::Answered);
}

async fn until(
    manager: &SessionManager,
    id: ManagedId,
    done: impl Fn(&SessionInfo) -> bool,
) -> SessionInfo {
    let mut events = manager.subscribe();
    within(async {
        loop {
            let info = manager.get(id).unwrap();
            if done(&info) {
                return info;
            }
            tokio::select! {
                _ = events.next() => {}
                () = tokio::task::yield_now() => {}
            }
        }
    })
    .await
}

fn code<T: std::fmt::Debug>(result: Result<T, ManagerError>) -> &'static str {
    result.unwrap_err().code()
}

#[tokio::test]
async fn dialogue_is_listed_and_ended_like_a_shell() {
    let rig = Rig::new();
    let dialogue = rig.dialogue().await;
    assert_eq!(dialogue.cwd, rig.path("work").canonicalize().unwrap());
    until(&rig.manager, dialogue.id, |info| {
        info.state == SessionState::Idle
    })
    .await;
    let shell = rig
        .manager
        .create_shell(command(rig.folder.path(), "cat", &[]), "")
        .await
        .unwrap();
    assert_eq!(code(rig.manager.shell(dialogue.id)), "WRONG_KIND");
    assert_eq!(code(rig.manager.dialogue(shell.id)), "WRONG_KIND");
    assert_eq!(rig.manager.list().len(), 2);
    let report = within(rig.manager.end_all()).await;
    assert_eq!(report.sessions.len(), 2);
    assert!(rig.manager.list().iter().all(|info| info.end.is_some()));
}

#[tokio::test]
async fn next_host_resumes_conversation_under_same_id() {
    let mut rig = Rig::new();
    let dialogue = rig.dialogue().await;
    assert_eq!(
        code(rig.manager.resume(dialogue.id, rig.agent("honest")).await),
        "NOT_RESUMABLE"
    );
    within(rig.manager.end_all()).await;
    // The first host releases its list before the next one opens it.
    rig.manager = open(rig.folder.path(), "other");
    rig.manager = open(rig.folder.path(), "state");
    let known = rig.manager.get(dialogue.id).unwrap();
    assert!(known.is_resumable());
    assert_eq!(known.conversations, dialogue.conversations);
    let resumed = rig
        .manager
        .resume(dialogue.id, rig.agent("honest"))
        .await
        .unwrap();
    assert_eq!(
        (resumed.id, resumed.end, resumed.created_at),
        (dialogue.id, None, dialogue.created_at)
    );
    prompt(&rig.manager, dialogue.id).await;
    let ended = rig.end(dialogue.id).await;
    assert_eq!(ended.conversations, dialogue.conversations);
    assert_eq!(ended.end.unwrap().reason, EndReason::Exited);
    let files = std::fs::read_dir(rig.path("agent/projects"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    assert_eq!(
        std::fs::read_dir(files).unwrap().count(),
        1,
        "one conversation, resumed"
    );
}

#[tokio::test]
async fn refused_resume_starts_nothing() {
    let rig = Rig::new();
    let dialogue = rig.dialogue().await;
    let id = dialogue.conversations[0].clone();
    let create = async |configuration| rig.manager.create_dialogue(configuration, "").await;
    assert_eq!(
        code(create(rig.resuming(&id, "work", false)).await),
        "CONVERSATION_IN_USE"
    );
    rig.end(dialogue.id).await;
    assert_eq!(
        code(create(rig.resuming(&id, "elsewhere", false)).await),
        "WRONG_DIRECTORY"
    );
    assert_eq!(
        code(create(rig.resuming("no-such-one", "work", false)).await),
        "CONVERSATION_NOT_FOUND"
    );
    assert_eq!(
        code(create(rig.resuming("../../etc", "work", false)).await),
        "INVALID_CONVERSATION"
    );
    assert_eq!(
        code(create(rig.resuming(&id, "missing", false)).await),
        "BAD_WORKING_DIRECTORY"
    );
    let taken = DialogueConfiguration {
        conversation: Conversation::NewAs(id.clone()),
        ..rig.agent("honest")
    };
    assert_eq!(code(create(taken).await), "CONVERSATION_EXISTS");
    let nothing = DialogueConfiguration {
        conversation: Conversation::Continue,
        ..rig.resuming(&id, "elsewhere", false)
    };
    assert_eq!(code(create(nothing).await), "NOTHING_TO_CONTINUE");
    assert_eq!(rig.manager.list().len(), 1);
    let file = std::fs::read_dir(rig.path("agent/projects"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path()
        .join(format!("{id}.jsonl"));
    std::fs::remove_file(file).unwrap();
    assert_eq!(
        code(rig.manager.resume(dialogue.id, rig.agent("honest")).await),
        "CONVERSATION_NOT_FOUND"
    );
    assert_eq!(std::fs::read_dir(rig.path("leases")).unwrap().count(), 0);
}

#[tokio::test]
async fn conversation_has_one_host_at_a_time() {
    let rig = Rig::new();
    let dialogue = rig.dialogue().await;
    let other = open(rig.folder.path(), "other");
    let id = &dialogue.conversations[0];
    let error = other
        .create_dialogue(rig.resuming(id, "work", false), "")
        .await
        .unwrap_err();
    assert_eq!(error.code(), "CONVERSATION_IN_USE");
    assert!(
        error.to_string().contains(&dialogue.id.to_string()),
        "{error}"
    );
    // A fork writes a conversation of its own.
    let fork = other
        .create_dialogue(rig.resuming(id, "work", true), "")
        .await
        .unwrap();
    within(other.kill(fork.id)).await.unwrap();
    rig.end(dialogue.id).await;
    let taken = other
        .create_dialogue(rig.resuming(id, "work", false), "")
        .await
        .unwrap();
    within(other.kill(taken.id)).await.unwrap();
}

#[tokio::test]
async fn agent_that_does_not_resume_is_terminated() {
    let rig = Rig::new();
    let dialogue = rig.dialogue().await;
    rig.end(dialogue.id).await;
    let resumed = rig
        .manager
        .resume(dialogue.id, rig.agent("foreign"))
        .await
        .unwrap();
    within(rig.manager.send_prompt(resumed.id, "hello"))
        .await
        .unwrap();
    let info = until(&rig.manager, dialogue.id, |info| info.end.is_some()).await;
    let EndReason::NotResumed(why) = info.end.unwrap().reason else {
        panic!("it was not resumed");
    };
    assert!(
        why.contains(&dialogue.conversations[0]) && why.contains("foreign-"),
        "{why}"
    );
    assert_eq!(info.conversations, dialogue.conversations);
}

async fn open_request(session: &DialogueSession) -> PermissionRecord {
    loop {
        let revision = session.revision();
        if let Some(request) = session.permissions().open().next() {
            return PermissionRecord::clone(request);
        }
        within(session.changed_since(revision)).await;
    }
}

#[tokio::test]
async fn budget_of_all_sessions_pauses_each_until_one_is_answered() {
    let rig = Rig::new();
    let budget = |turns| Budget {
        turns: Some(turns),
        ..Budget::default()
    };
    rig.manager.budget().set_budget(budget(2)).unwrap();
    let [one, two] = [rig.dialogue().await.id, rig.dialogue().await.id]
        .map(|id| rig.manager.dialogue(id).unwrap());
    let asked = open_request(&one).await;
    assert_eq!(asked.tool_name, "budget");
    open_request(&two).await;
    assert_eq!(rig.manager.budget().usage().turns, 2);
    // A session that begins at the limit asks before its first turn.
    let third = rig.manager.create_dialogue(rig.agent("honest"), "third");
    let third = rig.manager.dialogue(third.await.unwrap().id).unwrap();
    let mut held = third.send("later").await.unwrap();
    open_request(&third).await;
    let raise = PermissionAnswer::Answers(vec![("budget".to_owned(), "3".to_owned())]);
    one.answer_permission(&asked.request_id, raise)
        .await
        .unwrap();
    assert_eq!(within(held.settled()).await, ReceiptState::Answered);
    assert_eq!(rig.manager.budget().budget(), budget(3));
    // The turn of the third one is the last of the raised budget: all ask again, and one is ended.
    let last = open_request(&third).await;
    let stop = PermissionAnswer::Option("stop".to_owned());
    third
        .answer_permission(&last.request_id, stop)
        .await
        .unwrap();
    assert!(within(third.ended()).await.expected);
    open_request(&two).await;
    // The host continues by itself.
    rig.manager.budget().set_budget(Budget::default()).unwrap();
    prompt(&rig.manager, rig.manager.list()[1].id).await;
    assert_eq!(two.permissions().open().count(), 0);
    assert_eq!(rig.manager.budget().usage().turns, 4);
    assert!(rig.manager.budget().set_budget(budget(0)).is_err());
    rig.manager.end_all().await;
}
