//! Approvals and questions of Codex, and their answers.

use bowline_jsonl::Str;
use bowline_jsonl::codex::write::{self, ApprovalDecision};
use bowline_jsonl::codex::{Approval, Questions};
use bowline_jsonl::rpc::Id;

use super::{Codex, refuse};
use crate::machine::protocol::Link;
use crate::machine::protocol::asked::{Choice, RequestDetail};
use crate::permission::PermissionRecord;

/// What an approval is about, as far as the answer depends on it.
#[derive(Clone, Debug)]
pub(super) enum Approved {
    /// A command or a change of files, and the rule that Codex proposes: a JSON array.
    Action { rule: Option<String> },
    /// Permissions, a JSON object.
    Permissions(String),
    /// Questions.
    Questions,
}

impl Codex {
    pub(super) fn approval(
        &mut self,
        id: Id<'_>,
        method: Str<'_>,
        approval: &Approval<'_>,
        link: &mut Link<'_>,
    ) {
        let approved = match &*method.decode() {
            "item/permissions/requestApproval" => {
                let permissions = approval.permissions.map_or("{}", |it| it.text());
                Approved::Permissions(permissions.to_owned())
            }
            "item/commandExecution/requestApproval" | "item/fileChange/requestApproval" => {
                let rule = approval.proposed_amendment.map(|it| it.text().to_owned());
                Approved::Action { rule }
            }
            // Requests of Codex' earlier protocol, which this host did not begin.
            _ => return refuse(id, method, link),
        };
        self.ask(id, approved, link);
    }

    pub(super) fn questions(&mut self, id: Id<'_>, _asked: &Questions<'_>, link: &mut Link<'_>) {
        self.ask(id, Approved::Questions, link);
    }

    fn ask(&mut self, id: Id<'_>, approved: Approved, link: &mut Link<'_>) {
        let instead = self.opening.rejection();
        self.asked.ask(id, approved, instead, link);
    }
}

impl RequestDetail for Approved {
    fn encode(&self, id: Id<'_>, choice: Choice<'_>, record: &PermissionRecord) -> Vec<u8> {
        let option = match choice {
            Choice::Option(option) => &*option.id,
            Choice::Accept => "accept",
            Choice::Answers(_) | Choice::Reject | Choice::Cancel => "cancel",
        };
        match self {
            Self::Questions => answers(id, choice, record),
            Self::Permissions(permissions) => match option {
                "accept" => write::grant_permissions(id, permissions, false),
                "acceptForSession" => write::grant_permissions(id, permissions, true),
                _ => write::grant_permissions(id, "{}", false),
            },
            Self::Action { rule } => write::approval(id, decision(option, rule.as_deref())),
        }
    }
}

fn decision<'a>(option: &str, rule: Option<&'a str>) -> ApprovalDecision<'a> {
    match (option, rule) {
        ("accept", _) => ApprovalDecision::Accept,
        ("acceptForSession", _) => ApprovalDecision::AcceptForSession,
        ("acceptWithExecpolicyAmendment", Some(rule)) => ApprovalDecision::AcceptWithRule(rule),
        ("decline", _) => ApprovalDecision::Decline,
        _ => ApprovalDecision::Cancel,
    }
}

/// Encodes the answers to questions, which are given by a question's id or its text. Questions that
/// are not answered get no answer.
fn answers(id: Id<'_>, choice: Choice<'_>, record: &PermissionRecord) -> Vec<u8> {
    let given = match choice {
        Choice::Answers(given) => given,
        _ => &[],
    };
    let answer_of = |question: &str, text: &str| {
        let is_it = |(key, _): &&(String, String)| key == question || key == text;
        given.iter().find(is_it).map(|(_, answer)| answer.as_str())
    };
    let questions = record.questions().iter();
    let chosen: Vec<_> = questions
        .map(|it| (it.id.as_str(), answer_of(&it.id, &it.question)))
        .map(|(question, answer)| (question, Vec::from_iter(answer)))
        .collect();
    let chosen: Vec<_> = chosen.iter().map(|(id, it)| (*id, it.as_slice())).collect();
    write::answers(id, &chosen)
}
