//! An answer as an HTTP response.

use std::io;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Response, StatusCode, header};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use super::gate::Gates;
use super::{Answer, ApiError, Gate, Reply, Request, sse};

/// The response to a request for a message; `id` is the message's.
pub(super) async fn answered(
    answer: Answer,
    request: &Request,
    id: &str,
    gates: &Gates,
) -> Response<Body> {
    let model = request.model();
    let whole = |reply| steps(reply, &sse::events(reply, id, model), gates);
    match answer {
        Answer::Reply(reply) if request.streams() => streamed(whole(&reply)),
        Answer::Reply(reply) => json_body(StatusCode::OK, &sse::message(&reply, id, model)),
        Answer::CutAfter(events, reply) if request.streams() => {
            streamed(cut(whole(&reply), events))
        }
        Answer::CutAfter(..) => streamed(cut(Vec::new(), 0)),
        Answer::ApiError(error) => error_body(&error),
        Answer::Hang => std::future::pending().await,
    }
}

/// A JSON object as a response.
pub(super) fn json_body(status: StatusCode, body: &Value) -> Response<Body> {
    let response = Response::builder().status(status);
    let response = response.header(header::CONTENT_TYPE, "application/json");
    response
        .body(body.to_string().into())
        .expect("a fixed head")
}

/// An error in the form of the API.
pub(super) fn error_body(error: &ApiError) -> Response<Body> {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = json!({"type": "error", "error": {"type": error.kind, "message": error.message}});
    let mut response = json_body(status, &body);
    if let Some(seconds) = error.retry_after {
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// One step of a stream: wait, then send, or break the connection where there is no data.
struct Step {
    pace: Duration,
    gate: Option<Gate>,
    data: Option<Bytes>,
}

/// One step for each event, and one after the last, which sends nothing.
fn steps(reply: &Reply, events: &[Value], gates: &Gates) -> Vec<Step> {
    let data = events
        .iter()
        .map(|event| (sse::is_delta(event), sse::encode(event).into()));
    let data = data.chain([(false, Bytes::new())]);
    let step = |(sent, (is_delta, data))| Step {
        pace: if is_delta { reply.pace } else { Duration::ZERO },
        gate: reply.gate_after(sent).map(|name| gates.named(name)),
        data: Some(data),
    };
    data.enumerate().map(step).collect()
}

/// Breaks the connection at the step after the first `events`, gate included.
fn cut(mut steps: Vec<Step>, events: usize) -> Vec<Step> {
    let gate = steps.get_mut(events).and_then(|step| step.gate.take());
    steps.truncate(events);
    steps.push(Step {
        pace: Duration::ZERO,
        gate,
        data: None,
    });
    steps
}

fn streamed(steps: Vec<Step>) -> Response<Body> {
    let body = Body::from_stream(stream::iter(steps).then(take));
    let response = Response::builder().header(header::CONTENT_TYPE, "text/event-stream");
    response.body(body).expect("a fixed head")
}

async fn take(step: Step) -> io::Result<Bytes> {
    if let Some(gate) = step.gate {
        gate.pass().await;
    }
    if !step.pace.is_zero() {
        tokio::time::sleep(step.pace).await;
    }
    // hyper writes what is queued when the next item is not ready: without this a cut would take
    // events with it that were sent before.
    tokio::task::yield_now().await;
    step.data
        .ok_or_else(|| io::ErrorKind::ConnectionReset.into())
}
