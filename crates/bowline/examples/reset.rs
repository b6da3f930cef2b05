//! Continues by itself when a usage limit resets: `cargo run -p bowline --example reset -- PROMPT`. With `now` after
//! the prompt, it answers the session's request instead of waiting.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use bowline::{EventKind, PermissionAnswer, PermissionKind, Session};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let prompt = args.next().unwrap_or_else(|| "Fix the tests.".to_owned());
    let is_urgent = args.next().is_some_and(|it| it == "now");
    let session = Session::builder()
        .resume_at_reset("Continue.")
        .start()
        .await?;
    let mut events = session.events();
    session.send(prompt).await?;
    while let Some(event) = events.next().await {
        match &event.kind {
            EventKind::PermissionRequest(request) if request.tool_name == "usage_limit" => {
                if let PermissionKind::Questions(questions) = &request.kind {
                    questions.iter().for_each(|it| println!("{}", it.question));
                }
                if is_urgent {
                    let go_on = PermissionAnswer::Option("go_on".to_owned());
                    session
                        .answer_permission(&request.request_id, go_on)
                        .await?;
                }
            }
            EventKind::TurnEnd { is_error, text, .. } if !is_error => {
                println!("{}", text.as_deref().unwrap_or_default());
                break;
            }
            _ => {}
        }
    }
    session.end().await;
    Ok(())
}
