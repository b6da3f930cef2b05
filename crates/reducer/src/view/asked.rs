//! What a request asks: as its dialect says, else by Claude Code's request
//! (`crates/jsonl/PROTOCOL.md`, Permissions).

use std::borrow::Cow;

use bowline_jsonl::{RawJson, Str};

use crate::model::{
    AnswerKind, Question, QuestionKind, QuestionOption, RequestKind, RequestOption,
};

/// What a request asks. See [`Permission::asked`](crate::Permission::asked).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Asked<'a> {
    /// What it asks for.
    pub kind: RequestKind,
    /// The answers to choose from.
    pub options: Cow<'a, [RequestOption]>,
    /// The questions to answer.
    pub questions: Cow<'a, [Question]>,
    /// The URL to open.
    pub url: Option<&'a str>,
    /// The rule that a lasting answer would add, as the agent writes it.
    pub rule: Option<Cow<'a, str>>,
}

/// Returns what a `can_use_tool` request of Claude Code or Qwen Code asks.
pub(super) fn of_request(request: RawJson<'_>) -> Asked<'static> {
    let is_question = text(request, "tool_name").as_deref() == Some("AskUserQuestion");
    if is_question {
        let questions = request.get("input").and_then(|it| it.get("questions"));
        let questions = questions.into_iter().flat_map(RawJson::elements);
        return Asked {
            kind: RequestKind::Question,
            questions: questions.map(question).collect::<Vec<_>>().into(),
            ..Asked::default()
        };
    }
    let rule = rule(request);
    let lasting = rule.is_some().then(|| option(AnswerKind::AllowAlways));
    let once = option(AnswerKind::AllowOnce);
    let options = [once].into_iter().chain(lasting);
    Asked {
        options: options
            .chain([option(AnswerKind::RejectOnce)])
            .collect::<Vec<_>>()
            .into(),
        rule: rule.map(Cow::Owned),
        ..Asked::default()
    }
}

/// The agent gives its options no ids; a host answers with a behaviour.
fn option(kind: AnswerKind) -> RequestOption {
    let (id, name) = match kind {
        AnswerKind::AllowOnce => ("allow", "Allow"),
        AnswerKind::AllowAlways => ("allow_always", "Always allow"),
        AnswerKind::RejectOnce => ("deny", "Deny"),
        AnswerKind::RejectAlways => ("deny_always", "Always deny"),
    };
    RequestOption {
        id: id.to_owned(),
        name: name.to_owned(),
        kind,
    }
}

/// The suggested permission rules, such as `Bash(ls:*)`.
fn rule(request: RawJson<'_>) -> Option<String> {
    let suggestions = request.get("permission_suggestions");
    let suggestions = suggestions.into_iter().flat_map(RawJson::elements);
    let rules = suggestions
        .filter_map(|it| it.get("rules"))
        .flat_map(RawJson::elements);
    let rules: Vec<_> = rules
        .filter_map(|rule| {
            let tool = text(rule, "toolName")?;
            Some(match text(rule, "ruleContent") {
                Some(content) => format!("{tool}({content})"),
                None => tool,
            })
        })
        .collect();
    (!rules.is_empty()).then(|| rules.join(", "))
}

/// The answers are keyed by the question's text.
fn question(it: RawJson<'_>) -> Question {
    let asked = text(it, "question").unwrap_or_default();
    let options = it.get("options").into_iter().flat_map(RawJson::elements);
    let is_multiple = it.get("multiSelect").and_then(RawJson::as_bool) == Some(true);
    Question {
        id: asked.clone(),
        title: text(it, "header"),
        text: asked,
        kind: if is_multiple {
            QuestionKind::Multiple
        } else {
            QuestionKind::Single
        },
        options: options.map(choice).collect(),
        free_text: true,
    }
}

fn choice(it: RawJson<'_>) -> QuestionOption {
    let label = text(it, "label").unwrap_or_default();
    QuestionOption {
        value: label.clone(),
        name: label,
        description: text(it, "description"),
    }
}

fn text(value: RawJson<'_>, key: &str) -> Option<String> {
    let text = value.get(key).and_then(RawJson::as_str).map(Str::decode)?;
    Some(text.into_owned())
}
