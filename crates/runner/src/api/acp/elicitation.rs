//! Questions of the agent as forms.

use std::collections::BTreeMap;

use agent_client_protocol_schema::v1::{
    CreateElicitationRequest, CreateElicitationResponse, ElicitationAction,
    ElicitationContentValue, ElicitationFormMode, ElicitationSchema, ElicitationSessionScope,
    ElicitationUrlMode, EnumOption, MultiSelectPropertySchema, StringPropertySchema,
};
use bowline_reducer::model::{Question, QuestionKind};

use super::intent::Answer;

/// Appended to a question's id: the field of a text that is not among its choices.
const CUSTOM: &str = "_custom";

/// Asks questions with a form.
pub(super) fn form(
    scope: ElicitationSessionScope,
    questions: &[Question],
) -> CreateElicitationRequest {
    let schema = questions.iter().fold(ElicitationSchema::new(), property);
    let message = match questions {
        [question] => question.text.clone(),
        _ => "The agent has questions.".to_owned(),
    };
    CreateElicitationRequest::new(ElicitationFormMode::new(scope, schema), message)
}

/// Asks to open a URL.
pub(super) fn url(
    scope: ElicitationSessionScope,
    request: &str,
    url: &str,
) -> CreateElicitationRequest {
    let mode = ElicitationUrlMode::new(scope, request.to_owned(), url);
    CreateElicitationRequest::new(mode, "The agent asks to open a page.")
}

/// Reads the answer to a form or a URL.
pub(super) fn answer(response: CreateElicitationResponse, questions: &[Question]) -> Answer {
    match response.action {
        ElicitationAction::Accept(_) if questions.is_empty() => Answer::Allow,
        ElicitationAction::Accept(accept) => {
            Answer::Answers(answers(accept.content.unwrap_or_default(), questions))
        }
        ElicitationAction::Decline => Answer::Deny,
        _ => Answer::Cancel,
    }
}

fn property(schema: ElicitationSchema, question: &Question) -> ElicitationSchema {
    let (title, text) = (question.title.clone(), question.text.clone());
    let choices = question.options.iter().map(|choice| {
        EnumOption::new(choice.value.clone(), choice.name.clone())
            .description(choice.description.clone())
    });
    let choices: Vec<_> = choices.collect();
    let is_text = choices.is_empty();
    let schema = match question.kind {
        QuestionKind::Multiple if !is_text => schema.property(
            &question.id,
            MultiSelectPropertySchema::titled(choices)
                .title(title)
                .description(text),
            false,
        ),
        _ => schema.property(
            &question.id,
            StringPropertySchema::new()
                .title(title)
                .description(text)
                .one_of((!is_text).then_some(choices)),
            is_text,
        ),
    };
    if is_text || !question.free_text {
        return schema;
    }
    let custom = StringPropertySchema::new().title("Other".to_owned());
    schema.property(format!("{}{CUSTOM}", question.id), custom, false)
}

/// The answers; a text of the user's own replaces the choice.
fn answers(
    mut content: BTreeMap<String, ElicitationContentValue>,
    questions: &[Question],
) -> Vec<(String, String)> {
    let mut answers = Vec::new();
    for question in questions {
        let custom = content.remove(&format!("{}{CUSTOM}", question.id));
        let custom = custom.map(text).filter(|text| !text.is_empty());
        let chosen = content.remove(&question.id).map(text);
        if let Some(answer) = custom.or(chosen) {
            answers.push((question.id.clone(), answer));
        }
    }
    answers
}

fn text(value: ElicitationContentValue) -> String {
    match value {
        ElicitationContentValue::String(text) => text,
        ElicitationContentValue::Integer(number) => number.to_string(),
        ElicitationContentValue::Number(number) => number.to_string(),
        ElicitationContentValue::Boolean(flag) => flag.to_string(),
        ElicitationContentValue::StringArray(list) => list.join(", "),
        _ => String::new(),
    }
}
