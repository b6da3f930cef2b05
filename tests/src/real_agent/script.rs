//! The script of the model.

use std::collections::VecDeque;

use super::{Answer, ApiError, Request};

/// Decides the response to each request of the conversation and of its sub-agents.
///
/// Any `FnMut(&Request) -> Answer` is a script; [`Lanes`] covers lists of answers.
pub trait Script: Send + 'static {
    /// Returns the answer to this request.
    fn answer(&mut self, request: &Request) -> Answer;
}

impl<F: FnMut(&Request) -> Answer + Send + 'static> Script for F {
    fn answer(&mut self, request: &Request) -> Answer {
        self(request)
    }
}

/// Lists of answers, each consumed in order: one for the main thread, one for each sub-agent.
///
/// A sub-agent's list is selected by a part of its prompt, so the answers do not depend on the order
/// in which concurrent agents send requests. A request after the end of its list is answered with 400,
/// unless [`Lanes::fallback`] sets an answer.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    main: VecDeque<Answer>,
    agents: Vec<(String, VecDeque<Answer>)>,
    fallback: Option<Answer>,
}

impl Lanes {
    /// Creates a script with answers for the main thread.
    #[must_use]
    pub fn main<A: Into<Answer>>(answers: impl IntoIterator<Item = A>) -> Self {
        Self {
            main: answers.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// Adds answers for the sub-agent whose prompt contains `marker`.
    #[must_use]
    pub fn agent<A: Into<Answer>>(
        mut self,
        marker: &str,
        answers: impl IntoIterator<Item = A>,
    ) -> Self {
        self.agents.push((
            marker.to_owned(),
            answers.into_iter().map(Into::into).collect(),
        ));
        self
    }

    /// Sets the answer to every request after the end of its list.
    ///
    /// A permanent API error needs this: after a 400, the agent repeats the request several times
    /// with fewer features.
    #[must_use]
    pub fn fallback(mut self, answer: impl Into<Answer>) -> Self {
        self.fallback = Some(answer.into());
        self
    }

    /// Stops the first answer of the main thread at a gate, as [`Reply::hold_after`](super::Reply::hold_after) does.
    #[must_use]
    pub fn held_after(mut self, events: usize, gate: &str) -> Self {
        if let Some(Answer::Reply(reply)) = self.main.front_mut() {
            reply.hold = Some((events, gate.to_owned()));
        }
        self
    }

    fn lane(&mut self, opening: &str) -> &mut VecDeque<Answer> {
        let agent = self
            .agents
            .iter_mut()
            .find(|(marker, _)| opening.contains(marker.as_str()));
        agent.map_or(&mut self.main, |(_, answers)| answers)
    }
}

impl Script for Lanes {
    fn answer(&mut self, request: &Request) -> Answer {
        let next = self.lane(&request.opening()).pop_front();
        let mut answer = next
            .or_else(|| self.fallback.clone())
            .unwrap_or_else(|| unscripted(request).into());
        if let Answer::Reply(reply) | Answer::CutAfter(_, reply) = &mut answer {
            reply.adapt_to(request);
        }
        answer
    }
}

fn unscripted(request: &Request) -> ApiError {
    let message = format!(
        "the script has no answer left; the last message was {:?}",
        request.latest()
    );
    ApiError::new(400, "invalid_request_error", &message)
}
