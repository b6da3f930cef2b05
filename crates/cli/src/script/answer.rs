//! `bowline answer`: answers a permission request of a session.

use std::process::ExitCode;

use bowline_lifecycle::SessionId;
use bowline_runner::RunnerClient;
use serde_json::{Value, json};

use crate::args;
use crate::failure::Failure;
use crate::runner::{announced, client, find_session, request_failed};
use crate::text::one_line;

/// Answers a request: the one that is named, or the only open one.
///
/// # Errors
/// If there is no such session or request, several are open, or the request was answered before.
pub(crate) async fn answer(options: args::Answer) -> Result<ExitCode, Failure> {
    let (request, answer) = match options.words.as_slice() {
        [answer] => (None, answer),
        [request, answer] => (Some(request.clone()), answer),
        _ => {
            return Err(Failure::usage(
                "an answer is missing; see `bowline answer --help`",
            ));
        }
    };
    let client = client(&options.runner)?;
    let id = find_session(&client, &options.runner, &options.id)
        .await?
        .id;
    let request = match request {
        Some(request) => request,
        None => only_open(&client, &options, id).await?,
    };
    let mut body = json!({"request_id": request, "by": "bowline answer"});
    match answer.as_str() {
        "allow" | "deny" => body["decision"] = answer.as_str().into(),
        option => body["option"] = option.into(),
    }
    if let Some(message) = &options.message {
        body["message"] = message.as_str().into();
    }
    let answered = announced(client.answer(id, &body)).await;
    answered.map_err(|error| request_failed(&options.runner, error))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the id of the only open request.
async fn only_open(
    client: &RunnerClient,
    options: &args::Answer,
    id: SessionId,
) -> Result<String, Failure> {
    let permissions = announced(client.permissions(id)).await;
    let permissions = permissions.map_err(|error| request_failed(&options.runner, error))?;
    let open = permissions.iter().filter(|it| it["state"] == "open");
    let open: Vec<_> = open.collect();
    let text = |value: &Value| one_line(value.as_str().unwrap_or_default(), 80);
    match open.as_slice() {
        [one] => Ok(one["request_id"].as_str().unwrap_or_default().to_owned()),
        [] => Err(Failure::failed(format!(
            "session {id} has no open permission request; wait for one with `bowline wait {id} --until permission`"
        ))),
        several => {
            let ids = several
                .iter()
                .map(|it| format!("{} ({})", text(&it["request_id"]), text(&it["tool_name"])));
            Err(Failure::usage(format!(
                "session {id} has {} open permission requests; name one: {}",
                several.len(),
                ids.collect::<Vec<_>>().join(", ")
            )))
        }
    }
}
